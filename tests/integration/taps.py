"""What a test puts on the product's seams: a tap on statements and calls, and a clock that can be moved.

A `Tap` is handed to the service as `Ports.hook` and `Ports.probe`. Everything it sees has a name: a statement is its
SQL on one line ("INSERT INTO inbox (…", "BEGIN IMMEDIATE", "COMMIT", "COMMITTED"), a call is "before reply_message",
"after_effect reply_message" or "after_answer reply_message". The names are the kill points of the crash campaign.
"""

import threading
import time
from collections.abc import Callable

Listener = Callable[[str], None]

HOLD_LIMIT_S = 30.0


def point_name(text: str) -> str:
    """The name of a statement or call: on one line, single spaces."""
    return " ".join(text.split())


class Tap:
    """Tells every listener the name of each point just before it is passed. Listeners may raise, wait or kill."""

    def __init__(self) -> None:
        self.listeners: list[Listener] = []

    def statement(self, sql: str) -> None:
        """A `store.tx.StatementHook`; runs on the database thread."""
        self._tell(point_name(sql))

    def call(self, point: str, method: str) -> None:
        """A `feishu.api.Probe`; runs on the event loop."""
        self._tell(f"{point} {method}")

    def _tell(self, name: str) -> None:
        for listener in tuple(self.listeners):
            listener(name)


class Failing:
    """Raises `error()` at points whose name begins with `prefix`, until `times` are used up or `on` is False."""

    def __init__(self, prefix: str, error: Callable[[], Exception], times: int | None = None) -> None:
        self.prefix, self.error, self.left, self.on, self.hits = prefix, error, times, True, 0

    def __call__(self, name: str) -> None:
        if not self.on or not name.startswith(self.prefix) or self.left == 0:
            return
        self.hits += 1
        if self.left is not None:
            self.left -= 1
        raise self.error()


class Holding:
    """Keeps the database thread at the first point whose name begins with `prefix`, until `release`."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.reached, self._released = threading.Event(), threading.Event()

    def __call__(self, name: str) -> None:
        if name.startswith(self.prefix) and not self._released.is_set():
            self.reached.set()
            assert self._released.wait(HOLD_LIMIT_S), "nobody released the database thread"

    def release(self) -> None:
        """Let it go on; later points are not held."""
        self._released.set()


class MovableClock:
    """The real clock plus what `advance` has added, wall and monotonic alike."""

    def __init__(self) -> None:
        self._added_s = 0.0

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000 + int(self._added_s * 1000)

    def monotonic(self) -> float:
        return time.monotonic() + self._added_s

    def advance(self, seconds: float) -> None:
        """Let this much time pass at once."""
        self._added_s += seconds
