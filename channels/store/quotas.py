"""Tables `quotas` and `quota_limits`: what each person may use in each window, and what admins have set for one."""

from dataclasses import dataclass
from typing import Any

from channels.ids import ReservationId, UserId
from channels.rules.quota import Balance, Limits, Period, Window
from channels.store.tx import Tx

_LIMITS = "turns_per_day, turns_per_month, tokens_per_day, tokens_per_month"
_ROW = "starts_at, ends_at, turns_limit, turns_held, turns_used, tokens_limit, tokens_held, tokens_used"
SELECT_LIMITS = f"SELECT {_LIMITS} FROM quota_limits WHERE user_id = :user_id"
SELECT_ALL_LIMITS = f"SELECT user_id, {_LIMITS}, changed_by, changed_at FROM quota_limits ORDER BY user_id"
PUT_LIMITS = f"""
INSERT INTO quota_limits (user_id, {_LIMITS}, changed_by, changed_at)
VALUES (:user_id, :turns_per_day, :turns_per_month, :tokens_per_day, :tokens_per_month, :changed_by, :now)
ON CONFLICT (user_id) DO UPDATE SET turns_per_day = excluded.turns_per_day,
  turns_per_month = excluded.turns_per_month, tokens_per_day = excluded.tokens_per_day,
  tokens_per_month = excluded.tokens_per_month, changed_by = excluded.changed_by, changed_at = excluded.changed_at
"""
MOVE_LIMITS = """
UPDATE quota_limits SET user_id = :user_id WHERE user_id = :by_open_id
AND NOT EXISTS (SELECT 1 FROM quota_limits WHERE user_id = :user_id)
"""
SELECT_WINDOW = f"""
SELECT {_ROW} FROM quotas WHERE user_id = :user_id AND period = :period AND starts_at = :starts_at
"""
INSERT_WINDOW = """
INSERT INTO quotas (user_id, period, starts_at, ends_at, turns_limit, turns_free, turns_held, turns_used,
                    tokens_limit, tokens_free, tokens_held, tokens_used, move)
VALUES (:user_id, :period, :starts_at, :ends_at, :turns_limit, :turns_limit, 0, 0,
        :tokens_limit, :tokens_limit, 0, 0, 'limit')
"""
SET_WINDOW_LIMITS = """
UPDATE quotas SET turns_limit = :turns_limit, turns_free = :turns_limit - turns_held - turns_used,
                  tokens_limit = :tokens_limit, tokens_free = :tokens_limit - tokens_held - tokens_used, move = 'limit'
WHERE user_id = :user_id AND period = :period AND starts_at = :starts_at
"""
HOLD = """
UPDATE quotas SET turns_free = turns_free - :turns, turns_held = turns_held + :turns,
                  tokens_free = tokens_free - :tokens, tokens_held = tokens_held + :tokens,
                  move = 'reserve', moved_by = :reservation_id, moved_turns = :turns, moved_tokens = :tokens
WHERE user_id = :user_id AND period = :period AND starts_at = :starts_at
"""
GIVE_BACK = """
UPDATE quotas SET turns_free = turns_free + :turns - :turns_used, turns_held = turns_held - :turns,
                  turns_used = turns_used + :turns_used,
                  tokens_free = tokens_free + :tokens - :tokens_used, tokens_held = tokens_held - :tokens,
                  tokens_used = tokens_used + :tokens_used,
                  move = 'release', moved_by = :reservation_id, moved_turns = :turns, moved_tokens = :tokens
WHERE user_id = :user_id AND period = :period AND starts_at = :starts_at
"""
FORGET_WINDOWS = "DELETE FROM quotas WHERE ends_at < :before AND turns_held = 0 AND tokens_held = 0"


@dataclass(frozen=True, slots=True)
class LimitRow:
    """What was set for one person: None as the settings say, 0 no limit."""

    user_id: UserId
    turns_per_day: int | None
    turns_per_month: int | None
    tokens_per_day: int | None
    tokens_per_month: int | None
    changed_by: str
    changed_at: int


@dataclass(frozen=True, slots=True)
class WindowBalance:
    window: Window
    turns: Balance
    tokens: Balance


def _balance(period: Period, row: tuple[Any, ...]) -> WindowBalance:
    return WindowBalance(Window(period, row[0], row[1]), Balance(*row[2:5]), Balance(*row[5:8]))


def find_limits(tx: Tx, user_id: UserId) -> tuple[int | None, int | None, int | None, int | None] | None:
    """The four values as they were set: turns per day and month, tokens per day and month."""
    row = tx.row(SELECT_LIMITS, {"user_id": user_id})
    return (row[0], row[1], row[2], row[3]) if row else None


def all_limits(tx: Tx) -> list[LimitRow]:
    return [LimitRow(*row) for row in tx.rows(SELECT_ALL_LIMITS)]


def put_limits(tx: Tx, row: LimitRow) -> None:
    tx.execute(
        PUT_LIMITS,
        {
            "user_id": row.user_id,
            "turns_per_day": row.turns_per_day,
            "turns_per_month": row.turns_per_month,
            "tokens_per_day": row.tokens_per_day,
            "tokens_per_month": row.tokens_per_month,
            "changed_by": row.changed_by,
            "now": row.changed_at,
        },
    )


def move_to_user_id(tx: Tx, user_id: UserId, by_open_id: UserId) -> bool:
    """What was set for somebody under the one id holds under the other, unless something was set there too."""
    return tx.execute(MOVE_LIMITS, {"user_id": user_id, "by_open_id": by_open_id}) == 1


def find_window(tx: Tx, user_id: UserId, period: Period, starts_at: int) -> WindowBalance | None:
    row = tx.row(SELECT_WINDOW, {"user_id": user_id, "period": period, "starts_at": starts_at})
    return _balance(period, row) if row else None


def insert_window(tx: Tx, user_id: UserId, window: Window, limits: Limits) -> None:
    """A window in which nothing has happened yet."""
    turns_limit, tokens_limit = limits.of(window.period)
    values = {"user_id": user_id, "period": window.period, "starts_at": window.starts_at, "ends_at": window.ends_at}
    tx.execute(INSERT_WINDOW, values | {"turns_limit": turns_limit, "tokens_limit": tokens_limit})


def set_window_limits(
    tx: Tx, user_id: UserId, window: Window, turns_limit: int | None, tokens_limit: int | None
) -> None:
    """Other limits for a window. Raises sqlite3.IntegrityError below what is held and used."""
    values = {"user_id": user_id, "period": window.period, "starts_at": window.starts_at}
    tx.execute(SET_WINDOW_LIMITS, values | {"turns_limit": turns_limit, "tokens_limit": tokens_limit})


def hold(
    tx: Tx, user_id: UserId, period: Period, starts_at: int, reservation_id: ReservationId, turns: int, tokens: int
) -> bool:
    """free → held. Raises sqlite3.IntegrityError where less is free."""
    values = {"user_id": user_id, "period": period, "starts_at": starts_at, "reservation_id": reservation_id}
    return tx.execute(HOLD, values | {"turns": turns, "tokens": tokens}) == 1


@dataclass(frozen=True, slots=True)
class GiveBack:
    """What was held, and how much of it stays used."""

    turns: int
    tokens: int
    turns_used: int
    tokens_used: int


def give_back(
    tx: Tx, user_id: UserId, period: Period, starts_at: int, reservation_id: ReservationId, move: GiveBack
) -> bool:
    """held → used and free. What is used beyond what was held comes out of what is free."""
    values: dict[str, object] = {"user_id": user_id, "period": period, "starts_at": starts_at}
    values |= {"reservation_id": reservation_id, "turns": move.turns, "tokens": move.tokens}
    return tx.execute(GIVE_BACK, values | {"turns_used": move.turns_used, "tokens_used": move.tokens_used}) == 1


def forget_windows(tx: Tx, before: int) -> int:
    """Windows that ended before then, unless something is still held in them."""
    return tx.execute(FORGET_WINDOWS, {"before": before})
