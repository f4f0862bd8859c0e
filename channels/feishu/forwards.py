"""Messages that are read after the event: quoted ones, and the children of a merged forward. Pure.

One read of a forward brings the container and its descendants in one list; each names the one above it in
`upper_message_id`. Some servers leave out what lies in a forward inside the forward: such a child is read by itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from channels.feishu.content import normalise
from channels.feishu.envelopes import mapping, number, text
from channels.feishu.history import event_from
from channels.ids import MessageId
from channels.rules.message import Message

Item = Mapping[str, Any]


def children_of(items: Sequence[Item], upper: MessageId) -> list[Item]:
    """What lies directly in this forward, in the order in which it was said."""
    found = [item for item in items if text(item, "upper_message_id") == upper and text(item, "message_id") != upper]
    return sorted(found, key=lambda item: number(item, "create_time"))


def find_item(items: Sequence[Item], message_id: MessageId) -> Item | None:
    return next((item for item in items if text(item, "message_id") == message_id), None)


def is_gone(item: Item) -> bool:
    """Whether it was taken back."""
    return bool(item.get("deleted"))


def was_edited(item: Item) -> bool:
    return bool(item.get("updated"))


def author_of(item: Item) -> str:
    """Who wrote it: an open_id, or the id of an app."""
    return text(mapping(item, "sender"), "id")


def message_from(item: Item, chat_type: str, app_id: str, bot_open_id: str) -> Message | None:
    """The message that this item shows, as if its event had come; None for an item without an id."""
    whole = dict(item)
    whole.setdefault("chat_id", "-")
    whole["chat_id"] = whole["chat_id"] or "-"
    try:
        return normalise(event_from(whole, None, chat_type, app_id, bot_open_id).decode(), bot_open_id)
    except ValueError:
        return None
