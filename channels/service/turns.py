"""Which turns run: the first queued one of every session, a bounded number at once."""

import asyncio

from channels.ids import SessionId, TurnId
from channels.logs import LOOP_FAILED, get_logger
from channels.rules.agent_event import Outcome
from channels.service.card_book import CardBook
from channels.service.context import Context
from channels.service.delivery import Delivery
from channels.service.permissions import Permissions
from channels.service.preparing import Preparing
from channels.service.turn_run import TurnRun
from channels.service.workspaces import Workspaces
from channels.store import snapshots, turns
from channels.store.transactions.run import Lease
from channels.store.tx import Tx

POLL_S = 1.0

log = get_logger(__name__)


class Turns:
    """Starts turns as they become runnable, and ends them early when asked."""

    def __init__(
        self,
        context: Context,
        preparing: Preparing,
        workspaces: Workspaces,
        book: CardBook,
        delivery: Delivery,
        permissions: Permissions,
    ) -> None:
        self._context, self._preparing, self._workspaces = context, preparing, workspaces
        self._book, self._delivery, self._permissions = book, delivery, permissions
        self._runs: dict[TurnId, TurnRun] = {}
        self._tasks: dict[SessionId, asyncio.Task[None]] = {}
        self._draining = False

    @property
    def running(self) -> int:
        return len(self._tasks)

    async def run(self) -> None:
        """Look for runnable turns, on a ring and once a second, for ever."""
        while True:
            try:
                await self._start_runnable()
            except Exception:
                log.exception(LOOP_FAILED, loop="turns")
            await self._context.turns.wait(POLL_S)

    def stop(self, turn_id: TurnId) -> None:
        """A stop of this turn was committed: its agent must end."""
        if turn_id in self._runs:
            self._runs[turn_id].end_early(Outcome.STOPPED)

    async def drain(self, limit_s: float) -> None:
        """No new turns; the running ones get `limit_s`, then they end as interrupted."""
        self._draining = True
        if self._tasks and limit_s > 0:
            await asyncio.wait(set(self._tasks.values()), timeout=limit_s)
        for run in list(self._runs.values()):
            run.end_early(Outcome.INTERRUPTED)
        if self._tasks:
            _, late = await asyncio.wait(set(self._tasks.values()), timeout=10.0)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _start_runnable(self) -> None:
        context = self._context
        room = context.preferences.max_running - len(self._tasks)
        if self._draining or room <= 0:
            return
        # sessions whose last turn is just being put away still count as running here: ask for more than there is room
        rows = await context.database.read(_runnable, context, room + len(self._tasks))
        if self._draining:  # it began during the read and has seen all tasks that there will be
            return
        for turn, snapshot in rows:
            if turn.session_id in self._tasks or len(self._tasks) >= context.preferences.max_running:
                continue
            lease = Lease(turn.turn_id, turn.session_id, turn.start_epoch, turn.owner_epoch)
            run = self._runs[turn.turn_id] = self._new_run(lease)
            task = asyncio.create_task(self._run(run, lease, snapshot), name=f"turn-{turn.turn_id}")
            self._tasks[turn.session_id] = task

    def _new_run(self, lease: Lease) -> TurnRun:
        return TurnRun(
            self._context,
            self._preparing,
            self._workspaces,
            self._book,
            self._delivery,
            self._permissions,
            lease,
        )

    async def _run(self, run: TurnRun, lease: Lease, snapshot: snapshots.Snapshot | None) -> None:
        try:
            if lease.start_epoch > 1:  # an earlier boot may have died of it: count before touching it
                await self._context.database.run(snapshots.count_start, lease.turn_id)
            await run.run(snapshot)
        except Exception:
            log.exception(LOOP_FAILED, loop="turn", turn_id=lease.turn_id)
            await asyncio.sleep(POLL_S)  # a turn that is still queued: the next poll sees it
            await self._end_orphan(run)
        finally:
            self._runs.pop(lease.turn_id, None)
            self._tasks.pop(lease.session_id, None)
            self._context.turns.ring()

    async def _end_orphan(self, run: TurnRun) -> None:
        try:
            await run.end_orphan()
        except Exception:
            log.exception(LOOP_FAILED, loop="turn.orphan")


def _runnable(tx: Tx, context: Context, limit: int) -> list[tuple[turns.Turn, snapshots.Snapshot | None]]:
    return [
        (turn, snapshots.find_snapshot(tx, turn.turn_id)) for turn in turns.runnable_turns(tx, context.epoch, limit)
    ]
