"""One case of a campaign: a workload, the kills that were planned, and what became of it."""

import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.crash.checker import check
from tests.crash.children import KILLED, WarmParent
from tests.crash.sometimes import count_sometimes
from tests.crash.stage import LIMIT_S, Stage, Violation
from tests.crash.workloads import Workload, carry_out

Kills = Mapping[int, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Result:
    """`died_at`: the points at which boots were killed, in order; `passed`: the points of every boot (`slim` leaves
    them out: a long campaign has many cases)."""

    workload: str
    kills: dict[int, tuple[str, int]]
    planned: dict[int, tuple[str, int]]
    died_at: tuple[str, ...]
    passed: tuple[tuple[str, ...], ...]
    violations: tuple[Violation, ...]
    sometimes: Counter[str]
    seconds: float
    kept: str = ""

    @property
    def reached(self) -> bool:
        """Whether every planned kill happened."""
        return all(point in self.died_at for point, _ in self.planned.values())

    def slim(self) -> "Result":
        return replace(self, passed=())

    def as_json(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "kills": {str(boot): list(point) for boot, point in self.kills.items()},
            "died_at": list(self.died_at),
            "violations": [{"rule": each.rule, "text": each.text} for each in self.violations],
            "seconds": round(self.seconds, 2),
            "kept": self.kept,
        }


@dataclass(slots=True)
class Cases:
    """Runs cases. Folders of cases with violations are kept under `keep`, where it is given."""

    parent: WarmParent
    keep: Path | None = None
    limit_s: float = LIMIT_S
    count: int = 0
    results: list[Result] = field(default_factory=list)

    async def run(self, workload: Workload, planned: Kills) -> Result:
        """Carry the workload out with these kills on top of its own."""
        started = time.monotonic()
        kills = {**workload.kills, **planned}
        self.count += 1
        folder = Path(tempfile.mkdtemp(prefix="crash-"))
        stage = Stage(
            self.parent, folder, kills, dict(workload.platform), dict(workload.sections), self.limit_s, workload.away_s
        )
        try:
            async with stage:
                try:
                    await carry_out(workload, stage)
                    violations = tuple(check(stage))
                except Exception as error:  # one case that cannot be led to its end must not end a campaign of hours
                    violations = (*stage.violations, Violation("harness", f"{type(error).__name__}: {error}"))
                result = Result(
                    workload.name,
                    kills,
                    dict(planned),
                    tuple(boot.kill[0] for boot in stage.boots if boot.code == KILLED and boot.kill),
                    tuple(stage.passed(boot.number) for boot in stage.boots),
                    violations,
                    count_sometimes(stage) if stage.file.exists() else Counter(),
                    time.monotonic() - started,
                    self._keep(folder, stage) if violations else "",
                )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.results.append(result.slim())
        return result

    def _keep(self, folder: Path, stage: Stage) -> str:
        if self.keep is None:
            return ""
        target = self.keep / f"case-{self.count}"
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("line", "copy.db*", "*.sock"), dirs_exist_ok=True)
        (target / "world.txt").write_text("\n".join(describe(stage)))
        (target / "violations.json").write_text(json.dumps([[each.rule, each.text] for each in stage.violations]))
        return str(target)


def describe(stage: Stage) -> Iterator[str]:
    """What happened, for people who look for a cause."""
    for boot in stage.boots:
        yield f"{boot.started_ms} boot {boot.number}, to be killed at {boot.kill}, ended with {boot.code}"
    for call in stage.ledger.calls():
        fate = f"{call.status} {call.code} {call.fault}"
        yield f"{call.at_ms} {call.kind} {fate} seq={call.sequence} uuid={call.uuid} {call.path} {call.result_id}"
    for each in stage.ledger.deliveries():
        yield f"{each.at_ms} {each.event_type} {each.message_id} try {each.attempt}: {each.ack_code}"
