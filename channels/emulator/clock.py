"""The emulator's own clock: real time plus an offset that only grows, and timers that follow it."""

import asyncio
import heapq
import time
from collections.abc import Callable


class Timer:
    """A pending call; `cancel` is idempotent."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class EmulatorClock:
    """Epoch milliseconds; `advance` makes time pass at once and fires every timer that came due, in order.

    One loop timer serves the whole heap, so that thousands of pending acks cost one heap entry each.
    """

    def __init__(self) -> None:
        self._offset_ms = 0
        self._heap: list[tuple[int, int, Timer]] = []
        self._count = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._armed_ms = 0
        self._handle: asyncio.TimerHandle | None = None

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self._offset_ms

    def start(self) -> None:
        """Bind to the running loop; timers fire only while started."""
        self._loop = asyncio.get_running_loop()
        self._arm()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle, self._loop = None, None
        self._heap.clear()

    def call_after(self, seconds: float, call: Callable[[], None]) -> Timer:
        timer = Timer(call)
        self._count += 1
        due_ms = self.now_ms() + int(seconds * 1000)
        heapq.heappush(self._heap, (due_ms, self._count, timer))
        if self._handle is None or due_ms < self._armed_ms:
            self._arm()
        return timer

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass at once; only forward."""
        if seconds < 0:
            raise ValueError("the emulator's clock only goes forward")
        self._offset_ms += int(seconds * 1000)
        self._fire()

    def _arm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if self._loop is None or not self._heap:
            return
        self._armed_ms = self._heap[0][0]
        wait_s = max(0.0, (self._armed_ms - self.now_ms()) / 1000)
        self._handle = self._loop.call_later(wait_s, self._fire)

    def _fire(self) -> None:
        now_ms = self.now_ms()
        while self._heap and self._heap[0][0] <= now_ms:
            timer = heapq.heappop(self._heap)[2]
            if timer.call is not None:
                call, timer.call = timer.call, None
                call()
        while self._heap and self._heap[0][2].call is None:
            heapq.heappop(self._heap)
        self._arm()
