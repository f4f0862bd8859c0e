"""Group commit: many functions, one COMMIT, and no function harms another.

Each function runs inside its own SAVEPOINT of one transaction. Its error undoes its own work and is its own outcome.
When the transaction itself is lost (SQLite has ended it: file full, I/O error; or COMMIT failed), everything is rolled
back and each function runs once more in a transaction of its own, so that only those that fail again fail. A function
may therefore run twice and must change nothing but the database.

No thread and no event loop here: `Database` runs it on its thread, the simulation inline.
"""

import inspect
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from channels.errors import Broken
from channels.store.tx import SqliteTx, StatementHook, Tx

Job = Callable[[Tx], object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done:
    """The function's work is durable; `value` is what it returned."""

    value: object


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing of the function's work was kept."""

    error: BaseException


Outcome = Done | Failed


@dataclass(slots=True)
class BatchCounts:
    """Totals since the file was opened."""

    commits: int = 0
    functions_done: int = 0
    functions_failed: int = 0
    transactions_lost: int = 0
    largest_batch: int = 0
    reads: int = 0


class TransactionLost(Exception):
    """The shared transaction is gone with all its work; `__cause__` says why."""


class Batch:
    """Runs functions on one sqlite3 connection (isolation_level=None) that nobody else uses meanwhile.

    `before_commit` runs inside the transaction, once before each COMMIT that keeps at least one function.
    `hook` is called with every statement, and with "BEGIN IMMEDIATE", "COMMIT" and (after it) "COMMITTED".
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        hook: StatementHook | None = None,
        before_commit: Callable[[Tx], None] | None = None,
    ) -> None:
        self._connection, self._hook, self._before_commit = connection, hook, before_commit
        self.counts = BatchCounts()

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run all, in order, and give each one's outcome; when it returns, every `Done` is durable.

        Raises `Broken` when a transaction is open already. Whatever it raises, it leaves none open.
        """
        if self._connection.in_transaction:
            raise Broken("a batch was begun inside an open transaction")
        if not jobs:
            return []
        try:
            outcomes = self._commit_together(jobs)
        except TransactionLost:
            self.counts.transactions_lost += 1
            outcomes = [self._commit_alone(job) for job in jobs]
        self._count(outcomes)
        return outcomes

    def read(self, job: Callable[[Tx], T]) -> T:
        """Run one function that only reads and give its value; SQLite refuses any write inside."""
        if self._connection.in_transaction:
            raise Broken("a read was begun inside an open transaction")
        self._connection.execute("PRAGMA query_only = ON")
        try:
            self._connection.execute("BEGIN")
            value = self._call(job)
        finally:
            self._roll_back_if_open()
            self._connection.execute("PRAGMA query_only = OFF")
        self.counts.reads += 1
        return value

    def _commit_together(self, jobs: Sequence[Job]) -> list[Outcome]:
        try:
            self._tell_hook("BEGIN IMMEDIATE")
            self._connection.execute("BEGIN IMMEDIATE")
            outcomes = [self._run_in_savepoint(job) for job in jobs]
            committed = any(isinstance(outcome, Done) for outcome in outcomes)
            if committed:
                self._commit()
        except Exception as error:
            raise TransactionLost from error
        finally:
            self._roll_back_if_open()
        if committed:  # outside of the try: what is committed must never be run again
            self.counts.commits += 1
            self._tell_hook("COMMITTED")
        return outcomes

    def _commit_alone(self, job: Job) -> Outcome:
        try:
            return self._commit_together([job])[0]
        except TransactionLost as lost:
            return Failed(lost.__cause__ or lost)

    def _run_in_savepoint(self, job: Job) -> Outcome:
        self._connection.execute("SAVEPOINT job")
        try:
            value = self._call(job)
        except Exception as error:
            if not self._connection.in_transaction:
                raise
            self._connection.execute("ROLLBACK TO job")
            self._connection.execute("RELEASE job")
            return Failed(error)
        # Fails when the function has swallowed the error that ended the transaction: nothing of the batch is left then.
        self._connection.execute("RELEASE job")
        return Done(value)

    def _commit(self) -> None:
        if self._before_commit is not None:
            self._before_commit(SqliteTx(self._connection, self._hook))
        if not self._connection.in_transaction:
            raise Broken("the transaction had ended by itself before COMMIT")
        self._tell_hook("COMMIT")
        self._connection.execute("COMMIT")

    def _call(self, job: Callable[[Tx], T]) -> T:
        tx = SqliteTx(self._connection, self._hook)
        try:
            value = job(tx)
        except StopIteration as error:  # a future takes no StopIteration: its caller would wait for ever
            raise RuntimeError("a database function raised StopIteration") from error
        finally:
            tx.close()
        if inspect.iscoroutine(value) or inspect.isgenerator(value):
            value.close()
            raise Broken("a database function must be a plain function: it gave a coroutine or generator")
        return value

    def _roll_back_if_open(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _tell_hook(self, word: str) -> None:
        if self._hook is not None:
            self._hook(word)

    def _count(self, outcomes: Sequence[Outcome]) -> None:
        done = sum(isinstance(outcome, Done) for outcome in outcomes)
        self.counts.functions_done += done
        self.counts.functions_failed += len(outcomes) - done
        self.counts.largest_batch = max(self.counts.largest_batch, len(outcomes))
