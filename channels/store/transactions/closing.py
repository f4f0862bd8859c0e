"""What is still held although its turn has ended: queued where there is room now, else closed, late or void."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec

from channels.ids import OwnerEpoch
from channels.rules import settlement as rules
from channels.rules.settlement import Caller, Code, Terminal
from channels.store import evidence, reservations, settlement_control, settlements, turns
from channels.store.evidence import Evidence
from channels.store.reservations import Reservation
from channels.store.settlements import PendingRow
from channels.store.transactions.settle import Closing, NotSettled, complete, is_in_scope, key_of
from channels.store.transactions.settlement import Acked, enqueue
from channels.store.transactions.settlement_facts import Refused, freeze, open_outbox, retire
from channels.store.tx import ConstraintFailed, Tx

P = ParamSpec("P")
Place = tuple[int, str]  # behind this (reserved_at, reservation_id)
BEGINNING: Place = (-1, "")
LOOKED_AT_MOST = 500  # in one commit, so that nobody waits for it: whoever waits for room is only looked at
# An enqueue that was refused with one of these is tried again when it may go: nothing has come to nothing yet.
WAITS = frozenset({Code.PAUSED, Code.OUTBOX_FULL, Code.STALE_CONTROL, Code.INVALID_OUTBOX})


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did. `waiting`: so many found no room in the queue; `stuck`: the schema refused so many, which are
    left as they are. `after`: it looked at as many as it may, and the next call goes on from there."""

    queued: int = 0
    retired: int = 0
    closed: int = 0
    voided: int = 0
    waiting: int = 0
    stuck: int = 0
    after: Place | None = None

    @property
    def more(self) -> bool:
        """Whether there is more to look at."""
        return self.after is not None


def sweep_reservations(tx: Tx, epoch: OwnerEpoch, now: int, limit: int = 64, after: Place = BEGINNING) -> Swept:
    """Nothing is held for ever: settlements past their deadline end, what found no room in the queue is queued, and
    what has come to nothing is closed by the stored evidence as `late`, or as void where there is none. While the user
    has paused, all of it waits. One that cannot be ended holds up no other."""
    opened = open_outbox(tx)
    if isinstance(opened, Refused) or opened.control.user_paused:
        return Swept()
    try:
        overdue = settlements.overdue(tx, now, limit)
    except settlements.Unreadable:
        return Swept()
    did = Counter(_safely(tx, _expire, row, now) for row in overdue)
    page = reservations.lingering(tx, after, LOOKED_AT_MOST)
    # what has just expired may stand before the place to go on from, and there may be more of it
    again = did["retired"] > 0 and (after != BEGINNING or did["retired"] == limit)
    goes_on = BEGINNING if again else None
    for number, one in enumerate(page, start=1):
        did[_safely(tx, _close, one, epoch, now, did["waiting"] > 0)] += 1
        if number == LOOKED_AT_MOST or did["queued"] + did["late"] + did["void"] == limit:
            goes_on = BEGINNING if again else (one.reserved_at, one.reservation_id)
            break
    return Swept(did["queued"], did["retired"], did["late"], did["void"], did["waiting"], did["stuck"], goes_on)


def _safely(tx: Tx, end: Callable[Concatenate[Tx, P], str], *args: P.args, **kwargs: P.kwargs) -> str:
    """What was done, in a word; stuck: the schema refuses it, so nothing was."""
    try:
        with tx.savepoint():
            return end(tx, *args, **kwargs)
    except ConstraintFailed:
        return "stuck"


def _expire(tx: Tx, row: PendingRow, now: int) -> str:
    retire(tx, row, Terminal.EXPIRED, Code.EXPIRED, row.attempts, now)
    return "retired"


def own_evidence(tx: Tx, reservation: Reservation) -> Evidence | None:
    """The evidence that may close this reservation: of its own start and executor."""
    stored = evidence.evidence_of(tx, reservation.reservation_id)
    return next((one for one in stored if is_in_scope(tx, reservation, one)), None)


def _close(tx: Tx, reservation: Reservation, epoch: OwnerEpoch, now: int, full: bool) -> str:
    """queued, late, void; waiting: there is no room (`full`: that is known already); or "" for one that runs on."""
    may_queue = reservation.settlement == "none" and now < reservation.expires_at
    if full and may_queue and not settlement_control.is_stopped(tx, reservation.session_hash or ""):
        return "waiting"
    turn = turns.find_turn(tx, reservation.turn_id)
    if turn is None or turn.state != "ended":
        return ""
    found = own_evidence(tx, reservation)
    if found is not None and reservation.settlement == "none":
        done = enqueue(tx, reservation.reservation_id, found.ref, Caller(None, epoch), now)
        if isinstance(done, Acked):
            return "queued"
        if done.code in WAITS:
            return "waiting" if done.code is Code.OUTBOX_FULL else ""
    way, key = "void" if found is None else "late", key_of(tx, reservation.reservation_id)
    payload_hash = rules.payload_hash(freeze(tx, reservation, found)) if found is not None else None
    closing = Closing(way, reservation.settlement, key, payload_hash, found, epoch)
    try:
        with tx.savepoint():
            complete(tx, reservation, closing, now)
    except NotSettled:
        return ""
    return way
