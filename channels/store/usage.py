"""Table `usage`: what every turn has really used, per person, session, agent and model. Booked once, never changed."""

from dataclasses import dataclass
from typing import Any, Literal

from channels.ids import ReservationId, SessionId, TurnId, UserId
from channels.store.tx import Tx

By = Literal["user", "agent", "model"]

_ROW = (
    "turn_id, reservation_id, user_id, session_id, agent, model, outcome, turns, input_tokens, output_tokens,"
    " cached_tokens, day_overrun, month_overrun, late, queued_at, ended_at, booked_at"
)
_SUM = (
    "coalesce(sum(turns), 0), count(DISTINCT session_id), coalesce(sum(input_tokens), 0),"
    " coalesce(sum(output_tokens), 0), coalesce(sum(cached_tokens), 0)"
)
INSERT_USAGE = f"""
INSERT INTO usage ({_ROW}) VALUES (:turn_id, :reservation_id, :user_id, :session_id, :agent, :model, :outcome, :turns,
        :input_tokens, :output_tokens, :cached_tokens, :day_overrun, :month_overrun, :late, :queued_at, :ended_at,
        :booked_at)
"""
SELECT_USAGE_OF_TURN = f"SELECT {_ROW} FROM usage WHERE turn_id = :turn_id"
SUM_OF_PERSON = f"SELECT {_SUM} FROM usage WHERE user_id = :user_id AND queued_at >= :since"
SUM_OF_ALL = f"SELECT {_SUM} FROM usage WHERE queued_at >= :since"
SUMS_BY_USER = f"SELECT user_id, {_SUM} FROM usage WHERE queued_at >= :since GROUP BY user_id"
SUMS_BY_AGENT = f"SELECT agent, {_SUM} FROM usage WHERE queued_at >= :since GROUP BY agent"
SUMS_BY_MODEL = f"SELECT model, {_SUM} FROM usage WHERE queued_at >= :since GROUP BY model"
SESSIONS_OF_PERSON = "SELECT DISTINCT session_id FROM usage WHERE user_id = :user_id AND queued_at >= :since"
SESSIONS_OF_ALL = "SELECT DISTINCT session_id FROM usage WHERE queued_at >= :since"
_SUMS: dict[By, str] = {
    "user": SUMS_BY_USER,
    "agent": SUMS_BY_AGENT,
    "model": SUMS_BY_MODEL,
}


@dataclass(frozen=True, slots=True)
class Booked:
    """What one turn has used. `reservation_id` None: from before there were reservations."""

    turn_id: TurnId
    reservation_id: ReservationId | None
    user_id: UserId
    session_id: SessionId
    agent: str
    model: str
    outcome: str
    turns: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    day_overrun: int
    month_overrun: int
    late: bool
    queued_at: int
    ended_at: int
    booked_at: int


@dataclass(frozen=True, slots=True)
class Used:
    """A sum: turns that began, in how many sessions, and tokens (cached ones are part of the input)."""

    turns: int = 0
    sessions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def plus(self, other: "Used") -> "Used":
        """Both together; sessions that stand in both are counted twice."""
        return Used(
            self.turns + other.turns,
            self.sessions + other.sessions,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


def _booked(row: tuple[Any, ...]) -> Booked:
    values = list(row)
    values[13] = bool(values[13])
    return Booked(*values)


def insert_usage(tx: Tx, booked: Booked) -> None:
    """Raises sqlite3.IntegrityError for a turn that is booked already."""
    names = [name.strip() for name in _ROW.split(",")]
    tx.execute(INSERT_USAGE, {name: getattr(booked, name) for name in names} | {"late": int(booked.late)})


def find_usage(tx: Tx, turn_id: TurnId) -> Booked | None:
    row = tx.row(SELECT_USAGE_OF_TURN, {"turn_id": turn_id})
    return _booked(row) if row else None


def sum_of_person(tx: Tx, user_id: UserId, since: int = 0) -> Used:
    """Everything that was asked since then (the turn's `queued_at`) for this person."""
    row = tx.row(SUM_OF_PERSON, {"user_id": user_id, "since": since})
    return Used(*row) if row else Used()


def sum_of_all(tx: Tx, since: int = 0) -> Used:
    row = tx.row(SUM_OF_ALL, {"since": since})
    return Used(*row) if row else Used()


def sessions_of(tx: Tx, user_id: UserId | None, since: int) -> set[SessionId]:
    """In which sessions something was used since then, by this person or (None) by anybody."""
    if user_id is None:
        rows = tx.rows(SESSIONS_OF_ALL, {"since": since})
    else:
        rows = tx.rows(SESSIONS_OF_PERSON, {"user_id": user_id, "since": since})
    return {SessionId(row[0]) for row in rows}


def sums_by(tx: Tx, by: By, since: int = 0) -> dict[str, Used]:
    """What was asked since then, by person, agent or model ("" where nobody said which)."""
    return {row[0]: Used(*row[1:]) for row in tx.rows(_SUMS[by], {"since": since})}
