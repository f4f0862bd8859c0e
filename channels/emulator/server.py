"""The emulator as one object: build, start on loopback, stop. Several may run in one process."""

import asyncio
import importlib
from collections.abc import Callable

from aiohttp import web

from channels.emulator import api_cards, api_messages, api_tenant, registration
from channels.emulator.clock import EmulatorClock
from channels.emulator.control import Control
from channels.emulator.deliveries import Deliveries
from channels.emulator.faults import Faults
from channels.emulator.gateway import Gateway, Services
from channels.emulator.launcher import Launcher
from channels.emulator.ledger import Ledger
from channels.emulator.limits import Limits, Tokens
from channels.emulator.posting import Posting
from channels.emulator.settings import EmulatorSettings
from channels.emulator.sockets import Sockets
from channels.emulator.world import World

MAX_REQUEST_BYTES = 64 * 1024 * 1024


class Emulator:
    """A Feishu Open Platform on loopback.

    `world` people and state, `ledger` what was seen, `faults` failures of HTTP calls and the handshake, `sockets`
    the long connection (`sockets.behaviour`, `cut`, `mute`), `settings` limits and switches. `start` needs a running
    loop; every method of `world` is called from that loop.
    """

    def __init__(self, settings: EmulatorSettings | None = None) -> None:
        self.settings = settings or EmulatorSettings()
        self.clock = EmulatorClock()
        self.world = World(self.settings, self.clock)
        self.faults = Faults()
        self.tokens = Tokens(self.settings, self.clock)
        self.limits = Limits(self.settings, self.clock)
        self.url = ""
        self.sockets: Sockets
        self.deliveries: Deliveries
        self._gateway: Gateway
        self._runner: web.AppRunner | None = None

    @property
    def ledger(self) -> Ledger:
        return self.world.ledger

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Listen on `host:port` (0: any free port); returns `url`."""
        app = web.Application(client_max_size=MAX_REQUEST_BYTES)
        self._assemble(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        self.sockets.port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.sockets.port}"
        self.world.registration.address = self.url
        self.clock.start()
        return self.url

    async def stop(self) -> None:
        """Close everything; held-back answers are dropped. Idempotent."""
        if self._runner is None:
            return
        runner, self._runner = self._runner, None
        self._gateway.stop()
        self.deliveries.stop()
        await self.sockets.close()
        await runner.cleanup()
        self.clock.stop()

    def advance(self, seconds: float) -> None:
        """Let time pass at once: redeliveries, windows and limits follow."""
        self.clock.advance(seconds)

    async def until(self, fact: Callable[[], object], timeout_s: float = 10) -> None:
        """Wait until `fact()` is true; asked again at every change. TimeoutError when it never is."""
        await self.ledger.until(fact, timeout_s)

    async def connected(self, count: int = 1, timeout_s: float = 10) -> None:
        """Wait until so many long connections are open."""
        await self.until(lambda: len(self.sockets.connections) >= count, timeout_s)

    def _assemble(self, app: web.Application) -> None:
        services = Services(self.world, Posting(self.world), self.tokens, self.limits)
        self._gateway = Gateway(services, self.faults)
        self.sockets = Sockets(self.world, self._gateway)
        self.deliveries = Deliveries(self.world, self.sockets)
        self.sockets.on_frame = self.deliveries.acknowledge
        self.world.push = self.deliveries.push
        self.world.call_back = self.deliveries.call_back
        self.sockets.add_routes(app)
        for module in (api_messages, api_cards, api_tenant, registration):
            self._gateway.add_routes(app, module.OPERATIONS)
        Control(self.world, self.faults, self.tokens, self.sockets, self.deliveries).add_routes(app)
        Launcher(self.world).add_routes(app)
        self._gateway.add_unknown(app)
        self._add_page(app)

    def _add_page(self, app: web.Application) -> None:
        # By name: the page is a module above this one, so importing it here would be a cycle.
        try:
            page = importlib.import_module("channels.emulator.page")
        except ModuleNotFoundError as error:
            if error.name != "channels.emulator.page":
                raise
            return
        page.add_routes(app, self)


async def serve(host: str = "127.0.0.1", port: int = 0, settings: EmulatorSettings | None = None) -> None:
    """Run an emulator until cancelled."""
    emulator = Emulator(settings)
    await emulator.start(host, port)
    try:
        await asyncio.Event().wait()
    finally:
        await emulator.stop()
