"""Settlements as all operations see them: the file that can be read, the frozen item, and how one ends."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import ParamSpec, TypeVar

from channels.rules import settlement as rules
from channels.rules.settlement import Code, Item, Terminal
from channels.store import evidence, owners, releases, reservations, settlement_control, settlements, turns
from channels.store.evidence import Evidence
from channels.store.releases import Release
from channels.store.reservations import Reservation
from channels.store.settlement_control import Control
from channels.store.settlements import Fact, Measure, PendingRow, Unreadable
from channels.store.tx import Tx

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refused:
    """It was not done. `fact`: this very refusal has ended it, or it had ended otherwise. `settlement_failed` without
    a fact: the trial came to nothing and counts as an attempt, the next may come at `next_attempt_at`."""

    code: Code
    generation: int
    key: str | None = None
    fact: Fact | None = None
    attempts: int = 0
    deadline: int | None = None
    next_attempt_at: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """Control and sizes of a file that can be read."""

    control: Control
    measure: Measure


def refusing_unreadable(operation: Callable[P, T]) -> Callable[P, T | Refused]:
    """An operation that meets a row which nobody can read is refused. It has written nothing by then."""

    @wraps(operation)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T | Refused:
        try:
            return operation(*args, **kwargs)
        except Unreadable as error:
            return Refused(Code.INVALID_OUTBOX, 0, str(error))

    return guarded


def open_outbox(tx: Tx) -> Opened | Refused:
    """Control and sizes, or the refusal of a file that cannot be read."""
    control, measured = settlement_control.read_control(tx), settlements.measure(tx)
    readable = measured.readable and measured.bytes <= rules.TOTAL_BYTES
    if control is None or not readable or not settlement_control.are_stops_readable(tx):
        return Refused(Code.INVALID_OUTBOX, 0)
    return Opened(control, measured)


def find_fact(tx: Tx, key: str) -> Fact | None:
    """How the settlement of this key ended: from the history, and for ever from what was released or is held. None: it
    waits, or there is none."""
    fact = settlements.find_fact(tx, key)
    if fact is not None:
        return with_way(tx, fact)
    release = releases.find_by_settlement_key(tx, key)
    reservation = (
        reservations.find_reservation(tx, release.reservation_id) if release else reservations.find_by_key(tx, key)
    )
    if reservation is None or reservation.settlement == "pending":
        return None
    return _remembered(tx, reservation, key, release)


def freeze(tx: Tx, reservation: Reservation, found: Evidence) -> Item:
    """The coordinates of a settlement, from what the file knows of the turn."""
    turn, meta = turns.find_turn(tx, reservation.turn_id), owners.read_meta(tx)
    assert turn is not None and meta is not None
    receipt = reservation.receipt
    return Item(
        owner=found.said.agent,
        scope=rules.sha256_hex(reservation.user_id),
        environment=meta.db_uuid,
        session_hash=rules.session_hash(turn.session_id),
        turn_hash=rules.turn_hash(turn.turn_id),
        receipt=receipt,
        outcome=turn.outcome or "",
        evidence=found.ref,
        evidence_hash=found.hash,
        fingerprint=rules.fingerprint(receipt),
    )


def retire(tx: Tx, row: PendingRow, state: Terminal, code: Code, attempts: int, now: int) -> Fact:
    """It ends without having settled: what is held stays held, until the sweep."""
    reservations.end_settlement(tx, row.reservation_id, state)
    return write_end(tx, row, state, code, attempts, now)


def write_end(tx: Tx, row: PendingRow, state: Terminal, code: str, attempts: int, now: int) -> Fact:
    fact = Fact(
        key=row.key,
        payload_hash=row.payload_hash,
        owner=row.owner,
        session_hash=row.session_hash,
        state=state,
        code=code,
        outcome=row.item.outcome,
        attempts=attempts,
        queued_at=row.queued_at,
        deadline=row.deadline,
        retired_at=now,
    )
    settlements.delete_pending(tx, row.key)
    settlements.add_fact(tx, fact)
    return fact


def with_way(tx: Tx, fact: Fact) -> Fact:
    release = releases.find_by_settlement_key(tx, fact.key)
    return replace(fact, way=release.way) if release is not None else fact


def _remembered(tx: Tx, reservation: Reservation, key: str, release: Release | None) -> Fact:
    """A fact that the history has dropped, or that never stood there: its reservation was closed without it."""
    turn = turns.find_turn(tx, reservation.turn_id)
    queued_at = reservation.queued_at or reservation.reserved_at
    state = Terminal.SETTLED if reservation.settlement == "none" else Terminal(reservation.settlement)
    said = [each.said.agent for each in evidence.evidence_of(tx, reservation.reservation_id)]
    return Fact(
        key=key,
        payload_hash=reservation.payload_hash or (release.payload_hash if release else None) or "",
        owner=said[-1] if said else "",
        session_hash=reservation.session_hash or "",
        state=state,
        code="" if state is Terminal.SETTLED else f"settlement_{state}",
        outcome=(turn.outcome if turn else None) or "",
        attempts=0,
        queued_at=queued_at,
        deadline=rules.deadline_of(queued_at, reservation.expires_at),
        retired_at=reservation.released_at or queued_at,
        way=release.way if release else None,
    )
