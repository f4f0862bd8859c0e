"""Orders about the books, for an executor: what a process with the file in its hands may do with what a turn holds.

Each is one transaction of the product's own, except where it says that it is what happens between two.
"""

from collections.abc import Callable
from dataclasses import asdict, is_dataclass, replace
from typing import Any

from channels.clock import FlooredClock
from channels.ids import OwnerEpoch, ReservationId, SessionId, StartEpoch, TurnId, UserId
from channels.rules.settlement import Caller, EvidenceRef, parse_stop
from channels.store import owners, reservations
from channels.store.evidence import executor_of
from channels.store.transactions.boot import read_floor
from channels.store.transactions.closing import sweep_reservations
from channels.store.transactions.quarantine import take_restored
from channels.store.transactions.repair import repair_turn
from channels.store.transactions.run import Lease, finish_turn, stop_turn
from channels.store.transactions.settle import Spent, keep_evidence
from channels.store.transactions.settlement import apply, enqueue, status
from channels.store.transactions.settlement_control import stop
from channels.store.transactions.settlement_truth import why_not
from channels.store.turns import find_turn
from tests.store.tables.conftest import Store
from tests.store.tables.drive import deliver_all, finish_of

Order = dict[str, Any]


def end(desk: Store, order: Order) -> Any:
    """The turn of this lease ends and has used so many tokens; its settlement is queued in the same commit."""
    lease = Lease(
        TurnId(order["lease"]["turn_id"]),
        SessionId(order["lease"]["session_id"]),
        StartEpoch(order["lease"]["start_epoch"]),
        OwnerEpoch(order["lease"]["owner_epoch"]),
    )
    finish = replace(finish_of(), spent=Spent(order.get("tokens", 100)))
    done = desk.run(finish_turn, lease, finish, desk.now)
    return as_json(done.settlement) if done is not None else None


def repair(desk: Store, order: Order) -> Any:
    """The owner of now ends a turn that an older one had entered."""
    turn = desk.run(find_turn, TurnId(order["turn"]))
    assert turn is not None
    done = desk.run(repair_turn, turn, finish_of("interrupted"), OwnerEpoch(desk.epoch), desk.now)
    return as_json(done.settlement) if done is not None else None


def deliver(desk: Store, order: Order) -> Any:
    """The turn's cards reach people: the conversation has its place."""
    turn_id = order["turn"]
    return deliver_all(desk, f"turn:{turn_id}", thread="omt_1") + deliver_all(desk, f"react:{turn_id}")


def evidence(desk: Store, order: Order) -> Any:
    """Somebody says once more how this turn has ended, under a proof of another kind."""
    turn = desk.run(find_turn, TurnId(order["turn"]))
    assert turn is not None
    spent = Spent(order.get("tokens", 100))
    start, owner = StartEpoch(order.get("start_epoch", turn.start_epoch)), OwnerEpoch(desk.epoch)
    kept = desk.run(keep_evidence, turn, start, owner, order["kind"], "completed", spent, desk.now)
    return as_json(kept)


def claim(desk: Store, order: Order) -> Any:
    """Queue the settlement of a reservation by a proof that is named: which start, whose, of which kind."""
    ref = EvidenceRef(StartEpoch(order["start_epoch"]), executor_of(OwnerEpoch(order["owner"])), order["kind"])
    caller = Caller(None, OwnerEpoch(desk.epoch))
    return as_json(desk.run(enqueue, ReservationId(order["reservation"]), ref, caller, desk.now))


def settle(desk: Store, order: Order) -> Any:
    """Apply a settlement, under the control and the owner of this moment, as far as the host knows of its session."""
    generation = order.get("generation") or _status(desk)["generation"]
    caller = Caller(None, OwnerEpoch(order.get("owner") or _owner(desk)))
    return as_json(desk.run(apply, order["key"], order["payload_hash"], generation, caller, why_not, desk.now))


def halt(desk: Store, order: Order) -> Any:
    """Stop one session for ever."""
    request = parse_stop({"session_id": order["session"]})
    assert request is not None
    return as_json(desk.run(stop, request, "test", Caller(None, _owner(desk)), desk.now))


def sweep(desk: Store, order: Order) -> Any:
    return as_json(desk.run(sweep_reservations, _owner(desk), desk.now))


def cancel(desk: Store, order: Order) -> Any:
    """The person presses *Stop*."""
    finish = finish_of("stopped")
    user, epoch = UserId(order["user"]), OwnerEpoch(order["epoch"])
    return type(desk.run(stop_turn, TurnId(order["turn"]), user, frozenset(), finish, epoch, desk.now)).__name__


def restore(desk: Store, order: Order) -> Any:
    """The boot of a file that was put back."""
    owned = desk.run(take_restored, "uuid", "test", "put back in a test", order["above"], desk.now, desk.now)
    return int(owned.epoch)


def fill(desk: Store, order: Order) -> Any:
    """Leave no free page in the file; how many pages it has."""
    desk.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    desk.connection.execute("VACUUM")
    return desk.connection.execute("PRAGMA page_count").fetchone()[0]


def read(desk: Store, order: Order) -> Any:
    """What waits, as everybody may see it."""
    return _status(desk)


def reservation(desk: Store, order: Order) -> Any:
    found = desk.run(reservations.find_by_turn, TurnId(order["turn"]))
    return as_json(found)


def floored(desk: Store, order: Order) -> Any:
    """What time it is for a boot whose wall clock says `wall`."""

    class Wall:
        def wall_ms(self) -> int:
            return int(order["wall"])

        def monotonic(self) -> float:
            return 0.0

    return FlooredClock(Wall(), desk.run(read_floor)).now_ms()


def raise_floor(desk: Store, order: Order) -> Any:
    """The heartbeat."""
    desk.run(owners.raise_floor, desk.now)
    return None


BOOKS: dict[str, Callable[[Store, Order], Any]] = {
    each.__name__: each
    for each in (
        *(end, repair, deliver, evidence, claim, settle, halt, sweep, cancel, restore, read, reservation, floored),
        *(raise_floor, fill),
    )
}


def as_json(value: Any) -> Any:
    """A result of a transaction, with the name of its kind."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"is": type(value).__name__} | {key: _plain(each) for key, each in asdict(value).items()}
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case str() | int() | float() | bool() | None:
            return value
        case _:
            return str(value)


def _owner(desk: Store) -> OwnerEpoch:
    return desk._batch.read(owners.current_epoch)


def _status(desk: Store) -> Any:
    return as_json(desk._batch.read(lambda tx: status(tx, desk.now)))
