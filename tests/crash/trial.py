"""One scenario of report 008 on this build: real processes, real files, and a list of what was claimed and seen.

The processes are the warm parent's children (whole services against the emulator) and executors (processes that act on
the file when they are told to, over pipes). Every order of events is made by a barrier, never by waiting a while.
"""

import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.crash.checker import check
from tests.crash.children import KILLED, WarmParent
from tests.crash.executor import Executor
from tests.crash.stage import RECEIVED, Stage, read_copy, read_provider

ALONE: dict[str, Any] = {"missed": {"enabled": False}}  # nothing but the file may bring the work back


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that must be so; `seen` is what was."""

    text: str
    holds: bool
    seen: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """`fault`: what the report saw without the protection, or which protection it saw. `run` gives what was seen."""

    name: str
    title: str
    fault: str
    run: Callable[["Trial"], Awaitable[str]]


@dataclass
class Trial:
    """One run of one scenario in a folder of its own. `processes` and `kills` count real ones.

    `parent` forks its services; without one, every stage starts (and imports) its own.
    """

    folder: Path
    parent: WarmParent | None = None
    claims: list[Claim] = field(default_factory=list)
    processes: int = 0
    kills: int = 0
    _undo: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._undo.aclose()

    @property
    def file(self) -> Path:
        return self.folder / "channels.db"

    def claim(self, text: str, seen: object, wanted: object = True) -> None:
        """`seen` must equal `wanted`."""
        self.claims.append(Claim(text, seen == wanted, repr(seen)))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What a copy of the file holds."""
        return read_copy(self.file, sql)

    def one(self, sql: str) -> Any:
        found = self.rows(sql)
        return found[0][0] if found else None

    def provider(self) -> list[dict[str, Any]]:
        """Which turns reached an agent."""
        return read_provider(self.folder)

    # Services

    async def stage(self, kills: dict[int, tuple[str, int]], **platform: Any) -> Stage:
        """A service against the emulator whose n-th boot dies at the given point; the first is waited for."""
        parent = self.parent
        if parent is None:
            parent = await WarmParent.start()
            self._undo.push_async_callback(parent.stop)
        stage = Stage(parent, self.folder, kills, platform=platform, sections=ALONE)
        await self._undo.enter_async_context(stage)
        await stage.ready()
        return stage

    async def killed(self, stage: Stage, count: int = 1) -> None:
        """Wait until so many boots have died."""
        await stage.until(lambda: sum(boot.code == KILLED for boot in stage.boots) >= count)

    async def finish(self, stage: Stage) -> None:
        """Quiet, a clean stop, and every invariant of the three records."""
        await stage.finish()
        found = check(stage)
        self.claim("no invariant is violated", [f"{one.rule}: {one.text}" for one in found], [])
        self.processes += len(stage.boots)
        self.kills += sum(boot.code == KILLED for boot in stage.boots)

    def acks(self, stage: Stage, message_id: str) -> list[int | None]:
        return [each.ack_code for each in stage.ledger.deliveries(message_id, RECEIVED)]

    # Executors

    async def executor(self) -> Executor:
        """A process that waits for orders."""
        one = await Executor.start(self.folder)
        self.processes += 1
        self._undo.push_async_callback(one.end)
        return one

    async def kill(self, executor: Executor) -> None:
        """SIGKILL."""
        await executor.kill()
        self.kills += 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one scenario has shown on this build."""

    name: str
    title: str
    fault: str
    observed: str
    claims: tuple[Claim, ...]
    processes: int
    kills: int
    error: str = ""

    @property
    def holds(self) -> bool:
        return not self.error and bool(self.claims) and all(claim.holds for claim in self.claims)

    def as_json(self) -> dict[str, Any]:
        claims = [{"claim": one.text, "holds": one.holds, "seen": one.seen} for one in self.claims]
        values = {"name": self.name, "title": self.title, "report": self.fault, "observed": self.observed}
        return values | {
            "holds": self.holds,
            "error": self.error,
            "claims": claims,
            "processes": self.processes,
            "kills": self.kills,
        }


async def carry_out(scenario: Scenario, folder: Path, parent: WarmParent | None = None) -> Outcome:
    """Run it; an error is part of the outcome."""
    observed, error = "", ""
    async with Trial(folder, parent) as trial:
        try:
            observed = await scenario.run(trial)
        except Exception as raised:  # the head of one scenario: the others are run all the same
            error = f"{type(raised).__name__}: {raised}"
    values = (scenario.name, scenario.title, scenario.fault, observed, tuple(trial.claims))
    return Outcome(*values, trial.processes, trial.kills, error)


def assert_holds(outcome: Outcome) -> None:
    """For tests: every claim, or the words of those that do not hold."""
    wrong = [f"{claim.text}: {claim.seen}" for claim in outcome.claims if not claim.holds]
    assert outcome.holds, json.dumps({"error": outcome.error, "wrong": wrong}, ensure_ascii=False, indent=1)
