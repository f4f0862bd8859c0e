"""Finding, in history, the message that an unsure attempt may have made.

A match is ours, answers the same message (or none, for a plain send), was made after the first attempt began, and is
not recorded as the result of anything else. Feishu's clock and ours differ, so "after" allows for some skew; a message
of ours from before is recorded anyway. At most one intent per target is unresolved at a time (its lane waits), so the
earliest match is the one.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass

from channels.ids import MessageId, ThreadId

SKEW_MS = 60_000


@dataclass(frozen=True, slots=True)
class Seen:
    """One message as history shows it."""

    message_id: MessageId
    parent_id: MessageId | None
    thread_id: ThreadId | None
    create_time_ms: int
    ours: bool


def find_match(
    seen: Iterable[Seen], target: MessageId | None, first_attempt_ms: int, recorded: Set[MessageId]
) -> Seen | None:
    """The message that the attempt made, or None. `target`: the message that was answered; None for plain sends."""
    fitting = [
        one
        for one in seen
        if one.ours
        and one.parent_id == target
        and one.create_time_ms >= first_attempt_ms - SKEW_MS
        and one.message_id not in recorded
    ]
    return min(fitting, key=lambda one: (one.create_time_ms, one.message_id), default=None)
