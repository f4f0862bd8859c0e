"""Paging an answer at block boundaries."""


def pages(text: str) -> tuple[str, ...]:
    """The answer in pages."""
    return (text,) if text.strip() else ()
