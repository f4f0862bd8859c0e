"""The settlement contract: enqueue, status, apply; `settlement_control` has stop, pause and resume. One function, one
commit.

What each promises, and the order of the checks, stands in `rules.settlement`. A file whose rows this program cannot
read is refused by every one of them and left as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from channels.ids import ReservationId
from channels.rules import settlement as rules
from channels.rules.settlement import FIRST_GENERATION, Caller, Code, EvidenceRef, Item, Terminal
from channels.store import evidence, owners, releases, reservations, settlement_control, settlements
from channels.store.reservations import Reservation
from channels.store.settlement_control import Control, Stop
from channels.store.settlements import Fact, Measure, PendingRow
from channels.store.transactions.settle import Closing, NotSettled, complete, is_in_scope, key_of
from channels.store.transactions.settlement_facts import (
    Refused,
    find_fact,
    freeze,
    open_outbox,
    refusing_unreadable,
    retire,
    with_way,
    write_end,
)
from channels.store.tx import ConstraintFailed, Tx

Guard = Callable[[Tx, Item], str | None]  # None: allowed; else why not, in a word or two
ERROR_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Acked:
    """It is durable. `duplicate`: it was before; `fact`: it has even ended."""

    key: str
    payload_hash: str
    deadline: int
    queued_at: int
    generation: int
    duplicate: bool = False
    fact: Fact | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """It has ended as `fact` says; `duplicate`: it had before, and this is only read back."""

    fact: Fact
    duplicate: bool
    generation: int


@dataclass(frozen=True, slots=True)
class Pending:
    """One that waits. `state`: ready, waiting (for its next attempt), paused, overdue."""

    key: str
    payload_hash: str
    owner: str
    session_hash: str
    reservation_id: ReservationId
    queued_at: int
    deadline: int
    attempts: int
    next_attempt_at: int
    last_error: str
    state: str


@dataclass(frozen=True, slots=True)
class Status:
    """Everything that may be known from outside. `counts`: pending, and history by state; `bytes` of all rows."""

    pending: tuple[Pending, ...]
    history: tuple[Fact, ...]
    counts: dict[str, int]
    generation: int
    user_paused: bool
    stops: tuple[Stop, ...]
    bytes: int


NOTHING_YET = Status((), (), {"pending": 0}, FIRST_GENERATION, False, (), 0)  # a file from before


@refusing_unreadable
def enqueue(tx: Tx, reservation_id: ReservationId, ref: EvidenceRef, caller: Caller, now: int) -> Acked | Refused:
    """Make the settlement of an ended turn durable: from this commit on it is owed. Everything frozen is read here;
    the caller says only which reservation and which evidence. The same again is a duplicate, something else under the
    same key a conflict, and what was acknowledged is never overwritten."""
    opened = open_outbox(tx)
    if isinstance(opened, Refused):
        return opened
    control, measured = opened.control, opened.measure
    reservation = reservations.find_reservation(tx, reservation_id)
    if reservation is None:
        return Refused(Code.NO_RECEIPT, control.generation)
    key = key_of(tx, reservation_id)
    found = evidence.find_evidence(tx, reservation_id, ref)
    if found is None or not is_in_scope(tx, reservation, found):
        return Refused(Code.INVALID_EVIDENCE, control.generation, key)
    item = freeze(tx, reservation, found)
    text = rules.payload(item)
    payload_hash = rules.sha256_hex(text)
    before = _acked_before(tx, reservation, key, payload_hash, control)
    if before is not None:
        return before
    refused = _why_not_queued(tx, item, caller, control, measured, len(text.encode("utf-8")), now)
    if refused is not None:
        return Refused(refused, control.generation, key)
    deadline = rules.deadline_of(now, reservation.expires_at)
    row = PendingRow(key, payload_hash, item.owner, item.session_hash, reservation_id, item, now, deadline, 0, now, "")
    reservations.queue_settlement(tx, reservation_id, key, payload_hash, now)
    settlements.add_pending(tx, row)
    return Acked(key, payload_hash, deadline, now, control.generation)


@refusing_unreadable
def status(tx: Tx, now: int) -> Status | Refused:
    """What waits, what has ended, and who is stopped. Writes nothing, whatever the file is like."""
    if not settlement_control.has_tables(tx):
        return NOTHING_YET
    opened = open_outbox(tx)
    if isinstance(opened, Refused):
        return opened
    control, measured = opened.control, opened.measure
    pending = tuple(_shown(row, control, now) for row in settlements.all_pending(tx))
    facts = settlements.all_facts(tx)
    ways = releases.ways_of(tx, (fact.key for fact in facts))
    history = tuple(replace(fact, way=ways.get(fact.key)) for fact in facts)
    counts = {"pending": len(pending)} | {
        state.value: sum(fact.state is state for fact in history) for state in Terminal
    }
    stops = tuple(settlement_control.read_stops(tx))
    return Status(pending, history, counts, control.generation, control.user_paused, stops, measured.bytes)


@refusing_unreadable
def apply(
    tx: Tx, key: str, payload_hash: str, generation: int | None, caller: Caller, guard: Guard | None, now: int
) -> Settled | Refused:
    """Settle once: book and retire in this commit, or say why not. One that has ended is only read back, whatever else
    is true by now."""
    opened = open_outbox(tx)
    if isinstance(opened, Refused):
        return opened
    control = opened.control
    if not (rules.is_hash(key) and rules.is_hash(payload_hash)):
        return Refused(Code.INVALID_INPUT, control.generation)
    fact = find_fact(tx, key)
    if fact is not None:
        if fact.payload_hash != payload_hash:
            return Refused(Code.CONFLICT, control.generation, key, fact)
        return Settled(fact, True, control.generation)
    row = settlements.find_pending(tx, key)
    if row is None:
        return Refused(Code.UNKNOWN_KEY, control.generation, key)
    code = rules.decide_apply(_standing(tx, row, payload_hash, control), generation, caller, now)
    if code is not None:
        retired = retire(tx, row, rules.RETIRES[code], code, row.attempts, now) if code in rules.RETIRES else None
        return _refused(code, row, control, retired)
    reason = guard(tx, row.item) if guard is not None else None
    if reason is not None:
        settlements.note_refusal(tx, key, reason[:ERROR_CHARACTERS])
        return replace(_refused(Code.GUARD_REFUSED, row, control, None), reason=reason)
    return _try(tx, row, control, caller, now)


def _acked_before(
    tx: Tx, reservation: Reservation, key: str, payload_hash: str, control: Control
) -> Acked | Refused | None:
    """The answer for a key that is known already."""
    row = settlements.find_pending(tx, key)
    if row is not None:
        if row.payload_hash != payload_hash:
            return Refused(Code.CONFLICT, control.generation, key)
        return Acked(key, payload_hash, row.deadline, row.queued_at, control.generation, True)
    fact = find_fact(tx, key)
    if fact is None:
        return None
    if fact.payload_hash != payload_hash:
        other = Code.CONFLICT if reservation.state == "held" else Code.EVENT_CONFLICT
        return Refused(other, control.generation, key, fact)
    return Acked(key, payload_hash, fact.deadline, fact.queued_at, control.generation, True, fact)


def _why_not_queued(
    tx: Tx, item: Item, caller: Caller, control: Control, measured: Measure, size: int, now: int
) -> Code | None:
    checks = (
        (caller.owner is not None and caller.owner != item.owner, Code.UNKNOWN_KEY),
        (caller.epoch != owners.current_epoch(tx), Code.STALE_CONTROL),
        (settlement_control.is_stopped(tx, item.session_hash), Code.STOPPED),
        (control.user_paused, Code.PAUSED),
        (now >= item.receipt.expires_at, Code.RECEIPT_EXPIRED),
        (size > rules.ITEM_BYTES, Code.ITEM_TOO_LARGE),
        (measured.pending >= rules.PENDING_MOST, Code.OUTBOX_FULL),
        (measured.bytes + size > rules.TOTAL_BYTES, Code.OUTBOX_FULL),
    )
    return next((code for holds, code in checks if holds), None)


def _standing(tx: Tx, row: PendingRow, payload_hash: str, control: Control) -> rules.Standing:
    return rules.Standing(
        payload_matches=row.payload_hash == payload_hash,
        generation=control.generation,
        paused=control.user_paused,
        stopped=settlement_control.is_stopped(tx, row.session_hash),
        owner=row.owner,
        epoch=owners.current_epoch(tx),
        deadline=row.deadline,
        attempts=row.attempts,
    )


def _try(tx: Tx, row: PendingRow, control: Control, caller: Caller, now: int) -> Settled | Refused:
    """The trial: all of it, or an attempt and its code."""
    try:
        with tx.savepoint():
            _complete_frozen(tx, row, control, caller, now)
            fact = write_end(tx, row, Terminal.SETTLED, "", row.attempts, now)
    except NotSettled as error:
        return _count_failure(tx, row, control, error.code, error.why, now)
    except ConstraintFailed as error:  # the schema saw what no check here did: a defect, and no reason to spin
        return _count_failure(tx, row, control, Code.FAILED, str(error), now)
    return Settled(with_way(tx, fact), False, control.generation)


def _complete_frozen(tx: Tx, row: PendingRow, control: Control, caller: Caller, now: int) -> None:
    """Settle by what was frozen, and only if it is still so."""
    item = row.item
    reservation = reservations.find_reservation(tx, item.receipt.reservation_id)
    if reservation is None:
        raise NotSettled(Code.NO_RECEIPT, "nothing is reserved")
    if rules.fingerprint(reservation.receipt) != item.fingerprint:
        raise NotSettled(Code.RECEIPT_CHANGED, "something else is reserved")
    found = evidence.find_evidence(tx, reservation.reservation_id, item.evidence)
    if found is None or found.hash != item.evidence_hash:
        raise NotSettled(Code.INVALID_EVIDENCE, "the evidence is not what it was")
    closing = Closing("settled", Terminal.SETTLED, row.key, row.payload_hash, found, caller.epoch, control.generation)
    complete(tx, reservation, closing, now)


def _count_failure(tx: Tx, row: PendingRow, control: Control, code: Code, why: str, now: int) -> Refused:
    """The attempt and its code are all that stays; a contradiction and the last attempt end it."""
    attempts = row.attempts + 1
    due_at = rules.next_attempt_at(now, attempts, row.deadline)
    settlements.count_attempt(tx, row.key, f"{code}: {why}"[:ERROR_CHARACTERS], due_at)
    if code in rules.CONTRADICTS:
        fact: Fact | None = retire(tx, row, Terminal.CONFLICT, code, attempts, now)
        return replace(_refused(code, row, control, fact), attempts=attempts, reason=why)
    fact = retire(tx, row, Terminal.FAILED, code, attempts, now) if attempts >= rules.ATTEMPTS_MOST else None
    told = _refused(Code.FAILED, row, control, fact)
    return replace(told, attempts=attempts, next_attempt_at=None if fact else due_at, reason=f"{code}: {why}")


def _refused(code: Code, row: PendingRow, control: Control, fact: Fact | None) -> Refused:
    due_at = None if fact is not None else row.next_attempt_at
    return Refused(code, control.generation, row.key, fact, row.attempts, row.deadline, due_at)


def _shown(row: PendingRow, control: Control, now: int) -> Pending:
    state = "waiting" if now < row.next_attempt_at else "ready"
    state = "overdue" if now > row.deadline else state
    return Pending(
        key=row.key,
        payload_hash=row.payload_hash,
        owner=row.owner,
        session_hash=row.session_hash,
        reservation_id=row.reservation_id,
        queued_at=row.queued_at,
        deadline=row.deadline,
        attempts=row.attempts,
        next_attempt_at=row.next_attempt_at,
        last_error=row.last_error,
        state="paused" if control.user_paused else state,
    )
