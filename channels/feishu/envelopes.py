"""Reading Feishu's JSON without trusting it: fields, people, and the envelope of a message. Pure."""

import json
from collections.abc import Mapping

from channels.ids import ChatId, MessageId, OpenId, ThreadId, UserId
from channels.rules.message import Envelope, Sender

_LARGEST = 2**63 - 1  # what an INTEGER column holds
_CHAT_TYPES = {"private": "p2p", "public": "group", "topic": "group", "topic_group": "group"}
_BOT_KINDS = frozenset({"app", "bot"})


class Lacking(ValueError):
    """A field without which the event means nothing."""


def envelope_of(event: Mapping[str, object]) -> Envelope:
    """The envelope of a receive event's `event` object; ids that Feishu leaves out are None."""
    message = mapping(event, "message")
    chat_type = text(message, "chat_type")
    message_type = text(message, "message_type") or "text"
    return Envelope(
        message_id=MessageId(needed(message, "message_id")),
        chat_id=ChatId(needed(message, "chat_id")),
        chat_type=_CHAT_TYPES.get(chat_type, chat_type),
        create_time_ms=number(message, "create_time"),
        sender=_sender_of(event),
        thread_id=ThreadId(thread) if (thread := text(message, "thread_id")) else None,
        root_id=MessageId(root) if (root := text(message, "root_id")) else None,
        parent_id=MessageId(parent) if (parent := text(message, "parent_id")) else None,
        message_type=message_type,
        empty=_is_empty(message_type, text(message, "content")),
    )


def _is_empty(message_type: str, content: str) -> bool:
    """Nothing was said: no content at all, or a text of blanks. A lone mention is not empty."""
    if message_type != "text":
        return not content
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return True
    return not (isinstance(document, dict) and text(document, "text").strip())


def _sender_of(event: Mapping[str, object]) -> Sender:
    sender = mapping(event, "sender")
    return person(mapping(sender, "sender_id"), text(sender, "sender_type") or "user")


def person(ids: Mapping[str, object], kind: str = "user") -> Sender:
    """Who `ids` names: user_id where the app may see it, else open:<open_id>; bots have none."""
    open_id, user_id = text(ids, "open_id"), text(ids, "user_id")
    if kind in _BOT_KINDS:
        return Sender(UserId(""), OpenId(open_id), kind)
    return Sender(UserId(user_id or (f"open:{open_id}" if open_id else "")), OpenId(open_id), kind)


def mapping(source: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = source.get(key)
    return value if isinstance(value, dict) else {}


def text(source: Mapping[str, object], key: str) -> str:
    """The text under `key`, "" for anything else. Half a surrogate pair would poison a later write, so it goes."""
    value = source.get(key)
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def needed(source: Mapping[str, object], key: str) -> str:
    if not (found := text(source, key)):
        raise Lacking(key)
    return found


def number(source: Mapping[str, object], key: str) -> int:
    """A count of milliseconds, given as text or number; 0 where it is absent or absurd."""
    value = source.get(key)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 <= value <= _LARGEST else 0
