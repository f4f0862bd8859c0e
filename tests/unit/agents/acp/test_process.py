"""One subprocess: its lines, its last words, its end. Real ones, of a few milliseconds."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from channels.agents.acp.framing import Oversized
from channels.agents.acp.guardian import Guardian
from channels.agents.acp.process import STDERR_BYTES, AgentProcess, Launch
from channels.agents.acp.watchdog import VARIABLE
from tests.conformance.agents.test_acp_orphans import over

SOON_S = 20


class Run:
    """A process and everything that it calls back."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self.lines: list[bytes | Oversized] = []
        self.gone = asyncio.Event()
        self.changed = asyncio.Event()
        self.on_line: Callable[[], None] = lambda: None

    async def start(self, code: str, *, shell: bool = False) -> AgentProcess:
        self.gone = asyncio.Event()
        command = ("/bin/sh", "-c", code) if shell else (sys.executable, "-I", "-S", "-c", code)
        launch = Launch(command, {"PATH": "/usr/bin:/bin"}, Path("/"))
        self.process = await AgentProcess.start(launch, self._guardian, self._line, self._gone)
        return self.process

    def _gone(self) -> None:
        self.gone.set()

    def _line(self, line: bytes | Oversized) -> None:
        self.lines.append(line)
        self.changed.set()
        self.on_line()

    async def over(self) -> None:
        async with asyncio.timeout(SOON_S):
            await self.gone.wait()


@pytest.fixture
async def run() -> AsyncIterator[Run]:
    guardian = Guardian()
    guardian.join()
    made = Run(guardian)
    yield made
    made.process.kill()
    await made.over()
    guardian.leave()


async def test_every_line_comes_and_then_the_end(run: Run) -> None:
    await run.start("for n in range(20000): print(n)")
    await run.over()
    assert run.lines == [str(number).encode() for number in range(20_000)]
    assert run.process.returncode == 0


async def test_others_are_served_between_the_lines_of_a_flood(run: Run) -> None:
    def busy() -> None:
        until = time.perf_counter() + 0.0002
        while time.perf_counter() < until:
            pass

    run.on_line = busy
    await run.start("print('\\n' * 5000)")
    turns = 0
    async with asyncio.timeout(SOON_S):
        while not run.gone.is_set():
            await asyncio.sleep(0)
            turns += len(run.lines) > 0
    assert len(run.lines) == 5_001
    assert turns > 50


async def test_what_is_held_is_not_lost_though_the_process_has_ended(run: Run) -> None:
    run.on_line = lambda: run.process.hold() if len(run.lines) == 10 else None
    await run.start("for n in range(50000): print(n)")
    async with asyncio.timeout(SOON_S):
        while len(run.lines) < 10:
            await run.changed.wait()
            run.changed.clear()
        assert not run.gone.is_set()
        assert len(run.lines) == 10
        run.process.release()
    await run.over()
    assert len(run.lines) == 50_000


async def test_of_its_errors_the_end_is_kept(run: Run) -> None:
    await run.start("import sys; sys.stderr.write('x' * 1000000 + ' the end'); sys.exit(3)")
    await run.over()
    assert run.process.last_words().endswith("x the end")
    assert len(run.process.last_words()) == STDERR_BYTES
    assert run.process.returncode == 3


async def test_somebody_who_holds_its_pipes_does_not_hold_up_its_end(run: Run) -> None:
    """A child in a session of its own, with the pipe open; it is ended, too, by its mark."""
    await run.start("setsid sleep 1000 & echo $!; exit 0", shell=True)
    await run.over()
    pid = int(bytes(run.lines[0]))  # type: ignore[arg-type]
    async with asyncio.timeout(SOON_S):
        await over(pid)


async def test_one_that_shows_its_mark_only_later_is_ended_too(run: Run) -> None:
    """As every process for a moment while it starts a program."""
    hidden = f"sleep 0.3; {VARIABLE}=${VARIABLE} exec sleep 1000"
    await run.start(f'setsid env -i PATH=/usr/bin:/bin sh -c "{hidden}" & echo $!; sleep 0.1', shell=True)
    await run.over()
    pid = int(bytes(run.lines[0]))  # type: ignore[arg-type]
    async with asyncio.timeout(SOON_S):
        await over(pid)


async def test_a_closed_output_is_its_end(run: Run) -> None:
    await run.start("import os, time; os.close(1); time.sleep(1000)")
    await run.over()


async def test_one_that_ignores_the_request_is_killed(run: Run) -> None:
    await run.start("trap '' TERM; echo ready; while :; do sleep 1; done", shell=True)
    async with asyncio.timeout(SOON_S):
        await run.changed.wait()
        run.process.terminate(0.05)
    await run.over()


async def test_a_program_that_is_not_there_is_gone_at_once() -> None:
    guardian, gone = Guardian(), asyncio.Event()
    guardian.join()
    launch = Launch(("/no/such/program",), {}, Path("/"))
    with pytest.raises(FileNotFoundError):
        await AgentProcess.start(launch, guardian, lambda line: None, gone.set)
    assert gone.is_set()
    guardian.leave()


async def test_a_start_that_is_given_up_leaves_nothing(run: Run) -> None:
    starting = asyncio.create_task(run.start("import time; time.sleep(1000)"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await run.over()
    await run.start("pass")
