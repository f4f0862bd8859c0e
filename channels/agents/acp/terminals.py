"""Commands that an agent asks us to run: in the session's folder, with bounded output, ended with the turn."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from acp import schema

from channels.agents.acp.environment import environment_for
from channels.agents.acp.files import FileRefused, inside
from channels.agents.acp.guardian import Guardian
from channels.agents.acp.orphans import end_marked
from channels.agents.acp.spawning import spawn
from channels.agents.acp.tool_texts import command_line
from channels.agents.acp.watchdog import VARIABLE, kill_group

OUTPUT_BYTES: Final = 2**20
MOST_TERMINALS: Final = 32


class _Command(asyncio.SubprocessProtocol):
    """One command: the end of its output, and how it ended."""

    def __init__(self, guardian: Guardian, mark: str, keep_bytes: int, on_change: Callable[[], None]) -> None:
        self._guardian, self._mark, self._keep, self._on_change = guardian, mark, keep_bytes, on_change
        self._output = bytearray()
        self._pid = 0
        self.truncated = self.is_over = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.returncode: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport, self._pid = transport, transport.get_pid()
        self._guardian.watch(self._pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._output += data
        if len(self._output) > self._keep:
            self.truncated = True
            del self._output[: len(self._output) - self._keep]
        self._on_change()

    def process_exited(self) -> None:
        self.returncode = self._transport.get_returncode()
        self._end_group()
        asyncio.get_running_loop().call_later(0.2, self.finish)  # somebody who left its group may hold the pipe

    def connection_lost(self, exc: Exception | None) -> None:
        self.finish()

    def finish(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
            self._transport.close()
            self._on_change()

    def kill(self) -> None:
        if not self.is_over:
            kill_group(self._pid)

    @property
    def output(self) -> str:
        return self._output.decode("utf-8", "replace" if not self.truncated else "ignore")

    def exit_status(self) -> dict[str, Any]:
        code = self.returncode
        if code is None:
            return {"exitCode": None, "signal": None}
        return {"exitCode": code if code >= 0 else None, "signal": None if code >= 0 else _signal_name(-code)}

    def _end_group(self) -> None:
        if not self.is_over:
            kill_group(self._pid)
            self.is_over = True
            self._guardian.forget(self._pid)
            end_marked(self._mark)


class Terminals:
    """Those of one turn. `on_output` hears that a terminal has written or ended."""

    def __init__(self, folder: Path, guardian: Guardian, on_output: Callable[[str], None]) -> None:
        self._folder, self._guardian, self._on_output = folder, guardian, on_output
        self._commands: dict[str, _Command] = {}
        self._number = 0

    async def create(self, request: schema.CreateTerminalRequest) -> str:
        """Run the command; its id. Raises FileRefused for a folder outside, OSError for a program that is not there."""
        if len(self._commands) >= MOST_TERMINALS:
            raise FileRefused("too many terminals are open; release some")
        folder = inside(self._folder, request.cwd or ".")
        own = tuple((one.name, one.value) for one in request.env or [])
        self._number += 1
        name, mark = f"terminal-{self._number}", self._guardian.next_mark()
        keep = min(request.output_byte_limit or OUTPUT_BYTES, OUTPUT_BYTES)
        command = await spawn(
            lambda: _Command(self._guardian, mark, keep, lambda: self._on_output(name)),
            *as_command(request),
            too_late=lambda late: None if late is None else late.kill(),
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.STDOUT,
            env={**environment_for(own), VARIABLE: mark},  # without the agent's keys
            cwd=folder,
            start_new_session=True,
        )
        self._commands[name] = command
        return name

    def output(self, name: str) -> str:
        command = self._commands.get(name)
        return "" if command is None else command.output

    def state(self, name: str) -> dict[str, Any]:
        """What terminal/output answers. Raises KeyError."""
        command = self._commands[name]
        status = {"exitStatus": command.exit_status()} if command.ended.done() else {}
        return {"output": command.output, "truncated": command.truncated, **status}

    async def wait(self, name: str) -> dict[str, Any]:
        """How the command ended, once it has. Raises KeyError."""
        command = self._commands[name]
        await asyncio.shield(command.ended)
        return command.exit_status()

    def kill(self, name: str) -> None:
        """Raises KeyError."""
        self._commands[name].kill()

    def release(self, name: str) -> None:
        """Killed if it still runs, and forgotten. Raises KeyError."""
        self._on_output(name)
        self._commands.pop(name).kill()

    def holds(self, name: str) -> bool:
        return name in self._commands

    def close(self) -> None:
        """Kill all."""
        for command in self._commands.values():
            command.kill()
            command.finish()


def as_command(request: schema.CreateTerminalRequest) -> list[str]:
    """The words to run. Agents also send a whole line as `command`, which only a shell understands."""
    if request.args or " " not in request.command.strip():
        return [request.command, *(request.args or [])]
    return ["/bin/sh", "-c", request.command]


def shown_command(request: schema.CreateTerminalRequest) -> str:
    return command_line([request.command, *(request.args or [])])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
