"""The ledger once more, in the fewest words: what the file must say after any order of operations.

Nothing of the product is used here but names of states and codes. Time is UTC, so that a day is a quotient.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256

DAY, TTL, DEADLINE, ESTIMATE = 86_400_000, 86_400_000, 300_000, 8_000
PENDING, HISTORY, STOPS, ATTEMPTS = 64, 32, 64, 4
Limits = tuple[int | None, int | None]  # turns and tokens of one window


def month(now: int) -> int:
    first = datetime.fromtimestamp(now / 1000, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return int(first.timestamp() * 1000)


@dataclass
class Window:
    turns_limit: int | None
    tokens_limit: int | None
    turns_held: int = 0
    turns_used: int = 0
    tokens_held: int = 0
    tokens_used: int = 0

    def limited(self, turns: int | None, tokens: int | None) -> None:
        """A lowered limit stops at what is held and used."""
        self.turns_limit = None if turns is None else max(turns, self.turns_held + self.turns_used)
        self.tokens_limit = None if tokens is None else max(tokens, self.tokens_held + self.tokens_used)

    def has_room(self, tokens: int) -> bool:
        turns_left = self.turns_limit is None or self.turns_limit - self.turns_held - self.turns_used >= 1
        left = None if self.tokens_limit is None else self.tokens_limit - self.tokens_held - self.tokens_used
        return turns_left and (left is None or left >= max(1, tokens))


@dataclass
class Turn:
    number: int
    user: str
    session: str
    windows: tuple[tuple[str, str, int], ...]
    tokens: int
    reserved_at: int
    state: str = "queued"
    spent: int = 0
    began: int = 0
    released: str = ""  # settled, late
    settlement: str = "none"
    deadline: int = 0
    attempts: int = 0
    spoiled: bool = False
    key: str = ""


@dataclass
class Model:
    now: int
    generation: int = 1
    paused: bool = False
    stops: dict[str, tuple[int, str]] = field(default_factory=dict)  # session → when, and its hash
    turns: dict[int, Turn] = field(default_factory=dict)
    windows: dict[tuple[str, str, int], Window] = field(default_factory=dict)
    limits: dict[str, dict[str, Limits]] = field(default_factory=dict)  # user → period → limits
    history: list[tuple[int, str]] = field(default_factory=list)

    def limits_of(self, user: str, period: str) -> Limits:
        return self.limits.get(user, {}).get(period, (None, None))

    def places(self, user: str) -> tuple[tuple[str, str, int], ...]:
        return (user, "day", self.now - self.now % DAY), (user, "month", month(self.now))

    def ask(self, number: int, user: str, session: str) -> bool:
        """A turn with its reservation, or nothing at all."""
        caps = [self.limits_of(user, period)[1] for period in ("day", "month")]
        tokens, places = min([ESTIMATE, *(cap for cap in caps if cap is not None)]), self.places(user)
        found = []
        for place in places:
            old = self.windows.get(place)
            window = Window(None, None) if old is None else Window(**vars(old))
            window.limited(*self.limits_of(user, place[1]))
            found.append(window)
        if not all(window.has_room(tokens) for window in found):
            return False
        for place, window in zip(places, found, strict=True):
            window.turns_held, window.tokens_held = window.turns_held + 1, window.tokens_held + tokens
            self.windows[place] = window
        self.turns[number] = Turn(number, user, session, places, tokens, self.now)
        return True

    def set_limits(self, user: str, day: Limits, of_month: Limits) -> None:
        self.limits[user] = {"day": day, "month": of_month}
        for place in self.places(user):
            if place in self.windows:
                self.windows[place].limited(*self.limits_of(user, place[1]))

    def end(self, turn: Turn, spent: int) -> str:
        turn.spent, turn.state = spent, "ended"
        return self.enqueue(turn)

    def enqueue(self, turn: Turn) -> str:
        if turn.session in self.stops:
            return "settlement_stopped"
        if self.paused:
            return "settlement_paused"
        if self.now >= turn.reserved_at + TTL:
            return "settlement_receipt_expired"
        if len(self.pending()) >= PENDING:
            return "settlement_outbox_full"
        turn.settlement, turn.deadline = "pending", min(self.now + DEADLINE, turn.reserved_at + TTL)
        return "queued"

    def pending(self) -> list[Turn]:
        return [turn for turn in self.turns.values() if turn.settlement == "pending"]

    def apply(self, turn: Turn, *, fresh: bool, allowed: bool) -> str:
        """`fresh`: with the current generation; `allowed`: the guard says so."""
        if turn.settlement != "pending":
            return f"duplicate {turn.settlement}"
        if not fresh:
            return "settlement_stale_control"
        if self.paused:
            return "settlement_paused"
        if self.now > turn.deadline:
            return self.retire(turn, "expired")
        if not allowed:
            return "settlement_guard_refused"
        if turn.spoiled:
            turn.attempts += 1
            return self.retire(turn, "failed") if turn.attempts == ATTEMPTS else "settlement_failed"
        self.release(turn, "settled")
        self.retire(turn, "settled")
        return "settled"

    def retire(self, turn: Turn, how: str) -> str:
        turn.settlement = how
        self.history = [*self.history, (turn.number, how)][-HISTORY:]
        return f"settlement_{how}"

    def release(self, turn: Turn, way: str) -> None:
        turn.released = way
        for place in turn.windows:
            window = self.windows[place]
            free = (
                None if window.tokens_limit is None else window.tokens_limit - window.tokens_held - window.tokens_used
            )
            window.turns_held, window.turns_used = window.turns_held - 1, window.turns_used + turn.began
            window.tokens_held -= turn.tokens
            window.tokens_used += turn.spent if free is None else min(turn.spent, turn.tokens + free)

    def stop(self, session: str) -> str:
        if session in self.stops:
            return "unchanged"
        if len(self.stops) == STOPS:
            idle = [one for one in sorted(self.stops, key=lambda one: self.stops[one]) if not self.binds(one)]
            if not idle:
                return "settlement_stop_capacity"
            del self.stops[idle[0]]
        self.stops[session] = (self.now, sha256(session.encode()).hexdigest())
        self.generation += 1
        for turn in sorted(self.pending(), key=lambda turn: turn.key):
            if turn.session == session:
                self.retire(turn, "stopped")
        return "changed"

    def binds(self, session: str) -> bool:
        """A row that waits, or a receipt that is still valid."""
        return any(
            turn.session == session and not turn.released and self.now < turn.reserved_at + TTL
            for turn in self.turns.values()
        ) or any(turn.session == session for turn in self.pending())

    def set_paused(self, paused: bool) -> None:
        self.generation += self.paused != paused
        self.paused = paused

    def sweep(self) -> None:
        if self.paused:
            return
        for turn in sorted(self.pending(), key=lambda turn: (turn.deadline, turn.key)):
            if turn.deadline < self.now:
                self.retire(turn, "expired")
        for turn in sorted(self.turns.values(), key=lambda turn: (turn.reserved_at, turn.number)):
            if turn.state != "ended" or turn.released or turn.settlement == "pending":
                continue
            if turn.settlement == "none" and self.enqueue(turn) in ("queued", "settlement_outbox_full"):
                continue
            self.release(turn, "late")

    def boot(self) -> None:
        """What ran is interrupted, with nothing known of what it used."""
        for turn in [turn for turn in self.turns.values() if turn.state == "entered"]:
            self.end(turn, 0)
