"""The service's side of the watchdog: one small child for all agents, told of every process group.

The pipe to it is held by this process alone (no child inherits it), so it closes when the service dies, however that
happens. A watchdog that was itself killed is replaced with the next process, and told of all groups anew.
"""

import contextlib
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from channels.agents.acp import watchdog
from channels.agents.protocol import ProcessMark

LEAVE_LIMIT_S: Final = 2.0
_numbers = itertools.count(1)  # of all processes that this one has ever started, so that no two marks are equal


class Guardian:
    """Keeps the list of live process groups where it outlives us. `mark` stands in each child's environment."""

    def __init__(self) -> None:
        self._mark = ProcessMark(f"unowned-{os.getpid()}", 0)
        self._groups: set[int] = set()
        self._child: subprocess.Popen[bytes] | None = None
        self._users = 0

    @property
    def mark(self) -> ProcessMark:
        return self._mark

    @mark.setter
    def mark(self, mark: ProcessMark) -> None:
        self._mark = mark

    @property
    def pid(self) -> int | None:
        """The watchdog's own id, while there is one."""
        return None if self._child is None else self._child.pid

    def join(self) -> None:
        """One more agent relies on this guardian."""
        self._users += 1

    def next_mark(self) -> str:
        """The mark of the next process, its own number in it. Starts the watchdog, if need be."""
        self._ensure()
        return f"{self._mark}{next(_numbers)}"

    def watch(self, group: int) -> None:
        self._groups.add(group)
        self._tell(f"+{group}")

    def forget(self, group: int) -> None:
        self._groups.discard(group)
        self._tell(f"-{group}")

    def leave(self) -> None:
        """One agent less; after the last one the watchdog goes. Blocks for a moment."""
        self._users -= 1
        child = self._child
        if self._users > 0 or child is None:
            return
        self._child = None
        if not self._groups:
            _write(child, "bye")
        if child.stdin is not None:
            with contextlib.suppress(OSError):
                child.stdin.close()
        try:
            child.wait(LEAVE_LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _ensure(self) -> None:
        if self._child is not None and self._child.poll() is None:
            return
        if self._child is not None and self._child.stdin is not None:
            with contextlib.suppress(OSError):
                self._child.stdin.close()
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(watchdog.__file__)), str(self._mark)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
            cwd="/",
            env={},
        )
        for group in self._groups:
            self._tell(f"+{group}")

    def _tell(self, word: str) -> None:
        if self._child is not None:
            _write(self._child, word)


def _write(child: "subprocess.Popen[bytes]", word: str) -> None:
    assert child.stdin is not None
    with contextlib.suppress(OSError):  # it was killed: the next process brings a new one
        child.stdin.write(f"{word}\n".encode())
