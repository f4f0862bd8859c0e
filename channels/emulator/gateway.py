"""The door of the open API: ledger, faults, authorization, rate limits, envelope. What a call does is in `api_*`."""

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote

from aiohttp import BodyPartReader, web
from multidict import MultiMapping

from channels.emulator.errors import ApiError
from channels.emulator.faults import Fault, Faults
from channels.emulator.ledger import Call
from channels.emulator.limits import Limit, Limits, Tokens
from channels.emulator.posting import Posting
from channels.emulator.views import Json
from channels.emulator.world import World

JSON_TYPE = "application/json; charset=utf-8"
FOR_EVER_S = 10**6
FILE_PARTS = ("file", "image")


@dataclass(frozen=True, slots=True)
class Services:
    world: World
    posting: Posting
    tokens: Tokens
    limits: Limits


@dataclass(frozen=True, slots=True)
class Request:
    """A call as the operations see it; `files` are the multipart parts with content."""

    params: Mapping[str, str]
    query: MultiMapping[str]
    body: Json
    files: Mapping[str, bytes]
    call: Call

    def page_size(self, default: int = 20) -> int:
        text = self.query.get("page_size") or str(default)
        if not text.isdigit() or not 1 <= int(text) <= 50:
            raise ApiError(99992402, "page_size is invalid")
        return int(text)


@dataclass(frozen=True, slots=True)
class Blob:
    """An answer that is bytes, not JSON."""

    data: bytes
    content_type: str
    name: str = ""


Run = Callable[[Services, Request], Json | Blob]


@dataclass(frozen=True, slots=True)
class Operation:
    """One API call. `flat`: the result is the envelope itself. `changes`: success is a visible effect."""

    method: str
    path: str
    kind: str
    run: Run
    auth: bool = True
    flat: bool = False
    multipart: bool = False
    form: bool = False  # a URL-encoded body
    changes: bool = False
    limits: Callable[[Services, Request], list[Limit]] = field(default=lambda services, request: [])


class Gateway:
    def __init__(self, services: Services, faults: Faults) -> None:
        self._services, self._faults = services, faults
        self._stopping = asyncio.Event()

    def add_routes(self, app: web.Application, operations: list[Operation]) -> None:
        for operation in operations:
            app.router.add_route(operation.method, operation.path, self._handler(operation))

    def add_unknown(self, app: web.Application) -> None:
        """Every other API path: 404 as plain text, recorded as a call of kind "unknown"."""
        services = self._services

        async def refuse(request: web.Request) -> web.Response:
            now_ms = services.world.clock.now_ms()
            call = Call(now_ms, "unknown", request.method, request.path, status=404, done_ms=now_ms)
            services.world.ledger.record_call(call)
            return web.Response(status=404, text="404 page not found", headers=_log_id())

        app.router.add_route("*", "/open-apis/{rest:.*}", refuse)

    def stop(self) -> None:
        """Let every held-back answer go."""
        self._stopping.set()

    async def pause(self, seconds: float) -> None:
        """Wait, but not beyond the end of the emulator."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    def _handler(self, operation: Operation) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            ledger, clock = self._services.world.ledger, self._services.world.clock
            call = Call(clock.now_ms(), operation.kind, request.method, request.path)
            ledger.record_call(call)
            raw = b"" if operation.multipart else await request.read()
            fault = self._faults.take(request.method, request.path, operation.kind, raw)
            try:
                if fault is None:
                    return await self._run(request, operation, call, raw)
                call.fault = fault.kind
                return await self._spoil(request, fault, lambda: self._run(request, operation, call, raw), call)
            finally:
                call.done_ms = clock.now_ms()
                ledger.changed()

        return handle

    async def spoil_handshake(self, request: web.Request) -> web.StreamResponse | None:
        """The answer of a fault set on the long connection's handshake, if any; a delay only waits."""
        fault = self._faults.take(request.method, request.path, "ws.connect")
        if fault is None:
            return None
        if fault.kind == "delay":
            await self.pause(fault.seconds)
            return None
        return await self._spoil(request, fault, None, Call(0, "ws.connect", request.method, request.path))

    async def _spoil(
        self, request: web.Request, fault: Fault, run: Callable[[], Any] | None, call: Call
    ) -> web.StreamResponse:
        if fault.kind == "delay" and run is not None:
            await self.pause(fault.seconds)
            return web.Response() if self._stopping.is_set() else await run()
        response = await run() if run is not None and fault.takes_effect else None
        call.status = 0
        match fault.kind:
            case "error":
                status = fault.status or (200 if call.kind in ("auth.token", "ws.endpoint") else 400)
                error = ApiError(fault.code, status=status, headers=fault.headers)
                return self._answer(call, _failure(error), error.status, error.headers)
            case "status" | "html" | "empty":
                return self._foreign(call, fault)
            case "cut":
                return await self._cut(request, response)
        if fault.kind != "drop":
            await self.pause(fault.seconds or (FOR_EVER_S if fault.kind == "mute" else 0))
        _abort(request)
        return web.Response()

    def _foreign(self, call: Call, fault: Fault) -> web.Response:
        """An answer that no Feishu service wrote: a proxy's page, or nothing at all."""
        texts = {"html": "<html><body><h1>502 Bad Gateway</h1></body></html>", "status": "", "empty": ""}
        call.status = fault.status or {"html": 502, "status": 500, "empty": 200}[fault.kind]
        kind = "text/html" if fault.kind == "html" else "text/plain"
        return web.Response(status=call.status, text=texts[fault.kind], content_type=kind, headers=fault.headers)

    async def _cut(self, request: web.Request, whole: web.Response | None) -> web.StreamResponse:
        body = whole.body if whole is not None and isinstance(whole.body, bytes) else b"{}"
        response = web.StreamResponse(headers={"Content-Type": JSON_TYPE, "Content-Length": str(len(body))})
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        _abort(request)
        return response

    async def _run(self, request: web.Request, operation: Operation, call: Call, raw: bytes) -> web.Response:
        try:
            if operation.auth:
                self._services.tokens.check(request.headers.get("Authorization"))
            asked = await self._read(request, operation, call, raw)
            self._services.limits.admit(operation.kind, operation.limits(self._services, asked))
            result = operation.run(self._services, asked)
        except ApiError as error:
            call.code = error.code
            return self._answer(call, _failure(error), error.status, error.headers)
        call.effect = call.effect or operation.changes
        if isinstance(result, Blob):
            call.status = 200
            return _download(result)
        if not operation.flat:
            result = {"code": 0, "msg": "success", "data": result}
        call.code = int(result.get("code", 0))
        return self._answer(call, result, 200, {})

    async def _read(self, request: web.Request, operation: Operation, call: Call, raw: bytes) -> Request:
        body, files = await _read_body(request, operation, raw)
        call.uuid = str(body.get("uuid") or "")
        call.sequence = body["sequence"] if isinstance(body.get("sequence"), int) else 0
        if self._services.world.settings.keep_history:
            call.body = body
        return Request(request.match_info, request.query, body, files, call)

    def _answer(self, call: Call, body: Json, status: int, headers: Mapping[str, str]) -> web.Response:
        call.status, call.code = status, int(body.get("code", 0))
        data = json.dumps(body, ensure_ascii=False).encode()
        return web.Response(body=data, status=status, headers={"Content-Type": JSON_TYPE, **_log_id(), **headers})


def _download(blob: Blob) -> web.Response:
    headers = _log_id()
    if blob.name:
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(blob.name)}"
    return web.Response(body=blob.data, content_type=blob.content_type, headers=headers)


def _failure(error: ApiError) -> Json:
    return {"code": error.code, "msg": error.msg, "error": {"log_id": secrets.token_hex(8)}}


def _log_id() -> dict[str, str]:
    return {"X-Tt-Logid": secrets.token_hex(16)}


async def _read_body(request: web.Request, operation: Operation, raw: bytes) -> tuple[Json, dict[str, bytes]]:
    if operation.multipart:
        return await _read_parts(request)
    return (dict(parse_qsl(raw.decode())) if operation.form else _parsed(raw)), {}


async def _read_parts(request: web.Request) -> tuple[Json, dict[str, bytes]]:
    """Texts and files of a form; by the name of the part, since the official client sends files without a file name."""
    body: Json = {}
    files: dict[str, bytes] = {}
    if not request.content_type.startswith("multipart/"):
        raise ApiError(234001)
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        data = bytes(await part.read(decode=True))
        if part.name in FILE_PARTS:
            files[part.name] = data
        else:
            body[part.name] = data.decode()
    return body, files


def _parsed(raw: bytes) -> Json:
    if not raw:
        return {}
    try:
        body = json.loads(raw)
    except ValueError:
        raise ApiError(9499) from None
    if not isinstance(body, dict):
        raise ApiError(9499)
    return body


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
