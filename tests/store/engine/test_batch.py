"""Group commit without a thread: what is shared, what is kept apart, and what happens when the transaction is lost."""

import resource
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from channels.errors import Broken
from channels.store.batch import Batch, Done, Failed, Outcome
from channels.store.tx import Tx
from tests.store.engine.notes import commit_count, count_commit, note_ids, put, put_large, put_then_fail


def job(fn: Callable[..., object], *args: object) -> Callable[[Tx], object]:
    return lambda tx: fn(tx, *args)


def assert_failed(outcome: Outcome, kind: type[BaseException], words: str) -> None:
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, kind)
    assert words in str(outcome.error)


@pytest.fixture
def seen() -> list[str]:
    return []


@pytest.fixture
def batch(connection: sqlite3.Connection, seen: list[str]) -> Batch:
    return Batch(connection, seen.append, count_commit)


@pytest.fixture
def small_file(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A file that may grow by about 200 KiB."""
    pages = int(connection.execute("PRAGMA page_count").fetchone()[0])
    connection.execute(f"PRAGMA max_page_count = {pages + 50}")
    return connection


def test_all_functions_share_one_commit(batch: Batch, seen: list[str]) -> None:
    assert batch.run([job(put, number) for number in range(5)]) == [Done(number) for number in range(5)]
    words = [word for word in seen if not word.startswith("INSERT")]
    assert words == ["BEGIN IMMEDIATE", words[1], "COMMIT", "COMMITTED"]
    assert words[1].startswith("UPDATE counters")
    assert batch.read(commit_count) == 1
    assert (batch.counts.commits, batch.counts.functions_done, batch.counts.largest_batch) == (1, 5, 5)


def test_an_empty_batch_does_nothing(batch: Batch, seen: list[str]) -> None:
    assert batch.run([]) == []
    assert seen == []


def test_an_error_undoes_only_its_own_function(batch: Batch) -> None:
    first, failed, empty, last = batch.run([job(put, 1), job(put_then_fail, 2), job(put, 3, ""), job(put, 4)])
    assert (first, last) == (Done(1), Done(4))
    assert_failed(failed, LookupError, "after 2")
    assert_failed(empty, sqlite3.IntegrityError, "empty; refused")
    assert batch.read(note_ids) == [1, 4]
    assert batch.read(commit_count) == 1
    assert batch.counts.functions_failed == 2


def test_nothing_is_committed_or_counted_when_every_function_fails(batch: Batch, seen: list[str]) -> None:
    assert all(isinstance(outcome, Failed) for outcome in batch.run([job(put_then_fail, 1), job(put_then_fail, 2)]))
    assert "COMMIT" not in seen
    assert batch.read(commit_count) == 0
    assert batch.counts.commits == 0


def test_a_full_file_in_mid_batch_fails_only_the_large_function(batch: Batch, small_file: sqlite3.Connection) -> None:
    outcomes = batch.run([job(put, 1), job(put_large, 2), job(put, 3)])
    assert outcomes[::2] == [Done(1), Done(3)]
    assert_failed(outcomes[1], sqlite3.OperationalError, "full")
    assert batch.counts.transactions_lost == 1, "this test is about SQLITE_FULL that ends the transaction"
    assert batch.read(note_ids) == [1, 3]
    assert batch.read(commit_count) == 2
    assert not small_file.in_transaction


def test_a_full_file_that_ends_only_the_statement_fails_only_its_function(
    batch: Batch, small_file: sqlite3.Connection
) -> None:
    def put_many_large(tx: Tx) -> None:
        # A statement of many rows has a journal of its own, so SQLite undoes it and keeps the transaction.
        tx.execute(
            "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
            "INSERT INTO notes SELECT i, hex(zeroblob(4000)), NULL FROM n"
        )

    outcomes = batch.run([job(put, 1), put_many_large, job(put, 3)])
    assert outcomes[::2] == [Done(1), Done(3)]
    assert_failed(outcomes[1], sqlite3.OperationalError, "full")
    assert batch.counts.transactions_lost == 0
    assert batch.read(note_ids) == [1, 3]


def test_a_function_that_swallows_a_full_file_cannot_go_on_in_autocommit(
    batch: Batch, small_file: sqlite3.Connection
) -> None:
    def swallow(tx: Tx) -> None:
        with pytest.raises(sqlite3.OperationalError, match="full"):
            put_large(tx, 2)
        assert not small_file.in_transaction

    def swallow_and_write(tx: Tx) -> None:
        swallow(tx)
        put(tx, 3)

    outcomes = batch.run([job(put, 1), swallow, swallow_and_write, job(put, 4)])
    assert (outcomes[0], outcomes[3]) == (Done(1), Done(4))
    assert isinstance(outcomes[1], Failed)
    assert_failed(outcomes[2], Broken, "ended by itself")
    assert batch.read(note_ids) == [1, 4]


def test_a_trigger_that_rolls_everything_back_fails_only_its_function(batch: Batch) -> None:
    outcomes = batch.run([job(put, 1), job(put, 2, "fatal"), job(put, 3)])
    assert outcomes[::2] == [Done(1), Done(3)]
    assert_failed(outcomes[1], sqlite3.IntegrityError, "ends the transaction")
    assert batch.read(note_ids) == [1, 3]


def test_when_commit_fails_only_the_function_that_makes_it_fail_fails(batch: Batch) -> None:
    outcomes = batch.run([job(put, 1), job(put, 2, "orphan", 99), job(put, 3)])  # a deferred key fails at COMMIT
    assert outcomes[::2] == [Done(1), Done(3)]
    assert_failed(outcomes[1], sqlite3.IntegrityError, "FOREIGN KEY")
    assert batch.counts.transactions_lost == 1
    assert batch.read(note_ids) == [1, 3]
    assert batch.read(commit_count) == 2


@pytest.fixture
def file_size_limit() -> Iterator[Callable[[int | None], None]]:
    """Sets how large a file this process may write; None takes the limit away."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int | None) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft if size is None else size, hard))

    yield limit
    limit(None)


def test_an_io_error_at_commit_is_tried_once_more_and_poisons_nothing(
    connection: sqlite3.Connection, tmp_path: Path, file_size_limit: Callable[[int | None], None]
) -> None:
    wal_bytes = (tmp_path / "plain.db-wal").stat().st_size
    begun: list[str] = []

    def hook(sql: str) -> None:
        if sql == "BEGIN IMMEDIATE":
            begun.append(sql)
            file_size_limit(wal_bytes if len(begun) in limited else None)

    batch = Batch(connection, hook)
    limited = {1}  # the shared COMMIT fails, each one's own succeeds
    assert batch.run([job(put, 1), job(put, 2)]) == [Done(1), Done(2)]
    wal_bytes = (tmp_path / "plain.db-wal").stat().st_size
    begun, limited = [], {1, 2}  # the first one's own fails as well
    outcomes = batch.run([job(put, 3), job(put, 4)])
    assert_failed(outcomes[0], sqlite3.OperationalError, "")
    assert outcomes[1] == Done(4)
    assert batch.counts.transactions_lost == 2
    assert batch.run([job(put, 5)]) == [Done(5)]
    assert batch.read(note_ids) == [1, 2, 4, 5]


def test_a_failing_before_commit_fails_everyone_and_keeps_nothing(connection: sqlite3.Connection) -> None:
    def refuse(tx: Tx) -> None:
        tx.execute("INSERT INTO counters VALUES ('commits', 0)")

    for outcome in Batch(connection, before_commit=refuse).run([job(put, 1), job(put, 2)]):
        assert_failed(outcome, sqlite3.IntegrityError, "UNIQUE")
    assert Batch(connection).read(note_ids) == []


def test_a_batch_inside_a_function_is_refused_and_harms_nobody(batch: Batch) -> None:
    outcomes = batch.run([job(put, 1), lambda _tx: batch.run([job(put, 2)]), lambda _tx: batch.read(note_ids)])
    assert outcomes[0] == Done(1)
    assert_failed(outcomes[1], Broken, "inside an open transaction")
    assert_failed(outcomes[2], Broken, "inside an open transaction")
    assert batch.read(note_ids) == [1]


def test_a_tx_kept_beyond_its_function_is_dead(batch: Batch) -> None:
    kept: list[Tx] = []
    outcomes = batch.run([kept.append, lambda _tx: put(kept[0], 1), job(put, 2)])
    assert_failed(outcomes[1], Broken, "after its function")
    assert batch.read(note_ids) == [2]


def test_coroutine_and_generator_functions_are_refused(batch: Batch) -> None:
    async def later(tx: Tx) -> None:
        put(tx, 1)

    def lazily(tx: Tx) -> Iterator[int]:
        yield put(tx, 2)

    for outcome in batch.run([later, lazily]):
        assert_failed(outcome, Broken, "plain function")
    with pytest.raises(Broken, match="plain function"):
        batch.read(lazily)
    assert batch.read(note_ids) == []


def test_stop_iteration_becomes_an_error_that_a_future_takes(batch: Batch) -> None:
    (outcome,) = batch.run([lambda _tx: next(iter(()))])
    assert_failed(outcome, RuntimeError, "StopIteration")


def test_what_is_no_ordinary_error_goes_through_and_leaves_no_transaction(connection: sqlite3.Connection) -> None:
    class Killed(BaseException):
        pass

    def kill_at(word: str, sql: str) -> None:
        if sql.startswith(word):
            raise Killed

    for word, kept in (("BEGIN", []), ("INSERT", []), ("COMMIT", []), ("COMMITTED", [1])):
        # "COMMIT" also matches nothing after it: the kill comes before the commit
        with pytest.raises(Killed):
            Batch(connection, partial(kill_at, word)).run([job(put, 1)])
        assert not connection.in_transaction
        assert Batch(connection).read(note_ids) == kept


def test_a_read_cannot_write_and_leaves_the_connection_writable(batch: Batch, connection: sqlite3.Connection) -> None:
    batch.run([job(put, 1)])
    before = connection.total_changes
    for write in (
        job(put, 2),
        lambda tx: tx.execute("DELETE FROM notes"),
        lambda tx: tx.rows("UPDATE notes SET text = 'x' RETURNING text"),
    ):
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            batch.read(write)
        assert connection.total_changes == before
        assert not connection.in_transaction
    with pytest.raises(Broken):
        batch.read(lambda tx: tx.execute("PRAGMA query_only = OFF"))
    assert batch.read(note_ids) == [1]
    assert batch.run([job(put, 2)]) == [Done(2)]
