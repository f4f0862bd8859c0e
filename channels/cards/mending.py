"""Half-written Markdown."""


def hold_back(text: str) -> str:
    """The part of a growing answer whose meaning is settled."""
    return text
