"""History items: as values, and as the events that they would have been. Pure.

A listing names people by one kind of id per call, so an event is rebuilt from the same message read twice: once with
open_id and once with user_id. What a listing does not have at all (the chat's type, union ids, the user agent) comes
from the caller or stays away.
"""

import json
from collections.abc import Mapping
from typing import Any

from channels.feishu.envelopes import mapping, number, text
from channels.ids import MessageId, ThreadId
from channels.rules.reconcile import Seen

EVENT_PREFIX = "history:"  # of the event ids that we make up
_NOT_SAID = frozenset({"system"})


def seen_from(item: Mapping[str, Any], app_id: str) -> Seen:
    """The parts of a history item that say whose message it is and what it answers."""
    sender = mapping(item, "sender")
    return Seen(
        message_id=MessageId(text(item, "message_id")),
        parent_id=MessageId(parent) if (parent := text(item, "parent_id")) else None,
        root_id=MessageId(root) if (root := text(item, "root_id")) else None,
        thread_id=ThreadId(thread) if (thread := text(item, "thread_id")) else None,
        create_time_ms=number(item, "create_time"),
        ours=text(sender, "sender_type") == "app" and text(sender, "id") == app_id,
    )


def message_id_of(item: Mapping[str, Any]) -> MessageId:
    return MessageId(text(item, "message_id"))


def created_ms(item: Mapping[str, Any]) -> int:
    return number(item, "create_time")


def thread_of(item: Mapping[str, Any]) -> ThreadId | None:
    """The topic that this message lies in, or that it opened."""
    return ThreadId(thread) if (thread := text(item, "thread_id")) else None


def is_said(item: Mapping[str, Any]) -> bool:
    """Whether somebody said this and it stands: not taken back, no system line, no part of a forward."""
    return bool(
        text(item, "message_id")
        and not item.get("deleted")
        and text(item, "msg_type") not in _NOT_SAID
        and not text(item, "upper_message_id")
    )


def event_from(
    item: Mapping[str, Any], twin: Mapping[str, Any] | None, chat_type: str, app_id: str, bot_open_id: str
) -> bytes:
    """The payload of the im.message.receive_v1 that this message made, or would have made.

    `item` was read with open_id, `twin` is the same message read with user_id (None where the app may not see it).
    The event id is made up: the gate knows messages by their own.
    """
    message_id = text(item, "message_id")
    message: dict[str, Any] = {
        "message_id": message_id,
        "create_time": text(item, "create_time") or str(number(item, "create_time")),
        "update_time": text(item, "update_time") or str(number(item, "update_time")),
        "chat_id": text(item, "chat_id"),
        "chat_type": chat_type,
        "message_type": text(item, "msg_type"),
        "content": text(mapping(item, "body"), "content"),
    }
    message |= {key: found for key in ("root_id", "parent_id", "thread_id") if (found := text(item, key))}
    if mentions := _mentions(item, twin, app_id, bot_open_id):
        message["mentions"] = mentions
    header = {
        "event_id": EVENT_PREFIX + message_id,
        "event_type": "im.message.receive_v1",
        "create_time": message["create_time"],
        "token": "",
        "tenant_key": text(mapping(item, "sender"), "tenant_key"),
        "app_id": app_id,
    }
    event = {"sender": _sender(item, twin), "message": message}
    return json.dumps({"schema": "2.0", "header": header, "event": event}, ensure_ascii=False).encode()


def _sender(item: Mapping[str, Any], twin: Mapping[str, Any] | None) -> dict[str, Any]:
    sender = mapping(item, "sender")
    other = mapping(twin, "sender") if twin else {}
    ids = {"union_id": None, "user_id": _user_id(other), "open_id": text(sender, "id")}
    return {"sender_id": ids, "sender_type": text(sender, "sender_type"), "tenant_key": text(sender, "tenant_key")}


def _mentions(
    item: Mapping[str, Any], twin: Mapping[str, Any] | None, app_id: str, bot_open_id: str
) -> list[dict[str, Any]]:
    """Mentions as events name them; one of us is told by our open_id even where the listing says our app id."""
    others = {text(one, "key"): one for one in _marks(twin)}
    found: list[dict[str, Any]] = []
    for one in _marks(item):
        open_id = bot_open_id if text(one, "id") == app_id and bot_open_id else text(one, "id")
        us = bool(bot_open_id) and open_id == bot_open_id
        ids = {
            "union_id": None,
            "user_id": None if us else _user_id(others.get(text(one, "key"), {})),
            "open_id": open_id,
        }
        found.append(
            {
                "key": text(one, "key"),
                "id": ids,
                "mentioned_type": "bot" if us else "user",
                "name": text(one, "name"),
                "tenant_key": text(one, "tenant_key"),
            }
        )
    return found


def _marks(item: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    mentions = item.get("mentions") if item else None
    return [one for one in mentions if isinstance(one, dict)] if isinstance(mentions, list) else []


def _user_id(named: Mapping[str, Any]) -> str | None:
    """The id, where it is the kind that was asked for."""
    return text(named, "id") or None if text(named, "id_type") == "user_id" else None
