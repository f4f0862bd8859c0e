"""The one connection to the domain file, on its own thread.

`run` and `read` take whole synchronous functions. That is the point: an `await` inside a transaction could be cancelled
half-way and leave the connection poisoned, and could let a network call in; a function can do neither.

All bookkeeping is one deque per kind. The loop appends, the thread takes what is there: whatever waits when the thread
comes round shares one COMMIT. Callers are released by the loop, after COMMIT.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, assert_never, cast

import aiosqlite

from channels.clock import Clock, SystemClock
from channels.errors import Broken
from channels.store.batch import Batch, BatchCounts, Done, Failed, Job, Outcome
from channels.store.domain_file import DomainFile, open_domain_file
from channels.store.page_copy import copy_pages
from channels.store.tx import StatementHook, Tx

P = ParamSpec("P")
T = TypeVar("T")

BATCH_LIMIT = 128  # functions that share one COMMIT at most: bounds how long the first of them waits
THREAD_END_POLLS = 5_000
BACKUP_STEP_PAGES = 256  # 1 MiB: how long writers wait while a backup runs


@dataclass(frozen=True, slots=True)
class _Caller:
    job: Job
    future: asyncio.Future[Any]


class Database:
    """The open domain file. Use it from the event loop that opened it; make it with `open`, end it with `close`.

    A cancelled caller harms nobody; its function may have committed or may yet: re-read, never assume.
    A function may run twice (see `batch`) and must change nothing but the database.
    """

    def __init__(self, file: DomainFile, connection: aiosqlite.Connection, batch: Batch) -> None:
        self.path, self.version = file.path, file.version
        self._file, self._connection, self._batch = file, connection, batch
        self._loop = asyncio.get_running_loop()
        self._first: deque[_Caller] = deque()
        self._writers: deque[_Caller] = deque()
        self._readers: deque[_Caller] = deque()
        self._round_posted = False
        self._accepting, self._closed = True, False
        self._closing = asyncio.Lock()

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        hook: StatementHook | None = None,
        migrations: Traversable | None = None,
        before_commit: Callable[[Tx], None] | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Open, create or migrate the domain file. Raises `StartRefused` with everything left as it was.

        `before_commit` runs inside each COMMIT's transaction; `hook` sees each statement first (on the database
        thread); `migrations` is a folder (default: the packaged one).
        """
        now_ms = (clock if clock is not None else SystemClock()).wall_ms()
        opened: list[DomainFile] = []

        def connect() -> sqlite3.Connection:
            opened.append(open_domain_file(path, now_ms=now_ms, migrations=migrations, hook=hook))
            return opened[0].connection

        connecting = asyncio.ensure_future(_connect_on_thread(connect))
        try:
            connection = await asyncio.shield(connecting)
        except asyncio.CancelledError:  # the thread cannot be stopped half-way: let it finish, then undo
            await asyncio.wait([connecting])
            if not connecting.cancelled() and connecting.exception() is None:
                await connecting.result().close()
                opened[0].lock.release()
            raise
        return cls(opened[0], connection, Batch(opened[0].connection, hook, before_commit))

    @property
    def commits(self) -> BatchCounts:
        """Totals since open, for metrics: a copy."""
        return replace(self._batch.counts)

    async def run(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Execute `fn(tx, …)` whole; returns its value after COMMIT, raises its error with its work undone.

        Functions commit in the order of their calls.
        """
        return await self._submit(self._writers, fn, *args, **kwargs)

    def run_first(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """As `run`, but ahead of all that waits, and already on its way when this returns: what an ack waits for.

        Several may await the future; each shields it, for cancelling it leaves out a function that has not begun.
        """
        return self._submit(self._first, fn, *args, **kwargs)

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Execute `fn(tx, …)` whole, between commits; a write inside is refused by SQLite (OperationalError)."""
        return await self._submit(self._readers, fn, *args, **kwargs)

    async def backup(self, target: Path) -> None:
        """Write a consistent copy to `target` (0600, atomically). Commits go on meanwhile and are in the copy."""
        self._check_accepting()
        await self._on_thread(self._copy_to, target)

    async def close(self) -> None:
        """Finish what was called before, then close the file and free the lock. Safe to call twice."""
        self._accepting = False
        async with self._closing:
            if self._closed:
                return
            while self._first or self._writers or self._readers:
                await self._on_thread(self._run_round)
            try:
                await self._connection.close()
            finally:
                self._closed = True
                self._file.lock.release()

    def _submit(
        self, waiting: deque[_Caller], fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        self._check_accepting()
        future: asyncio.Future[T] = self._loop.create_future()
        waiting.append(_Caller(lambda tx: fn(tx, *args, **kwargs), future))
        if not self._round_posted:
            self._round_posted = True
            self._loop.call_soon(self._post_round)  # not at once: whoever is ready in this pass of the loop joins
        return future

    def _check_accepting(self) -> None:
        if not self._accepting:
            raise Broken("the domain file is closed")

    def _post_round(self) -> None:
        """Have the thread run a round.

        aiosqlite has no public way to run a function on its thread; its queue is what its own methods use, and this
        and `_on_thread` are the only places that know. (Its coroutine `_execute` would tie a batch to one caller.)
        """
        self._connection._tx.put_nowait((None, self._run_round))

    async def _on_thread(self, fn: Callable[..., None], *args: object) -> None:
        await cast(Any, self._connection)._execute(fn, *args)

    # ---- on the database thread ----

    def _run_round(self) -> None:
        """Commit one batch of what waits, then answer the reads that wait."""
        self._round_posted = False  # before taking: who comes after this line posts a new round
        if writers := _take(self._first, self._writers):
            self._release(writers, self._run_batch(writers))
        for reader in _take(self._readers):
            self._release([reader], [self._run_read(reader)])
        if (self._first or self._writers or self._readers) and not self._round_posted:
            self._round_posted = True
            self._post_round()

    def _run_batch(self, writers: list[_Caller]) -> list[Outcome]:
        try:
            return self._batch.run([writer.job for writer in writers])
        except BaseException as error:  # whatever it is, nobody may wait for ever
            return [Failed(error)] * len(writers)

    def _run_read(self, reader: _Caller) -> Outcome:
        try:
            return Done(self._batch.read(reader.job))
        except BaseException as error:
            return Failed(error)

    def _release(self, callers: list[_Caller], outcomes: list[Outcome]) -> None:
        self._loop.call_soon_threadsafe(_resolve, callers, outcomes)

    def _copy_to(self, target: Path) -> None:
        copy_pages(self._file.connection, target, BACKUP_STEP_PAGES, self._run_round)


async def _connect_on_thread(connect: Callable[[], sqlite3.Connection]) -> aiosqlite.Connection:
    """Open on the thread. A refused open waits for the thread to end: it would else speak to a loop that has closed."""
    connection = aiosqlite.Connection(connect, iter_chunk_size=64)
    try:
        return await connection
    except BaseException:
        for _ in range(THREAD_END_POLLS):  # it ends within a moment; nothing tells the loop when
            if not connection._thread.is_alive():
                break
            await asyncio.sleep(0.001)
        raise


def _take(*queues: deque[_Caller]) -> list[_Caller]:
    """Up to a batch of callers, queue after queue in order; those cancelled before their turn never run."""
    taken: list[_Caller] = []
    for waiting in queues:
        while waiting and len(taken) < BATCH_LIMIT:
            caller = waiting.popleft()
            if not caller.future.cancelled():
                taken.append(caller)
    return taken


def _resolve(callers: list[_Caller], outcomes: list[Outcome]) -> None:
    for caller, outcome in zip(callers, outcomes, strict=True):
        if caller.future.done():  # cancelled meanwhile
            continue
        match outcome:
            case Done(value):
                caller.future.set_result(value)
            case Failed(error):
                caller.future.set_exception(error)
            case _:
                assert_never(outcome)
