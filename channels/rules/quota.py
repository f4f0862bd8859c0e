"""What a person may use, in turns and tokens, in a day and in a month. Pure.

A window is a calendar day or month of one time zone. It begins at the first moment of its date there, whatever the
clocks do: where midnight does not exist it begins with the first moment that does, where it comes twice with the first
of the two. So windows follow one another without a gap and never overlap, and a day may have 23 or 25 hours.

A turn reserves one turn and an estimate of tokens in both windows before it exists. Once it has ended, it gives back
what it did not use; what it used beyond the estimate comes out of what is free in each window, and what is beyond that
too is overrun: it stands in `usage` and in no window. A limit of None is no limit.
"""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

Period = Literal["day", "month"]
Unit = Literal["turns", "tokens"]
PERIODS: tuple[Period, Period] = ("day", "month")

TOKENS_PER_TURN = 8_000
RESERVATION_TTL_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Per window; None: no limit."""

    turns_per_day: int | None = None
    turns_per_month: int | None = None
    tokens_per_day: int | None = None
    tokens_per_month: int | None = None

    def of(self, period: Period) -> tuple[int | None, int | None]:
        """(turns, tokens) of one window."""
        if period == "day":
            return self.turns_per_day, self.tokens_per_day
        return self.turns_per_month, self.tokens_per_month


@dataclass(frozen=True, slots=True)
class QuotaPolicy:
    """The settings that reservations depend on. `limits` hold for everybody for whom an admin set no others."""

    limits: Limits = field(default_factory=Limits)
    tokens_per_turn: int = TOKENS_PER_TURN
    ttl_ms: int = RESERVATION_TTL_MS
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True)
class Window:
    """starts_at ≤ now < ends_at, in ms."""

    period: Period
    starts_at: int
    ends_at: int


@dataclass(frozen=True, slots=True)
class Balance:
    """One unit in one window: free + held + used = limit, or no limit at all."""

    limit: int | None = None
    held: int = 0
    used: int = 0

    @property
    def free(self) -> int | None:
        """None: without end."""
        return None if self.limit is None else self.limit - self.held - self.used


@dataclass(frozen=True, slots=True)
class Short:
    """Why a turn cannot be reserved: `limit` of this unit in this window is used or held up until `ends_at`."""

    unit: Unit
    period: Period
    limit: int
    used: int
    held: int
    ends_at: int


@dataclass(frozen=True, slots=True)
class Consumed:
    """What stays used in one window, and what went beyond everything."""

    used: int
    overrun: int


def window_of(period: Period, now: int, zone: tzinfo) -> Window:
    """The day or month that `now` (ms) lies in."""
    day = datetime.fromtimestamp(now / 1000, zone).date()
    if _first_ms(_next("day", day), zone) <= now:  # the clocks went back over midnight: the next day has begun
        day = _next("day", day)
    first = day if period == "day" else day.replace(day=1)
    return Window(period, _first_ms(first, zone), _first_ms(_next(period, first), zone))


def effective_limit(wanted: int | None, balance: Balance) -> int | None:
    """The limit that a window can have now: a lowered one stops at what is held and used."""
    return None if wanted is None else max(wanted, balance.held + balance.used)


def tokens_to_reserve(policy: QuotaPolicy, limits: Limits) -> int:
    """The estimate, or less where a limit is smaller: such a person may run one turn at a time."""
    smallest = [one for one in (limits.tokens_per_day, limits.tokens_per_month) if one is not None]
    return min([policy.tokens_per_turn, *smallest])


def find_short(window: Window, turns: Balance, tokens: Balance, tokens_wanted: int) -> Short | None:
    """What is lacking for one more turn in this window. A limit of nothing lets nothing in."""
    wanted: tuple[tuple[Unit, Balance, int], ...] = (("turns", turns, 1), ("tokens", tokens, max(1, tokens_wanted)))
    for unit, balance, count in wanted:
        if balance.limit is not None and balance.limit - balance.held - balance.used < count:
            return Short(unit, window.period, balance.limit, balance.used, balance.held, window.ends_at)
    return None


def consume(real: int, reserved: int, free: int | None) -> Consumed:
    """How much of what was really used a window can carry."""
    used = real if free is None else min(real, reserved + free)
    return Consumed(used, real - used)


def _next(period: Period, first: date) -> date:
    if period == "day":
        return first + timedelta(days=1)
    return date(first.year + first.month // 12, first.month % 12 + 1, 1)


def _first_ms(day: date, zone: tzinfo) -> int:
    """The first moment of a date. `fold=0` is the earlier of two midnights; for a midnight that does not exist it
    counts with the offset from before the gap, which gives the end of the gap."""
    return round(datetime(day.year, day.month, day.day, tzinfo=zone, fold=0).timestamp() * 1000)
