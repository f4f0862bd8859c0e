"""Answer Markdown → Markdown that Feishu's rich text component shows as people expect."""


def clean(text: str, image_word: str = "image", *, growing: bool = False) -> str:
    """Feishu-safe Markdown."""
    return text


def plain(text: str, image_word: str = "image") -> str:
    """The same in plain words."""
    return text


def literal(text: str) -> str:
    """`text` as Markdown that shows exactly these characters."""
    return text
