"""Inside a child: the tap that names every point, writes it down, and kills the process at the one that was chosen."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.crash.points import QUIET, is_write, name_of_statement


@dataclass(slots=True)
class PointTap:
    """Hand `statement` to Ports.hook and `call` to Ports.probe.

    `kill` is (name, nth): the process dies just before the nth point of this name is passed. `passed` has every name
    in order. Statements come from the database thread, calls from the loop: a list's append is enough of a lock.
    """

    kill: tuple[str, int] | None = None
    last_words: Callable[[list[str]], None] = lambda passed: None
    passed: list[str] = field(default_factory=list)
    _seen: Counter[str] = field(default_factory=Counter)
    _writes: dict[str, None] = field(default_factory=dict)

    def statement(self, sql: str) -> None:
        name = name_of_statement(sql)
        if name == "BEGIN":
            self._writes.clear()
        elif name in ("COMMIT", "COMMITTED"):
            name = f"{name} {'+'.join(self._writes) or 'schema'}"
        elif is_write(name) and name != QUIET:
            self._writes[name] = None
        self.passes(name)

    def call(self, point: str, method: str) -> None:
        self.passes(f"{method} {point}")

    def passes(self, name: str) -> None:
        """A point is about to be passed."""
        self.passed.append(name)
        if self.kill is None or name != self.kill[0]:
            return
        self._seen[name] += 1
        if self._seen[name] == self.kill[1]:
            self.last_words(self.passed)
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # the signal is on its way: nothing may happen meanwhile
