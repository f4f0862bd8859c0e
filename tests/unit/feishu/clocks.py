"""Clocks for tests of this floor."""

import asyncio


class LoopClock:
    """Time as the running loop counts it, plus what a test adds: waiting is real, and a test can jump ahead."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() + self.ahead_s


class StoppedClock(LoopClock):
    """However long the machine takes, no time passes."""

    def monotonic(self) -> float:
        return self.ahead_s


class SetRng:
    """Always the same fraction."""

    def __init__(self, fraction: float = 0.0) -> None:
        self.fraction = fraction

    def random(self) -> float:
        return self.fraction
