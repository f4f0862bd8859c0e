"""A change of a file in unified form, bounded in time and size. Pure."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

DIFF_CHARACTERS: Final = 60_000
COMPARED_LINES: Final = 1_500
CONTEXT_LINES: Final = 3


def unified(path: str, old: str | None, new: str) -> str:
    """The change from `old` (None: a new file) to `new`; "" where there is none. Cut at DIFF_CHARACTERS.

    What stands equal at both ends is set aside first. When the rest is too long to be compared in reasonable time, it
    is shown as taken out and put in as a whole.
    """
    before, after = (old or "").splitlines(), new.splitlines()
    if before == after:
        return ""
    lines = [f"--- {path if old is not None else '/dev/null'}", f"+++ {path}", *_hunks(before, after)]
    text = "\n".join(lines)
    return text if len(text) <= DIFF_CHARACTERS else text[:DIFF_CHARACTERS].rpartition("\n")[0] + "\n…"


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    head = _equal(before, after)
    tail = min(_equal(before[::-1], after[::-1]), min(len(before), len(after)) - head)
    start, ends = max(head - CONTEXT_LINES, 0), (len(before) - tail, len(after) - tail)
    old = before[start : ends[0] + CONTEXT_LINES]
    new = after[start : ends[1] + CONTEXT_LINES]
    if max(len(old), len(new)) <= COMPARED_LINES:
        for line in list(difflib.unified_diff(old, new, n=CONTEXT_LINES, lineterm=""))[2:]:
            yield _moved(line, start) if line.startswith("@@") else line
        return
    yield f"@@ -{head + 1},{ends[0] - head} +{head + 1},{ends[1] - head} @@"
    yield from (f"-{line}" for line in before[head : ends[0]])
    yield from (f"+{line}" for line in after[head : ends[1]])


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return min(len(one), len(other))


def _moved(header: str, by: int) -> str:
    """A hunk's header with its line numbers counted from the beginning of the file."""
    if by == 0:
        return header
    _, old, new, _ = header.split(" ", 3)
    return f"@@ -{_counted(old[1:], by)} +{_counted(new[1:], by)} @@"


def _counted(place: str, by: int) -> str:
    first, comma, count = place.partition(",")
    return f"{int(first) + by}{comma}{count}"
