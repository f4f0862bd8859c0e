"""`python -m tests.crash.report_008 --output FILE [--only NAME]…`: report 008, asked of this build.

Fifteen scenarios A1 … D3 over the product's own modules, in real processes, with pipes and SIGKILL, and five that the
report leaves open. Prints the report's table for this build and writes everything as JSON. A file that exists is never
overwritten (exit code 2); a claim that does not hold gives 1.
"""

import argparse
import asyncio
import json
import logging
import platform
import sqlite3
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from channels import __version__
from tests.crash import scenarios_beyond, scenarios_books, scenarios_start
from tests.crash.trial import Outcome, Scenario, carry_out

SCENARIOS: tuple[Scenario, ...] = (
    *scenarios_start.SCENARIOS,
    *scenarios_books.SCENARIOS,
    *scenarios_beyond.SCENARIOS,
)
NAMED = {one.name: one for one in SCENARIOS}
OK, FAILED, REFUSED = 0, 1, 2


async def report(names: Sequence[str], say: Callable[[str], None]) -> list[Outcome]:
    """One scenario after another, each in a folder of its own."""
    outcomes = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix=f"report-{name}-") as folder:
            outcome = await carry_out(NAMED[name], Path(folder))
        outcomes.append(outcome)
        say(row_of(outcome))
        for claim in outcome.claims:
            if not claim.holds:
                say(f"     does not hold: {claim.text}: {claim.seen}")
    return outcomes


def row_of(outcome: Outcome) -> str:
    """One line of the table."""
    verdict = "holds" if outcome.holds else "FAILS"
    return "  ".join(
        (
            outcome.name,
            verdict,
            _wide(outcome.title, 44),
            _wide(outcome.fault, 42),
            outcome.observed or outcome.error,
        )
    )


def as_json(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """What the file holds."""
    return {
        "build": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "scenarios": [outcome.as_json() for outcome in outcomes],
        "processes": sum(outcome.processes for outcome in outcomes),
        "kills": sum(outcome.kills for outcome in outcomes),
        "claims": sum(len(outcome.claims) for outcome in outcomes),
        "errors": sum(bool(outcome.error) for outcome in outcomes),
        "holds": all(outcome.holds for outcome in outcomes),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.report_008", description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="where the JSON goes; a file that exists is refused")
    parser.add_argument("--only", action="append", choices=sorted(NAMED), help="only these scenarios")
    given = parser.parse_args(arguments)
    try:  # before anything is run, so that nobody waits for nothing
        target = given.output.open("x", encoding="utf-8")
    except FileExistsError:
        print(f"{given.output} exists: a report is never overwritten; name another file", file=sys.stderr)
        return REFUSED
    with target, _without_complaints(), _removed_if_cut_off(given.output):
        print("    ".join(("", "     scenario" + " " * 36, "in the report" + " " * 29, "on this build")))
        outcomes = asyncio.run(report(given.only or list(NAMED), lambda line: print(line, flush=True)))
        values = as_json(outcomes)
        json.dump(values, target, ensure_ascii=False, indent=1)
    print(
        f"{len(outcomes)} scenarios, {values['processes']} processes, {values['kills']} kills, "
        f"{values['claims']} claims, {values['errors']} errors: {'all hold' if values['holds'] else 'NOT all hold'}"
    )
    return OK if values["holds"] else FAILED


@contextmanager
def _without_complaints() -> Iterator[None]:
    """Of aiohttp, about clients that are killed in the middle of a request."""
    logger = logging.getLogger("aiohttp")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _removed_if_cut_off(output: Path) -> Iterator[None]:
    """A report that was not written to its end is none, and would be in the way of the next."""
    try:
        yield
    except BaseException:
        output.unlink()
        raise


def _wide(text: str, width: int) -> str:
    taken = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
    return text + " " * max(0, width - taken)


if __name__ == "__main__":
    sys.exit(main())
