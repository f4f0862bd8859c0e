"""The long connection: find the address, dial, serve, and build it anew for ever.

`run` ends only when it is cancelled or `stop` is called. Every end of a connection has a reason, which stands in
`health` and in the log; a fatal refusal stands there too and is tried again slowly.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import aiohttp

from channels import logs
from channels.clock import Clock, Rng
from channels.feishu.credentials import Credentials
from channels.feishu.discovery import Endpoint, ServerConfig, discover, read_refusal
from channels.feishu.health import ConnectionHealth, ConnectionState
from channels.feishu.link import Answer, Handler, Link, cancel_all
from channels.feishu.reconnect import ConnectionSettings, End, Fatal, Lost, TryAgain, count_failures, pause_s

__all__ = [
    "Answer",
    "ConnectionHealth",
    "ConnectionSettings",
    "ConnectionState",
    "Handler",
    "LongConnection",
]

_log = logs.get_logger("feishu.connection")
_T = TypeVar("_T")

_LARGEST_FRAME = 16 * 2**20
_CLOSE_TIMEOUT_S = 1.0


class LongConnection:
    """Keeps one connection to Feishu and gives each event's payload to `handler`, whose answer is acked.

    `on_change` is called, synchronously, when the state changes (connected, waiting, fatal, stopped).
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        credentials: Credentials,
        handler: Handler,
        clock: Clock,
        rng: Rng,
        *,
        settings: ConnectionSettings | None = None,
        proxy: str | None = None,
        on_change: Callable[[ConnectionHealth], None] | None = None,
    ) -> None:
        self._session, self._credentials, self._handler = session, credentials, handler
        self._clock, self._rng, self._proxy = clock, rng, proxy
        self._settings = settings or ConnectionSettings()
        self._on_change = on_change or (lambda _health: None)
        self._stopping, self._finished = asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._link: Link | None = None
        self._rebuilding = False
        self._failures = 0
        self._nonce_s = ServerConfig().nonce_s
        self.health = ConnectionHealth()

    async def run(self) -> None:
        """Keep the connection until cancelled (ends running handlers) or stopped (lets them finish)."""
        try:
            while not self._stopping.is_set():
                try:
                    end = await self._live_once()
                except Exception as error:  # the head of the loop: whatever it was, the next try may work
                    _log.error(logs.LOOP_FAILED, error=type(error).__name__, exc_info=True)
                    end = TryAgain(f"our own fault: {type(error).__name__}")
                if not self._stopping.is_set():
                    await self._wait_after(end)
        finally:
            await cancel_all(set(self._tasks))
            self._set_state(ConnectionState.STOPPED)
            self._finished.set()

    async def stop(self) -> None:
        """Read nothing more, let running handlers ack within `drain_s`, close, and return when `run` has ended."""
        self._stopping.set()
        if self._link is not None:
            self._link.stop_reading()
        if self.health.state is not ConnectionState.STOPPED and self.health.attempts:
            await self._finished.wait()

    def rebuild(self, why: str) -> None:
        """Drop this connection and make a new one: history shows what the socket did not deliver."""
        if self._link is not None:
            _log.warning(logs.CONNECTION_REBUILT, why=why)
            self._rebuilding = True
            self._link.stop_reading()

    async def _live_once(self) -> End:
        """One whole life: from the search for an address to the end of the socket."""
        self._set_state(ConnectionState.CONNECTING)
        self.health.attempts += 1
        opened = await self._unless_stopping(self._open())
        match opened:
            case None:
                return TryAgain("stopped")
            case Link():
                return await self._serve(opened)
            case _:
                return opened

    async def _open(self) -> Link | TryAgain | Fatal:
        settings = self._settings
        found = await discover(
            self._session, self._credentials, timeout_s=settings.discovery_timeout_s, proxy=self._proxy
        )
        if not isinstance(found, Endpoint):
            return found
        self._nonce_s = found.config.nonce_s
        try:
            async with asyncio.timeout(settings.handshake_timeout_s):
                socket = await self._session.ws_connect(
                    found.url,
                    proxy=self._proxy,
                    max_msg_size=_LARGEST_FRAME,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_TIMEOUT_S),
                )
        except aiohttp.WSServerHandshakeError as error:
            return read_refusal(error.status, error.headers or {})
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return TryAgain(f"handshake: {type(error).__name__}")
        return Link(socket, found, self._handler, self._clock, settings, self.health, self._tasks)

    async def _serve(self, link: Link) -> Lost:
        self._link, self._rebuilding = link, False
        self.health.fatal, self.health.connected_at_ms = None, self._clock.wall_ms()
        self.health.connections += 1
        self._set_state(ConnectionState.CONNECTED)
        _log.info(logs.CONNECTION_OPENED, attempts=self.health.attempts)
        try:
            why = "stopped" if self._stopping.is_set() else await link.serve()
            if self._stopping.is_set():
                await self._drain()
        finally:
            self._link, self.health.connected_at_ms = None, None
            await link.close()
        self._nonce_s = link.nonce_s
        return Lost("rebuilt" if self._rebuilding else why, link.proved)

    async def _drain(self) -> None:
        """Let the handlers that run now finish and ack, but not for ever."""
        self._set_state(ConnectionState.DRAINING)
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self._settings.drain_s)

    async def _wait_after(self, end: End) -> None:
        self._failures = count_failures(self._failures, end)
        nonce_s = 0.0 if self._rebuilding else self._nonce_s  # nobody else loses a connection that we drop ourselves
        seconds = pause_s(end, self._failures, self._rng.random(), nonce_s, self._settings)
        self._note(end, seconds)
        self._set_state(ConnectionState.WAITING)
        await self._unless_stopping(asyncio.sleep(seconds))

    def _note(self, end: End, seconds: float) -> None:
        match end:
            case Lost(why, _):
                self.health.last_loss = why
                _log.warning(logs.CONNECTION_LOST, why=why, again_in_s=round(seconds, 3))
            case TryAgain(why, code):
                self.health.last_loss = why
                _log.warning(logs.CONNECTION_REFUSED, why=why, code=code, again_in_s=round(seconds, 3))
            case Fatal(code, msg):
                self.health.fatal, self.health.last_loss = end, f"refused with {code}"
                _log.error(logs.CONNECTION_REFUSED, code=code, why=msg, fatal=True, again_in_s=round(seconds, 3))

    async def _unless_stopping(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """The result of `work`, or None when stop was asked for first (the work is cancelled)."""
        loop = asyncio.get_running_loop()
        task, stopping = loop.create_task(work), loop.create_task(self._stopping.wait())
        try:
            await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            task.cancel()
            stopping.cancel()
            await asyncio.wait({task, stopping})

    def _set_state(self, state: ConnectionState) -> None:
        if self.health.state is not state:
            self.health.state = state
            self._on_change(self.health)
