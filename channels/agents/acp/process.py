"""One agent process: its pipes, its group, and its end. Callbacks only, no task.

It runs in a process group (and session) of its own, watched by the guardian. Whatever ends it, its whole group is
killed afterwards, so that no child of it stays. Output is taken in slices of a few milliseconds and the pipe is left
alone meanwhile: a process that writes without end can neither fill our memory nor hold up the loop.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from channels.agents.acp.framing import LineCutter, Oversized
from channels.agents.acp.guardian import Guardian
from channels.agents.acp.orphans import end_marked
from channels.agents.acp.spawning import spawn
from channels.agents.acp.watchdog import VARIABLE

STDERR_BYTES: Final = 64 * 1024
UNHEARD_BYTES: Final = 128 * 2**20  # more than any question with its pictures
SLICE_S: Final = 0.004
DRAIN_S: Final = 0.5  # from the process's end to the last of its output
_STDIN, _STDOUT, _STDERR = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Launch:
    """What to run. `environment` is the whole of it, `folder` where it starts."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    folder: Path


class AgentProcess(asyncio.SubprocessProtocol):
    """Use `start`. `on_line` gets every line of standard output, `on_gone` is called once, when all is over."""

    def __init__(
        self, guardian: Guardian, mark: str, on_line: Callable[[bytes | Oversized], None], on_gone: Callable[[], None]
    ) -> None:
        self._guardian, self._mark = guardian, mark
        self._on_line, self._on_gone = on_line, on_gone
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.SubprocessTransport | None = None
        self._cutter = LineCutter()
        self._pumping = self._held = self._eof = self._group_over = False
        self._stderr = bytearray()
        self._timers: list[asyncio.TimerHandle] = []
        self.pid = 0
        self.exited = self.gone = self.unhearing = False
        self.returncode: int | None = None

    @classmethod
    async def start(
        cls,
        launch: Launch,
        guardian: Guardian,
        on_line: Callable[[bytes | Oversized], None],
        on_gone: Callable[[], None],
    ) -> "AgentProcess":
        """Start it. Raises OSError (no such program, no right, no such folder). `on_gone` is called in any case, also
        where this raises."""
        mark = guardian.next_mark()
        try:
            return await spawn(
                lambda: cls(guardian, mark, on_line, on_gone),
                *launch.command,
                too_late=lambda process: on_gone() if process is None else process.kill(),
                env={**launch.environment, VARIABLE: mark},
                cwd=launch.folder,
                start_new_session=True,
            )
        except OSError:
            on_gone()
            raise

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid()
        self._guardian.watch(self.pid)

    def write(self, data: bytes) -> None:
        """Queue for its standard input; nothing happens when that is closed. One that asks and takes no answers would
        fill our memory with them: it is killed."""
        assert self._transport is not None
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(_STDIN))
        if pipe is None or pipe.is_closing() or self.unhearing:
            return
        pipe.write(data)
        if pipe.get_write_buffer_size() > UNHEARD_BYTES:
            self.unhearing = True
            self.kill()

    def hold(self) -> None:
        """Take no more output until `release`: whoever reads it has enough for now."""
        self._held = True
        self._reading(False)

    def release(self) -> None:
        if self._held:
            self._held = False
            self._pump()

    def last_words(self) -> str:
        """The end of its standard error."""
        return self._stderr.decode("utf-8", "replace").strip()

    def terminate(self, grace_s: float) -> None:
        """Ask it to end, and kill its group when it has not after `grace_s`."""
        self._signal(signal.SIGTERM)
        self._timers.append(self._loop.call_later(grace_s, self.kill))

    def kill(self) -> None:
        """Kill its group now."""
        self._signal(signal.SIGKILL)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDERR:
            self._stderr += data
            del self._stderr[:-STDERR_BYTES]
            return
        self._cutter.feed(data)
        if not self._pumping:
            self._pump()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == _STDOUT:
            self._eof = True
            if not self._pumping:
                self._settle()

    def process_exited(self) -> None:
        assert self._transport is not None
        self.exited, self.returncode = True, self._transport.get_returncode()
        self._end_group()
        self._timers.append(self._loop.call_later(DRAIN_S, self._close_late))
        self._settle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle()

    def _close_late(self) -> None:
        """Somebody else may hold its pipes open: once what has arrived is read, it is over all the same."""
        if self._held or self._pumping:
            self._timers.append(self._loop.call_later(DRAIN_S, self._close_late))
        else:
            self._over()

    def _pump(self) -> None:
        """Hand on lines for a few milliseconds; the rest in the loop's next round."""
        self._pumping, until = True, self._loop.time() + SLICE_S
        while not self._held and not self.gone:
            line = self._cutter.take()
            if line is None:
                break
            self._on_line(line)
            if self._loop.time() > until:
                self._reading(False)
                self._loop.call_soon(self._pump)
                return
        self._pumping = False
        if not self._held:
            self._reading(True)
            self._settle()

    def _reading(self, on: bool) -> None:
        assert self._transport is not None
        pipe = cast("asyncio.ReadTransport | None", self._transport.get_pipe_transport(_STDOUT))
        if pipe is None or pipe.is_closing():
            return
        if on and not pipe.is_reading():
            pipe.resume_reading()
        elif not on and pipe.is_reading():
            pipe.pause_reading()

    def _settle(self) -> None:
        """After the last line: gone, or, when only the pipe is closed, to be ended."""
        if not self._eof or self._pumping or self._held:
            return
        if self.exited:
            self._over()
        else:
            self.terminate(DRAIN_S)

    def _over(self) -> None:
        if self.gone:
            return
        self.gone = True
        for timer in self._timers:
            timer.cancel()
        self._end_group()
        assert self._transport is not None
        self._transport.close()
        self._on_gone()

    def _end_group(self) -> None:
        """What the process leaves behind goes with it, also what has left its group."""
        if self._group_over:
            return
        self._signal(signal.SIGKILL)
        self._group_over = True
        self._guardian.forget(self.pid)
        end_marked(self._mark)
        # one that is just starting a program shows no mark for a moment: look again
        self._loop.call_later(DRAIN_S, end_marked, self._mark)

    def _signal(self, number: signal.Signals) -> None:
        if self.pid and not self._group_over:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
