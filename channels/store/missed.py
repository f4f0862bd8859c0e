"""Tables `missed_gaps`, `missed_containers`, `known_groups`, `guided_chats`: where messages may have been missed."""

from dataclasses import dataclass
from typing import Any

from channels.ids import ChatId, UserId
from channels.store.tx import Tx

GROUPS_AT_MOST = 500

OPEN_GAP = """
INSERT INTO missed_gaps (from_ms, to_ms, reason, opened_at) VALUES (:from_ms, :to_ms, :reason, :now) RETURNING gap_id
"""
SELECT_OPEN_GAPS = "SELECT gap_id, from_ms, to_ms, reason FROM missed_gaps WHERE closed_at IS NULL ORDER BY gap_id"
OLDEST_OPEN = "SELECT min(from_ms), min(opened_at) FROM missed_gaps WHERE closed_at IS NULL"
READ_UNTIL = "SELECT max(to_ms) FROM missed_gaps WHERE closed_at IS NOT NULL"
TAKE_OVER = """
INSERT INTO missed_containers (gap_id, container, kind, chat_id, chat_type, place, read_to_ms, state, error)
SELECT :gap_id, container, min(kind), min(chat_id), min(chat_type),
       row_number() OVER (ORDER BY min(gap_id), min(place), container) - 1,
       max(min(min(read_to_ms), :from_ms), :oldest_ms), 'open', max(error)
FROM missed_containers WHERE state = 'open'
AND gap_id IN (SELECT gap_id FROM missed_gaps WHERE closed_at IS NULL AND gap_id < :gap_id) GROUP BY container
"""
FORGET_TAKEN_OVER = "DELETE FROM missed_gaps WHERE closed_at IS NULL AND gap_id < :gap_id"
CLOSE_READ = """
UPDATE missed_gaps SET closed_at = :now WHERE gap_id = :gap_id AND closed_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM missed_containers WHERE gap_id = :gap_id AND state = 'open')
"""
FORGET_OLDER_TROUBLE = """
DELETE FROM missed_containers WHERE gap_id < :gap_id
AND container IN (SELECT container FROM missed_containers WHERE gap_id = :gap_id)
"""
FORGET_READ = "DELETE FROM missed_containers WHERE gap_id = :gap_id AND state = 'read'"
FORGET_SWEEPS = "DELETE FROM missed_gaps WHERE reason = 'sweep' AND closed_at IS NOT NULL"
ADD_SWEEP = """
INSERT INTO missed_gaps (from_ms, to_ms, reason, opened_at, closed_at)
VALUES (:from_ms, :to_ms, 'sweep', :now, :now)
"""
FORGET_CLOSED = """
DELETE FROM missed_gaps WHERE closed_at < :before
AND to_ms < (SELECT max(to_ms) FROM missed_gaps WHERE closed_at IS NOT NULL)
"""
ADD_CONTAINER = """
INSERT INTO missed_containers (gap_id, container, kind, chat_id, chat_type, place, read_to_ms, state)
VALUES (:gap_id, :container, :kind, :chat_id, :chat_type,
        (SELECT count(*) FROM missed_containers WHERE gap_id = :gap_id), :read_to_ms, 'open')
ON CONFLICT (gap_id, container) DO NOTHING
"""
SELECT_OPEN_CONTAINERS = """
SELECT container, kind, chat_id, chat_type, read_to_ms FROM missed_containers
WHERE gap_id = :gap_id AND state = 'open' ORDER BY place
"""
SET_READ_TO = """
UPDATE missed_containers SET read_to_ms = max(read_to_ms, :read_to_ms)
WHERE gap_id = :gap_id AND container = :container AND state = 'open'
"""
END_CONTAINER = """
UPDATE missed_containers SET state = :state, error = :error
WHERE gap_id = :gap_id AND container = :container AND state = 'open'
"""
NOTE_ERROR = """
UPDATE missed_containers SET error = :error WHERE gap_id = :gap_id AND container = :container AND state = 'open'
"""
COUNT_CONTAINERS = "SELECT state, count(*) FROM missed_containers WHERE gap_id = :gap_id GROUP BY state"
SELECT_ERRORS = """
SELECT container, kind, chat_id, state, error FROM missed_containers AS mine
WHERE error IS NOT NULL AND state <> 'read' AND gap_id = (
  SELECT max(gap_id) FROM missed_containers AS latest WHERE latest.container = mine.container)
ORDER BY gap_id DESC, place LIMIT :limit
"""
PUT_GROUP = """
INSERT INTO known_groups (chat_id, name, added_at) VALUES (:chat_id, :name, :now)
ON CONFLICT (chat_id) DO UPDATE SET name = excluded.name, added_at = excluded.added_at
"""
TRIM_GROUPS = """
DELETE FROM known_groups WHERE chat_id IN (
  SELECT chat_id FROM known_groups ORDER BY added_at DESC, chat_id LIMIT -1 OFFSET :most)
"""
FORGET_GROUP = "DELETE FROM known_groups WHERE chat_id = :chat_id"
SELECT_GROUPS = "SELECT chat_id FROM known_groups ORDER BY added_at DESC, chat_id"
PUT_GUIDED = """
INSERT INTO guided_chats (chat_id, user_id, guided_at) VALUES (:chat_id, :user_id, :now)
ON CONFLICT (chat_id) DO NOTHING
"""
IS_GUIDED = "SELECT 1 FROM guided_chats WHERE chat_id = :chat_id"
SELECT_GUIDED_CHAT = "SELECT chat_id FROM guided_chats WHERE user_id = :user_id ORDER BY guided_at DESC LIMIT 1"
SELECT_GUIDED = "SELECT chat_id FROM guided_chats ORDER BY guided_at DESC, chat_id LIMIT :limit"


@dataclass(frozen=True, slots=True)
class Place:
    """A chat or a topic that can be read. `container` is its own id, `chat_id` the chat that it lies in."""

    container: str
    kind: str  # chat | thread
    chat_id: ChatId
    chat_type: str  # p2p | group


@dataclass(frozen=True, slots=True)
class Container:
    """A place that a gap still has to read, and how far it has been read."""

    place: Place
    read_to_ms: int


@dataclass(frozen=True, slots=True)
class Gap:
    gap_id: int
    from_ms: int
    to_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """A place that could not be read: for now (state `open`) or for good (`refused`)."""

    container: str
    kind: str
    chat_id: ChatId
    state: str
    error: str


def open_gap(tx: Tx, from_ms: int, to_ms: int, reason: str, now: int) -> Gap:
    row = tx.row(OPEN_GAP, {"from_ms": from_ms, "to_ms": to_ms, "reason": reason, "now": now})
    assert row is not None
    return Gap(row[0], from_ms, to_ms, reason)


def take_over(tx: Tx, gap: Gap, from_ms: int) -> None:
    """What older gaps still have to read is read with this one, from where they are but no later than `from_ms` (and no
    earlier than the gap begins): a process that dies again and again leaves one gap, and each place is read once for
    all of them."""
    tx.execute(TAKE_OVER, {"gap_id": gap.gap_id, "from_ms": from_ms, "oldest_ms": gap.from_ms})
    tx.execute(FORGET_TAKEN_OVER, {"gap_id": gap.gap_id})


def open_gaps(tx: Tx) -> list[Gap]:
    return [Gap(*row) for row in tx.rows(SELECT_OPEN_GAPS)]


def oldest_open(tx: Tx) -> tuple[int, int] | None:
    """From when on something is still to be read, and since when it waits; None when nothing is."""
    row = tx.row(OLDEST_OPEN)
    return (int(row[0]), int(row[1])) if row is not None and row[0] is not None else None


def read_until(tx: Tx) -> int | None:
    """The end of the last gap or sweep that was read to its end."""
    return _first(tx.row(READ_UNTIL))


def close_if_read(tx: Tx, gap_id: int, now: int) -> bool:
    """Close the gap once none of its containers is open; only what could not be read is remembered, and only the last
    time. True when it was closed now."""
    if tx.execute(CLOSE_READ, {"gap_id": gap_id, "now": now}) == 0:
        return False
    tx.execute(FORGET_OLDER_TROUBLE, {"gap_id": gap_id})
    tx.execute(FORGET_READ, {"gap_id": gap_id})
    return True


def record_sweep(tx: Tx, from_ms: int, to_ms: int, now: int) -> None:
    """A sweep is through; only the last one is kept."""
    tx.execute(FORGET_SWEEPS)
    tx.execute(ADD_SWEEP, {"from_ms": from_ms, "to_ms": to_ms, "now": now})


def forget_closed(tx: Tx, before: int) -> int:
    """Retention; the end of the last one read stays known."""
    return tx.execute(FORGET_CLOSED, {"before": before})


def add_container(tx: Tx, gap_id: int, place: Place, from_ms: int) -> bool:
    """One more place to read. False when the gap has it already."""
    values = {
        "gap_id": gap_id,
        "container": place.container,
        "kind": place.kind,
        "chat_id": place.chat_id,
        "chat_type": place.chat_type,
        "read_to_ms": from_ms,
    }
    return tx.execute(ADD_CONTAINER, values) == 1


def open_containers(tx: Tx, gap_id: int) -> list[Container]:
    """What is still to be read, in the order in which it was found."""
    return [Container(Place(*row[:4]), row[4]) for row in tx.rows(SELECT_OPEN_CONTAINERS, {"gap_id": gap_id})]


def set_read_to(tx: Tx, gap_id: int, container: str, read_to_ms: int) -> None:
    """Everything of this chat before `read_to_ms` is in."""
    tx.execute(SET_READ_TO, {"gap_id": gap_id, "container": container, "read_to_ms": read_to_ms})


def end_container(tx: Tx, gap_id: int, container: str, error: str | None = None) -> bool:
    """Read; or refused, where `error` says why it can never be."""
    values = {"gap_id": gap_id, "container": container, "state": "refused" if error else "read", "error": error}
    return tx.execute(END_CONTAINER, values) == 1


def note_error(tx: Tx, gap_id: int, container: str, error: str) -> None:
    """Why this container could not be read this time."""
    tx.execute(NOTE_ERROR, {"gap_id": gap_id, "container": container, "error": error})


def count_containers(tx: Tx, gap_id: int) -> dict[str, int]:
    return dict(tx.rows(COUNT_CONTAINERS, {"gap_id": gap_id}))


def troubles(tx: Tx, limit: int) -> list[Trouble]:
    """Places that could not be read when they were last asked for."""
    return [Trouble(*row) for row in tx.rows(SELECT_ERRORS, {"limit": limit})]


def put_group(tx: Tx, chat_id: ChatId, name: str, now: int) -> None:
    """The bot was added to this group; with more than 500, the oldest goes."""
    tx.execute(PUT_GROUP, {"chat_id": chat_id, "name": name, "now": now})
    tx.execute(TRIM_GROUPS, {"most": GROUPS_AT_MOST})


def forget_group(tx: Tx, chat_id: ChatId) -> bool:
    return tx.execute(FORGET_GROUP, {"chat_id": chat_id}) == 1


def groups(tx: Tx) -> list[Place]:
    return [Place(row[0], "chat", ChatId(row[0]), "group") for row in tx.rows(SELECT_GROUPS)]


def is_guided(tx: Tx, chat_id: ChatId) -> bool:
    """Whether somebody has opened this private chat before."""
    return tx.row(IS_GUIDED, {"chat_id": chat_id}) is not None


def put_guided(tx: Tx, chat_id: ChatId, user_id: UserId, now: int) -> bool:
    """Somebody knows this private chat. True the first time: then it gets its guide."""
    return tx.execute(PUT_GUIDED, {"chat_id": chat_id, "user_id": user_id, "now": now}) == 1


def guided_chat_of(tx: Tx, user_id: UserId) -> ChatId | None:
    """The private chat that this person has opened."""
    row = tx.row(SELECT_GUIDED_CHAT, {"user_id": user_id})
    return ChatId(row[0]) if row else None


def guided(tx: Tx, limit: int) -> list[Place]:
    return [Place(row[0], "chat", ChatId(row[0]), "p2p") for row in tx.rows(SELECT_GUIDED, {"limit": limit})]


def _first(row: tuple[Any, ...] | None) -> int | None:
    return int(row[0]) if row is not None and row[0] is not None else None
