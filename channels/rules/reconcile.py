"""Finding, in history, the message that an unsure attempt may have made.

A match is ours, hangs where the attempt would hang, was made after the first attempt began, and is not recorded as the
result of anything else. Feishu's clock and ours differ, so "after" allows for some skew; a message of ours from before
is recorded anyway.

Where it hangs: a plain answer has `parent_id` = the message that was answered. Inside a topic Feishu may name the
topic's root instead, and then answers to several questions of one topic look alike. `rivals` is how many other
unresolved answers that topic may hold: with fewer look-alikes than unresolved answers nobody can tell whose they are,
and guessing could say one answer twice and another never. Look-alikes that show card entities are told apart by those.
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
    root_id: MessageId | None
    thread_id: ThreadId | None
    create_time_ms: int
    ours: bool


@dataclass(frozen=True, slots=True)
class Sought:
    """What the unsure attempt would have made. `target`: the message that was answered, None for plain sends;
    `topic_root`: the root of the topic that it stands in, if any."""

    target: MessageId | None
    topic_root: MessageId | None
    first_attempt_ms: int
    recorded: Set[MessageId]
    rivals: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    seen: Seen


@dataclass(frozen=True, slots=True)
class Absent:
    """History is complete and has no such message."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """There are messages that may be this one or another one."""


def find_lookalikes(history: Iterable[Seen], sought: Sought) -> list[Seen]:
    """Every message of `history` that the attempt may have made, the earliest first."""
    places = {sought.target, sought.topic_root} if sought.topic_root else {sought.target}
    fitting = (
        one
        for one in {one.message_id: one for one in history}.values()
        if one.ours
        and one.create_time_ms >= sought.first_attempt_ms - SKEW_MS
        and one.message_id not in sought.recorded
        and one.parent_id in places
    )
    return sorted(fitting, key=lambda one: (one.create_time_ms, one.message_id))


def find_match(history: Iterable[Seen], sought: Sought) -> Found | Absent | Ambiguous:
    """Which message of `history` the attempt made."""
    alike = find_lookalikes(history, sought)
    sure = [one for one in alike if one.parent_id == sought.target and sought.target != sought.topic_root]
    if sure:
        return Found(sure[0])
    if not alike:
        return Absent()
    return Found(alike[0]) if len(alike) > sought.rivals else Ambiguous()
