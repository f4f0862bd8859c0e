"""Rate limits: sliding windows per key, the app's monthly quota, and the tenant access tokens."""

import math
import secrets
from collections import deque
from dataclasses import dataclass

from channels.emulator.clock import EmulatorClock
from channels.emulator.errors import ApiError
from channels.emulator.settings import EmulatorSettings

REUSE_MS = 30 * 60 * 1000  # a token with less time left is replaced by a new one; the old one stays valid


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` calls under `key` in any `window_s` seconds."""

    key: str
    count: int
    window_s: int = 1
    code: int = 99991400


class Limits:
    def __init__(self, settings: EmulatorSettings, clock: EmulatorClock) -> None:
        self._settings, self._clock = settings, clock
        self._windows: dict[str, deque[int]] = {}
        self.counted = 0  # calls against the monthly quota

    def admit(self, kind: str, limits: list[Limit]) -> None:
        """Count the call under every limit, or refuse it and count it under none."""
        settings = self._settings
        if settings.monthly_quota is not None and self.counted >= settings.monthly_quota:
            raise ApiError(99991403)
        self.counted += 1
        if not settings.rate_limits:
            return
        every = [Limit(f"{kind}/s", settings.api_per_s), Limit(f"{kind}/min", settings.api_per_min, 60), *limits]
        now_ms = self._clock.now_ms()
        for limit in every:
            self._check(limit, now_ms)
        for limit in every:
            self._windows[limit.key].append(now_ms)

    def _check(self, limit: Limit, now_ms: int) -> None:
        window = self._windows.setdefault(limit.key, deque())
        window_ms = limit.window_s * 1000
        while window and window[0] <= now_ms - window_ms:
            window.popleft()
        if len(window) < limit.count:
            return
        reset_s = max(1, math.ceil((window[0] + window_ms - now_ms) / 1000))
        headers = {"x-ogw-ratelimit-limit": str(limit.count), "x-ogw-ratelimit-reset": str(reset_s)}
        raise ApiError(limit.code, status=self._settings.rate_status, headers=headers)


class Tokens:
    """Tenant access tokens: one is given out again until it has less than half an hour left."""

    def __init__(self, settings: EmulatorSettings, clock: EmulatorClock) -> None:
        self._settings, self._clock = settings, clock
        self._until: dict[str, int] = {}
        self._current = ""

    def issue(self) -> tuple[str, int]:
        """A valid token and the seconds it has left."""
        now_ms, ttl_ms = self._clock.now_ms(), int(self._settings.token_ttl_s * 1000)
        left_ms = self._until.get(self._current, 0) - now_ms
        if left_ms < min(REUSE_MS, ttl_ms // 2):
            self._current, left_ms = f"t-{secrets.token_hex(16)}", ttl_ms
            self._until[self._current] = now_ms + ttl_ms
        return self._current, left_ms // 1000

    def revoke(self) -> None:
        """Make every token that was given out invalid."""
        self._until.clear()
        self._current = ""

    def check(self, authorization: str | None) -> None:
        if not authorization or not authorization.startswith("Bearer "):
            raise ApiError(99991661)
        if self._until.get(authorization[7:], 0) <= self._clock.now_ms():
            raise ApiError(99991663)
