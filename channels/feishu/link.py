"""One open socket: read frames, hand events over, ack with the verdict, ping, notice silence.

An event is handled in its own task, so that a slow one delays no other event, ping or ack. Its ack goes out when the
handler has returned; a handler that fails, or takes longer than `ack_limit_s`, is acked with 500 and Feishu sends the
event again. A late handler goes on (it may be in the middle of a commit) and its result is dropped.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from channels import logs
from channels.clock import Clock
from channels.feishu import frames
from channels.feishu.discovery import Endpoint
from channels.feishu.health import ConnectionHealth
from channels.feishu.reconnect import ConnectionSettings, silence_limit_s

_log = logs.get_logger("feishu.link")


@dataclass(frozen=True, slots=True)
class Answer:
    """A handler's verdict: code 200 = durable, 500 = send it again; `data` answers a card click."""

    code: int
    data: Mapping[str, object] | None = None


Handler = Callable[[bytes], Awaitable[Answer]]


@dataclass(slots=True, eq=False)
class _Event:
    frame: frames.Frame
    started_at: float
    answered: bool = False


class Link:
    """One connected WebSocket. `serve` runs until it is gone or `stop_reading` is called; then `close` it.

    The tasks that handle events are kept in `tasks`, which is the caller's: they outlive a lost socket, because what a
    handler has begun to commit is worth finishing even when the ack can no longer be sent.
    """

    def __init__(
        self,
        socket: aiohttp.ClientWebSocketResponse,
        endpoint: Endpoint,
        handler: Handler,
        clock: Clock,
        settings: ConnectionSettings,
        health: ConnectionHealth,
        tasks: set[asyncio.Task[None]],
    ) -> None:
        self._socket, self._service_id, self._config = socket, endpoint.service_id, endpoint.config
        self._handler, self._clock, self._settings, self._health = handler, clock, settings, health
        self._chunks = frames.Chunks()
        self._writing = asyncio.Lock()
        self._tasks = tasks
        self._slots = asyncio.Semaphore(settings.most_in_flight)
        self._config_changed = asyncio.Event()
        self._heard_at = clock.monotonic()
        self._reader: asyncio.Task[str] | None = None
        self.proved = False

    @property
    def nonce_s(self) -> float:
        """The spread that Feishu asks for when this connection is lost."""
        return self._config.nonce_s

    async def serve(self) -> str:
        """Read and ping until the socket is gone; says why it ended."""
        loop = asyncio.get_running_loop()
        self._reader = loop.create_task(self._read())
        keeper = loop.create_task(self._keep_alive())
        try:
            done, _ = await asyncio.wait({self._reader, keeper}, return_when=asyncio.FIRST_COMPLETED)
            ended = self._reader if self._reader in done else keeper
            return "stopped" if ended.cancelled() else ended.result()
        finally:
            await cancel_all({self._reader, keeper})

    def stop_reading(self) -> None:
        """Take no further frame; those that come now are not acked, so Feishu sends them again."""
        if self._reader is not None:
            self._reader.cancel()

    async def close(self) -> None:
        """Close the socket; a dead peer costs at most the close time-out."""
        await self._socket.close()

    async def _read(self) -> str:
        while True:
            message = await self._socket.receive()
            match message.type:
                case aiohttp.WSMsgType.BINARY:
                    await self._take(message.data)
                case aiohttp.WSMsgType.CLOSE:
                    return f"closed by Feishu with {message.data}"
                case aiohttp.WSMsgType.CLOSING | aiohttp.WSMsgType.CLOSED:
                    return "closed"
                case aiohttp.WSMsgType.ERROR:
                    return f"broken: {type(message.data).__name__}"
                case _:
                    self._reject("not binary")

    async def _take(self, data: bytes) -> None:
        """Handle one binary message. A bad one is logged and skipped: the next may be good."""
        self._heard_at = self._clock.monotonic()
        try:
            frame = frames.decode(data)
        except frames.BadFrame as error:
            self._reject(str(error))
            return
        self.proved = True
        if frame.method == frames.CONTROL:
            self._take_control(frame)
        elif frame.method == frames.DATA and frame.header("type") in ("event", "card"):
            await self._take_data(frame)
        else:
            self._reject(f"method {frame.method}")

    def _take_control(self, frame: frames.Frame) -> None:
        if frame.header("type") != "pong":
            return
        self._health.last_pong_at = self._heard_at
        if not frame.payload:
            return
        try:
            config = self._config.updated(json.loads(frame.payload))
        except (ValueError, RecursionError):
            return
        if config != self._config:
            self._config = config
            self._config_changed.set()

    async def _take_data(self, frame: frames.Frame) -> None:
        self._health.last_frame_at = self._heard_at
        self._health.frames += 1
        payload = self._chunks.add(frame, self._heard_at)
        if payload is None:
            return
        await self._slots.acquire()  # held until the ack, so never longer than ack_limit_s
        event = _Event(frame, self._clock.monotonic())
        self._health.in_flight += 1
        if len(self._tasks) < 2 * self._settings.most_in_flight:
            self._start(self._handle(event, payload))
        else:  # handlers that never come back must not pile up for ever
            self._start(self._ack(event, Answer(frames.FAILED)))

    async def _handle(self, event: _Event, payload: bytes) -> None:
        timer = asyncio.get_running_loop().call_later(self._settings.ack_limit_s, self._give_up, event)
        try:
            answer = await self._handler(payload)
        except Exception as error:  # the head of every event's handling: it says 500, and Feishu sends it again
            _log.error(logs.LOOP_FAILED, error=type(error).__name__, exc_info=True)
            answer = Answer(frames.FAILED)
        timer.cancel()
        await self._ack(event, answer)

    def _give_up(self, event: _Event) -> None:
        self._health.acks_late += 1
        self._start(self._ack(event, Answer(frames.FAILED)))

    async def _ack(self, event: _Event, answer: Answer) -> None:
        """Send the first verdict on an event; a later one is dropped."""
        if event.answered:
            return
        event.answered = True
        self._health.in_flight -= 1
        self._slots.release()
        if answer.code != frames.OK:
            self._chunks.unmark(event.frame)
        took_ms = int((self._clock.monotonic() - event.started_at) * 1000)
        try:
            await self._send(frames.ack(event.frame, answer.code, answer.data, took_ms))
        except (aiohttp.ClientError, OSError, TypeError, ValueError) as error:
            self._health.acks_failed += 1
            _log.warning(logs.ACK_FAILED, why=type(error).__name__)
            return
        if answer.code == frames.OK:
            self._health.acks_ok += 1
        else:
            self._health.acks_failed += 1

    async def _send(self, data: bytes) -> None:
        async with self._writing:
            await self._socket.send_bytes(data)

    async def _keep_alive(self) -> str:
        """Ping at once and at every interval; ends when nothing was heard for too long."""
        while True:
            try:
                async with asyncio.timeout(self._settings.grace_s):
                    await self._send(frames.encode(frames.ping(self._service_id)))
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                return f"ping failed: {type(error).__name__}"
            if not await self._listen_until_next_ping():
                return "silence"

    async def _listen_until_next_ping(self) -> bool:
        """Wait one interval (a new one when Feishu changes it); False as soon as the silence is too long."""
        pinged_at = self._clock.monotonic()
        while True:
            interval_s = self._settings.ping_interval_s or self._config.ping_interval_s
            now = self._clock.monotonic()
            quiet_left_s = self._heard_at + silence_limit_s(interval_s, self._settings) - now
            left_s = pinged_at + interval_s - now
            if quiet_left_s <= 0 or left_s <= 0:
                return quiet_left_s > 0
            self._config_changed.clear()
            await _wait(self._config_changed, min(quiet_left_s, left_s))

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _reject(self, why: str) -> None:
        self._health.bad_frames += 1
        _log.warning(logs.FRAME_REJECTED, why=why)


async def cancel_all(tasks: Collection[asyncio.Task[Any]]) -> None:
    """End these tasks and wait until they have; their errors are read, so that nobody reports them as forgotten."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()


async def _wait(event: asyncio.Event, limit_s: float) -> None:
    """Until the event is set, at most this long."""
    try:
        async with asyncio.timeout(limit_s):
            await event.wait()
    except TimeoutError:
        pass
