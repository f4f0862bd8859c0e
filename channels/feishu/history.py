"""History items as values: what a listing or a single read says about one message."""

from collections.abc import Mapping
from typing import Any

from channels.feishu.envelopes import mapping, number, text
from channels.ids import MessageId, ThreadId
from channels.rules.reconcile import Seen


def seen_from(item: Mapping[str, Any], app_id: str) -> Seen:
    """The parts of a history item that say whose message it is and what it answers."""
    sender = mapping(item, "sender")
    return Seen(
        message_id=MessageId(text(item, "message_id")),
        parent_id=MessageId(parent) if (parent := text(item, "parent_id")) else None,
        thread_id=ThreadId(thread) if (thread := text(item, "thread_id")) else None,
        create_time_ms=number(item, "create_time"),
        ours=text(sender, "sender_type") == "app" and text(sender, "id") == app_id,
    )
