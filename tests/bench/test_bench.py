"""The bench works: its smallest size gives every figure, in shape. Nothing here looks at speed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.figures import Figure, percentile, table
from tests.bench.processes import REPOSITORY

WITH_OFFICIAL = 6  # figures that stand beside the official client's: starts, memory, acks, calls …


@pytest.mark.timeout(240)
def test_the_smallest_bench_gives_every_figure_and_never_overwrites(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    done = _bench("--smallest", "--json", str(file))
    assert done.returncode == 0, done.stderr
    record = json.loads(file.read_text())
    figures = {figure["name"]: figure for figure in record["figures"]}
    assert all(figure["ours"] > 0 or "memory" in name for name, figure in figures.items())
    assert sum(figure["theirs"] is not None for figure in figures.values()) >= WITH_OFFICIAL
    for words in (
        "start to connected",
        "idle",
        "burst",
        "p50",
        "p99",
        "first thing visible",
        "openai",
        "at once",
        "settle",
    ):
        assert any(words in name for name in figures), words
    assert all(name in done.stdout for name in figures)
    assert figures["API calls, answer of 80 characters"]["note"].count("im.message.reply") == 1

    before = file.read_bytes()
    refused = _bench("--smallest", "--json", str(file))
    assert refused.returncode == 2
    assert "File exists" in refused.stderr
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (Figure("less", "ms", 10.0, target=10.0), True),
        (Figure("less", "ms", 10.1, target=10.0), False),
        (Figure("more, by ratio", "1/s", 300.0, 100.0, 2.0, "more", True), True),
        (Figure("more, by ratio", "1/s", 199.0, 100.0, 2.0, "more", True), False),
        (Figure("without a target", "ms", 5.0, 4.0), None),
    ],
)
def test_targets(figure: Figure, met: bool | None) -> None:
    assert figure.met is met
    assert ("MISSED" in table([figure])) is (met is False)


def test_percentile_is_a_value_that_was_measured() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 3.0


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.bench", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
