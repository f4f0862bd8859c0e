"""Who gets a process: a bounded number of seats, shared out fairly. No task; futures and timers only.

A seat is the place of one process: of one session, or, where sessions share a process, the only one. A session whose
process lives simply goes on with it. Otherwise there is a free seat; or a seat whose process is idle, which is ended to
make room; or one waits. Those who wait are served in the order in which they came, but each person's second one after
everybody's first, so that one with fifty sessions does not keep out fifty with one.

Once a process has been idle for long enough it is ended; the next message loads its session again.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from itertools import count

from channels.agents.acp.failures import ProcessFailure
from channels.agents.acp.host import Host


@dataclass(eq=False, slots=True)
class Seat:
    """One place. `claims` counts the turns that sit in it, `person` is whose turn came last; `failures` counts the
    processes that did not get ready in it, and `failure` says why the last of them did not."""

    key: str
    person: str
    claims: int = 0
    host: Host | None = None
    ending: bool = False
    idle_since: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    timer: asyncio.TimerHandle | None = None
    failures: int = 0
    failure: ProcessFailure | None = None

    @property
    def is_idle(self) -> bool:
        return self.claims == 0 and not self.ending and (self.host is None or not self.host.is_busy)


@dataclass(eq=False, slots=True)
class Claim:
    """One turn's wish for a seat. `release` it in any case."""

    key: str
    person: str
    order: int
    seat: Seat | None = None
    ahead: int = 0  # while it waits: so many are before it
    changed: "asyncio.Future[None] | None" = None

    def tell(self) -> None:
        if self.changed is not None and not self.changed.done():
            self.changed.set_result(None)


class Pool:
    """At most `most` seats. `ends` is called to end a seat's host; `left` has to be called when a host is gone."""

    def __init__(self, most: int, idle_s: float) -> None:
        self._most, self._idle_s = most, idle_s
        self._seats: dict[str, Seat] = {}
        self._retired: set[Seat] = set()
        self._waiting: list[Claim] = []
        self._served: dict[str, int] = {}  # when each person last got a seat, in the numbers of claims
        self._orders = count()
        self._loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.get_running_loop

    @property
    def seats(self) -> tuple[Seat, ...]:
        return (*self._seats.values(), *self._retired)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def claim(self, key: str, person: str) -> Claim:
        """Ask for the seat of `key`; it may be there at once."""
        claim = Claim(key, person, next(self._orders))
        self._waiting.append(claim)
        self.look()
        return claim

    async def until_seated(self, claim: Claim) -> AsyncGenerator[int, None]:
        """How many are before this claim, whenever that changes; 0 at the end, where it had to wait at all."""
        told = 0
        while claim.seat is None:
            if claim.ahead != told:
                told = claim.ahead
                yield told
                continue  # it may have changed meanwhile
            claim.changed = self._loop().create_future()
            await claim.changed
        if told:
            yield 0

    def release(self, claim: Claim) -> None:
        """The turn is over, or does not want a seat any more."""
        if claim.seat is None:
            if claim in self._waiting:
                self._waiting.remove(claim)
            self._tell_all()
            return
        seat, claim.seat = claim.seat, None
        seat.claims -= 1
        self.rest(seat)

    def rest(self, seat: Seat) -> None:
        """Something in this seat has come to an end: it may be idle now."""
        if seat in self._retired and seat.claims == 0:
            self._end(seat)  # also where a turn that nobody wants any more goes on in it
        elif seat.is_idle:
            if seat.host is None or seat.host.is_gone:
                self._drop(seat)
            else:
                seat.idle_since = self._loop().time()
                self._set_timer(seat)
        self.look()

    def left(self, seat: Seat, host: Host) -> None:
        """The host's process is gone. A turn that sits there may start another one."""
        if seat.host is host:
            seat.host = None
        seat.ending = False
        if seat.claims == 0:
            self._drop(seat)
        self.look()

    def retire(self, seat: Seat) -> None:
        """Nobody new gets into this seat; its process ends with the last turn in it."""
        if self._seats.get(seat.key) is seat:
            del self._seats[seat.key]
            self._retired.add(seat)
        self.rest(seat)

    def give_up(self, key: str) -> None:
        """This key's session is over: its process need not stay."""
        seat = self._seats.get(key)
        if seat is not None and seat.is_idle:
            self._end(seat)

    def look(self) -> None:
        """Seat whoever can be seated, and make room for the others."""
        for claim in self._in_order():
            seat = self._seats.get(claim.key)
            if seat is None and len(self._seats) < self._most:
                seat = self._seats[claim.key] = Seat(claim.key, claim.person)
            if seat is not None and not seat.ending:
                self._sit(claim, seat)
        self._make_room()
        self._tell_all()
        present = {seat.person for seat in self._seats.values()} | {claim.person for claim in self._waiting}
        self._served = {person: last for person, last in self._served.items() if person in present}

    def _sit(self, claim: Claim, seat: Seat) -> None:
        self._waiting.remove(claim)
        self._served[claim.person] = next(self._orders)
        claim.seat, seat.person = seat, claim.person
        seat.claims += 1
        self._clear_timer(seat)
        claim.tell()

    def _make_room(self) -> None:
        """End as many idle processes, the longest idle first, as there are keys without a seat."""
        wanted = len({claim.key for claim in self._waiting if claim.key not in self._seats})
        wanted -= sum(seat.ending for seat in self._seats.values())
        idle = sorted((seat for seat in self._seats.values() if seat.is_idle), key=lambda seat: seat.idle_since)
        for seat in idle[: max(wanted, 0)]:
            self._end(seat)

    def _end(self, seat: Seat) -> None:
        self._clear_timer(seat)
        if seat.host is None or seat.host.is_gone:
            self._drop(seat)
        elif not seat.ending:
            seat.ending = True
            seat.host.end()

    def _drop(self, seat: Seat) -> None:
        self._clear_timer(seat)
        self._retired.discard(seat)
        if self._seats.get(seat.key) is seat:
            del self._seats[seat.key]

    def _in_order(self) -> list[Claim]:
        """Those who wait, as they are to be served: first by how many seats their person has or gets before, then by
        who was served longest ago, then by age."""
        taken = Counter(seat.person for seat in self._seats.values() if seat.claims)
        ranks: dict[int, int] = {}
        for claim in sorted(self._waiting, key=lambda one: one.order):
            ranks[claim.order] = taken[claim.person]
            taken[claim.person] += 1
        return sorted(self._waiting, key=lambda one: (ranks[one.order], self._served.get(one.person, -1), one.order))

    def _tell_all(self) -> None:
        """Everybody who waits knows the new places; the first one waits for whoever sits."""
        for ahead, claim in enumerate(self._in_order(), 1):
            if claim.ahead != ahead:
                claim.ahead = ahead
                claim.tell()

    def _set_timer(self, seat: Seat) -> None:
        self._clear_timer(seat)
        if self._idle_s > 0:
            seat.timer = self._loop().call_later(self._idle_s, self._end_idle, seat)

    def _end_idle(self, seat: Seat) -> None:
        if seat.is_idle:
            self._end(seat)

    def _clear_timer(self, seat: Seat) -> None:
        if seat.timer is not None:
            seat.timer.cancel()
            seat.timer = None
