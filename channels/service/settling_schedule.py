"""When a settlement is tried again, and which stops are still to be confirmed: the client's side, in memory only. Pure.

It knows handles and moments, never an end: how a settlement ends is the file's to say, and what it says is told on.

  waits         tried at `due_at`: at once, after 250 ms, 1 s, 3 s; a wait that would pass the deadline ends on it
  unconfirmed   the try at (or after) the deadline was not answered: it stays as it is, visibly, and is not tried again
                before a real moment of the life cycle reads the status anew
  held back     its session has a stop that is not confirmed yet; no other session's settlement is

A stop has three submissions within thirty seconds: at once, after ten, after twenty-five. What is not confirmed by
then stays `unconfirmed` and goes on holding its own session back. Nothing here survives a process, and nothing has to.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from channels.rules.settlement import BACKOFF_MS, StopKey, StopRequest
from channels.store.transactions.settlement import Pending

STOP_SUBMISSIONS = 3
STOP_WINDOW_MS = 30_000
STOP_WAITS_MS = (0, 10_000, 25_000)  # the last with room before the window ends: no timer rings on the millisecond
STOPS_KEPT = 256  # unconfirmed ones that are remembered; the oldest give way


@dataclass(slots=True)
class Entry:
    """One settlement that waits in the file. `tries`: answers in a row that were none; `due_at` None: no timer."""

    key: str
    payload_hash: str
    owner: str
    session_hash: str
    deadline: int
    due_at: int | None
    tries: int = 0
    why: str = ""

    @property
    def state(self) -> str:
        return "waits" if self.due_at is not None else "unconfirmed"


@dataclass(slots=True)
class StopTask:
    """An exact stop that somebody owes to one session. `due_at` None: its budget is used up."""

    session_hash: str
    request: StopRequest
    owner: str
    reason: str
    since: int
    due_at: int | None
    submissions: int = 0
    why: str = ""

    @property
    def state(self) -> str:
        return "waits" if self.due_at is not None else "unconfirmed"


class Schedule:
    """Entries by key, stops by session hash. Every method is told the time."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.stops: dict[str, StopTask] = {}
        self.generation = 0
        self.paused = False

    # Settlements

    def take(self, pending: Iterable[Pending], generation: int, paused: bool, stopped: Iterable[str], now: int) -> None:
        """What the status of this moment says, every entry anew: the budget of tries that nobody answered begins
        again, what the file has ended is forgotten, and stops that stand in the file are confirmed."""
        self.generation, self.paused = generation, paused
        self.entries = {one.key: _entry(one, now) for one in pending}
        for session_hash in stopped:
            self.stops.pop(session_hash, None)

    def discover(self, pending: Iterable[Pending], generation: int, paused: bool, now: int) -> None:
        """Settlements that are new in the file join; what is known already keeps its place, unconfirmed ones too."""
        self.generation, self.paused = generation, paused
        present = list(pending)
        for one in present:
            if one.key not in self.entries:
                self.entries[one.key] = _entry(one, now)
        self.forget_all_but({one.key for one in present})

    def forget_all_but(self, keys: set[str]) -> None:
        """What does not wait in the file any more has ended there."""
        for key in self.entries.keys() - keys:
            del self.entries[key]

    def due(self, now: int, limit: int) -> list[Entry]:
        """What is to be tried now, the earliest first; nothing while the user has paused."""
        if self.paused:
            return []
        ready = [one for one in self.entries.values() if one.due_at is not None and one.due_at <= now]
        ready = [one for one in ready if one.session_hash not in self.stops]
        return sorted(ready, key=lambda one: (one.due_at or 0, one.key))[:limit]

    def ended(self, key: str) -> None:
        """The file has ended it."""
        self.entries.pop(key, None)

    def not_yet(self, key: str, why: str, now: int, next_at: int | None = None) -> None:
        """A try that did not end it: `next_at` where the file says when, else the client's own back-off. Never beyond
        the deadline; once that was the moment of the try, there is no timer any more."""
        entry = self.entries.get(key)
        if entry is None:
            return
        entry.why = why
        if now >= entry.deadline:
            entry.due_at = None
            return
        wait_ms = BACKOFF_MS[min(entry.tries, len(BACKOFF_MS) - 1)]
        entry.tries += 1
        entry.due_at = min(next_at if next_at is not None else now + wait_ms, entry.deadline)

    # Stops

    def owe_stop(self, session_hash: str, request: StopRequest, owner: str, reason: str, now: int) -> None:
        """This session is to be stopped; a stop that is owed already gets a fresh budget."""
        self.stops.pop(session_hash, None)
        self.stops[session_hash] = StopTask(session_hash, request, owner, reason, now, now)
        while len(self.stops) > STOPS_KEPT:
            del self.stops[next(iter(self.stops))]

    def due_stops(self, now: int) -> list[StopTask]:
        """What is to be submitted now. One whose window has passed meanwhile is not: it is unconfirmed."""
        for task in self.stops.values():
            if task.due_at is not None and now > task.since + STOP_WINDOW_MS:
                task.due_at = None
        return [task for task in self.stops.values() if task.due_at is not None and task.due_at <= now]

    def stop_confirmed(self, session_hash: str) -> None:
        self.stops.pop(session_hash, None)

    def stop_not_yet(self, session_hash: str, why: str) -> None:
        """A submission that was not confirmed."""
        task = self.stops.get(session_hash)
        if task is None:
            return
        task.submissions, task.why = task.submissions + 1, why
        more = task.submissions < STOP_SUBMISSIONS
        task.due_at = task.since + STOP_WAITS_MS[task.submissions] if more else None

    def renew_stops(self, now: int) -> None:
        """A real moment of the life cycle: what is still owed is submitted again, with a budget of its own."""
        for task in self.stops.values():
            if task.due_at is None:
                task.since, task.due_at, task.submissions = now, now, 0

    def next_due(self) -> int | None:
        """When there is something to do again; None: not before something happens."""
        times = [task.due_at for task in self.stops.values() if task.due_at is not None]
        if not self.paused:
            times += [
                one.due_at
                for one in self.entries.values()
                if one.due_at is not None and one.session_hash not in self.stops
            ]
        return min(times, default=None)


def stop_of_key(pending: Pending) -> StopRequest:
    """The exact stop of this settlement's session, by its handle."""
    return StopKey(pending.key, pending.payload_hash)


def held_back(schedule: Schedule, entry: Entry) -> bool:
    """Whether a stop of its session is still to be confirmed."""
    return entry.session_hash in schedule.stops


def marks(schedule: Schedule) -> Mapping[str, str]:
    """What the client says of each settlement that it knows: waits, unconfirmed or held back; by key."""
    return {key: "held_back" if held_back(schedule, entry) else entry.state for key, entry in schedule.entries.items()}


def _entry(pending: Pending, now: int) -> Entry:
    due_at = min(max(pending.next_attempt_at, now), max(pending.deadline, now))
    return Entry(pending.key, pending.payload_hash, pending.owner, pending.session_hash, pending.deadline, due_at)
