"""Missed messages: gaps that are opened before anything is read, what was found, and what people decide about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from channels.ids import ChatId, EventId, MessageId, OwnerEpoch, UserId
from channels.rules import missed as rules
from channels.rules.message import Message
from channels.rules.missed import Answer, Ask, Leave, Surroundings
from channels.rules.routing import Policy, drop_at_the_door
from channels.store import cursors, events, inbox, missed, missed_batches, owners, routes
from channels.store.missed import Gap, Place
from channels.store.transactions.accept import Accepted, Duplicate, is_from_before
from channels.store.tx import Tx

DAY_MS = 24 * 3_600_000
THREAD_AGE_MS = 7 * DAY_MS  # a topic that was silent for longer before the gap is not read
THREADS_AT_MOST = 500
CHATS_AT_MOST = 5_000
SWEEP_AGE_MS = DAY_MS
SWEEP_PLACES_AT_MOST = 10  # of each kind: a sweep costs calls of the tenant's monthly quota
GAP_RETENTION_MS = 14 * DAY_MS
STATUS_LINES = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """The message stands on its chat's pending card."""

    batch_id: str


@dataclass(frozen=True, slots=True)
class Sorting:
    """What deciding about a found message needs besides the file."""

    policy: Policy
    window_ms: int
    wall_ms: int
    spare_batch_id: str
    excerpt: str


# Gaps


def open_gap(
    tx: Tx, alive_ms: int | None, reason: str, heartbeat_ms: int, wall_ms: int, now: int, *, sweeping: bool
) -> Gap | None:
    """Commit what has to be read, before anything is read, and that somebody is listening from now on; None on the very
    first boot.

    `alive_ms` is when somebody was last surely listening. `sweeping`: the end of the last completed sweep counts too.
    What older gaps have left over is taken over, so that there is one open gap at most.
    """
    start = rules.gap_start(alive_ms, missed.read_until(tx) if sweeping else None, heartbeat_ms, wall_ms)
    owners.set_alive(tx, wall_ms)
    if start is None:
        return None
    older = missed.oldest_open(tx)
    since_ms, opened_at = start, now
    if older is not None:
        since_ms, opened_at = min(start, max(older[0], wall_ms - rules.GATE_MEMORY_MS)), min(now, older[1])
    gap = missed.open_gap(tx, since_ms, max(start, wall_ms), reason, opened_at)
    missed.take_over(tx, gap, start)
    for place in _places(tx, start):
        missed.add_container(tx, gap.gap_id, place, start)
    return gap


def beat_last(tx: Tx, now: int, alive_ms: int | None) -> None:
    """The last heartbeat of a clean stop: nobody may think that an open gap was read."""
    owners.raise_floor(tx, now)
    if alive_ms is not None:
        older = missed.oldest_open(tx)
        owners.set_alive(tx, alive_ms if older is None else min(alive_ms, older[0]))


def add_threads(tx: Tx, gap: Gap, places: Iterable[Place]) -> int:
    """Topics that a chat's listing showed: their replies stand nowhere else."""
    return sum(missed.add_container(tx, gap.gap_id, place, gap.from_ms) for place in places)


def sweep_places(tx: Tx, wall_ms: int) -> list[Place]:
    """Chats, then topics, in which somebody wrote or was answered within the last day."""
    since, most = wall_ms - SWEEP_AGE_MS, SWEEP_PLACES_AT_MOST
    chats, threads = _active(tx, "chat", since, most), _active(tx, "thread", since, most)
    return chats + _unique([*_routed(tx, since, most), *threads])


def sweep_start(tx: Tx, wall_ms: int) -> int:
    """Where the next sweep begins: the end of the last one, or an hour ago."""
    until = missed.read_until(tx)
    return max(until if until is not None else wall_ms - 3_600_000, wall_ms - rules.GATE_MEMORY_MS)


def unprocessed(tx: Tx, message_ids: Iterable[MessageId]) -> frozenset[MessageId]:
    """Those of these messages that the gate has not seen."""
    return frozenset(message_id for message_id in message_ids if not inbox.is_processed(tx, message_id))


def tidy(tx: Tx, now: int) -> int:
    """Retention of gaps."""
    return missed.forget_closed(tx, now - GAP_RETENTION_MS)


def _places(tx: Tx, from_ms: int) -> list[Place]:
    """Everything to read for a gap, the liveliest first: chats, and after all chats their topics."""
    since = from_ms - THREAD_AGE_MS
    chats = _active(tx, "chat", 0, CHATS_AT_MOST)
    chats += [Place(chat_id, "chat", chat_id, chat_type) for chat_id, chat_type in routes.routed_chats(tx)]
    chats += missed.groups(tx) + missed.guided(tx, CHATS_AT_MOST)
    threads = _active(tx, "thread", since, THREADS_AT_MOST)
    threads += _routed(tx, since, THREADS_AT_MOST)
    return _unique([*chats, *threads])


def _unique(places: Iterable[Place]) -> list[Place]:
    """Each place once, where it came first."""
    found: dict[str, Place] = {}
    for place in places:
        found.setdefault(place.container, place)
    return list(found.values())


def _routed(tx: Tx, since_ms: int, limit: int) -> list[Place]:
    """Topics with a session: also those in which only the bot has spoken so far."""
    return [Place(key, "thread", chat_id, kind) for key, chat_id, kind in routes.routed_threads(tx, since_ms, limit)]


def _active(tx: Tx, kind: str, since_ms: int, limit: int) -> list[Place]:
    return [Place(*found) for found in cursors.recent_places(tx, kind, since_ms, limit) if found[2]]


# What is found


def accept_missed(
    tx: Tx, message: Message, payload: str, sorting: Sorting, epoch: OwnerEpoch, now: int
) -> Accepted | Asked | Duplicate:
    """The same gate as live messages; what the message deserves is decided and written in the same commit."""
    envelope = message.envelope
    if not inbox.register(tx, envelope.message_id, now):
        return Duplicate()
    age_ms = sorting.wall_ms - envelope.create_time_ms
    if (reason := drop_at_the_door(envelope, sorting.policy)) is not None:
        fate: rules.Fate = Leave(reason)
    else:
        fate = rules.sort_missed(message, surroundings(tx, message), sorting.policy, age_ms, sorting.window_ms)
    cursors.move_cursor(tx, envelope)
    if is_from_before(tx, envelope) and (envelope.thread_id is not None or not isinstance(fate, Leave)):
        inbox.insert_row(tx, envelope, payload, epoch, None, now, origin="history")
        inbox.hold(tx, envelope.message_id)  # a restored file: history may have its answer, or a topic of ours
        return Accepted()
    match fate:
        case Answer():
            inbox.insert_row(tx, envelope, payload, epoch, None, now, origin="history")
            return Accepted()
        case Leave(reason):
            inbox.insert_row(tx, envelope, payload, epoch, reason, now, origin="history")
            return Accepted(reason)
        case Ask():
            inbox.insert_row(tx, envelope, payload, epoch, None, now, asked=True, origin="history")
            batch = missed_batches.open_batch(tx, envelope.chat_id, envelope.chat_type, sorting.spare_batch_id, now)
            missed_batches.add_message(tx, batch.batch_id, envelope, sorting.excerpt)
            return Asked(batch.batch_id)
        case _:
            assert_never(fate)


def surroundings(tx: Tx, message: Message) -> Surroundings:
    """What the file says about the place of a message that was found."""
    envelope = message.envelope
    if envelope.thread_id is None:
        return Surroundings()
    key = envelope.conversation
    routed = routes.find_route(tx, key) is not None or routes.is_tombstoned(tx, key)
    awaited = envelope.root_id is not None and routes.claim_of_message(tx, envelope.root_id) is not None
    return Surroundings(routed, awaited)


# What other events say about places


def add_bot(tx: Tx, event_id: EventId, chat_id: ChatId, name: str, now: int) -> bool:
    """The bot was added to a group, which is read from now on. True the first time."""
    if not events.record(tx, event_id, "BotAdded", chat_id, "recorded", now):
        return False
    missed.put_group(tx, chat_id, name, now)
    return True


def lose_chat(tx: Tx, event_id: EventId, kind: str, chat_id: ChatId, now: int) -> bool:
    """The bot was removed, or the group dissolved: nothing is left to read there."""
    if not events.record(tx, event_id, kind, chat_id, "recorded", now):
        return False
    missed.forget_group(tx, chat_id)
    cursors.forget_places(tx, chat_id)
    return True


def enter_private_chat(tx: Tx, event_id: EventId, chat_id: ChatId, user_id: UserId, now: int) -> bool:
    """Somebody opened the private chat: it is read from now on. True the first time."""
    fresh = events.record(tx, event_id, "PrivateChatEntered", chat_id, "recorded", now)
    missed.put_guided(tx, chat_id, user_id, now)
    return fresh


# For status


@dataclass(frozen=True, slots=True)
class MissedReport:
    """Open gaps with their containers by state, places in trouble, and undecided batches."""

    gaps: tuple[tuple[Gap, dict[str, int]], ...]
    troubles: tuple[missed.Trouble, ...]
    batches: tuple[tuple[ChatId, int, int], ...]


def report_missed(tx: Tx) -> MissedReport:
    return MissedReport(
        tuple((gap, missed.count_containers(tx, gap.gap_id)) for gap in missed.open_gaps(tx)),
        tuple(missed.troubles(tx, STATUS_LINES)),
        tuple(missed_batches.open_counts(tx, STATUS_LINES)),
    )
