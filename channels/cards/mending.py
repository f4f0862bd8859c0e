"""Half-written Markdown: what to leave out and what to close while an answer is still being written.

`hold_back` leaves out an end that cannot be read yet: a `#` that may become a heading, the first rows of a table. It
is also what makes paging stable: everything that it lets through already is the block that it will be.
"""

import re

from channels.cards.parsing import in_open_fence

_UNDECIDED_LINE = re.compile(r"\s*(?:>\s*)*(?:[-+*_=#>~`:|\s]*|\d{1,9}[.)]?\s*(?:[-+*_#>~`]*)|[-+*]\s+\[[ xX]?\]?\s*)$")
_FENCE_LINE = re.compile(r"\s*(?:>\s*)*(?:[-+*]\s+|\d{1,9}[.)]\s+)?(?:```|~~~)[^`]*$")
_DELIMITER_ROW = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_OPEN_TAG = re.compile(r"<[A-Za-z/!][^<>\n]{0,200}$")
_OPEN_LINK = re.compile(r"!?\[([^\[\]\n]*)(?:\](?:\([^()\s]*)?)?$")
_LONE_MARK = re.compile(r"(?<![*\\])\*$|(?<![~\\])~$")
_CODE_RUN = re.compile(r"(?<!\\)`+")
_MARK = re.compile(r"\\.|\*\*|~~|\*", re.DOTALL)


def hold_back(text: str) -> str:
    """The part of a growing answer whose meaning is settled; a prefix of `text` without blanks at its end."""
    head, _, last = text.rpartition("\n")
    if in_open_fence(text):
        return head if last.strip() and not last.strip(" `~") else text.rstrip()
    return _without_rows(head if _UNDECIDED_LINE.match(last) or _FENCE_LINE.match(last) else text)


def mend(source: str) -> str:
    """The same block with the marks closed that are open at its end, so that it does not flicker as raw marks."""
    head, tail = _last_paragraph(source)
    tail = _OPEN_TAG.sub("", tail)
    tail, ticks = _without_dangling_ticks(tail)
    if ticks:
        return head + tail + ticks + open_marks(_without_code(tail))
    if (found := _OPEN_LINK.search(tail)) and _is_link_start(tail, found.start()):
        tail = tail[: found.start()] + found[1]
    marks = open_marks(_without_code(tail))
    if not marks:
        return head + _without_lone_mark(tail)
    bare = tail.rstrip()
    for end in ("**", "*", "~~", "~"):
        if bare.endswith(end):
            bare = bare[: -len(end)].rstrip()
            return head + bare + open_marks(_without_code(bare))
    return head + bare + marks


def open_marks(text: str) -> str:
    """What closes the emphasis that is open at the end of `text`, innermost first: "" when nothing is."""
    open_now: list[str] = []
    for found in _MARK.finditer(text):
        mark = found[0]
        if mark[0] == "\\":
            continue
        before, after = text[: found.start()][-1:], text[found.end() :][:1]
        if mark in open_now:
            if before and not before.isspace():
                del open_now[open_now.index(mark) :]
        elif not after.isspace() and (mark != "*" or after) and (len(mark) == 2 or not (before.isalnum())):
            open_now.append(mark)
    return "".join(reversed(open_now))


def _without_rows(text: str) -> str:
    """Leave out rows at the end that are no table yet: their second line, which makes them one, is missing."""
    text = text.rstrip()
    lines = text.split("\n")
    count = 0
    while count < len(lines) and lines[-1 - count].lstrip().startswith("|"):
        count += 1
    rows = lines[len(lines) - count :] if count else []
    if not rows or any(_DELIMITER_ROW.match(row) for row in rows[1:-1]):
        return text
    if len(rows) > 1 and _DELIMITER_ROW.match(rows[-1]) and rows[-1].count("|") >= rows[-2].count("|") > 0:
        return text
    return "\n".join(lines[: len(lines) - min(count, 2)]).rstrip()


def _without_lone_mark(tail: str) -> str:
    """Leave out half a `**` or `~~` at the end, but not a `*` that closes something."""
    found = _LONE_MARK.search(tail)
    if not found or found[0] in open_marks(_without_code(tail[: found.start()])):
        return tail
    return tail[: found.start()]


def _last_paragraph(source: str) -> tuple[str, str]:
    """Split before the last paragraph or list item: marks do not reach further back."""
    starts = [found.end() for found in re.finditer(r"\n\s*\n|(?:^|\n)\s*(?:[-+*]|\d{1,9}[.)])\s+", source)]
    place = starts[-1] if starts else 0
    return source[:place], source[place:]


def _without_dangling_ticks(tail: str) -> tuple[str, str]:
    """(text, backticks that close the code span which is open at its end, or "")."""
    open_run: re.Match[str] | None = None
    for run in _CODE_RUN.finditer(tail):
        if open_run is None:
            open_run = run
        elif len(run[0]) == len(open_run[0]):
            open_run = None
    if open_run is None:
        return tail, ""
    if not tail[open_run.end() :].strip(" `"):
        return tail[: open_run.start()], ""
    return tail.rstrip("`"), open_run[0]


def _without_code(text: str) -> str:
    """The text with its code spans blanked, because nothing in them is a mark."""
    blanked = re.sub(r"(?<!\\)(`+)(?!`).*?(?<!`)\1(?!`)", lambda found: "x" * len(found[0]), text, flags=re.DOTALL)
    dangling = _CODE_RUN.search(blanked)
    return blanked[: dangling.start()] + "x" if dangling else blanked


def _is_link_start(tail: str, place: int) -> bool:
    """Whether a `[` at `place` looks like the start of a link and not like an index: a[0."""
    return place == 0 or not (tail[place - 1].isascii() and (tail[place - 1].isalnum() or tail[place - 1] in "])_"))
