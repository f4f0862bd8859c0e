"""The record of a campaign: JSON that is never overwritten, and a table for people."""

import json
import resource
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.campaign import Campaign
from tests.crash.points import all_points
from tests.crash.reach import NOT_REACHED, not_reached, points_of
from tests.crash.sometimes import SOMETIMES
from tests.crash.storm import StormResult
from tests.crash.workloads import WORKLOADS


@dataclass(frozen=True, slots=True)
class Record:
    """What came out. `complete`: whether every workload took part, so that holes count."""

    values: dict[str, Any]
    complete: bool

    @classmethod
    def of(cls, campaign: Campaign, storm: StormResult, size: str, seconds: float) -> "Record":
        results = campaign.cases.results
        killed = Counter(point for result in results for point in result.died_at)
        sometimes: Counter[str] = Counter()
        for result in results:
            sometimes.update(result.sometimes)
        sometimes.update(storm.sometimes)
        complete = set(campaign.size.workloads) == set(WORKLOADS)
        excused = not_reached()
        holes = sorted(all_points() - set(killed) - excused)
        stale = [name for name in NOT_REACHED if not points_of(name) or any(killed[one] for one in points_of(name))]
        violations = [
            {"workload": result.workload, "rule": each.rule, "text": each.text, "kills": result.as_json()["kills"]}
            for result in results
            for each in result.violations
        ]
        violations += [
            {"workload": "K3", "rule": each.rule, "text": each.text, "kills": {}} for each in storm.violations
        ]
        values = {
            "campaign": "crash",
            "written_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "size": size,
            "seed": campaign.seed,
            "seconds": round(seconds, 1),
            "campaign_rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            "workloads": list(campaign.size.workloads),
            "cases": len(results),
            "points": {"that_must_be": len(all_points()), "passed": len(campaign.places), "killed_at": len(killed)},
            "kills": sum(killed.values()),
            "kills_by_point": dict(sorted(killed.items())),
            "never_killed_at": holes if complete else [],
            "excused": {name: NOT_REACHED[name] for name in sorted(NOT_REACHED)},
            "stale_excuses": stale if complete else [],
            "sometimes": {name: sometimes[name] for name in SOMETIMES},
            "k3": storm.as_json(),
            "violations": violations,
        }
        return cls(values, complete)

    @property
    def exit_code(self) -> int:
        values = self.values
        never = [name for name, count in values["sometimes"].items() if count == 0] if self.complete else []
        bad = values["violations"] or values["never_killed_at"] or values["stale_excuses"] or never
        return 1 if bad else 0

    def table(self) -> str:
        values, points, k3 = self.values, self.values["points"], self.values["k3"]
        statements = sorted(name for name in values["never_killed_at"] if " " not in name)
        effects = sorted(name for name in values["never_killed_at"] if " " in name)
        rows = [
            ("size, seed", f"{values['size']}, {values['seed']}"),
            ("workloads, cases", f"{len(values['workloads'])}, {values['cases']}"),
            ("points that must be", points["that_must_be"]),
            ("points passed", points["passed"]),
            ("kills, at points", f"{values['kills']}, {points['killed_at']}"),
            ("statements never killed at", f"{len(statements)} {' '.join(statements)}"),
            ("effects never killed at", f"{len(effects)} {', '.join(effects)}"),
            ("not reached today, with a reason", len(values["excused"])),
            ("stale reasons", f"{len(values['stale_excuses'])} {' '.join(values['stale_excuses'])}"),
            *((f"sometimes: {name}", count) for name, count in values["sometimes"].items()),
            ("K3: kills, messages", f"{values['k3']['kills']}, {values['k3']['messages']}"),
            ("K3: said, file, vacuumed bytes", f"{k3['said_bytes']}, {k3['file_bytes']}, {k3['vacuumed_bytes']}"),
            ("K3: bytes a message, memory KB", f"{k3['bytes_per_message']}, {k3['rss_kb']}"),
            ("K3: most readings of a boot, places", f"{k3['most_looks_of_a_boot']}, {k3['places']}"),
            ("violations", len(values["violations"])),
            ("seconds, memory KB of the campaign", f"{values['seconds']}, {values['campaign_rss_kb']}"),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def write_record(record: Record, path: Path | None) -> Path:
    """Write it; a path that exists is refused."""
    return write_values(record.values, path)


def write_values(values: Mapping[str, Any], path: Path | None) -> Path:
    """As `write_record`, for what is no whole campaign."""
    target = path or Path("build") / time.strftime("crash-%Y%m%d-%H%M%S.json", time.gmtime())
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("x", encoding="utf-8") as file:
        json.dump(values, file, ensure_ascii=False, indent=1)
    return target
