"""The database thread: who shares a COMMIT, when callers are released, and that nobody harms anybody."""

import asyncio
import random
import sqlite3
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio

from channels.errors import Broken, Refused
from channels.store.database import BATCH_LIMIT, Database
from channels.store.tx import Tx
from tests.store.engine.notes import commit_count, note_ids, opened, put, put_then_fail

LIMIT_S = 20


class Gate:
    """A statement hook that can hold the database thread just before a given word."""

    def __init__(self) -> None:
        self.word: str | None = None
        self.reached, self.opened = threading.Event(), threading.Event()
        self.words: list[str] = []

    def __call__(self, sql: str) -> None:
        self.words.append(sql)
        if sql == self.word:
            self.word = None
            self.reached.set()
            assert self.opened.wait(LIMIT_S), "the test never opened the gate"

    def hold_at(self, word: str) -> None:
        self.reached.clear()
        self.opened.clear()
        self.word = word

    async def wait_until_held(self) -> None:
        assert await asyncio.to_thread(self.reached.wait, LIMIT_S), f"{self.words[-3:]}: never came to the gate"


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest_asyncio.fixture
async def gated(tmp_path: Path, migrations: Path, gate: Gate) -> AsyncIterator[Database]:
    async with opened(tmp_path / "gated.db", migrations, gate) as database:
        gate.words.clear()  # of the migration
        yield database
        gate.opened.set()


def start_puts(database: Database, note_ids: range) -> list[asyncio.Task[int]]:
    return [asyncio.create_task(database.run(put, number)) for number in note_ids]


async def test_values_and_errors_come_back_to_their_own_callers(database: Database) -> None:
    assert await database.run(put, 1, text="one") == 1
    with pytest.raises(LookupError, match="after 2"):
        await database.run(put_then_fail, 2)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        await database.run(put, 1)
    assert await database.read(note_ids) == [1]
    assert await database.read(lambda tx: tx.row("SELECT text FROM notes")) == ("one",)


async def test_callers_are_released_only_after_commit(gated: Database, gate: Gate) -> None:
    gate.hold_at("COMMIT")
    tasks = start_puts(gated, range(3))
    await gate.wait_until_held()
    await asyncio.sleep(0)
    assert sum(word.startswith("INSERT INTO notes") for word in gate.words) == 3, (
        "the work is done, only COMMIT is missing"
    )
    assert not any(task.done() for task in tasks)
    assert "COMMITTED" not in gate.words
    gate.opened.set()
    assert await asyncio.gather(*tasks) == [0, 1, 2]
    assert gate.words[-1] == "COMMITTED"


async def test_functions_that_wait_at_the_same_moment_share_one_commit(gated: Database, gate: Gate) -> None:
    await asyncio.gather(*start_puts(gated, range(50)))  # ready in one pass of the loop
    assert gate.words.count("COMMIT") == 1

    gate.hold_at("COMMIT")
    first = asyncio.create_task(gated.run(put, 1000))
    await gate.wait_until_held()
    others = start_puts(gated, range(2000, 2000 + 2 * BATCH_LIMIT + 1))  # wait while the thread is busy
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(first, *others)
    assert gate.words.count("COMMIT") == 1 + 1 + 3, "two full batches and one of the last function"
    assert gated.commits.commits == 5
    assert gated.commits.largest_batch == BATCH_LIMIT
    assert await gated.read(commit_count) == 5


async def test_functions_commit_in_the_order_of_their_calls(database: Database) -> None:
    order: list[int] = []

    def note_order(tx: Tx, number: int) -> None:
        put(tx, number)
        order.append(number)

    await asyncio.gather(*(database.run(note_order, number) for number in range(400)))
    assert order == list(range(400))


async def test_run_first_goes_ahead_of_all_that_waits(database: Database) -> None:
    order: list[str] = []

    def note_order(_tx: Tx, name: str) -> None:
        order.append(name)

    waiting = [asyncio.ensure_future(database.run(note_order, f"waits {number}")) for number in range(300)]
    await asyncio.sleep(0)
    first = [database.run_first(note_order, f"first {number}") for number in range(3)]
    await asyncio.gather(*first, *waiting)
    assert order[:3] == ["first 0", "first 1", "first 2"]
    assert len(order) == 303


async def test_a_read_sees_what_its_caller_has_committed_and_never_half_a_batch(database: Database) -> None:
    async def write_then_read(number: int) -> None:
        await database.run(lambda tx: (put(tx, number), put(tx, number + 1000)))
        found = set(await database.read(note_ids))
        assert number in found
        assert {one % 1000 for one in found if one >= 1000} == {one for one in found if one < 1000}

    await asyncio.gather(*(write_then_read(number) for number in range(200)))


async def test_a_read_that_writes_is_refused_and_changes_nothing(database: Database) -> None:
    await database.run(put, 1)
    commits = database.commits.commits
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await database.read(put, 2)
    assert await database.read(note_ids) == [1]
    assert (database.commits.commits, await database.read(commit_count)) == (commits, commits)
    assert await database.run(put, 2) == 2


class RandomCanceller:
    """A statement hook that cancels callers at random statements, from inside the transaction."""

    def __init__(self, seed: int) -> None:
        self.rng, self.loop = random.Random(seed), asyncio.get_running_loop()
        self.calls: list[asyncio.Task[int]] = []

    def __call__(self, _sql: str) -> None:
        if self.calls and self.rng.random() < 0.4:
            self.loop.call_soon_threadsafe(self.rng.choice(self.calls).cancel)


@pytest.mark.parametrize("seed", range(5))
async def test_300_callers_cancelled_at_random_moments_harm_nobody(tmp_path: Path, migrations: Path, seed: int) -> None:
    canceller = RandomCanceller(seed)
    async with opened(tmp_path / "c.db", migrations, canceller) as database:
        ran: Counter[int] = Counter()

        def put_counted(tx: Tx, number: int) -> int:
            ran[number] += 1
            return put(tx, number)

        calls: list[asyncio.Task[int]] = []
        for wave in range(0, 300, 30):
            canceller.calls = [asyncio.create_task(database.run(put_counted, wave + number)) for number in range(30)]
            calls += canceller.calls
            for _ in range(canceller.rng.randrange(4)):
                await asyncio.sleep(0)
                canceller.rng.choice(calls).cancel()
            await database.read(note_ids)  # the wave has had its turn on the thread
        returned = {one for one in await asyncio.gather(*calls, return_exceptions=True) if isinstance(one, int)}
        canceller.calls = []

        assert await asyncio.gather(*start_puts(database, range(1000, 1050))) == list(range(1000, 1050))
        kept = {number for number in await database.read(note_ids) if number < 1000}
        assert set(ran.values()) == {1}, "a function ran twice"
        assert kept == set(ran), "what ran is committed exactly once, what did not run is not there"
        assert returned < kept, "who got an answer was committed; some were committed after their caller had gone"
        assert len(kept) < 300, "some were cancelled before their turn"
        assert await database.read(commit_count) == database.commits.commits


async def test_a_caller_cancelled_in_mid_commit_is_committed_and_the_next_ones_go_on(
    gated: Database, gate: Gate
) -> None:
    gate.hold_at("COMMIT")
    running = asyncio.create_task(gated.run(put, 1))
    await gate.wait_until_held()
    waiting, last = asyncio.create_task(gated.run(put, 2)), asyncio.create_task(gated.run(put, 3))
    await asyncio.sleep(0)
    for task in (running, waiting):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    gate.opened.set()
    assert await last == 3
    assert await gated.read(note_ids) == [1, 3], "1 was under way and commits; 2 had not begun and never runs"


@pytest.mark.parametrize("how", ["run", "read"])
async def test_whatever_a_function_raises_its_caller_never_waits_for_ever(database: Database, how: str) -> None:
    class Odd(BaseException):
        pass

    def raise_odd(_tx: Tx) -> None:
        raise Odd

    def stop(_tx: Tx) -> None:
        next(iter(()))

    call = database.run if how == "run" else database.read
    async with asyncio.timeout(LIMIT_S):
        with pytest.raises(Odd):
            await call(raise_odd)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await call(stop)
        assert await database.run(put, 1) == 1


async def test_close_finishes_what_was_called_before_and_refuses_what_comes_after(
    gated: Database, gate: Gate, migrations: Path
) -> None:
    gate.hold_at("COMMIT")
    tasks = start_puts(gated, range(2 * BATCH_LIMIT))
    reading = asyncio.create_task(gated.read(lambda tx: tx.row("SELECT 1")))
    await gate.wait_until_held()
    closing_twice = [asyncio.create_task(gated.close()) for _ in range(2)]
    await asyncio.sleep(0)
    for late in (gated.run(put, 9999), gated.read(put, 9999), gated.backup(gated.path.with_name("late.db"))):
        with pytest.raises(Broken, match="closed"):
            await late
    gate.opened.set()
    await asyncio.gather(*closing_twice)
    assert all(task.done() for task in tasks)
    assert await asyncio.gather(*tasks) == list(range(2 * BATCH_LIMIT))
    assert await reading == (1,)
    assert not gated.path.with_name("gated.db-wal").exists(), "a clean close leaves one file"
    async with opened(gated.path, migrations) as again:
        assert await again.read(note_ids) == list(range(2 * BATCH_LIMIT))


async def test_an_open_that_is_cancelled_leaves_the_file_free(tmp_path: Path, migrations: Path) -> None:
    gate = Gate()
    gate.hold_at("COMMIT")  # of the migration
    opening = asyncio.create_task(Database.open(tmp_path / "x.db", migrations=migrations, hook=gate))
    await gate.wait_until_held()
    opening.cancel()
    await asyncio.sleep(0)
    gate.opened.set()
    with pytest.raises(asyncio.CancelledError):
        await opening
    async with opened(tmp_path / "x.db", migrations) as again:
        assert await again.read(note_ids) == []


async def test_a_backup_is_whole_while_commits_go_on(database: Database, tmp_path: Path) -> None:
    def put_pair(tx: Tx, number: int) -> None:
        put(tx, number, "x" * 4000)
        put(tx, number + 100_000, "x" * 4000)

    await asyncio.gather(*(database.run(put_pair, number) for number in range(1000)))
    copied = asyncio.create_task(database.backup(tmp_path / "copy.db"))
    written = 1000
    while not copied.done():
        await database.run(put_pair, written)
        written += 1
    await copied
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        low, high = (
            copy.execute(f"SELECT count(*) FROM notes WHERE note_id {side} 100000").fetchone()[0]
            for side in ("<", ">=")
        )
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert low == high, "never half a function"
    assert low > 1000, "commits went on during the copy and are in it"
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "copy.db.part").exists()
    with pytest.raises(Refused, match="exists"):
        await database.backup(tmp_path / "copy.db")
