"""`python -m tests.bench [--json FILE] [--only NAME] [--burst N] [--settlements N] [--smallest]`: figures beside the
official client's.

Nothing here passes or fails: a figure is a median of one run on one machine, and means something beside the others of
the same run. The record is never overwritten.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.bench.answers import measure_crowd, measure_first_signs, measure_many_turns, measure_streamed_answers
from tests.bench.contestants import Measure, ring
from tests.bench.figures import Figure, claim, record, table
from tests.bench.settlements import measure_settlements
from tests.bench.sizes import SMALLEST, Sizes
from tests.bench.wire import measure_acks, measure_starts

MEASURES: dict[str, Measure] = {
    "starts": measure_starts,
    "acks": measure_acks,
    "signs": measure_first_signs,
    "answers": measure_streamed_answers,
    "crowd": measure_crowd,
    "turns": measure_many_turns,
    "settlements": measure_settlements,
}


def run(names: list[str], sizes: Sizes, folder: Path) -> list[Figure]:
    """Run these measures, one after another, and give their figures."""
    with ring(folder) as both:
        return [figure for name in names for figure in MEASURES[name](both, sizes)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--json", type=Path, help="also write a record there; an existing file is refused")
    parser.add_argument("--only", action="append", choices=sorted(MEASURES), help="one measure; may be repeated")
    parser.add_argument("--burst", type=int, default=Sizes().burst, help="events in a burst")
    parser.add_argument("--rounds", type=int, default=Sizes().rounds, help="alternations of both sides")
    parser.add_argument("--settlements", type=int, default=Sizes().settlements, help="turns that are settled")
    parser.add_argument("--smallest", action="store_true", help="only try that it works")
    given = parser.parse_args()
    sizes = (
        SMALLEST
        if given.smallest
        else replace(Sizes(), burst=given.burst, rounds=given.rounds, settlements=given.settlements)
    )
    if given.json is not None:
        try:
            claim(given.json)
        except OSError as error:
            parser.error(f"--json {given.json}: {error.strerror}")
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="channels-bench-") as folder:
        figures = run(given.only or list(MEASURES), sizes, Path(folder))
    print(table(figures))
    print(f"load average {load[0]:.2f} before, {os.getloadavg()[0]:.2f} after, {os.cpu_count()} cores")
    if given.json is not None:
        given.json.write_text(record(figures, load), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
