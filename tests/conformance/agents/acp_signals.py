"""What the fake agent says about itself, beside the protocol: a Unix socket that its processes write lines to."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import TracebackType


class Signals:
    """Every line is "PID WORD …"; a process whose connection closes is heard as "PID gone"."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Signals":
        self._server = await asyncio.start_unix_server(self._listen, self.path)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()

    def forget(self) -> None:
        self.lines.clear()

    async def until(self, holds: Callable[[list[str]], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: holds(self.lines))

    async def heard(self, word: str) -> str:
        """The first line since `forget` with this word behind its number."""

        def found() -> list[str]:
            return [line for line in self.lines if line.split()[1] == word]

        await self.until(lambda _: bool(found()))
        return found()[0]

    async def rested(self) -> None:
        """Until every prompt that was begun has ended, or its process is gone."""
        await self.until(lambda _: self.count("gone") > 0 or self.count("prompt") <= self.count("ended"))

    def count(self, word: str) -> int:
        return sum(line.split()[1] == word for line in self.lines)

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        pid = "0"
        try:
            while line := (await reader.readline()).decode().strip():
                pid = line.split()[0]
                await self._tell(line)
            await self._tell(f"{pid} gone")
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _tell(self, line: str) -> None:
        async with self._changed:
            self.lines.append(line)
            self._changed.notify_all()
