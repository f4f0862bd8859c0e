"""The driver's side of the children: the warm parent, and one handle for each boot."""

import asyncio
import json
import signal
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KILLED = -signal.SIGKILL
ANSWER_LIMIT_S = 30.0


class WarmParent:
    """Forks children. One serves many cases at once."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._born: dict[str, asyncio.Future[tuple[int, asyncio.Future[int]]]] = {}
        self._ended: dict[int, asyncio.Future[int]] = {}
        self._count = 0
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, root: Path = ROOT) -> "WarmParent":
        """`root`: the tree whose code the children run, as an absolute path without links."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.crash.warm",
            cwd=root,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        told = await process.stdout.readline()
        if not told:
            raise RuntimeError("the warm parent did not start")
        if json.loads(told)["code"] != str(root):
            raise RuntimeError(f"the warm parent runs other code than that of {root}: {told!r}")
        return cls(process)

    async def fork(self, job: dict[str, Any]) -> tuple[int, asyncio.Future[int]]:
        """A new child: its pid, and the future of its exit code (negative: the signal)."""
        self._count += 1
        name = f"{self._count}"
        born: asyncio.Future[tuple[int, asyncio.Future[int]]] = asyncio.get_running_loop().create_future()
        self._born[name] = born
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job | {"name": name}).encode() + b"\n")
        return await born

    async def stop(self) -> None:
        """End it, and with it every child that is left."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        try:
            await self._read_lines()
        finally:  # whoever still waits must not wait for ever
            code = await self._process.wait()
            everybody: list[asyncio.Future[Any]] = [*self._born.values(), *self._ended.values()]
            for waiting in everybody:
                if not waiting.done():
                    waiting.set_exception(RuntimeError(f"the warm parent has ended with code {code}"))
                    waiting.exception()

    async def _read_lines(self) -> None:
        assert self._process.stdout is not None
        loop = asyncio.get_running_loop()
        async for line in self._process.stdout:
            told = json.loads(line)
            if "born" in told:
                ended = self._ended[told["pid"]] = loop.create_future()
                self._born.pop(told["born"]).set_result((told["pid"], ended))
            else:
                self._ended.pop(told["ended"]).set_result(told["code"])


@dataclass(slots=True)
class Boot:
    """One boot of the service in a child. `code` is there when it has ended."""

    number: int
    kill: tuple[str, int] | None
    pid: int
    ended: asyncio.Future[int]
    started_ms: int
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    commits: int = 0
    rss_kb: int = 0

    @property
    def alive(self) -> bool:
        return not self.ended.done()

    @property
    def code(self) -> int | None:
        return self.ended.result() if self.ended.done() else None


class Line:
    """The Unix socket of one case: its children speak here, one after another."""

    def __init__(self, folder: Path, changed: Callable[[], None], advanced: Callable[[float], None]) -> None:
        self.path = folder / "line"
        self._changed, self._advanced = changed, advanced
        self._server: asyncio.Server | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._boot: Boot | None = None
        self._questions: deque[asyncio.Future[Any]] = deque()

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self.path, limit=2**24)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def expect(self, boot: Boot) -> None:
        """The next child that calls is this one."""
        self._boot, self._writer = boot, None

    async def ask(self, **question: Any) -> Any:
        """The child's answer; None when there is no child to answer, or it dies over it."""
        if self._writer is None:
            return None
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._questions.append(future)
        self._writer.write(json.dumps(question).encode() + b"\n")
        async with asyncio.timeout(ANSWER_LIMIT_S):
            return await future

    def tell_to_stop(self) -> None:
        if self._writer is not None:
            self._writer.write(b'{"do": "stop"}\n')

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        boot = self._boot
        assert boot is not None
        questions: deque[asyncio.Future[Any]] = deque()
        self._writer, self._questions = writer, questions
        try:
            while line := await reader.readline():
                self._take(boot, questions, json.loads(line))
        except (ConnectionError, ValueError):
            pass  # killed in the middle of a line
        finally:
            if self._writer is writer:
                self._writer = None
            while questions:
                _settle(questions.popleft(), None)
            writer.close()
            self._changed()

    def _take(self, boot: Boot, questions: deque[asyncio.Future[Any]], told: dict[str, Any]) -> None:
        match told:
            case {"answer": value}:
                _settle(questions.popleft(), value)
            case {"ready": _}:
                boot.ready.set()
            case {"committed": _}:
                boot.commits += 1
            case {"advanced": seconds}:
                self._advanced(seconds)
            case {"rss_kb": rss_kb}:
                boot.rss_kb = rss_kb
        self._changed()


def _settle(question: asyncio.Future[Any], value: Any) -> None:
    if not question.done():  # who asked may have gone
        question.set_result(value)
