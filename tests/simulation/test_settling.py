"""L1 for the ledger: whatever happened, once faults stop everything that was held is given back and booked, once.

Random histories of one scheduler over a real file: turns that end, sessions put away, stops, pauses, busy and full
files, clocks that jump, killed processes. After every step the ledger's invariants are asked; at the end nothing is
held, nothing waits, and nobody is stopped whom nobody has stopped.
"""

import asyncio
import random
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from sqlite3 import OperationalError
from typing import Any

import pytest

from channels.ids import SessionId, TurnId
from channels.rules.access import Actor
from channels.rules.settlement import session_hash
from channels.store import invariants_ledger, turns
from channels.store.transactions.archive import Moved, archive_session, delete_session
from channels.store.transactions.closing import sweep_reservations
from channels.store.transactions.repair import repair_turn
from channels.store.transactions.settlement import apply, status
from channels.store.transactions.settlement_control import stop
from channels.store.transactions.settlement_truth import read_moment
from channels.store.tx import Tx
from tests.integration.settling.office import Office, busy
from tests.store.fresh import fresh_file
from tests.store.ledger.conftest import Ledger
from tests.store.tables.conftest import Store
from tests.store.tables.drive import deliver_all, finish_of, turn_of

HISTORIES = 25
CONSOLE = Actor("console", "", "cli")  # type: ignore[arg-type]
STEPS = (
    *("start", "start", "end", "end", "end", "work", "work", "work", "wait", "long"),
    *("put_away", "pause", "resume", "stop", "leave", "refuse", "restart", "moment"),
)
REFUSED: tuple[Any, ...] = (apply, status, stop, read_moment, sweep_reservations)


def full() -> OperationalError:
    error = OperationalError("database or disk is full")
    error.sqlite_errorcode = 13
    return error


def ask_all(tx: Tx, now: int) -> list[tuple[Any, ...]]:
    return [
        (word, *row)
        for word, _, question in invariants_ledger.QUESTIONS
        for row in tx.rows(question, {"now": now} if ":now" in question else ())
    ]


class History:
    def __init__(self, store: Store, seed: int) -> None:
        self.rng, self.store, self.ledger = random.Random(seed), store, Ledger(store)
        self.office = Office(self.ledger)
        self.running: list[TurnId] = []
        self.ended: list[TurnId] = []
        self.may_be_stopped: set[str] = set()
        self.steps: list[str] = []

    async def go(self) -> None:
        for _ in range(self.rng.randint(20, 80)):
            self.steps.append(self.rng.choice(STEPS))
            await getattr(self, self.steps[-1])()
            for _ in range(self.rng.choice([0, 1, 3])):
                await asyncio.sleep(0)
            assert self.store.run(ask_all, self.store.now) == [], self.steps

    async def come_to_rest(self) -> None:
        """No fault any more, nobody pauses, and an hour passes."""
        self.office.database.refusals.clear()
        self.ledger.resume()
        self.office.settling_.wake()
        for wait_ms in [1_000] * 40 + [60_000] * 12:
            await self.pass_(wait_ms)

    # what may happen

    async def start(self) -> None:
        self.running.append(self.ledger.start())

    async def end(self) -> None:
        if not self.running:
            return
        turn_id = self.running.pop(self.rng.randrange(len(self.running)))
        done = self.ledger.finish(turn_id, self.rng.choice([0, 5, 9_000]), self.rng.choice(["completed", "failed"]))
        self.ended.append(turn_id)
        if self.rng.random() < 0.7:  # else it is found
            self.office.settling_.turn_ended(done.settlement)

    async def work(self) -> None:
        await self.pass_(0)

    async def wait(self) -> None:
        await self.pass_(self.rng.choice([1, 250, 1_000, 3_000, 10_000]))

    async def long(self) -> None:
        await self.pass_(self.rng.choice([60_000, 299_000, 300_001, 3_600_000]))

    async def pass_(self, after_ms: int) -> None:
        with suppress(OperationalError):
            await self.office.work(after_ms)

    async def put_away(self) -> None:
        for session_id, turn_id in self.of_one():
            deliver_all(self.store, f"turn:{turn_id}", thread=f"omt_{turn_id}")
            deliver_all(self.store, f"react:{turn_id}")
            move = self.rng.choice([archive_session, delete_session])
            if isinstance(self.store.run(move, session_id, CONSOLE, frozenset(), self.store.now), Moved):
                self.may_be_stopped.add(session_hash(session_id))
                self.told()

    async def pause(self) -> None:
        self.ledger.pause()
        self.told()

    async def resume(self) -> None:
        self.ledger.resume()
        self.told()

    async def stop(self) -> None:
        for session_id, _ in self.of_one():
            self.ledger.stop(session_id=session_id)
            self.may_be_stopped.add(session_hash(session_id))

    async def leave(self) -> None:
        for session_id, _ in self.of_one():
            self.office.settling_.owe_stop(session_id, "demo", "session left")
            self.may_be_stopped.add(session_hash(session_id))

    async def refuse(self) -> None:
        self.office.refuse(self.rng.choice(REFUSED), self.rng.choice([1, 2, 5]), self.rng.choice([busy, full]))

    async def restart(self) -> None:
        self.office = self.office.restart()
        for turn in self.store.run(turns.unknown_turns, 100):
            done = self.store.run(
                repair_turn,
                turn_of(self.store, turn.turn_id),
                finish_of("interrupted"),
                self.store.epoch,
                self.store.now,
            )
            assert done is not None
            self.office.settling_.turn_ended(done.settlement)
        self.ended += self.running
        self.running.clear()

    async def moment(self) -> None:
        self.office.settling_.wake()

    def told(self) -> None:
        """Whoever did it tells the scheduler, or it finds out."""
        if self.rng.random() < 0.5:
            self.office.settling_.wake()

    def of_one(self) -> Iterator[tuple[SessionId, TurnId]]:
        if self.ended:
            turn_id = self.rng.choice(self.ended)
            yield self.ledger.session_of(turn_id), turn_id


@pytest.mark.parametrize("seed", range(HISTORIES))
async def test_everything_comes_to_rest(tmp_path: Path, seed: int) -> None:
    with closing(Store(fresh_file(tmp_path / "channels.db"))) as store:
        store.connection.execute("PRAGMA synchronous = OFF")
        history = History(store, seed)
        await history.go()
        await history.come_to_rest()
        held = "SELECT turn_id, settlement FROM reservations JOIN turns USING (turn_id)"
        assert store.rows(f"{held} WHERE reservations.state = 'held' AND turns.state = 'ended'") == [], history.steps
        assert history.office.settling_.schedule.entries == {}
        ((booked,),) = store.rows("SELECT count(*) FROM usage")
        assert booked == len(history.ended), history.steps
        stopped = {row[0] for row in store.rows("SELECT session_hash FROM settlement_stops")}
        assert stopped <= history.may_be_stopped, history.steps
        assert store.run(ask_all, store.now) == []
