"""Tables `settlement_control` and `settlement_stops`: generation, the user's pause, and which sessions are stopped.

A file without the tables, or without a row of control, reads as generation 1, not paused, nothing stopped; nothing is
written to make it so.
"""

from dataclasses import dataclass

from channels.rules.settlement import FIRST_GENERATION, FORMAT, STOPS_MOST
from channels.store.tx import Tx

HAS_CONTROL_TABLES = """
SELECT count(*) FROM sqlite_schema
WHERE type = 'table' AND name IN ('settlement_control', 'settlement_stops', 'settlement_pending', 'settlement_history')
"""
SELECT_CONTROL = "SELECT format, generation, user_paused FROM settlement_control WHERE one = 1"
ADD_CONTROL = """
INSERT INTO settlement_control (one, format, generation, user_paused, paused_since, changed_at)
VALUES (1, :format, :generation, :user_paused, CASE :user_paused WHEN 1 THEN :generation END, :now)
ON CONFLICT (one) DO UPDATE SET generation = excluded.generation, user_paused = excluded.user_paused,
  paused_since = CASE excluded.user_paused WHEN 1 THEN coalesce(paused_since, excluded.generation) END,
  changed_at = excluded.changed_at
"""
COUNT_UNREADABLE_STOPS = """
SELECT count(*), coalesce(sum(format <> :format OR length(session_hash) <> 64 OR length(reason) > 64), 0)
FROM settlement_stops
"""
SELECT_STOPS = (
    "SELECT session_hash, reason, generation, stopped_at FROM settlement_stops ORDER BY stopped_at, session_hash"
)
IS_STOPPED = "SELECT 1 FROM settlement_stops WHERE session_hash = :session_hash"
INSERT_STOP = """
INSERT INTO settlement_stops (session_hash, format, reason, generation, stopped_at)
VALUES (:session_hash, :format, :reason, :generation, :now)
"""
DELETE_STOP = "DELETE FROM settlement_stops WHERE session_hash = :session_hash"


@dataclass(frozen=True, slots=True)
class Control:
    generation: int = FIRST_GENERATION
    user_paused: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """A tombstone: this session never settles again. `generation`: the one that the stop made."""

    session_hash: str
    reason: str
    generation: int
    stopped_at: int


def has_tables(tx: Tx) -> bool:
    """False on a file from before there were settlements."""
    row = tx.row(HAS_CONTROL_TABLES)
    return row is not None and row[0] == 4


def read_control(tx: Tx) -> Control | None:
    """None: a row in a format that this program does not know."""
    row = tx.row(SELECT_CONTROL)
    if row is None:
        return Control()
    return Control(row[1], bool(row[2])) if row[0] == FORMAT else None


def are_stops_readable(tx: Tx) -> bool:
    """Whether every stop has a known format and there are no more than there may be."""
    row = tx.row(COUNT_UNREADABLE_STOPS, {"format": FORMAT})
    return row is not None and row[0] <= STOPS_MOST and row[1] == 0


def set_control(tx: Tx, control: Control, now: int) -> None:
    """Raises sqlite3.IntegrityError unless the generation rises."""
    values = {"format": FORMAT, "generation": control.generation, "user_paused": int(control.user_paused), "now": now}
    tx.execute(ADD_CONTROL, values)


def leap_generation(tx: Tx, count: int, now: int) -> None:
    """So far ahead that no generation which somebody has seen comes up again. A row that cannot be read is left."""
    control = read_control(tx)
    if control is not None:
        set_control(tx, Control(control.generation + count, control.user_paused), now)


def read_stops(tx: Tx) -> list[Stop]:
    """The oldest first."""
    return [Stop(*row) for row in tx.rows(SELECT_STOPS)]


def is_stopped(tx: Tx, session_hash: str) -> bool:
    return tx.row(IS_STOPPED, {"session_hash": session_hash}) is not None


def insert_stop(tx: Tx, stop: Stop) -> None:
    """Raises sqlite3.IntegrityError when it is there already, or there is no room."""
    values = {"session_hash": stop.session_hash, "format": FORMAT, "reason": stop.reason}
    tx.execute(INSERT_STOP, values | {"generation": stop.generation, "now": stop.stopped_at})


def delete_stop(tx: Tx, session_hash: str) -> None:
    """Forget a stop that binds nothing any more. Raises sqlite3.IntegrityError when it does."""
    tx.execute(DELETE_STOP, {"session_hash": session_hash})
