"""A change of a file in unified form, bounded in time and size. Pure."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, Literal, TypeAlias

DIFF_CHARACTERS: Final = 60_000
COMPARED_LINES: Final = 1_500
CONTEXT_LINES: Final = 3

Tag: TypeAlias = Literal["replace", "delete", "insert", "equal"]
Opcode: TypeAlias = tuple[Tag, int, int, int, int]  # difflib's: tag, lines of the old text, lines of the new


def unified(path: str, old: str | None, new: str) -> str:
    """The change from `old` (None: a new file) to `new`; "" where there is none. Cut at DIFF_CHARACTERS.

    What stands equal at both ends is set aside first. When the rest is too long to be compared in reasonable time, it
    is shown as taken out and put in as a whole.
    """
    before, after = (old or "").splitlines(), new.splitlines()
    if before == after:
        return ""
    lines = chain([f"--- {path if old is not None else '/dev/null'}", f"+++ {path}"], _hunks(before, after))
    text = "\n".join(_as_many_as_shown(lines))
    return text if len(text) <= DIFF_CHARACTERS else text[:DIFF_CHARACTERS].rpartition("\n")[0] + "\n…"


def _as_many_as_shown(lines: Iterable[str]) -> Iterator[str]:
    """Lines up to the one that is cut; there may be millions."""
    room = DIFF_CHARACTERS
    for line in lines:
        yield line
        room -= len(line) + 1
        if room < 0:
            return


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Lines around a change come from the whole text: patch takes a hunk with none behind it for the file's end."""
    for group in _groups(before, after):
        old, new = _range(group[0][1], group[-1][2]), _range(group[0][3], group[-1][4])
        yield f"@@ -{old} +{new} @@"
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[old_start:old_end])
            else:
                yield from (f"-{line}" for line in before[old_start:old_end])
                yield from (f"+{line}" for line in after[new_start:new_end])


def _groups(before: Sequence[str], after: Sequence[str]) -> Iterable[list[tuple[str, int, int, int, int]]]:
    shorter = min(len(before), len(after))
    head = _longest(shorter, lambda low, high: before[low:high] == after[low:high])
    ends = len(before), len(after)
    tail = _longest(
        shorter - head,
        lambda low, high: before[ends[0] - high : ends[0] - low] == after[ends[1] - high : ends[1] - low],
    )
    old_end, new_end = len(before) - tail, len(after) - tail
    if max(old_end, new_end) - head <= COMPARED_LINES:
        inner: list[Opcode] = difflib.SequenceMatcher(None, before[head:old_end], after[head:new_end]).get_opcodes()
    else:
        inner = [("replace", 0, old_end - head, 0, new_end - head)]
    opcodes: list[Opcode] = [
        ("equal", 0, head, 0, head),
        *((tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in inner),
        ("equal", old_end, len(before), new_end, len(after)),
    ]
    return _Known(opcodes).get_grouped_opcodes(CONTEXT_LINES)


class _Known(difflib.SequenceMatcher[str]):
    """A comparison whose outcome is known; what it is made for is the grouping."""

    def __init__(self, opcodes: list[Opcode]) -> None:
        super().__init__()
        self._known = opcodes

    def get_opcodes(self) -> list[Opcode]:
        return self._known


def _range(start: int, end: int) -> str:
    """Lines as a header counts them: from 1, and from the line before where there are none."""
    if end - start == 1:
        return f"{end}"
    return f"{start + 1 if end > start else start},{end - start}"


def _longest(most: int, same: Callable[[int, int], bool]) -> int:
    """How many lines are the same, of `most`; `same` compares those from one number to another. By halves: comparing
    slices takes a tenth of the time that comparing lines does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low
