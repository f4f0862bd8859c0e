"""One boot from start to stop."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from channels import __version__
from channels.app.building import Parts, Ports, Resolved, assemble, resolve
from channels.app.desk import AdminDesk
from channels.app.figures import Figures
from channels.app.operations import ControlOperations
from channels.app.owning import AnchorKeeper, own_processes, take_file
from channels.clock import FlooredClock
from channels.config import Settings
from channels.errors import ApiRefused, ConfigError, OutcomeUnknown, RetryLater
from channels.feishu.api import new_session
from channels.logs import (
    IDENTITY_DELAYED,
    LOOP_ENDED,
    SERVICE_READY,
    SERVICE_STARTED,
    SERVICE_STOPPED,
    SERVICE_STOPPING,
    get_logger,
)
from channels.rules.retry import backoff_ms
from channels.service.establishing import watch_claims
from channels.service.leaving import keep_leaving
from channels.service.overlay import overlaid_where_possible
from channels.service.retiring import drop_stale_turns, keep_retiring
from channels.service.upkeep import keep_beating, keep_sweeping
from channels.store import owners
from channels.store.anchor import refuse_half_restored
from channels.store.database import Database
from channels.store.domain_file import true_path
from channels.store.lock import FileLock, lock_path
from channels.store.transactions.boot import read_floor
from channels.store.transactions.missed import beat_last
from channels.store.transactions.web import read_overlay
from channels.web.control import ControlServer
from channels.web.server import WebServer

DELIVERY_LIMIT_S = 5.0
MAY_END = ("identity", "connection", "quarantine")  # loops that come to an end of their own when they are through

log = get_logger(__name__)


async def serve(
    settings: Settings,
    *,
    stop: asyncio.Event,
    ready: Callable[[str], None] | None = None,
    ports: Ports | None = None,
) -> None:
    """Run the service until `stop` is set. `ready` is called once, with words, when the first connection stands.

    Raises ConfigError and StartRefused before anything was changed.
    """
    service = Service(settings, ports or Ports.real())
    await service.start()
    try:
        await service.run(stop, ready)
    finally:
        await service.stop()


class Service:
    """One boot: `start`, then `run` until its event is set, then `stop`."""

    def __init__(self, settings: Settings, ports: Ports) -> None:
        self.settings, self._ports = settings, ports
        self.figures = Figures()
        self._desk = AdminDesk(self.figures, settings)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._undo = contextlib.AsyncExitStack()
        self.web_url = ""

    @property
    def parts(self) -> Parts:
        assert self.figures.parts is not None, "not started"
        return self.figures.parts

    async def start(self) -> None:
        """Take the ports, the file and the ownership, and start the loops."""
        try:
            await self._start()
        except BaseException:
            await self._undo.aclose()
            raise

    async def run(self, stop: asyncio.Event, ready: Callable[[str], None] | None = None) -> None:
        """Until `stop` is set. A loop that ends by itself is a defect: it is logged and shows in health."""
        announcing = asyncio.create_task(self._announce(ready), name="announce")
        try:
            await stop.wait()
        finally:
            announcing.cancel()

    async def stop(self) -> None:
        """Down in order. Safe to call when `start` failed."""
        if self.figures.parts is None:
            return
        parts = self.parts
        log.info(SERVICE_STOPPING, running_turns=parts.turns.running)
        parts.dispatch.paused = True
        await parts.turns.drain(self.settings.turns.drain_s)
        await parts.delivery.stop(DELIVERY_LIMIT_S)
        alive_ms = parts.liveness.alive_ms()  # what comes from here on is not acked
        await parts.connection.stop()
        await parts.ledger.settling.close()
        await self._cancel_loops()
        try:
            await parts.context.database.run(beat_last, parts.context.now(), alive_ms)
            await self._anchor.write()
        finally:  # a full disk keeps the last moment from being written, and nothing else
            await self._undo.aclose()
            self.figures.parts = None
        log.info(SERVICE_STOPPED)

    async def _start(self) -> None:
        settings, ports = self.settings, self._ports
        resolved = resolve(settings, ports)
        await self._open_web()
        refuse_half_restored(true_path(settings.store.path))
        database = await Database.open(
            settings.store.path, hook=ports.hook, before_commit=owners.count_commit, clock=ports.clock
        )
        self._undo.push_async_callback(database.close)
        clock = FlooredClock(ports.clock, await database.read(read_floor))
        owned = await take_file(database, clock, ports.ids, replay_pending=settings.replay.pending)
        await own_processes(resolved.agents.values(), owned.mark)
        self._anchor = AnchorKeeper(database)
        session = await self._undo.enter_async_context(new_session())
        settings = self._desk.in_force = overlaid_where_possible(settings, await database.read(read_overlay))
        parts = assemble(settings, resolved, ports, session, database, clock, owned, __version__)
        self._undo.push_async_callback(parts.context.feishu.close)
        parts.desk.make_page_link = self._desk.link_for
        self._close_agents(resolved)
        await self._open_control()
        self.figures.parts = parts
        await drop_stale_turns(parts.context)
        self._start_loops(parts)
        epoch = owned.ownership.epoch
        log.info(SERVICE_STARTED, version=__version__, epoch=epoch, app_id=settings.feishu.app_id)

    async def _open_web(self) -> None:
        settings = self.settings
        if not settings.web.enabled:
            return
        extend = self._desk.extend if settings.web.admin else None
        web = WebServer(self.figures, settings.web.host, settings.web.port, extend)
        try:
            await web.start()
        except ConfigError:
            self._refuse_second_instance()
            raise
        self._undo.push_async_callback(web.stop)
        self.web_url = self._desk.web_url = web.url

    def _refuse_second_instance(self) -> None:
        """A port in use usually means that this very service runs already: then say that instead."""
        if lock_path(self.settings.store.path).exists():
            FileLock.acquire(self.settings.store.path, self._ports.clock.wall_ms()).release()

    async def _open_control(self) -> None:
        control = ControlServer(
            self.settings.control_socket, ControlOperations(self.figures).table() | {"web_link": self._desk.link}
        )
        await control.start()
        self._undo.push_async_callback(control.stop)

    def _close_agents(self, resolved: Resolved) -> None:
        for agent in resolved.agents.values():
            self._undo.push_async_callback(agent.close)

    def _start_loops(self, parts: Parts) -> None:
        loops: dict[str, Coroutine[Any, Any, None]] = {
            "connection": parts.connection.run(),
            "identity": identify(parts),
            "dispatch": parts.dispatch.run(),
            "turns": parts.turns.run(),
            "delivery": parts.delivery.run(),
            "approvals": parts.approvals.run(),
            "permissions": parts.permissions.run(),
            "quarantine": parts.quarantine.run(),
            "repair": parts.repair.run(),
            "establishing": watch_claims(parts.context),
            "gaps": parts.missed.keep_gaps(),
            "missed": parts.missed.run(),
            "heartbeat": keep_beating(parts.context, parts.standing, parts.liveness, self.settings.missed.heartbeat_s),
            "anchor": self._anchor.run(),
            "sweep": keep_sweeping(parts.context),
            "retiring": keep_retiring(parts.context, parts.liveness),
            "settling": parts.ledger.settling.run(),
            "leaving": keep_leaving(parts.context, parts.ledger.cycles),
        }
        for name, loop in loops.items():
            self._tasks[name] = asyncio.create_task(loop, name=name)
            self._tasks[name].add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Loops do not end by themselves: one that does is a defect that health must show."""
        name = task.get_name()
        if task.cancelled() or (name in MAY_END and task.exception() is None):
            return
        self.parts.standing.failed_loops.append(name)
        log.error(LOOP_ENDED, loop=name, exc_info=task.exception())

    async def _cancel_loops(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _announce(self, ready: Callable[[str], None] | None) -> None:
        """Say once that the service is connected and knows its name."""
        parts = self.parts
        await parts.context.identified.wait()
        await parts.connected.wait()
        words = f"connected as {parts.context.bot_name or self.settings.feishu.app_id}"
        log.info(SERVICE_READY, epoch=parts.context.epoch, web=self.web_url)
        if ready is not None:
            ready(words)


async def identify(parts: Parts) -> None:
    """Ask Feishu who the bot is, until it answers."""
    context, attempts = parts.context, 0
    while True:
        try:
            bot = await context.feishu.bot_info()
        except (RetryLater, ApiRefused, OutcomeUnknown) as error:
            attempts += 1
            asked_ms = error.after_ms if isinstance(error, RetryLater) else 0
            pause_s = max(asked_ms, backoff_ms(attempts, context.rng.random())) / 1000
            log.warning(IDENTITY_DELAYED, error=str(error), again_in_s=round(pause_s, 1))
            await asyncio.sleep(pause_s)
        else:
            context.identify(bot.open_id, bot.name)
            context.inbox.ring()
            return
