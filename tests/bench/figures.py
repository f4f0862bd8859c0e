"""What a bench found: figures beside their targets and beside the official client's, as a table and as JSON."""

import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Literal

Better = Literal["less", "more"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure: the median of what was measured, what the official client needs in the same run, and the target.

    `target` is for `ours`, or for the ratio ours / theirs where `of_ratio` is true. `samples` are all there were.
    """

    name: str
    unit: str
    ours: float
    theirs: float | None = None
    target: float | None = None
    better: Better = "less"
    of_ratio: bool = False
    samples: tuple[float, ...] = ()
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.theirs else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        value = self.ratio if self.of_ratio else self.ours
        if self.target is None or value is None:
            return None
        return value <= self.target if self.better == "less" else value >= self.target


def middle(values: Iterable[float]) -> float:
    """The median."""
    return float(median(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def table(figures: Sequence[Figure]) -> str:
    """The figures as aligned text, one a line."""
    rows = [("measure", "ours", "official", "ratio", "target", "")]
    for figure in figures:
        sign = "≤" if figure.better == "less" else "≥"
        target = "" if figure.target is None else f"{sign} {_shown(figure.target)}{' ×' if figure.of_ratio else ''}"
        verdict = {True: "met", False: "MISSED", None: ""}[figure.met]
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
        theirs = "" if figure.theirs is None else _shown(figure.theirs)
        rows.append((f"{figure.name} [{figure.unit}]", _shown(figure.ours), theirs, ratio, target, verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "\n".join(
        row[0].ljust(widths[0])
        + "  "
        + "  ".join(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        for row in rows
    )


def record(figures: Sequence[Figure], load: tuple[float, float, float]) -> str:
    """The whole run as JSON: the machine, how busy it was, and every figure with its samples."""
    run = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "load_average": {"before": list(load), "after": list(os.getloadavg())},
        "figures": [asdict(figure) | {"ratio": figure.ratio, "met": figure.met} for figure in figures],
    }
    return json.dumps(run, indent=1, ensure_ascii=False)


def claim(path: Path) -> None:
    """Make the file for a record; FileExistsError when there is one: a record is never overwritten."""
    path.open("x").close()


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.2f}"
