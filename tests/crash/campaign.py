"""The campaign: K1 every point once (or everywhere), K2 a second kill in the recovery, K3 the loop under load.

First every workload is carried out without any kill of ours: the points that it passes are the ones to be killed at.
Which occurrence of a point in which workload is the seed's choice; in the full size every transaction and every call
of every workload gets its kill.
"""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.case import Cases, Result
from tests.crash.children import WarmParent
from tests.crash.points import all_points
from tests.crash.workloads import WORKLOADS

SLOW_S = 8.0
TRIES = 6  # placements of one point, before it counts as never killed at
AT_MOST_EACH = 12  # kills at one point of one workload in the full size
TOLD_EVERY = 500  # cases


@dataclass(frozen=True, slots=True)
class Size:
    """How much. `k1`: "sample", "once" or "everywhere"; `extra`: the sample's points; the transactions (by what they
    wrote) that are taken beside all statements and calls; or how many kills everywhere. `k2`, `k3`: numbers of them."""

    k1: str
    extra: int
    k2: int
    k3: int
    workloads: tuple[str, ...] = tuple(WORKLOADS)


SIZES = {
    "small": Size("sample", 30, 6, 8, ("first message", "stop")),
    "ci": Size("once", 60, 40, 40),
    "full": Size("everywhere", 2_500, 2_000, 300),
    "all": Size("everywhere", 1_000_000, 2_000, 300),
}


@dataclass(frozen=True, slots=True)
class Place:
    """One place to be killed at: the `nth` time that `boot` of `workload` passes `point`."""

    workload: str
    boot: int
    point: str
    nth: int


@dataclass(frozen=True, slots=True)
class Case:
    """A workload with its kills; `place`: where K1 kills in it."""

    workload: str
    kills: dict[int, tuple[str, int]]
    place: Place | None = None


@dataclass
class Campaign:
    """One campaign. `say` is told one line for each step."""

    parent: WarmParent
    size: Size
    seed: int
    say: Callable[[str], None]
    jobs: int = 2
    keep: Path | None = None
    deadline_s: float = float("inf")
    places: dict[str, list[Place]] = field(default_factory=dict)
    recoveries: dict[str, list[tuple[Place, tuple[str, ...]]]] = field(default_factory=lambda: defaultdict(list))
    missed: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.cases = Cases(self.parent, self.keep)

    async def record(self) -> None:
        """Find every point that every workload passes."""
        results = await self._run_all((Case(name, {}) for name in self.size.workloads), keep_points=True)
        found: defaultdict[str, list[Place]] = defaultdict(list)
        for result in results:
            for boot, names in enumerate(result.passed, start=1):
                for point, count in Counter(names).items():
                    found[point] += [Place(result.workload, boot, point, nth) for nth in range(1, count + 1)]
        self.places = dict(sorted(found.items()))
        self.say(f"recorded {len(results)} workloads: {len(self.places)} points")

    async def kill_once(self) -> list[Result]:
        """K1: every point once; a place that is not reached this time gives way to another."""
        if self.size.k1 == "sample":
            points = self.random.sample(list(self.places), min(self.size.extra, len(self.places)))
            return await self._kill_at(self.random.choice(self.places[point]) for point in points)
        needed = all_points() | {"agent before", "agent after_effect", "BEGIN"}
        others = [point for point in self.places if point not in needed]
        extra = set(self.random.sample(others, min(len(others), self.size.extra)))
        left = {point: places for point, places in self.places.items() if point in needed or point in extra}
        chosen = [self.random.choice(places) for places in left.values()]
        self.random.shuffle(chosen)
        done = await self._kill_at(chosen)
        missed = needed - {point for result in done for point in result.died_at}
        done += await self._kill_the_rest(missed)
        missed -= {point for result in done for point in result.died_at}
        self.say(f"K1: {len(done)} cases, {len(missed & set(self.places))} points not reached again")
        return done

    async def kill_everywhere(self) -> list[Result]:
        """K1 in full: every point once, then transactions, calls and statements of every workload as the size allows;
        what was not reached is tried again in other places."""
        once = [self.random.choice(places) for places in self.places.values()]
        taken = frozenset(once)
        others = [place for place in self._everywhere() if place not in taken]
        self.random.shuffle(others)
        chosen = once + others[: max(0, self.size.extra - len(once))]
        self.random.shuffle(chosen)
        results = await self._kill_at(chosen)
        killed = {point for result in results for point in result.died_at}
        self.say(f"K1: {len(results)} cases of {len(once) + len(others)}")
        return results + await self._kill_the_rest(all_points() - killed)

    async def _kill_the_rest(self, points: Iterable[str]) -> list[Result]:
        """Some tries for each of these points; one that still lives (it depends on how fast things go) is looked for
        in every boot that may pass it."""
        left, done = {point: self.places[point] for point in sorted(points) if point in self.places}, list[Result]()
        for _ in range(TRIES):
            results = await self._kill_at([self.random.choice(places) for places in left.values()])
            killed = {point for result in results for point in result.died_at}
            left = {point: places for point, places in left.items() if point not in killed}
            done += results
        for point, places in left.items():
            first = [place for place in places if place.nth == 1]
            self.random.shuffle(first)
            while first and point not in {died for result in done for died in result.died_at}:
                done += await self._kill_at([first.pop() for _ in range(min(self.jobs, len(first)))])
        return done

    async def kill_twice(self, count: int) -> list[Result]:
        """K2: a second kill while the first one is recovered from."""
        pool = [(name, place, names) for name, seen in self.recoveries.items() for place, names in seen]
        if not pool:
            return []
        chosen = [self._second_kill(*self.random.choice(pool)) for _ in range(count)]
        results = await self._run_all(chosen)
        self.say(f"K2: {len(results)} cases, {sum(result.reached for result in results)} of them killed twice")
        return results

    def _second_kill(self, name: str, place: Place, names: tuple[str, ...]) -> Case:
        at = self.random.randrange(len(names))
        nth = names[: at + 1].count(names[at])
        return Case(name, {place.boot: (place.point, place.nth), place.boot + 1: (names[at], nth)})

    def _everywhere(self) -> Iterator[Place]:
        for point, places in self.places.items():
            by_workload: defaultdict[tuple[str, int], list[Place]] = defaultdict(list)
            for place in places:
                by_workload[place.workload, place.boot].append(place)
            each = AT_MOST_EACH if " " in point else 1
            for some in by_workload.values():
                yield from self.random.sample(some, min(each, len(some)))

    async def _kill_at(self, chosen: Iterable[Place]) -> list[Result]:
        return await self._run_all(Case(each.workload, {each.boot: (each.point, each.nth)}, each) for each in chosen)

    async def _run_all(self, cases: Iterable[Case], *, keep_points: bool = False) -> list[Result]:
        """Some at a time; the results in the order of the cases, those that the time no longer allowed left out."""
        gate = asyncio.Semaphore(self.jobs)

        async def run(case: Case) -> Result | None:
            async with gate:
                if time.monotonic() > self.deadline_s:
                    return None
                result = await self.cases.run(WORKLOADS[case.workload], case.kills)
                self._tell(result)
                if case.place is not None:
                    self._note_recovery(case.place, result)
                return result if keep_points else result.slim()

        results = await asyncio.gather(*map(run, cases))
        return [result for result in results if result is not None]

    def _tell(self, result: Result) -> None:
        if result.seconds > SLOW_S:
            self.say(f"slow: {result.seconds:.1f} s {result.workload} {result.planned} [{self.cases.count}]")
        for violation in result.violations:
            self.say(f"VIOLATION {violation.rule} {result.workload} {result.planned}: {violation.text} [{result.kept}]")
        if len(self.cases.results) % TOLD_EVERY == 0:
            self.say(f"{len(self.cases.results)} cases")

    def _note_recovery(self, place: Place, result: Result) -> None:
        """What the boot after the kill passes is where a second kill may come."""
        if not result.reached:
            self.missed.append(place)
        elif len(result.passed) > place.boot and result.passed[place.boot]:
            self.recoveries[place.workload].append((place, result.passed[place.boot]))
