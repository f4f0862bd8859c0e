"""Tables `settlement_pending` and `settlement_history`: settlements that wait, and the ends of the last ones."""

from dataclasses import dataclass
from typing import Any

from channels.ids import ReservationId
from channels.rules.settlement import (
    FORMAT,
    HISTORY_MOST,
    ITEM_BYTES,
    PENDING_MOST,
    Item,
    Terminal,
    parse_item,
    payload,
    sha256_hex,
)
from channels.store.tx import Tx

_PENDING = (
    "key, payload_hash, owner, session_hash, reservation_id, item, queued_at, deadline, attempts, next_attempt_at,"
    " last_error"
)
_FACT = "key, payload_hash, owner, session_hash, state, code, outcome, attempts, queued_at, deadline, retired_at"
MEASURE_PENDING = """
SELECT count(*), coalesce(sum(length(CAST(item AS BLOB))), 0),
       coalesce(sum(format <> :format OR length(CAST(item AS BLOB)) > :most), 0)
FROM settlement_pending
"""
MEASURE_HISTORY = """
SELECT count(*), coalesce(sum(length(CAST(owner || state || code || outcome AS BLOB)) + 256), 0),
       coalesce(sum(format <> :format OR instr(:states, ' ' || state || ' ') = 0), 0)
FROM settlement_history
"""
ADD_PENDING = f"""
INSERT INTO settlement_pending ({_PENDING}, format)
VALUES (:key, :payload_hash, :owner, :session_hash, :reservation_id, :item, :queued_at, :deadline, 0,
        :next_attempt_at, '', :format)
"""
SELECT_PENDING = f"SELECT {_PENDING} FROM settlement_pending WHERE key = :key"
SELECT_ALL_PENDING = f"SELECT {_PENDING} FROM settlement_pending ORDER BY queued_at, key"
SELECT_OVERDUE = f"SELECT {_PENDING} FROM settlement_pending WHERE deadline < :now ORDER BY deadline, key LIMIT :limit"
SELECT_PENDING_OF_SESSION = f"SELECT {_PENDING} FROM settlement_pending WHERE session_hash = :session_hash ORDER BY key"
HAS_PENDING_OF_SESSION = "SELECT 1 FROM settlement_pending WHERE session_hash = :session_hash LIMIT 1"
COUNT_ATTEMPT = """
UPDATE settlement_pending SET attempts = attempts + 1, last_error = :error, next_attempt_at = :next_attempt_at
WHERE key = :key
"""
NOTE_REFUSAL = "UPDATE settlement_pending SET last_error = :error WHERE key = :key"
DELETE_PENDING = "DELETE FROM settlement_pending WHERE key = :key"
SELECT_FACT = f"SELECT {_FACT} FROM settlement_history WHERE key = :key"
SELECT_FACTS = f"SELECT {_FACT} FROM settlement_history ORDER BY place"
ADD_FACT = f"""
INSERT INTO settlement_history ({_FACT}, format)
VALUES (:key, :payload_hash, :owner, :session_hash, :state, :code, :outcome, :attempts, :queued_at, :deadline,
        :retired_at, :format)
"""
DROP_OLDEST_FACTS = """
DELETE FROM settlement_history WHERE place <= (
  SELECT place FROM settlement_history ORDER BY place DESC LIMIT 1 OFFSET :kept)
"""
STATES = f" {' '.join(Terminal)} "


@dataclass(frozen=True, slots=True)
class PendingRow:
    key: str
    payload_hash: str
    owner: str
    session_hash: str
    reservation_id: ReservationId
    item: Item
    queued_at: int
    deadline: int
    attempts: int
    next_attempt_at: int
    last_error: str


@dataclass(frozen=True, slots=True)
class Fact:
    """How a settlement ended: these fields, and none of what it was about. `way`: how its reservation was closed
    (settled, late, void), where that is known."""

    key: str
    payload_hash: str
    owner: str
    session_hash: str
    state: Terminal
    code: str
    outcome: str
    attempts: int
    queued_at: int
    deadline: int
    retired_at: int
    way: str | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """How much is stored. `readable`: every row is one that this program knows how to read."""

    pending: int
    history: int
    bytes: int
    readable: bool


class Unreadable(Exception):
    """A row that nobody wrote like this. It is left as it is."""


def _pending(row: tuple[Any, ...]) -> PendingRow:
    values = list(row)
    item = parse_item(values[5])
    if item is None or sha256_hex(values[5]) != values[1]:
        raise Unreadable(values[0])
    values[5] = item
    return PendingRow(*values)


def _fact(row: tuple[Any, ...]) -> Fact:
    values = list(row)
    values[4] = Terminal(values[4])
    return Fact(*values)


def measure(tx: Tx) -> Measure:
    """Counts and sizes of both tables."""
    pending = tx.row(MEASURE_PENDING, {"format": FORMAT, "most": ITEM_BYTES})
    history = tx.row(MEASURE_HISTORY, {"format": FORMAT, "states": STATES})
    assert pending is not None and history is not None
    readable = pending[0] <= PENDING_MOST and history[0] <= HISTORY_MOST and pending[2] + history[2] == 0
    return Measure(pending[0], history[0], pending[1] + history[1], readable)


def add_pending(tx: Tx, row: PendingRow) -> None:
    """Raises sqlite3.IntegrityError where the schema sees that it must not be."""
    tx.execute(
        ADD_PENDING,
        {
            "key": row.key,
            "payload_hash": row.payload_hash,
            "owner": row.owner,
            "session_hash": row.session_hash,
            "reservation_id": row.reservation_id,
            "item": payload(row.item),
            "queued_at": row.queued_at,
            "deadline": row.deadline,
            "next_attempt_at": row.next_attempt_at,
            "format": FORMAT,
        },
    )


def find_pending(tx: Tx, key: str) -> PendingRow | None:
    row = tx.row(SELECT_PENDING, {"key": key})
    return _pending(row) if row else None


def all_pending(tx: Tx) -> list[PendingRow]:
    """In the order of queueing."""
    return [_pending(row) for row in tx.rows(SELECT_ALL_PENDING)]


def overdue(tx: Tx, now: int, limit: int) -> list[PendingRow]:
    """Past their deadline."""
    return [_pending(row) for row in tx.rows(SELECT_OVERDUE, {"now": now, "limit": limit})]


def pending_of_session(tx: Tx, session_hash: str) -> list[PendingRow]:
    return [_pending(row) for row in tx.rows(SELECT_PENDING_OF_SESSION, {"session_hash": session_hash})]


def has_pending_of_session(tx: Tx, session_hash: str) -> bool:
    return tx.row(HAS_PENDING_OF_SESSION, {"session_hash": session_hash}) is not None


def count_attempt(tx: Tx, key: str, error: str, next_attempt_at: int) -> None:
    """A trial came to nothing: the count and the reason are all that stays of it."""
    tx.execute(COUNT_ATTEMPT, {"key": key, "error": error, "next_attempt_at": next_attempt_at})


def note_refusal(tx: Tx, key: str, error: str) -> None:
    """It was not tried: no attempt."""
    tx.execute(NOTE_REFUSAL, {"key": key, "error": error})


def delete_pending(tx: Tx, key: str) -> None:
    tx.execute(DELETE_PENDING, {"key": key})


def find_fact(tx: Tx, key: str) -> Fact | None:
    row = tx.row(SELECT_FACT, {"key": key})
    return _fact(row) if row else None


def all_facts(tx: Tx) -> list[Fact]:
    """The oldest first."""
    return [_fact(row) for row in tx.rows(SELECT_FACTS)]


def add_fact(tx: Tx, fact: Fact) -> None:
    """One more end; the oldest go when there are too many."""
    tx.execute(DROP_OLDEST_FACTS, {"kept": HISTORY_MOST - 1})
    tx.execute(
        ADD_FACT,
        {
            "key": fact.key,
            "payload_hash": fact.payload_hash,
            "owner": fact.owner,
            "session_hash": fact.session_hash,
            "state": fact.state,
            "code": fact.code,
            "outcome": fact.outcome,
            "attempts": fact.attempts,
            "queued_at": fact.queued_at,
            "deadline": fact.deadline,
            "retired_at": fact.retired_at,
            "format": FORMAT,
        },
    )
