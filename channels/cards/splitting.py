"""Cutting a unit that is larger than a page.

Code is cut between lines and each piece is a whole block in its language; a table between rows, and each piece repeats
the heading row; a quote or an item falls apart into what it holds; text is cut after a line, a sentence or a word, and
emphasis that is open at the cut is closed and opened again. The first piece is as long as fits, so that it stays the
same when the text grows.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, takewhile

from channels.cards.card import wire_size
from channels.cards.excerpt import fitting, grapheme_end
from channels.cards.inline import safe_code
from channels.cards.measure import possible_size, unit_cost
from channels.cards.mending import open_marks
from channels.cards.units import Kind, Unit, code_unit, units

_BREAKS = (
    re.compile(r"\n"),
    re.compile(r"[。！？；…]|[.!?;](?=\s)"),
    re.compile(r"\s|[，、：]|,(?=\s)"),
)
_WHOLE = re.compile(r"!?\[[^\[\]\n]*\]\([^()\s]*\)|(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)|https?://\S+|<[^<>\n]*>|&#?\w+;")
CUTS_KEPT = 500
FENCE_BYTES = 20  # a body may need a longer fence
MARKS_BYTES = 40  # room to close the emphasis that is open at a cut
LONGEST_WHOLE = 2_000  # a longer link or code span may be cut

_QUOTE_MARK = re.compile(r" {0,3}> ?")
_MARKER = re.compile(r"( {0,3}(?:[-+*]|\d{1,9}[.)]))( {1,4}(?! )| |\t|$)")


@lru_cache(maxsize=CUTS_KEPT)
def cut(unit: Unit, room: int) -> tuple[Unit, ...]:
    """The unit in at least two smaller ones, of which the first fits into `room`."""
    match unit.kind:
        case Kind.CODE:
            return _cut_code(unit, room)
        case Kind.TABLE:
            return _cut_table(unit, room)
        case Kind.QUOTE:
            inner = units("\n".join(_QUOTE_MARK.sub("", line, count=1) for line in unit.source.split("\n")))
            return _apart(unit, tuple(_quoted(part) for part in inner), room)
        case Kind.ITEM:
            return _apart(unit, _item_parts(unit), room)
        case _:
            return _cut_text(unit, room)


def _cut_code(unit: Unit, room: int) -> tuple[Unit, ...]:
    lines = unit.body.splitlines(keepends=True)
    room -= unit_cost(code_unit(unit.info, "")) + FENCE_BYTES
    count = _fitting_count((wire_size(safe_code(line)) for line in lines), room)
    if count:
        place = sum(len(line) for line in lines[:count])
        return code_unit(unit.info, unit.body[:place]), code_unit(unit.info, unit.body[place:])
    place = fitting(lines[0], max(room, 1))
    return code_unit(unit.info, unit.body[:place] + "\n"), code_unit(unit.info, unit.body[place:])


def _cut_table(unit: Unit, room: int) -> tuple[Unit, ...]:
    heading, rows = unit.source.split("\n")[:2], unit.source.split("\n")[2:]

    def piece(part: list[str]) -> Unit:
        return replace(unit, source="\n".join([*heading, *part]))

    count = _fitting_count((possible_size(row + "\n") for row in rows), room - unit_cost(piece([])))
    while count and unit_cost(piece(rows[:count])) > room:
        count = count * 3 // 4
    if count and rows[count:]:
        return piece(rows[:count]), piece(rows[count:])
    # Not even one row fits: what is in it is kept as text
    words = "\n".join(line.strip().strip("|").replace("|", " · ") for line in [heading[0], *rows[:1]])
    rest = (piece(rows[1:]),) if rows[1:] else ()
    return Unit(Kind.PARAGRAPH, words), *rest


def _apart(unit: Unit, parts: tuple[Unit, ...], room: int) -> tuple[Unit, ...]:
    """What the unit holds, when that is more than one thing or smaller; else its text is cut."""
    if len(parts) > 1:
        return parts
    return _cut_text(unit, room)


def _quoted(unit: Unit) -> Unit:
    if unit.kind in (Kind.CODE, Kind.TABLE):
        return unit
    source = "\n".join(f"> {line}".rstrip() for line in unit.source.split("\n"))
    return Unit(Kind.QUOTE, source, tables=unit.tables)


def _item_parts(unit: Unit) -> tuple[Unit, ...]:
    """The first line of an item with its marker, and everything else as blocks of their own."""
    found = _MARKER.match(unit.source)
    if not found:
        return (unit,)
    width = len(found[0].expandtabs(4))
    first, *others = unit.source[found.end() :].split("\n")
    inner = units("\n".join([first, *(_dedented(line, width) for line in others)]))
    if len(inner) < 2 or inner[0].kind is not Kind.PARAGRAPH:
        return inner
    source = f"{found[1]} " + inner[0].source.replace("\n", "\n" + " " * width)
    return replace(unit, source=source, tables=0), *inner[1:]


def _dedented(line: str, width: int) -> str:
    blank = len(line) - len(line.lstrip(" "))
    return line[min(blank, width) :]


def _cut_text(unit: Unit, room: int) -> tuple[Unit, ...]:
    """Text cut where it hurts least; the rest is a paragraph (or a quote) of its own."""
    source = unit.source
    end = _most(min(len(source) - 1, room), lambda place: possible_size(source[:place]) <= room - MARKS_BYTES)
    place = _break_before(source, _whole_end(source, max(end, 1)))
    while place > 1 and unit_cost(replace(unit, source=source[:place])) > room - MARKS_BYTES:
        place = grapheme_end(source, place * 3 // 4)
    first, rest = source[:place].rstrip(), source[place:].lstrip("\n ")
    marks = open_marks(first)
    kind = Kind.QUOTE if unit.kind is Kind.QUOTE else Kind.PARAGRAPH
    lead = "> " if kind is Kind.QUOTE and not rest.startswith(">") else ""
    return replace(unit, source=first + marks), Unit(kind, lead + marks[::-1] + rest)


def _whole_end(source: str, end: int) -> int:
    """The end of the last whole character, link, code span or tag at or before `end`."""
    for found in _WHOLE.finditer(source, max(0, end - LONGEST_WHOLE), end + LONGEST_WHOLE):
        if 0 < found.start() < end < found.end():
            return found.start()
    return grapheme_end(source, end)


def _break_before(source: str, end: int) -> int:
    """The last good place to cut in the second half of what fits."""
    for breaks in _BREAKS:
        places = [found.end() for found in breaks.finditer(source, end // 2, end)]
        if places:
            return places[-1]
    return end


def _most(highest: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `highest` that fits; 0 when none does."""
    low, high = 0, max(highest, 0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _fitting_count(sizes: Iterable[int], room: int) -> int:
    """How many of the sizes fit into `room` together, from the first on."""
    return sum(1 for _ in takewhile(lambda total: total <= room, accumulate(sizes)))
