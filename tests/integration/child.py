"""The service in a process of its own that can be killed at an exact point.

`python -m tests.integration.child SETTINGS.json [--kill POINT[@N]]… [--trace FILE] [--asking]`

Prints {"ready": …} as one JSON line once it is connected; ends cleanly when its standard input ends. `--kill` may be
given several times: the points must be passed in this order (each after the one before, the N-th match counts), and
the last one kills this process with SIGKILL just before it is passed. A POINT is the beginning of a name as
`taps.Tap` makes it. `--trace` writes every point that is passed, one a line.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from channels import logs
from channels.agents.protocol import Agent
from channels.app import Ports, serve
from channels.clock import SystemClock, SystemIds, SystemRng
from channels.config import Settings, build_settings
from tests.integration.gate.agent import AskingAgent
from tests.integration.taps import Tap


@dataclass(frozen=True, slots=True)
class KillPoint:
    """The `nth` point whose name begins with `prefix`."""

    prefix: str
    nth: int = 1

    @classmethod
    def read(cls, text: str) -> "KillPoint":
        prefix, _, nth = text.rpartition("@")
        return cls(prefix, int(nth)) if prefix and nth.isdigit() else cls(text)

    def __str__(self) -> str:
        return f"{self.prefix}@{self.nth}"


class Killer:
    """A listener of the tap that ends the process at the last of its points."""

    def __init__(self, points: Sequence[KillPoint]) -> None:
        self._left = list(points)
        self._matches = 0

    def __call__(self, name: str) -> None:
        if not self._left or not name.startswith(self._left[0].prefix):
            return
        self._matches += 1
        if self._matches < self._left[0].nth:
            return
        self._left.pop(0)
        self._matches = 0
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


class Trace:
    """A listener that writes every name down at once."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __call__(self, name: str) -> None:
        self._file.write(name + "\n")


async def run(settings: Settings, tap: Tap, agents: Mapping[str, Agent] | None = None) -> None:
    """Serve until standard input ends."""
    ports = Ports(SystemClock(), SystemRng(), SystemIds(), hook=tap.statement, probe=tap.call, agents=agents)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), lambda: stop.set() if not os.read(0, 1024) else None)
    await serve(settings, stop=stop, ready=_say_ready, ports=ports)


def _say_ready(words: str) -> None:
    sys.stdout.write(json.dumps({"ready": words}) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("settings", type=Path)
    parser.add_argument("--kill", action="append", default=[], type=KillPoint.read)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--asking", action="store_true")
    arguments = parser.parse_args()
    tap = Tap()
    if arguments.trace is not None:
        tap.listeners.append(Trace(arguments.trace.open("a", buffering=1)))
    tap.listeners.append(Killer(arguments.kill))
    logs.configure("warning", "console")
    settings = build_settings(json.loads(arguments.settings.read_text()), arguments.settings.parent)
    asyncio.run(run(settings, tap, {"demo": AskingAgent()} if arguments.asking else None))


if __name__ == "__main__":
    main()
