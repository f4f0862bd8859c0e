"""No process of an agent outlives its service, whatever ends it: real processes, real SIGKILL."""

import asyncio
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from channels.agents.acp.orphans import end_orphans
from channels.agents.acp.watchdog import find_marked
from channels.agents.protocol import ProcessMark

ROOT = Path(__file__).resolve().parents[3]
SOON_S = 20


@dataclass(frozen=True)
class Service:
    """A service with a watchdog and an agent; the agent has a child in its group and one in a session of its own."""

    process: asyncio.subprocess.Process
    db_uuid: str
    watchdog: int
    family: tuple[int, ...]


@asynccontextmanager
async def service(folder: Path, epoch: int = 1, *options: str) -> AsyncIterator[Service]:
    db_uuid = str(uuid.uuid4())
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.conformance.agents.orphan_service", str(folder), db_uuid, str(epoch), *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=ROOT,
    )
    assert process.stdout is not None
    async with asyncio.timeout(SOON_S):
        word, watchdog, *family = (await process.stdout.readline()).decode().split()
    assert word == "ready"
    try:
        yield Service(process, db_uuid, int(watchdog), tuple(map(int, family)))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        for pid in find_marked(f"{db_uuid}:"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def over(pid: int) -> None:
    """Until the process is gone."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(watched, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
async def test_the_watchdog_ends_agents_and_what_they_started(tmp_path: Path, number: signal.Signals) -> None:
    async with service(tmp_path) as running, asyncio.timeout(SOON_S):
        assert all(alive(pid) for pid in running.family)
        running.process.send_signal(number)
        for pid in running.family:
            await over(pid)
        await over(running.watchdog)


async def test_a_watchdog_that_was_killed_is_replaced_and_told_of_everything(tmp_path: Path) -> None:
    async with service(tmp_path, 1, "--watchdog-dies") as running, asyncio.timeout(SOON_S):
        assert alive(running.watchdog)
        running.process.kill()
        for pid in running.family:
            await over(pid)


async def test_what_the_watchdog_could_not_end_is_ended_at_the_next_boot(tmp_path: Path) -> None:
    """The watchdog is killed as well, and the agent is stopped so that it cannot notice anything itself."""
    async with service(tmp_path, epoch=7) as running, asyncio.timeout(SOON_S):
        for pid in running.family:
            os.kill(pid, signal.SIGSTOP)
        os.kill(running.watchdog, signal.SIGKILL)
        await over(running.watchdog)
        running.process.kill()
        await running.process.wait()
        assert all(alive(pid) for pid in running.family)
        ended = await asyncio.to_thread(end_orphans, ProcessMark(running.db_uuid, 8))
        assert (ended.ended, ended.left, ended.looked) == (3, (), True)
        assert not any(alive(pid) for pid in running.family)


async def test_a_boot_ends_neither_its_own_processes_nor_those_of_other_files(tmp_path: Path) -> None:
    async with service(tmp_path, epoch=7) as running:
        same = await asyncio.to_thread(end_orphans, ProcessMark(running.db_uuid, 7))
        other = await asyncio.to_thread(end_orphans, ProcessMark(str(uuid.uuid4()), 8))
        assert (same.ended, other.ended) == (0, 0)
        assert all(alive(pid) for pid in running.family)


async def test_a_service_that_an_agent_has_started_does_not_end_itself(tmp_path: Path) -> None:
    """It carries the mark of that agent; so does the shell above it."""
    db_uuid = str(uuid.uuid4())
    code = (
        "from channels.agents.acp.orphans import end_orphans\n"
        "from channels.agents.protocol import ProcessMark\n"
        f"print(end_orphans(ProcessMark('{db_uuid}', 2)).ended)"
    )
    shell = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", f'"{sys.executable}" -c "$CODE"; echo still here'),
        env={**os.environ, "CODE": code, "CHANNELS_AGENT_OF": f"{db_uuid}:1:1"},
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    out, _ = await shell.communicate()
    assert out.decode().split("\n")[:2] == ["0", "still here"]


async def test_a_clean_end_takes_the_watchdog_along(tmp_path: Path) -> None:
    async with service(tmp_path) as running, asyncio.timeout(SOON_S):
        running.process.send_signal(signal.SIGINT)  # asyncio.run cancels its main task, the rig's agent is not closed
        await running.process.wait()
        await over(running.watchdog)
        for pid in running.family:
            await over(pid)
