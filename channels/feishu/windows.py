"""How many calls a key has had in its windows, and when the next one may go. Pure: time is an argument.

A sliding window, not a token bucket: after a burst of the whole allowance the next call waits until the first of the
burst is a window old, so that no stretch of one window ever sees more than the allowance. A token bucket of the same
size lets nearly twice as many through in its first second, and Feishu answers those with 99991400.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Key = tuple[str, str]  # kind (api, chat, message, card) and id

_SLACK = 1.1  # requests reach Feishu closer together than they left
Rates = Mapping[str, tuple[tuple[int, float], ...]]  # kind → (calls, in seconds), all of which hold

RATES: Rates = {
    "api": ((50, _SLACK), (1000, 60.0 * _SLACK)),
    "chat": ((5, _SLACK),),
    "message": ((5, _SLACK),),
    "card": ((10, _SLACK),),
}


@dataclass(slots=True)
class _Window:
    allowance: int
    length_s: float
    times: deque[float] = field(default_factory=deque)

    def free_at(self, now_s: float) -> float:
        while self.times and self.times[0] <= now_s - self.length_s:
            self.times.popleft()
        return now_s if len(self.times) < self.allowance else self.times[-self.allowance] + self.length_s


@dataclass(slots=True)
class _Rate:
    windows: tuple[_Window, ...]
    closed_until_s: float = 0.0

    def free_at(self, now_s: float) -> float:
        return max((self.closed_until_s, now_s, *(window.free_at(now_s) for window in self.windows)))

    def is_idle(self, now_s: float) -> bool:
        return self.free_at(now_s) <= now_s and not any(window.times for window in self.windows)


class Windows:
    """The state of all keys. Kinds without a rate are unlimited; idle keys are forgotten as others come."""

    def __init__(self, rates: Rates | None = None) -> None:
        self._specs = RATES if rates is None else rates
        self._rates: dict[Key, _Rate] = {}
        self._forget_above = 256

    def free_at(self, keys: Iterable[Key], now_s: float) -> float:
        """The first moment, at or after now, when a call under all these keys may go (if nobody else goes first)."""
        return max((self._rates[key].free_at(now_s) for key in keys if key in self._rates), default=now_s)

    def take(self, keys: Iterable[Key], now_s: float) -> None:
        """Count one call now."""
        for key in keys:
            for window in self._rate(key, now_s).windows:
                window.times.append(now_s)

    def close(self, key: Key, until_s: float, now_s: float) -> None:
        """Let nothing through under `key` before `until_s`: the server said so. Never shortens an earlier closing."""
        rate = self._rate(key, now_s)
        rate.closed_until_s = max(rate.closed_until_s, until_s)

    def __len__(self) -> int:
        return len(self._rates)

    def _rate(self, key: Key, now_s: float) -> _Rate:
        if (rate := self._rates.get(key)) is None:
            self._forget_idle(now_s)
            windows = tuple(_Window(allowance, length_s) for allowance, length_s in self._specs.get(key[0], ()))
            rate = self._rates[key] = _Rate(windows)
        return rate

    def _forget_idle(self, now_s: float) -> None:
        if len(self._rates) < self._forget_above:
            return
        self._rates = {key: rate for key, rate in self._rates.items() if not rate.is_idle(now_s)}
        self._forget_above = max(256, 2 * len(self._rates))
