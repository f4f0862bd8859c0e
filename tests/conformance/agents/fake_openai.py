"""A local server that speaks the streaming chat-completions protocol, with replies and faults by script.

In a test:

    async with FakeOpenAi() as server:
        server.script(Reply.of(words("ha", "ha"), finish()))
        ... an agent with base_url=server.base_url ...
        assert server.requests[0].body["model"] == "fake"

Each request takes the next scripted reply; without one the server answers by itself (`Manners`), or as the given
`answer` says, which then gets every POST whatever its path. As a program, for benches and for trying things by hand:
`python -m tests.conformance.agents.fake_openai --port 9000 --spread-ms 800`. It listens on loopback only. Of the
product it imports nothing.
"""

import argparse
import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web


@dataclass(frozen=True, slots=True)
class Data:
    """One event; a mapping goes out as JSON, a string as it is."""

    value: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are."""

    value: bytes


@dataclass(frozen=True, slots=True)
class Gate:
    """Wait until the test sets this event."""

    event: asyncio.Event


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """Say nothing more, until the client goes away (then `FakeOpenAi.gone` is set)."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Drop the connection in the middle of the body."""


@dataclass(frozen=True, slots=True)
class Flood:
    """The same word again and again, until the client goes away."""

    word: str


Step = Data | Raw | Gate | Pause | Hang | Cut | Flood


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: status and headers, then steps. `before` runs before even the headers go out."""

    steps: tuple[Step, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream"
    before: tuple[Step, ...] = ()

    @staticmethod
    def of(*steps: Step | Sequence[Step]) -> "Reply":
        flat: list[Step] = []
        for step in steps:
            flat.extend(step if isinstance(step, Sequence) else [step])
        return Reply(tuple(flat))

    @staticmethod
    def error(status: int, message: str = "", code: str = "", headers: Mapping[str, str] | None = None) -> "Reply":
        body = json.dumps({"error": {"message": message, "type": "fake", "code": code}})
        return Reply((Raw(body.encode()),), status, headers or {}, "application/json")

    @staticmethod
    def html(status: int = 200) -> "Reply":
        page = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>"
        return Reply((Raw(page.encode()),), status, {}, "text/html; charset=utf-8")


def chunk(delta: Mapping[str, Any], finish_reason: str | None = None, **more: Any) -> Data:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return Data({"id": "fake-1", "object": "chat.completion.chunk", "model": "fake", "choices": [choice], **more})


def words(*texts: str) -> list[Step]:
    return [chunk({"content": text}) for text in texts]


def thoughts(*texts: str, key: str = "reasoning_content") -> list[Step]:
    return [chunk({key: text}) for text in texts]


def finish(reason: str = "stop") -> list[Step]:
    return [chunk({}, reason), Data("[DONE]")]


def usage(prompt: int, completion: int, cached: int = 0) -> Data:
    details = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return Data({"choices": [], "usage": {**details, "prompt_tokens_details": {"cached_tokens": cached}}})


@dataclass(frozen=True, slots=True)
class Manners:
    """How the server answers by itself: `characters` of text (0: an echo) in `pieces`, spread over `spread_ms`."""

    first_ms: float = 0
    spread_ms: float = 0
    pieces: int = 20
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    body: dict[str, Any]
    headers: dict[str, str]
    peer: str
    path: str = "/v1/chat/completions"


Answer = Callable[[Request], Reply]


class FakeOpenAi:
    """The server. `base_url`, `requests`, `script(...)`; `reached` and `gone` are set at every request and every client
    that leaves before its answer is complete, `goings` counts these."""

    def __init__(self, port: int = 0, manners: Manners | None = None, answer: Answer | None = None) -> None:
        self.requests: list[Request] = []
        self.reached = asyncio.Event()
        self.gone = asyncio.Event()
        self.goings = 0
        self.running = 0
        self._changed = asyncio.Event()
        self._port = port
        self._manners = manners or Manners()
        self._answer = answer
        self._replies: deque[Reply] = deque()
        self._runner: web.AppRunner | None = None
        self.base_url = ""

    def script(self, *replies: Reply) -> None:
        """The replies to the next requests, in order."""
        self._replies.extend(replies)

    async def at_once(self, count: int) -> None:
        """Returns once `count` requests are being answered at the same time."""
        while self.running < count:
            self._changed.clear()
            await self._changed.wait()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/{path:.*}" if self._answer else "/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        peer = str(request.transport and id(request.transport))
        heard = Request(body, dict(request.headers), peer, request.path)
        self.requests.append(heard)
        reply = self._replies.popleft() if self._replies else self._reply_to(heard)
        self.running += 1
        self.reached.set()
        self._changed.set()
        try:
            return await self._play(request, reply)
        except (asyncio.CancelledError, ConnectionError):
            self.goings += 1
            self.gone.set()
            raise
        finally:
            self.running -= 1

    async def _play(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(
            status=reply.status, headers={**reply.headers, "content-type": reply.content_type}
        )
        for step in reply.before:
            await self._do(request, response, step)
        await response.prepare(request)
        for step in reply.steps:
            await self._do(request, response, step)
        await response.write_eof()
        return response

    async def _do(self, request: web.Request, response: web.StreamResponse, step: Step) -> None:
        match step:
            case Data(value):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                await response.write(f"data: {text}\n\n".encode())
            case Raw(value):
                await response.write(value)
            case Gate(event):
                await event.wait()
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Hang():
                await asyncio.Event().wait()
            case Cut():
                assert request.transport is not None
                request.transport.abort()
                raise ConnectionResetError
            case Flood(word):
                while True:
                    await self._do(request, response, chunk({"content": word}))
                    await asyncio.sleep(0)

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "fake", "object": "model", "owned_by": "fake"}]})

    def _reply_to(self, heard: Request) -> Reply:
        return self._answer(heard) if self._answer else self._own_reply(heard.body)

    def _own_reply(self, body: Mapping[str, Any]) -> Reply:
        question = next((m["content"] for m in reversed(body["messages"]) if m["role"] == "user"), "")
        manners = self._manners
        answer = f"You said: {question}"
        if manners.characters:
            answer = (f"{answer}. " * (manners.characters // len(answer) + 1))[: manners.characters]
        size = max(1, -(-len(answer) // manners.pieces))
        pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
        steps: list[Step] = [Pause(manners.first_ms / 1000)]
        for piece in pieces:
            steps += [Pause(manners.spread_ms / 1000 / len(pieces)), *words(piece)]
        sizes = [len(message["content"]) // 4 for message in body["messages"]]
        return Reply.of(steps, chunk({}, "stop"), usage(sum(sizes), len(answer) // 4, sum(sizes[:-1])), Data("[DONE]"))


async def _serve(port: int, manners: Manners) -> None:
    async with FakeOpenAi(port, manners) as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until interrupted; the first line of output is the base URL."""
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible server on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--first-ms", type=float, default=0, help="pause before the first word")
    parser.add_argument("--spread-ms", type=float, default=0, help="time from the first word to the last")
    parser.add_argument("--pieces", type=int, default=20)
    parser.add_argument("--characters", type=int, default=0, help="length of the answer; 0: an echo")
    given = parser.parse_args()
    manners = Manners(given.first_ms, given.spread_ms, max(1, given.pieces), given.characters)
    try:
        asyncio.run(_serve(given.port, manners))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
