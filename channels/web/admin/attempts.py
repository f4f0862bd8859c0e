"""How often logging in may fail before nobody from there is heard for a while."""

from collections import deque

FAILURES_AT_MOST = 10
WINDOW_MS = 60_000
PLACES_AT_MOST = 1000  # places remembered at once: bounds the memory that strangers can take


class Attempts:
    """Failures by place (a peer's address) within the last minute. Times are given, in milliseconds."""

    def __init__(self) -> None:
        self._failures: dict[str, deque[int]] = {}

    def wait_ms(self, place: str, now: int) -> int:
        """How long this place has to wait before it may try again; 0: not at all."""
        failures = self._recent(place, now)
        return failures[0] + WINDOW_MS - now if len(failures) >= FAILURES_AT_MOST else 0

    def count_failure(self, place: str, now: int) -> None:
        """One more. When too many places are known, the one that has been so the longest is forgotten."""
        failures = self._recent(place, now)
        failures.append(now)
        self._failures.pop(place, None)
        self._failures[place] = failures
        if len(self._failures) > PLACES_AT_MOST:
            del self._failures[next(iter(self._failures))]

    def _recent(self, place: str, now: int) -> deque[int]:
        failures = self._failures.get(place) or deque(maxlen=FAILURES_AT_MOST)
        while failures and failures[0] <= now - WINDOW_MS:
            failures.popleft()
        return failures
