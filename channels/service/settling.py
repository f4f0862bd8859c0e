"""The settlement scheduler: replays what the file has frozen, and nothing else; how it ends is the file's to say.

One loop for all agents; `life_cycles` tells it of the moments at which the status is read anew: the service is ready, a
turn has ended, a session was put away or left, somebody has changed control. Between them it only keeps the times of
`settling_schedule`, finds settlements that are new, and has the sweep close what came to nothing.

Nobody waits for it: a pass tries a few settlements and lets everybody else in between, each try waits for the file a
bounded time, and whether it may go on is asked again inside the commit. Its end in this process ends nothing in the
file: what waits there is decided by the next process, by what is true then.
"""

import asyncio
from collections.abc import Callable
from sqlite3 import OperationalError
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from channels.ids import OwnerEpoch, SessionId
from channels.logs import (
    LOOP_FAILED,
    SETTLEMENT_ENDED,
    SETTLEMENT_STOP_UNCONFIRMED,
    SETTLEMENT_STOPPED,
    SETTLEMENT_SWEPT,
    SETTLEMENT_UNCONFIRMED,
    get_logger,
)
from channels.rules.settlement import Caller, Code, Item, StopKey, StopSession, session_hash
from channels.service.settling_schedule import Entry, Schedule, StopTask
from channels.service.signals import Signal
from channels.store.transactions.closing import BEGINNING, Place, Swept, sweep_reservations
from channels.store.transactions.settlement import Acked, Settled, apply, status
from channels.store.transactions.settlement_control import stop
from channels.store.transactions.settlement_facts import Refused
from channels.store.transactions.settlement_truth import ARCHIVED, DELETED, Moment, read_moment, why_not
from channels.store.tx import Tx

POLL_S = 1.0
SWEEP_MS = 60_000
APPLIED_AT_ONCE = 8  # settlements of one pass: how many commits of ours may stand before somebody's message
SWEPT_AT_ONCE = 16
CLOSE_LIMIT_S = 1.0
PATIENCE_S = 5.0  # for the file, in the background

log = get_logger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


class DomainFile(Protocol):
    """Whole functions in transactions, as `Database` runs them."""

    async def run(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T: ...


class Surroundings(Protocol):
    """What the scheduler needs of a boot: file, time, the boot's own epoch, and its bell. A `Context` is one."""

    @property
    def database(self) -> DomainFile: ...

    @property
    def epoch(self) -> OwnerEpoch: ...

    @property
    def settling(self) -> Signal: ...

    def now(self) -> int: ...


class Settling:
    """Keeps the schedule of this process. `close` ends it, and leaves the file as it is."""

    def __init__(self, context: Surroundings) -> None:
        self._context = context
        self.schedule = Schedule()
        self._look, self._sweep_at, self._closed = True, 0, False
        self._crowded, self._made_room = False, False  # some found no place in the queue; one has become free
        self._trying: set[asyncio.Task[None]] = set()

    # Moments of the life cycles

    def wake(self) -> None:
        """A real moment: read the status anew, and go by it; what was unconfirmed is tried again."""
        self._look = True
        self._context.settling.ring()

    def turn_ended(self, settlement: Acked | Refused | None) -> None:
        """A turn's end is committed, and its settlement with it: the first try shares the commit of what follows."""
        if isinstance(settlement, Acked) and settlement.fact is None and len(self._trying) < APPLIED_AT_ONCE:
            entry = Entry(settlement.key, settlement.payload_hash, "", "", settlement.deadline, None)
            if not self._closed and not self.schedule.paused:
                task = asyncio.create_task(self._try_first(entry, settlement.generation), name="settle")
                self._trying.add(task)
                task.add_done_callback(self._trying.discard)
                return
        if isinstance(settlement, Refused):
            self._sweep_at = 0
        self.wake()

    def owe_stop(self, session_id: SessionId, owner: str, reason: str) -> None:
        """Stop exactly this session. Until the file has confirmed it, nothing of this session is tried."""
        hashed = session_hash(session_id)
        self.schedule.owe_stop(hashed, StopSession(session_id), owner, reason, self._context.now())
        self.wake()

    async def close(self) -> None:
        """This process schedules nothing more, and what is under way is refused by its own guard."""
        self._closed = True
        if self._trying:
            await asyncio.wait(self._trying, timeout=CLOSE_LIMIT_S)

    # The loop

    async def run(self) -> None:
        """For ever."""
        while not self._closed:
            try:
                await self.work()
            except Exception:
                log.exception(LOOP_FAILED, loop="settling")
            await self._context.settling.wait(self._wait_s())
        await asyncio.Event().wait()

    async def work(self) -> None:
        """One pass: the status where its moment has come, stops, a few settlements, the sweep."""
        if self._look:
            await self._look_anew()
        else:
            await self._discover()
        for task in self.schedule.due_stops(self._context.now()):
            await self._submit(task)
        due = self.schedule.due(self._context.now(), APPLIED_AT_ONCE)
        await asyncio.gather(*(self._try(entry, self.schedule.generation) for entry in due))
        if len(due) == APPLIED_AT_ONCE:
            self._context.settling.ring()  # and let everybody else in before the next few
        if self._context.now() >= self._sweep_at:
            await self._sweep()
        elif self._crowded and self._made_room:
            await self._sweep_some(BEGINNING)

    def _wait_s(self) -> float:
        now, due = self._context.now(), self.schedule.next_due()
        times = [self._sweep_at - now] + ([due - now] if due is not None else [])
        return min(POLL_S, max(0.0, min(times) / 1000))

    async def _look_anew(self) -> None:
        """What this moment makes true: what waits, what is stopped, and what is to be stopped because its session was
        put away, also in an earlier process."""
        context, self._look, read = self._context, False, False
        try:
            moment = await context.database.read(read_moment, context.now())
            read = True
        finally:
            self._look = self._look or not read
        found = moment.status
        if isinstance(found, Refused):
            self.schedule.take((), 0, True, (), context.now())  # nobody can read it: nothing is tried
            return
        if self.schedule.paused and not found.user_paused:
            self._sweep_at = 0  # what ended meanwhile is not even queued
        stopped = [one.session_hash for one in found.stops]
        self.schedule.take(found.pending, found.generation, found.user_paused, stopped, context.now())
        self.schedule.renew_stops(context.now())
        self._owe_stops_of(moment)

    def _owe_stops_of(self, moment: Moment) -> None:
        if isinstance(moment.status, Refused):
            return
        for one in moment.status.pending:
            truth = moment.truths.get(one.key)
            if truth in (ARCHIVED, DELETED) and one.session_hash not in self.schedule.stops:
                request, now = StopKey(one.key, one.payload_hash), self._context.now()
                self.schedule.owe_stop(one.session_hash, request, one.owner, f"session {truth}", now)

    async def _discover(self) -> None:
        """Settlements that came from elsewhere; what is unconfirmed stays so."""
        context = self._context
        found = await context.database.read(status, context.now())
        if isinstance(found, Refused):
            return
        resumed = self.schedule.paused and not found.user_paused
        new = {one.key for one in found.pending} - self.schedule.entries.keys()
        self.schedule.discover(found.pending, found.generation, found.user_paused, context.now())
        if resumed:  # by somebody who did not tell: a real moment all the same
            await self._look_anew()
        elif new:  # its session may have been put away before it was queued
            self._owe_stops_of(await context.database.read(read_moment, context.now()))

    # Settlements

    async def _try_first(self, entry: Entry, generation: int) -> None:
        """The try that comes with the turn's end; whatever becomes of it, the schedule reads it in the file."""
        try:
            await self._try(entry, generation)
        except Exception:
            log.exception(LOOP_FAILED, loop="settling.first")
        self.wake()

    async def _try(self, entry: Entry, generation: int) -> None:
        context, caller = self._context, Caller(entry.owner or None, self._context.epoch)
        try:
            async with asyncio.timeout(PATIENCE_S):
                result = await context.database.run(
                    apply, entry.key, entry.payload_hash, generation, caller, self.guard, context.now()
                )
        except (OperationalError, TimeoutError) as error:  # nobody knows: it is read back by the next try
            self._not_yet(entry, f"{Code.LOCK_BUSY}: {error}" if _is_busy(error) else str(error) or "no answer")
            return
        if isinstance(result, Settled):
            self._ended(entry.key, result.fact.state, result.fact.attempts)
        elif result.fact is not None:
            self._ended(entry.key, result.fact.state, result.fact.attempts)
            self._sweep_at = 0
        else:
            self._refused(entry, generation, result)

    def _refused(self, entry: Entry, generation: int, result: Refused) -> None:
        match result.code:
            case Code.STALE_CONTROL if result.generation == generation:
                self._closed = True  # another owner has the file
            case Code.STALE_CONTROL | Code.PAUSED | Code.UNKNOWN_KEY | Code.CONFLICT:
                self.schedule.ended(entry.key)  # the next look at the file says what is so
            case Code.FAILED:
                self._not_yet(entry, result.reason, result.next_attempt_at)
            case _:
                self._not_yet(entry, result.reason or result.code)

    def _not_yet(self, entry: Entry, why: str, next_at: int | None = None) -> None:
        self.schedule.not_yet(entry.key, why, self._context.now(), next_at)
        known = self.schedule.entries.get(entry.key)
        if known is not None and known.due_at is None:
            log.warning(SETTLEMENT_UNCONFIRMED, key=entry.key, deadline=entry.deadline, why=why)

    def _ended(self, key: str, state: str, attempts: int) -> None:
        self.schedule.ended(key)
        self._made_room = True
        log.info(SETTLEMENT_ENDED, key=key, state=str(state), attempts=attempts)

    def guard(self, tx: Tx, item: Item) -> str | None:
        """Asked inside the commit: this process, its stops, and the truth about the session."""
        if self._closed:
            return "this process is closing"
        if item.session_hash in self.schedule.stops:
            return "a stop of its session is not confirmed"
        return why_not(tx, item)

    # Stops

    async def _submit(self, task: StopTask) -> None:
        context, caller = self._context, Caller(task.owner or None, self._context.epoch)
        try:
            async with asyncio.timeout(PATIENCE_S):
                result = await context.database.run(stop, task.request, task.reason, caller, context.now())
        except (OperationalError, TimeoutError) as error:
            self._stop_not_yet(task, str(error) or "no answer")
            return
        if isinstance(result, Refused):
            self._stop_not_yet(task, result.code)
            return
        self.schedule.stop_confirmed(task.session_hash)
        self._sweep_at = 0
        log.info(SETTLEMENT_STOPPED, session_hash=task.session_hash, reason=task.reason, retired=result.retired)
        await self._discover()

    def _stop_not_yet(self, task: StopTask, why: str) -> None:
        self.schedule.stop_not_yet(task.session_hash, why)
        if task.due_at is None:
            log.warning(SETTLEMENT_STOP_UNCONFIRMED, session_hash=task.session_hash, why=why)

    # What came to nothing

    async def _sweep(self) -> None:
        """Close what nothing else will; a few at a time, so that others come in between."""
        self._sweep_at = self._context.now() + SWEEP_MS
        self._crowded, after = False, BEGINNING
        while True:
            swept = await self._sweep_some(after)
            if swept is None or swept.after is None or self._closed:
                return
            after = swept.after
            await asyncio.sleep(0)

    async def _sweep_some(self, after: Place) -> Swept | None:
        """One commit of it; None: the file is busy or full, and the next sweep will find the same."""
        context, self._made_room = self._context, False
        try:
            swept = await context.database.run(sweep_reservations, context.epoch, context.now(), SWEPT_AT_ONCE, after)
        except OperationalError as error:
            log.warning(LOOP_FAILED, loop="settling.sweep", error=str(error))
            return None
        self._crowded = self._crowded or swept.waiting > 0
        if swept.queued or swept.retired or swept.closed or swept.voided or swept.stuck:
            counts = {"queued": swept.queued, "retired": swept.retired, "late": swept.closed, "void": swept.voided}
            log.info(SETTLEMENT_SWEPT, **counts, stuck=swept.stuck)
        if swept.queued or swept.retired:
            context.settling.ring()
        return swept


def _is_busy(error: Exception) -> bool:
    return isinstance(error, OperationalError) and (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (5, 6)
