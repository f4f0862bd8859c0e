"""Table `turns`: runs of agents, fenced by both epochs."""

from dataclasses import dataclass
from typing import Any

from channels.ids import OwnerEpoch, ReservationId, SessionId, StartEpoch, TurnId, UserId
from channels.store.tx import Tx

_TURN = (
    "turn_id, cause, cause_id, session_id, sender_user_id, state, start_epoch, owner_epoch, stop_requested, outcome,"
    " queued_at, entered_at, ended_at"
)
INSERT_TURN = """
INSERT INTO turns (turn_id, cause, cause_id, session_id, sender_user_id, state, start_epoch, owner_epoch, queued_at,
                   reservation)
VALUES (:turn_id, :cause, :cause_id, :session_id, :sender_user_id, 'queued', 1, :owner_epoch, :now, :reservation)
"""
SELECT_TURN = f"SELECT {_TURN} FROM turns WHERE turn_id = :turn_id"
SELECT_TURN_BY_CAUSE = f"SELECT {_TURN} FROM turns WHERE cause = :cause AND cause_id = :cause_id"
SELECT_UNKNOWN = f"SELECT {_TURN} FROM turns WHERE state = 'unknown' ORDER BY seq LIMIT :limit"
SELECT_OPEN_OF_SESSION = f"""
SELECT {_TURN} FROM turns WHERE session_id = :session_id AND state IN ('queued', 'entered') ORDER BY seq
"""
SELECT_RUNNABLE = f"""
WITH ready AS (
  SELECT * FROM turns AS mine WHERE state = 'queued' AND owner_epoch = :owner_epoch AND NOT EXISTS (
    SELECT 1 FROM turns AS other WHERE other.session_id = mine.session_id AND other.state IN ('queued', 'entered')
    AND other.seq < mine.seq))
SELECT {_TURN} FROM ready
ORDER BY row_number() OVER (PARTITION BY coalesce(sender_user_id, '') ORDER BY seq)
       + (SELECT count(*) FROM turns AS running WHERE running.state = 'entered'
          AND running.sender_user_id IS ready.sender_user_id),
         (SELECT coalesce(max(served.entered_at), 0) FROM turns AS served
          WHERE served.sender_user_id IS ready.sender_user_id), seq LIMIT :limit
"""
COUNT_WAITING = "SELECT count(*) FROM turns WHERE session_id = :session_id AND state = 'queued'"
SELECT_OPEN_OF_PERSON = f"""
SELECT {_TURN} FROM turns WHERE sender_user_id = :user_id AND state IN ('queued', 'entered')
ORDER BY state = 'entered' DESC, seq DESC
"""
HAS_WAITED = """
SELECT 1 FROM turns AS mine JOIN turns AS other ON other.session_id = mine.session_id AND other.seq < mine.seq
WHERE mine.turn_id = :turn_id AND (other.ended_at IS NULL OR other.ended_at >= mine.queued_at) LIMIT 1
"""
HAS_TURNS = "SELECT 1 FROM turns WHERE session_id = :session_id LIMIT 1"
IS_OPEN = "SELECT 1 FROM turns WHERE session_id = :session_id AND state <> 'ended' LIMIT 1"
SELECT_IDS_OF_SESSION = "SELECT turn_id FROM turns WHERE session_id = :session_id"
COUNT_BUSY_SESSIONS = "SELECT count(DISTINCT session_id) FROM turns WHERE state IN ('queued', 'entered')"
IS_BUSY = "SELECT 1 FROM turns WHERE session_id = :session_id AND state IN ('queued', 'entered') LIMIT 1"
ENTER = """
UPDATE turns SET state = 'entered', entered_at = :now
WHERE turn_id = :turn_id AND state = 'queued' AND start_epoch = :start_epoch AND owner_epoch = :owner_epoch
AND stop_requested = 0
"""
END = """
UPDATE turns SET state = 'ended', outcome = CASE stop_requested WHEN 1 THEN 'stopped' ELSE :outcome END, ended_at = :now
WHERE turn_id = :turn_id AND state <> 'ended' AND start_epoch = :start_epoch AND owner_epoch = :owner_epoch
"""
REQUEST_STOP = "UPDATE turns SET stop_requested = 1 WHERE turn_id = :turn_id AND state <> 'ended'"
REOWN_QUEUED = """
UPDATE turns SET owner_epoch = :epoch, start_epoch = start_epoch + 1 WHERE state = 'queued' AND owner_epoch < :epoch
"""
INTERRUPT_QUEUED = """
UPDATE turns SET state = 'unknown', start_epoch = start_epoch + 1 WHERE state = 'queued' AND owner_epoch < :epoch
"""
INTERRUPT = """
UPDATE turns SET state = 'unknown', start_epoch = start_epoch + 1 WHERE turn_id = :turn_id AND state = 'queued'
"""
SELECT_QUEUED = "SELECT turn_id FROM turns WHERE state = 'queued'"
DEPOSE_ENTERED = """
UPDATE turns SET state = 'unknown', start_epoch = start_epoch + 1 WHERE state = 'entered' AND owner_epoch < :epoch
"""
ADOPT = """
UPDATE turns SET owner_epoch = :epoch, start_epoch = start_epoch + 1
WHERE turn_id = :turn_id AND state = 'unknown' AND owner_epoch < :epoch
"""
SELECT_RECENT = f"SELECT {_TURN}, seq FROM turns WHERE seq < :before ORDER BY seq DESC LIMIT :limit"
COUNT_BY_STATE = "SELECT state, count(*) FROM turns WHERE state <> 'ended' GROUP BY state"
COUNT_BY_OUTCOME = "SELECT outcome, count(*) FROM turns WHERE state = 'ended' GROUP BY outcome"


@dataclass(frozen=True, slots=True)
class Turn:
    turn_id: TurnId
    cause: str
    cause_id: str
    session_id: SessionId
    sender_user_id: UserId | None
    state: str
    start_epoch: StartEpoch
    owner_epoch: OwnerEpoch
    stop_requested: bool
    outcome: str | None
    queued_at: int
    entered_at: int | None
    ended_at: int | None


def _turn(row: tuple[Any, ...]) -> Turn:
    values = list(row)
    values[8] = bool(values[8])
    return Turn(*values)


def insert_turn(
    tx: Tx,
    turn_id: TurnId,
    cause: str,
    cause_id: str,
    session_id: SessionId,
    sender_user_id: UserId | None,
    epoch: OwnerEpoch,
    now: int,
    *,
    reservation: ReservationId | None = None,
) -> None:
    """A queued turn under start epoch 1, to be reserved for in the same commit. Raises sqlite3.IntegrityError for a
    cause that has its turn already."""
    tx.execute(
        INSERT_TURN,
        {
            "turn_id": turn_id,
            "cause": cause,
            "cause_id": cause_id,
            "session_id": session_id,
            "sender_user_id": sender_user_id,
            "owner_epoch": epoch,
            "now": now,
            "reservation": reservation,
        },
    )


def find_turn(tx: Tx, turn_id: TurnId) -> Turn | None:
    row = tx.row(SELECT_TURN, {"turn_id": turn_id})
    return _turn(row) if row else None


def find_turn_by_cause(tx: Tx, cause: str, cause_id: str) -> Turn | None:
    row = tx.row(SELECT_TURN_BY_CAUSE, {"cause": cause, "cause_id": cause_id})
    return _turn(row) if row else None


def runnable_turns(tx: Tx, epoch: OwnerEpoch, limit: int) -> list[Turn]:
    """The first queued turn of every session that has none entered. Round robin by person: who has fewer turns running
    or before this one in the list comes first, then who was served longest ago, then who came first. So nobody waits
    for all of another's, however few may run at once."""
    return [_turn(row) for row in tx.rows(SELECT_RUNNABLE, {"owner_epoch": epoch, "limit": limit})]


def count_waiting(tx: Tx, session_id: SessionId) -> int:
    """How many turns of this session are queued."""
    row = tx.row(COUNT_WAITING, {"session_id": session_id})
    return int(row[0]) if row else 0


def unknown_turns(tx: Tx, limit: int) -> list[Turn]:
    return [_turn(row) for row in tx.rows(SELECT_UNKNOWN, {"limit": limit})]


def open_turns_of_session(tx: Tx, session_id: SessionId) -> list[Turn]:
    """Queued and entered turns in order."""
    return [_turn(row) for row in tx.rows(SELECT_OPEN_OF_SESSION, {"session_id": session_id})]


def open_turns_of_person(tx: Tx, user_id: UserId) -> list[Turn]:
    """Running turns first, then waiting ones, newest first."""
    return [_turn(row) for row in tx.rows(SELECT_OPEN_OF_PERSON, {"user_id": user_id})]


def recent_turns(tx: Tx, before: int, limit: int) -> list[tuple[int, Turn]]:
    """Turns with their place in the order of queueing, newest first, from behind place `before` on."""
    rows = tx.rows(SELECT_RECENT, {"before": before, "limit": limit})
    return [(row[-1], _turn(row[:-1])) for row in rows]


def has_waited(tx: Tx, turn_id: TurnId) -> bool:
    """Whether another turn of the session was still open when this one was queued: its card says so."""
    return tx.row(HAS_WAITED, {"turn_id": turn_id}) is not None


def has_turns(tx: Tx, session_id: SessionId) -> bool:
    """Whether anything was ever asked in this session."""
    return tx.row(HAS_TURNS, {"session_id": session_id}) is not None


def is_session_busy(tx: Tx, session_id: SessionId) -> bool:
    return tx.row(IS_BUSY, {"session_id": session_id}) is not None


def is_session_open(tx: Tx, session_id: SessionId) -> bool:
    """Whether any turn of this session has not come to its end, those that wait for repair included."""
    return tx.row(IS_OPEN, {"session_id": session_id}) is not None


def turns_of_session(tx: Tx, session_id: SessionId) -> list[TurnId]:
    """Every turn that this session ever had."""
    return [TurnId(row[0]) for row in tx.rows(SELECT_IDS_OF_SESSION, {"session_id": session_id})]


def count_busy_sessions(tx: Tx) -> int:
    """How many sessions have a turn that runs or waits."""
    row = tx.row(COUNT_BUSY_SESSIONS)
    return int(row[0]) if row else 0


def enter_turn(tx: Tx, turn_id: TurnId, start_epoch: StartEpoch, epoch: OwnerEpoch, now: int) -> bool:
    """queued → entered, only for exactly this start of this owner and unless a stop was asked for."""
    values = {"turn_id": turn_id, "start_epoch": start_epoch, "owner_epoch": epoch, "now": now}
    return tx.execute(ENTER, values) == 1


def end_turn(tx: Tx, turn_id: TurnId, start_epoch: StartEpoch, epoch: OwnerEpoch, outcome: str, now: int) -> bool:
    """The turn has an outcome (stopped, if a stop was asked for). Guarded by both epochs."""
    values = {"turn_id": turn_id, "start_epoch": start_epoch, "owner_epoch": epoch, "outcome": outcome, "now": now}
    return tx.execute(END, values) == 1


def request_stop(tx: Tx, turn_id: TurnId) -> bool:
    return tx.execute(REQUEST_STOP, {"turn_id": turn_id}) == 1


def reown_queued(tx: Tx, epoch: OwnerEpoch) -> int:
    """Queued turns of older owners start again under the next start epoch."""
    return tx.execute(REOWN_QUEUED, {"epoch": epoch})


def interrupt_queued(tx: Tx, epoch: OwnerEpoch) -> int:
    """Queued turns of older owners are not started again: they will end as interrupted."""
    return tx.execute(INTERRUPT_QUEUED, {"epoch": epoch})


def queued_turns(tx: Tx) -> list[TurnId]:
    return [TurnId(row[0]) for row in tx.rows(SELECT_QUEUED)]


def interrupt(tx: Tx, turn_id: TurnId) -> bool:
    """A queued turn that is not to be started: it will end as interrupted."""
    return tx.execute(INTERRUPT, {"turn_id": turn_id}) == 1


def depose_entered(tx: Tx, epoch: OwnerEpoch) -> int:
    """Turns that an older owner had entered are unknown from now on: its lease holds no more, and their sessions take
    new turns at once."""
    return tx.execute(DEPOSE_ENTERED, {"epoch": epoch})


def adopt_unknown(tx: Tx, turn_id: TurnId, epoch: OwnerEpoch) -> bool:
    """Take an unknown turn of an older owner over, so that this owner may end it."""
    return tx.execute(ADOPT, {"turn_id": turn_id, "epoch": epoch}) == 1


def count_turns(tx: Tx) -> dict[str, int]:
    """How many turns per open state, and per outcome."""
    counts = dict(tx.rows(COUNT_BY_STATE))
    return counts | dict(tx.rows(COUNT_BY_OUTCOME))
