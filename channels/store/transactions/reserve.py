"""Reserving: what a turn may cost is held before it exists, in the commit that admits it."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from channels.errors import QuotaExceeded
from channels.ids import OpenId, OwnerEpoch, ReservationId, SessionId, TurnId, UserId
from channels.rules import quota
from channels.rules.access import Actor
from channels.rules.quota import Limits, QuotaPolicy, Short, Window
from channels.rules.settlement import Receipt, session_hash
from channels.store import access, quotas, reservations, turns
from channels.store.quotas import LimitRow, WindowBalance
from channels.store.tx import Tx

NOBODY = UserId("")  # turns that stand for no person have one quota together


@dataclass(frozen=True, slots=True)
class Reserved:
    """One turn and these tokens are held for it, in its day and its month."""

    reservation_id: ReservationId
    tokens: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What a person may use now, and what of it is held and used."""

    limits: Limits
    windows: tuple[WindowBalance, ...]


class Keep(Enum):
    """Leave a limit as it was set."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


@dataclass(frozen=True, slots=True)
class LimitChange:
    """Per limit: KEEP, None (as the settings say), 0 (no limit) or a number."""

    turns_per_day: int | Keep | None = KEEP
    turns_per_month: int | Keep | None = KEEP
    tokens_per_day: int | Keep | None = KEEP
    tokens_per_month: int | Keep | None = KEEP


def limits_of(tx: Tx, user_id: UserId, policy: QuotaPolicy) -> Limits:
    """What holds for this person: what an admin has set, else what the settings say."""
    found, default = quotas.find_limits(tx, user_id), policy.limits
    if found is None:
        return default
    return Limits(
        _merged(found[0], default.turns_per_day),
        _merged(found[1], default.turns_per_month),
        _merged(found[2], default.tokens_per_day),
        _merged(found[3], default.tokens_per_month),
    )


def know_person(tx: Tx, user_id: UserId, open_id: OpenId) -> None:
    """The first event with both ids: what an admin has set for the open_id goes on holding for the person. What was
    used under it stays booked under it."""
    if open_id and user_id and not user_id.startswith("open:"):
        quotas.move_to_user_id(tx, user_id, UserId(f"open:{open_id}"))


def find_shortage(tx: Tx, user_id: UserId, policy: QuotaPolicy, now: int) -> Short | None:
    """Why one more turn of this person could not be reserved; writes nothing. Of several reasons the one that lasts
    longest."""
    limits = limits_of(tx, user_id, policy)
    if limits == Limits():
        return None
    places = _places(tx, user_id, limits, policy, now)
    return _shortage([place.balance for place in places], quota.tokens_to_reserve(policy, limits))


def reserve_turn(
    tx: Tx, turn_id: TurnId, session_id: SessionId, user_id: UserId, policy: QuotaPolicy, now: int
) -> Reserved | Short:
    """Hold one turn and the estimate of its tokens, in the commit that makes the turn (whose row is there already).
    Short: nothing was written. The caller must then not commit the turn."""
    limits = limits_of(tx, user_id, policy)
    tokens, places = quota.tokens_to_reserve(policy, limits), _places(tx, user_id, limits, policy, now)
    short = _shortage([place.balance for place in places], tokens)
    if short is not None:
        return short
    reservation_id = reservations.reservation_of(turn_id)
    for place in places:
        window = place.balance.window
        _put_window(tx, user_id, place, limits)
        quotas.hold(tx, user_id, window.period, window.starts_at, reservation_id, 1, tokens)
    day, month = (place.balance.window.starts_at for place in places)
    receipt = Receipt(reservation_id, 1, tokens, day, month, now, now + policy.ttl_ms)
    reservations.insert_reservation(tx, receipt, turn_id, user_id, session_hash(session_id))
    return Reserved(reservation_id, tokens)


def insert_reserved_turn(
    tx: Tx,
    turn_id: TurnId,
    cause: str,
    cause_id: str,
    session_id: SessionId,
    sender_user_id: UserId | None,
    policy: QuotaPolicy,
    epoch: OwnerEpoch,
    now: int,
) -> None:
    """A queued turn with its reservation. The caller has asked `find_shortage` in this commit; raises QuotaExceeded
    where it has not, and nothing of the commit stays."""
    reservation_id = reservations.reservation_of(turn_id)
    turns.insert_turn(tx, turn_id, cause, cause_id, session_id, sender_user_id, epoch, now, reservation=reservation_id)
    held = reserve_turn(tx, turn_id, session_id, sender_user_id or NOBODY, policy, now)
    if isinstance(held, Short):
        raise QuotaExceeded(f"{held.unit} per {held.period}: {held.limit}")


def set_limits(tx: Tx, user_id: UserId, change: LimitChange, actor: Actor, policy: QuotaPolicy, now: int) -> Limits:
    """What an admin sets for one person, in force at once and in the audit log; returns what holds now. The caller has
    seen that the actor is one."""
    before = quotas.find_limits(tx, user_id) or (None, None, None, None)
    row = LimitRow(
        user_id,
        _changed(change.turns_per_day, before[0]),
        _changed(change.turns_per_month, before[1]),
        _changed(change.tokens_per_day, before[2]),
        _changed(change.tokens_per_month, before[3]),
        actor.user_id,
        now,
    )
    quotas.put_limits(tx, row)
    values = (row.turns_per_day, row.turns_per_month, row.tokens_per_day, row.tokens_per_month)
    words = " ".join("default" if one is None else str(one) for one in values)
    access.add_audit(tx, actor, "quota.set", user_id, words, now)
    limits = limits_of(tx, user_id, policy)
    for place in _places(tx, user_id, limits, policy, now):
        if place.found is not None:
            _put_window(tx, user_id, place, limits)
    return limits


def read_standing(tx: Tx, user_id: UserId, policy: QuotaPolicy, now: int) -> Standing:
    """For people to see; writes nothing."""
    limits = limits_of(tx, user_id, policy)
    return Standing(limits, tuple(place.balance for place in _places(tx, user_id, limits, policy, now)))


def list_limits(tx: Tx) -> list[LimitRow]:
    """Everybody for whom an admin has set something."""
    return quotas.all_limits(tx)


@dataclass(frozen=True, slots=True)
class _Place:
    """A window as it is stored, None where nothing is, and as it would be with the limits of this moment."""

    found: WindowBalance | None
    balance: WindowBalance


def _places(tx: Tx, user_id: UserId, limits: Limits, policy: QuotaPolicy, now: int) -> list[_Place]:
    """The day and the month of this moment."""
    windows = [quota.window_of(period, now, policy.zone) for period in quota.PERIODS]
    return [_place(quotas.find_window(tx, user_id, one.period, one.starts_at), one, limits) for one in windows]


def _place(found: WindowBalance | None, window: Window, limits: Limits) -> _Place:
    stored = found or WindowBalance(window, quota.Balance(), quota.Balance())
    turns, tokens = limits.of(window.period)
    return _Place(
        found,
        WindowBalance(
            stored.window,
            replace(stored.turns, limit=quota.effective_limit(turns, stored.turns)),
            replace(stored.tokens, limit=quota.effective_limit(tokens, stored.tokens)),
        ),
    )


def _shortage(balances: list[WindowBalance], tokens: int) -> Short | None:
    found = [quota.find_short(one.window, one.turns, one.tokens, tokens) for one in balances]
    return max((short for short in found if short), key=lambda short: short.ends_at, default=None)


def _put_window(tx: Tx, user_id: UserId, place: _Place, limits: Limits) -> None:
    """The window's row, with these limits."""
    if place.found is None:
        quotas.insert_window(tx, user_id, place.balance.window, limits)
    elif place.found != place.balance:
        turns, tokens = place.balance.turns.limit, place.balance.tokens.limit
        quotas.set_window_limits(tx, user_id, place.balance.window, turns, tokens)


def _merged(own: int | None, default: int | None) -> int | None:
    return default if own is None else own or None


def _changed(value: int | Keep | None, before: int | None) -> int | None:
    return before if isinstance(value, Keep) else value
