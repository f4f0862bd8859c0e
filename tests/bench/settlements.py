"""How fast the books are kept: turns end and are settled, many in one commit as the running service does it, and the
same work with one commit each. No network and no agent: the domain file, its settings, and the product's functions.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from channels.ids import ChatId, SessionId, TurnId, UserId
from channels.rules.quota import QuotaPolicy
from channels.rules.settlement import PENDING_MOST, Caller
from channels.store import owners, sessions, turns
from channels.store.batch import Batch, Done
from channels.store.domain_file import open_domain_file
from channels.store.transactions.boot import take_ownership
from channels.store.transactions.reserve import insert_reserved_turn
from channels.store.transactions.run import Finish, Finished, Lease, finish_turn
from channels.store.transactions.settle import Spent
from channels.store.transactions.settlement import Acked, Settled, apply
from channels.store.tx import Tx
from tests.bench.contestants import Ring
from tests.bench.figures import Figure
from tests.bench.sizes import Sizes

PEOPLE, NOW = 100, 1_000_000
FINISH = Finish("completed", (), (), (), (), spent=Spent(1_000, 200, 50, "demo", "model"))


def measure_settlements(_ring: Ring, sizes: Sizes) -> Iterator[Figure]:
    """Settlements per second: evidence, queueing, booking, release, receipt; and what one takes in the file."""
    count = sizes.settlements
    together, alone = _settle(count, PENDING_MOST), _settle(count, 1)
    note = f"{count} settlements"
    yield from (
        Figure(f"settlements, {PENDING_MOST} in a commit", "1/s", together.per_second, better="more", note=note),
        Figure("settlements, one commit each", "1/s", alone.per_second, better="more", note=note),
        Figure("a settled turn in the file", "bytes", together.bytes_each, note=note),
        Figure("a settled turn in the file, one commit each", "bytes", alone.bytes_each, note=note),
    )


@dataclass(frozen=True, slots=True)
class Kept:
    per_second: float
    bytes_each: float


def _settle(count: int, at_once: int) -> Kept:
    """Settle so many turns on a fresh file; making the turns is not counted."""
    with TemporaryDirectory(prefix="channels-bench-") as folder:
        path = Path(folder) / "channels.db"
        file = open_domain_file(path, now_ms=0)
        try:
            batch = Batch(file.connection, before_commit=owners.count_commit)
            _run(batch, [lambda tx: take_ownership(tx, "uuid", "bench", NOW)])
            empty, seconds = path.stat().st_size, 0.0
            for first in range(0, count, PENDING_MOST):
                numbers = range(first, min(first + PENDING_MOST, count))
                _run(batch, [partial(_begin, number=number) for number in numbers])
                started = time.perf_counter()
                _end(batch, numbers, at_once)
                seconds += time.perf_counter() - started
            file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return Kept(count / seconds, (path.stat().st_size - empty) / count)
        finally:
            file.close()


def _begin(tx: Tx, number: int) -> None:
    """A turn that runs, with its reservation."""
    user, session_id = UserId(f"person_{number % PEOPLE}"), SessionId(f"session_{number}")
    sessions.insert_session(tx, sessions.Session(session_id, ChatId("oc"), "p2p", user, "demo", ""), NOW)
    turn_id, epoch = TurnId(f"turn_{number}"), owners.current_epoch(tx)
    insert_reserved_turn(tx, turn_id, "message", f"om_{number}", session_id, user, QuotaPolicy(), epoch, NOW)
    found = turns.find_turn(tx, turn_id)
    assert found is not None and turns.enter_turn(tx, turn_id, found.start_epoch, epoch, NOW)


def _end(batch: Batch, numbers: Sequence[int], at_once: int) -> None:
    for place in range(0, len(numbers), at_once):
        part = numbers[place : place + at_once]
        ended = _run(batch, [partial(_finish, number=number) for number in part])
        acks = [done.settlement for done in ended if isinstance(done, Finished)]
        settled = _run(batch, [partial(_apply, ack=ack) for ack in acks])
        assert len(settled) == len(part) and all(isinstance(one, Settled) for one in settled)


def _finish(tx: Tx, number: int) -> Finished | None:
    turn = turns.find_turn(tx, TurnId(f"turn_{number}"))
    assert turn is not None
    return finish_turn(tx, Lease(turn.turn_id, turn.session_id, turn.start_epoch, turn.owner_epoch), FINISH, NOW)


def _apply(tx: Tx, ack: object) -> object:
    assert isinstance(ack, Acked)
    caller = Caller(None, owners.current_epoch(tx))
    return apply(tx, ack.key, ack.payload_hash, ack.generation, caller, None, NOW)


def _run(batch: Batch, jobs: Sequence[Callable[[Tx], Any]]) -> list[Any]:
    outcomes = batch.run(jobs)
    assert all(isinstance(outcome, Done) for outcome in outcomes), outcomes
    return [outcome.value for outcome in outcomes if isinstance(outcome, Done)]
