"""How long an answer may keep us waiting, as deadlines in the loop's time. Pure.

Four limits: the first word, each next piece, the whole turn, and, once the model has said that it has finished, a
short tail for the usage, whose passing is no failure. (The limit for connecting is the HTTP client's.)
"""

from channels.agents.chat_answer import Answer
from channels.agents.failures import TooSlow
from channels.agents.presets import TimeLimits


class Deadlines:
    """The deadlines of one request that began at `now`; the whole turn ends at `whole_at`."""

    def __init__(self, limits: TimeLimits, now: float, whole_at: float) -> None:
        self._limits = limits
        self._first_at = now + limits.first_s
        self._whole_at = whole_at
        self._tail_at: float | None = None
        self.passed: TooSlow | None = None

    def until(self, answer: Answer, now: float) -> float:
        """When the next piece must be there. `passed` then says what it means when it is not; None: nothing."""
        if answer.finished:
            self._tail_at = self._tail_at or now + self._limits.tail_s
            self.passed = None
            return self._tail_at
        if answer.begun:
            at, self.passed = now + self._limits.between_s, TooSlow("between", self._limits.between_s)
        else:
            at, self.passed = self._first_at, TooSlow("first", self._limits.first_s)
        if self._whole_at <= at:
            at, self.passed = self._whole_at, TooSlow("whole", self._limits.whole_s)
        return at
