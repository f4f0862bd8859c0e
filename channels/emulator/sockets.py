"""The long connection's server side: discovery, handshake, ping and pong, event frames out, acks in."""

import asyncio
import json
import random
import secrets
from collections import deque

from aiohttp import WSMsgType, web

from channels.emulator.behaviour import SocketBehaviour
from channels.emulator.frames import CONTROL, DATA, Frame, decode_frame, encode_frame
from channels.emulator.gateway import Gateway, Operation, Request, Services
from channels.emulator.views import Json
from channels.emulator.world import World

CONNECT = "/callback/ws/connect"
SERVICE_ID = 33554432
CLOSE_TIMEOUT_S = 0.5  # a client that does not say goodbye must not hold up the end


class Connection:
    """One socket. Frames go through an outbox, so that pushing an event never waits."""

    def __init__(self, connection_id: str, socket: web.WebSocketResponse, request: web.Request) -> None:
        self.connection_id = connection_id
        self.muted = False
        self.events_sent = 0
        self.pings = 0
        self._socket, self._request = socket, request
        self._outbox: deque[bytes] = deque()
        self._wake = asyncio.Event()

    def send(self, data: bytes) -> None:
        self._outbox.append(data)
        self._wake.set()

    def cut(self) -> None:
        """Break the connection without a closing frame."""
        if self._request.transport is not None:
            self._request.transport.abort()

    async def write(self) -> None:
        """Send what lies in the outbox, until the connection ends."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._outbox:
                data = self._outbox.popleft()
                try:
                    await self._socket.send_bytes(data)
                except (ConnectionError, RuntimeError):
                    return

    async def close(self) -> None:
        await self._socket.close()


class Sockets:
    """All connections of the app. `behaviour` may be changed at any time."""

    def __init__(self, world: World, gateway: Gateway) -> None:
        self.behaviour = SocketBehaviour()
        self.connections: dict[str, Connection] = {}
        self.on_frame = _ignore
        self._world, self._gateway = world, gateway
        self._tickets: set[str] = set()
        self._ids: list[str] = []
        self._count = 0

    def add_routes(self, app: web.Application) -> None:
        app.router.add_get(CONNECT, self._connect)
        path = "/callback/ws/endpoint"
        self._gateway.add_routes(app, [Operation("POST", path, "ws.endpoint", self._discover, auth=False, flat=True)])

    # Control

    def cut(self) -> int:
        """Break every connection; how many there were."""
        broken = list(self.connections.values())
        for connection in broken:
            connection.cut()
            self._remove(connection.connection_id)
        self._world.ledger.changed()
        return len(broken)

    def mute(self, on: bool = True) -> None:
        """Make every present and future connection half-open: pings are answered, events vanish."""
        self.behaviour.muted = on

    def mute_present(self) -> None:
        """Make only the connections that exist now half-open; a new one works."""
        for connection in self.connections.values():
            connection.muted = True

    async def close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in list(self.connections.values())))

    # Sending

    def send_event(self, frame_id: str, payload: bytes) -> str:
        if not self._ids:
            return ""
        connection_id = self._ids[0] if len(self._ids) == 1 else random.choice(self._ids)
        connection = self.connections[connection_id]
        if connection.muted or self.behaviour.muted:
            return connection_id
        limit = self.behaviour.chunk_bytes
        if limit and len(payload) > limit:
            for data in self._chunks(frame_id, payload):
                connection.send(data)
        else:
            connection.send(self._event_frame(frame_id, payload, 1, 0))
        connection.events_sent += 1
        if self.behaviour.cut_after_events is not None and connection.events_sent >= self.behaviour.cut_after_events:
            self._remove(connection_id)
            asyncio.get_running_loop().call_soon(connection.cut)
        return connection_id

    def _event_frame(self, frame_id: str, payload: bytes, total: int, number: int) -> bytes:
        self._count += 1
        headers = (
            ("type", "event"),
            ("message_id", frame_id),
            ("sum", str(total)),
            ("seq", str(number)),
            ("trace_id", frame_id),
            ("timestamp", str(self._world.clock.now_ms())),
        )
        return encode_frame(DATA, headers, payload, service=SERVICE_ID, seq_id=self._count)

    def _chunks(self, frame_id: str, payload: bytes) -> list[bytes]:
        size, behaviour = self.behaviour.chunk_bytes, self.behaviour
        parts = [payload[at : at + size] for at in range(0, len(payload), size)]
        frames = [self._event_frame(frame_id, part, len(parts), number) for number, part in enumerate(parts)]
        if behaviour.chunk_order == "reverse":
            frames.reverse()
        elif behaviour.chunk_order == "random":
            random.shuffle(frames)
        frames += frames[:1] * behaviour.chunk_repeats
        if behaviour.chunks_missing > 0:
            behaviour.chunks_missing -= 1
            frames.pop()
        return frames

    # Discovery and handshake

    def _discover(self, services: Services, request: Request) -> Json:
        settings = self._world.settings
        if request.body.get("AppID") != settings.app_id or request.body.get("AppSecret") != settings.app_secret:
            return {"code": 514, "msg": "app_id or app_secret is invalid"}
        ticket = secrets.token_hex(8)
        self._tickets.add(ticket)
        query = f"device_id={secrets.randbits(60)}&service_id={SERVICE_ID}&access_key={secrets.token_hex(8)}"
        url = f"{self.socket_url}?{query}&ticket={ticket}"
        return {"code": 0, "msg": "", "data": {"URL": url, "ClientConfig": dict(self.behaviour.client_config)}}

    @property
    def socket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}{CONNECT}"

    port = 0

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        if (spoiled := await self._gateway.spoil_handshake(request)) is not None:
            return spoiled
        if request.query.get("ticket") not in self._tickets:
            return _refused(403, "ticket is invalid", "")
        if len(self.connections) >= self._world.settings.max_connections:
            return _refused(514, "the number of connections exceeded the limit", "1000040350")
        socket = web.WebSocketResponse(timeout=CLOSE_TIMEOUT_S, max_msg_size=0, compress=False)
        await socket.prepare(request)
        connection = Connection(secrets.token_hex(6), socket, request)
        self.connections[connection.connection_id] = connection
        self._ids.append(connection.connection_id)
        self._world.ledger.changed()
        writer = asyncio.create_task(connection.write())
        try:
            await self._read(connection, socket)
        finally:
            writer.cancel()
            self._remove(connection.connection_id)
            self._world.ledger.changed()
        return socket

    async def _read(self, connection: Connection, socket: web.WebSocketResponse) -> None:
        while True:
            message = await socket.receive()
            if message.type is not WSMsgType.BINARY:
                return
            try:
                frame = decode_frame(message.data)
            except ValueError:
                continue
            if frame.method == DATA:
                self.on_frame(frame)
            elif frame.headers.get("type") == "ping":
                self._pong(connection)

    def _pong(self, connection: Connection) -> None:
        connection.pings += 1
        self._world.ledger.changed()
        if self.behaviour.pongs:
            config = self.behaviour.pong_config
            payload = json.dumps(config).encode() if config is not None else b""
            connection.send(encode_frame(CONTROL, (("type", "pong"),), payload, service=SERVICE_ID))

    def _remove(self, connection_id: str) -> None:
        if self.connections.pop(connection_id, None) is not None:
            self._ids.remove(connection_id)


def _ignore(frame: Frame) -> None:
    return None


def _refused(status: int, text: str, auth_code: str) -> web.Response:
    headers = {"Handshake-Status": str(status), "Handshake-Msg": text}
    if auth_code:
        headers["Handshake-Autherrcode"] = auth_code
    return web.Response(status=403, headers=headers)
