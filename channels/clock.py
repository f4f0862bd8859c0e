"""Ports for time, randomness and new ids, with their real forms.

Everything that depends on them takes them as arguments, so that a test can make 30 hours pass, and a simulation can
repeat a run exactly. `time.time`, `random` and `uuid4` are banned elsewhere (ruff).
"""

import random
import secrets
import time
import uuid
from typing import Protocol


class Clock(Protocol):
    """Wall time in epoch milliseconds, and a monotonic clock in seconds."""

    def wall_ms(self) -> int: ...

    def monotonic(self) -> float: ...


class Rng(Protocol):
    """Uniform numbers in [0, 1)."""

    def random(self) -> float: ...


class Ids(Protocol):
    """New opaque ids: `new("turn")` → "turn_…" (≤ 40 characters); `uuid()` fits Feishu's uuid fields (36)."""

    def new(self, prefix: str) -> str: ...

    def uuid(self) -> str: ...

    def secret(self) -> str: ...


class SystemClock:
    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


class SystemRng:
    def __init__(self) -> None:
        self._random = random.Random()

    def random(self) -> float:
        return self._random.random()


class SystemIds:
    def new(self, prefix: str) -> str:
        return f"{prefix}_{secrets.token_hex(10)}"

    def uuid(self) -> str:
        return str(uuid.uuid4())

    def secret(self) -> str:
        return secrets.token_urlsafe(24)


class FlooredClock:
    """A clock that never runs backwards, in one boot and across boots: now = max(wall, highest + monotonic time since).

    `floor_ms` is the highest `now` an earlier boot has stored in `meta`. Durable timestamps use `now_ms`: were it to
    follow a wall clock that is put back, everything that waits for a moment would wait for as long as it was put back.
    Cursors and Feishu's create_time compare with `wall_ms`.
    """

    def __init__(self, clock: Clock, floor_ms: int = 0) -> None:
        self._clock, self._highest_ms, self._at_s = clock, floor_ms, clock.monotonic()

    def now_ms(self) -> int:
        wall_ms, at_s = self._clock.wall_ms(), self._clock.monotonic()
        grown_ms = self._highest_ms + int((at_s - self._at_s) * 1000)
        if wall_ms <= grown_ms:
            return grown_ms
        self._highest_ms, self._at_s = wall_ms, at_s
        return wall_ms

    def wall_ms(self) -> int:
        return self._clock.wall_ms()

    def monotonic(self) -> float:
        return self._clock.monotonic()
