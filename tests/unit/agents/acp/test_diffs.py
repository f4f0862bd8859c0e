"""Changes in unified form: right, and bounded in time and size."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from channels.agents.acp.diffs import DIFF_CHARACTERS, unified

lines = st.lists(st.sampled_from(["a", "b", "c", "", "long line"]), max_size=30)


@given(lines, lines)
@example(list("baabcccd"), list("baaccccd"))  # the change may be shown behind lines that stand equal at the end
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_patch_understands_it(tmp_path: Path, old: list[str], new: list[str]) -> None:
    """The witness is the program that such text was made for."""
    before, after = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    text = unified("x", before, after)
    assert (text == "") == (old == new)
    if not text:
        return
    file = tmp_path / "x"
    file.write_text(before)
    done = subprocess.run(
        ["patch", "--quiet", "--force", str(file)], input=text + "\n", text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, (text, done.stdout)
    assert (file.read_text() if file.exists() else "") == after


def test_a_new_file_comes_from_nowhere() -> None:
    assert unified("new.txt", None, "one\ntwo\n").splitlines() == [
        "--- /dev/null",
        "+++ new.txt",
        "@@ -0,0 +1,2 @@",
        "+one",
        "+two",
    ]


@pytest.mark.timeout(20)
def test_two_long_texts_that_share_nothing_are_not_compared_for_ever() -> None:
    old = "\n".join(f"old {number % 7}" for number in range(20_000))
    new = "\n".join(f"new {number % 5} {number}" for number in range(20_000))
    text = unified("x", old, new)
    assert len(text) <= DIFF_CHARACTERS + 2
    assert text.endswith("…")


@pytest.mark.timeout(20)
def test_the_largest_files_take_a_moment() -> None:
    """It is made on the service's loop, for every update that an agent sends. The yardstick is the cutting into lines;
    comparing line by line, and making lines that nobody sees, took four times as long."""
    short, long = "a\n" * 4_000_000, "\n".join(map(str, range(1_000_000)))
    for old, new in ((short, short + "b"), (long, "0\n" + long), (long, long.replace("9", "8"))):
        began_s = time.process_time()
        assert len(old.splitlines()) + len(new.splitlines()) > 1_000_000
        cut_s = time.process_time()
        assert len(unified("x", old, new)) <= DIFF_CHARACTERS + 2
        assert time.process_time() - cut_s < 3 * (cut_s - began_s)


def test_one_changed_line_in_a_long_file_is_a_short_diff() -> None:
    old = [f"line {number}" for number in range(50_000)]
    new = [*old[:30_000], "changed", *old[30_001:]]
    text = unified("x", "\n".join(old), "\n".join(new))
    assert text.splitlines()[2] == "@@ -29998,7 +29998,7 @@"
    assert len(text.splitlines()) == 11
