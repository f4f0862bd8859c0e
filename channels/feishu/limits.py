"""Keeping to Feishu's rates: callers wait their turn, fairly, and no longer than is useful.

One queue for everybody. Whenever room may have come, the queue is read from its head, and each waiter goes whose keys
all have room. A waiter that must stay holds back the later waiters of its own chat, message and card, and nobody else:
one busy chat delays no other chat, and within a chat the order of asking is the order of going.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from channels.clock import Clock
from channels.errors import CodeKind, RetryLater
from channels.feishu.windows import Key, Windows


@dataclass(slots=True, eq=False)
class _Waiter:
    keys: tuple[Key, ...]
    granted: asyncio.Future[None]

    @property
    def narrow_keys(self) -> tuple[Key, ...]:
        """Those that only a few callers share; the wide ones ("api") are everybody's and keep no order."""
        return tuple(key for key in self.keys if key[0] != "api")

    def grant(self) -> None:
        if not self.granted.done():
            self.granted.set_result(None)


class Limits:
    """The platform's rates for one app. `enabled=False` turns every wait off, but not what the server asks for."""

    def __init__(
        self, clock: Clock, *, enabled: bool = True, longest_wait_s: float = 30.0, windows: Windows | None = None
    ) -> None:
        self._clock, self._longest_wait_s = clock, longest_wait_s
        self._windows = Windows(None if enabled else {}) if windows is None else windows
        self._queue: dict[_Waiter, None] = {}
        self._waiting: Counter[Key] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def try_acquire(self, keys: Iterable[Key]) -> bool:
        """Take room for one call if there is room now and nobody waits for it; never waits."""
        keys, now_s = tuple(keys), self._clock.monotonic()
        if any(key in self._waiting for key in keys) or self._windows.free_at(keys, now_s) > now_s:
            return False
        self._windows.take(keys, now_s)
        return True

    async def acquire(self, keys: Iterable[Key]) -> None:
        """Wait for room under all keys. Raises RetryLater(RATE) when that takes longer than `longest_wait_s`."""
        keys = tuple(keys)
        if self.try_acquire(keys):
            return
        if (wait_s := self._wait_s(keys)) > self._longest_wait_s:
            raise _too_long(wait_s)
        waiter = _Waiter(keys, asyncio.get_running_loop().create_future())
        self._queue[waiter] = None
        self._waiting.update(waiter.narrow_keys)
        self._wake_after(wait_s)
        try:
            async with asyncio.timeout(self._longest_wait_s):
                await waiter.granted
        except TimeoutError:
            raise _too_long(self._wait_s(keys)) from None
        finally:
            self._leave(waiter)

    def close(self, key: Key, for_ms: int) -> None:
        """The server refused under `key`: nothing goes there for this long."""
        now_s = self._clock.monotonic()
        self._windows.close(key, now_s + for_ms / 1000, now_s)

    @property
    def waiting(self) -> int:
        """How many callers wait now."""
        return len(self._queue)

    def _wait_s(self, keys: tuple[Key, ...]) -> float:
        now_s = self._clock.monotonic()
        return self._windows.free_at(keys, now_s) - now_s

    def _leave(self, waiter: _Waiter) -> None:
        """Out of the queue; whoever stood behind a waiter that gave up may go now."""
        if waiter in self._queue:
            self._remove(waiter)
            self._wake_after(0.0)

    def _remove(self, waiter: _Waiter) -> None:
        del self._queue[waiter]
        self._waiting.subtract(waiter.narrow_keys)
        for key in waiter.narrow_keys:
            if self._waiting[key] <= 0:
                del self._waiting[key]

    def _wake_after(self, delay_s: float) -> None:
        """Look at the queue in `delay_s`, unless that is going to happen sooner anyway."""
        loop = asyncio.get_running_loop()
        when_s = loop.time() + max(0.0, delay_s) + 0.001  # a timer may fire a little early
        if self._timer is not None and self._timer.when() <= when_s:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(when_s, self._grant)

    def _grant(self) -> None:
        """Let go whoever may, from the head; a waiter that must stay keeps its chat, message and card for itself."""
        self._timer = None
        now_s = self._clock.monotonic()
        kept: set[Key] = set()
        next_s = float("inf")
        for waiter in list(self._queue):
            free_s = self._windows.free_at(waiter.keys, now_s)
            if kept.isdisjoint(waiter.narrow_keys) and free_s <= now_s:
                self._windows.take(waiter.keys, now_s)
                self._remove(waiter)
                waiter.grant()
                continue
            kept.update(waiter.narrow_keys)
            if free_s > now_s:
                next_s = min(next_s, free_s)
        if next_s < float("inf"):
            self._wake_after(next_s - now_s)


def _too_long(wait_s: float) -> RetryLater:
    return RetryLater(max(1, int(wait_s * 1000)), CodeKind.RATE, why="our own limit")
