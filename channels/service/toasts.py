"""Short answers to a press of a button."""

from channels.feishu.connection import Answer


def toast(kind: str, content: str) -> Answer:
    """An answer that shows a short line to who pressed: kind is success, info, warning or error."""
    return Answer(200, {"toast": {"type": kind, "content": content}})
