"""What goes wrong for people who run such bots, by number: each kind of fault is named by a test that shows the right
behaviour, or stands here with the issue that brings it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

REPORTS = {
    1: "ack lost with the socket",
    2: "again hours later under a new event id",
    3: "work before the ack",
    4: "reply timed out after its effect",
    5: "card start with unknown outcome",
    6: "two processes on one file",
    7: "sent while the service was down",
    8: "half-open for hours",
    9: "network away for long",
    10: "a background task dies unseen",
    11: "old is not duplicate",
    12: "streaming longer than ten minutes",
    13: "sequence after a restart",
    14: "delivered without a message id",
    15: "final before it was confirmed",
    16: "too many tables on a card",
    17: "pipes in code",
    18: "a very long answer",
    19: "equal deltas",
    20: "somebody else's question ends a card",
    21: "question taken back in mid-answer",
    22: "card too old to change",
    23: "picture of the web in an answer",
    24: "audit refuses an address",
    25: "end without an unread mark",
    26: "approval after a restart",
    27: "click before the approval is known",
    28: "click judged by the wrong chat's rule",
    29: "the same click twice",
    30: "everybody was mentioned",
    31: "commands as people type them",
    32: "/stop behind the queue",
    33: "several messages while busy",
    34: "a quote is no topic",
    35: "second card outside the topic",
    36: "two bots talk for ever",
    37: "words and pictures in one post",
    38: "forward and comment are one question",
    39: "forward shown as a placeholder",
    40: "three pictures at once",
    41: "Typing stays",
    42: "token refused",
    43: "session load fails",
    44: "database busy in the gate",
    45: "disk full at the end of a turn",
}
LATER = {43: "issue 7: ACP agents"}

_IN_NAME = re.compile(r"_field_(?:report_)?(\d+)(?=_|$)")
_IN_WORDS = re.compile(r"[Ff]ield reports?\s+(\d+(?:(?:,|,? and|–|-)\s*\d+)*)")


def numbers_in(words: str) -> Iterator[int]:
    """Every number that these words name: "field report 17", "field reports 16, 18 and 35", "field reports 37-40"."""
    for found in _IN_WORDS.finditer(words):
        for part in re.split(r",? and |,", found[1]):
            first, *last = (int(number) for number in re.split(r"[–-]", part))
            yield from range(first, (last[0] if last else first) + 1)


def numbers_of(path: Path) -> Iterator[tuple[int, str]]:
    """The numbers that the tests of a module name, in their own name or docstring or in the module's."""
    text = path.read_text(encoding="utf-8")
    if not (_IN_NAME.search(text) or _IN_WORDS.search(text)):
        return  # most modules: parsing them all takes a second
    module = ast.parse(text)
    tests = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    for node in (module, *tests):
        name = "" if isinstance(node, ast.Module) else node.name
        named = (int(number) for number in _IN_NAME.findall(name))
        for number in (*named, *numbers_in(ast.get_docstring(node) or "")):
            yield number, f"{path.relative_to(TESTS)}::{name}"


@cache
def named() -> dict[int, list[str]]:
    """Number → the tests that name it."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for number, test in numbers_of(path) if path != Path(__file__) else ():
            found[number].append(test)
    return found


@pytest.mark.parametrize("number", [pytest.param(number, id=f"{number}-{what}") for number, what in REPORTS.items()])
def test_each_is_shown_by_a_test(number: int) -> None:
    assert named().get(number) or number in LATER, f"no test names field report {number} ({REPORTS[number]})"


def test_what_comes_later_is_not_there_yet() -> None:
    """Else the table tells an old story."""
    assert {number for number in LATER if named().get(number)} == set()


def test_tests_name_only_what_is_listed() -> None:
    assert {number: tests for number, tests in named().items() if number not in REPORTS} == {}


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("Field report 17.", [17]),
        ("commands (field report 31)", [31]),
        ("Field reports 16, 18 and 35: nothing is dropped", [16, 18, 35]),
        ("field reports 37–40", [37, 38, 39, 40]),
        ("three pictures, 40 of them", []),
    ],
)
def test_how_numbers_are_read(words: str, numbers: list[int]) -> None:
    assert list(numbers_in(words)) == numbers
