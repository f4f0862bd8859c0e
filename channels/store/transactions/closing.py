"""What is still held although its turn has ended: queued where there is room now, else closed, late or void."""

from collections.abc import Iterator
from dataclasses import dataclass

from channels.ids import OwnerEpoch
from channels.rules import settlement as rules
from channels.rules.settlement import Caller, Code, Terminal
from channels.store import evidence, reservations, settlements, turns
from channels.store.evidence import Evidence
from channels.store.reservations import Reservation
from channels.store.transactions.settle import Closing, NotSettled, complete, is_in_scope, key_of
from channels.store.transactions.settlement import Acked, enqueue
from channels.store.transactions.settlement_facts import Refused, freeze, open_outbox, retire
from channels.store.tx import Tx

PAGE = 200
# An enqueue that was refused with one of these is tried again when it may go: nothing has come to nothing yet.
WAITS = frozenset({Code.PAUSED, Code.OUTBOX_FULL, Code.STALE_CONTROL, Code.INVALID_OUTBOX})


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did. `more`: it looked at as many as it may; call it again."""

    queued: int = 0
    retired: int = 0
    closed: int = 0
    voided: int = 0
    more: bool = False


def sweep_reservations(tx: Tx, epoch: OwnerEpoch, now: int, limit: int = 64) -> Swept:
    """Nothing is held for ever: settlements past their deadline end, what found no room in the queue is queued, and
    what has come to nothing is closed by the stored evidence as `late`, or as void where there is none. While the user
    has paused, all of it waits."""
    opened = open_outbox(tx)
    if isinstance(opened, Refused) or opened.control.user_paused:
        return Swept()
    try:
        overdue = settlements.overdue(tx, now, limit)
    except settlements.Unreadable:
        return Swept()
    for row in overdue:
        retire(tx, row, Terminal.EXPIRED, Code.EXPIRED, row.attempts, now)
    ways: list[str] = []
    for one in _lingering(tx):
        ways += filter(None, [_close(tx, one, epoch, now)])
        if len(ways) == limit:
            break
    more = limit in (len(overdue), len(ways))
    return Swept(ways.count("queued"), len(overdue), ways.count("late"), ways.count("void"), more)


def _lingering(tx: Tx) -> Iterator[Reservation]:
    """Everything that is held and waits for no settlement, the oldest first; turns that run are among it."""
    after, page = (-1, ""), list[Reservation]()
    while not after[1] or len(page) == PAGE:
        page = reservations.lingering(tx, after, PAGE)
        yield from page
        after = (page[-1].reserved_at, page[-1].reservation_id) if page else (0, "end")


def own_evidence(tx: Tx, reservation: Reservation) -> Evidence | None:
    """The evidence that may close this reservation: of its own start and executor."""
    stored = evidence.evidence_of(tx, reservation.reservation_id)
    return next((one for one in stored if is_in_scope(tx, reservation, one)), None)


def _close(tx: Tx, reservation: Reservation, epoch: OwnerEpoch, now: int) -> str:
    """queued, late, void; or "" for one that waits."""
    turn = turns.find_turn(tx, reservation.turn_id)
    if turn is None or turn.state != "ended":
        return ""
    found = own_evidence(tx, reservation)
    if found is not None and reservation.settlement == "none":
        done = enqueue(tx, reservation.reservation_id, found.ref, Caller(None, epoch), now)
        if isinstance(done, Acked):
            return "queued"
        if done.code in WAITS:
            return ""
    way, key = "void" if found is None else "late", key_of(tx, reservation.reservation_id)
    payload_hash = rules.payload_hash(freeze(tx, reservation, found)) if found is not None else None
    closing = Closing(way, reservation.settlement, key, payload_hash, found, epoch)
    try:
        with tx.savepoint():
            complete(tx, reservation, closing, now)
    except NotSettled:
        return ""
    return way
