"""Answer Markdown → what Feishu's rich text component shows as people expect, and the same in plain words."""

import re
from collections.abc import Sequence
from dataclasses import replace

from channels.cards.inline import literal
from channels.cards.mending import mend
from channels.cards.rendering import draw, draw_plain, join_units
from channels.cards.units import Kind, Unit, units

__all__ = ["beginning", "clean", "clean_units", "literal", "plain", "plain_units"]

# What stands before a line in plain words: the signs of a quotation and of a list
_LINE_SIGNS = re.compile(r"^[ >]*(?:• )?", re.MULTILINE)


def clean(text: str, image_word: str = "image") -> str:
    """Feishu-safe Markdown: no raw HTML, no mentions, no pictures from the web, nothing that Feishu would show raw."""
    return clean_units(units(text), image_word)


def clean_units(parts: Sequence[Unit], image_word: str = "image", *, unfinished: bool = False) -> str:
    """The same for units. Where the text is `unfinished`, marks that are open at its end are closed."""
    drawn = [(unit, draw(unit, image_word)) for unit in parts[:-1]]
    if parts:
        last = _mended(parts[-1]) if unfinished else parts[-1]
        drawn.append((last, draw(last, image_word)))
    return join_units(drawn)


def plain(text: str, image_word: str = "image") -> str:
    """The text in plain words: no marks, addresses in brackets, cells apart."""
    return plain_units(units(text), image_word)


def plain_units(parts: Sequence[Unit], image_word: str = "image") -> str:
    """The same for units."""
    return join_units([(unit, draw_plain(unit, image_word)) for unit in parts])


def beginning(parts: Sequence[Unit], characters: int, image_word: str = "image") -> str:
    """About the first `characters` in plain words without the signs of lists and quotations, for one line of a list.

    Tables and rules say nothing on one line: a table is read, row by row, only where there is nothing else.
    """
    said = [unit for unit in parts if unit.kind not in (Kind.TABLE, Kind.RULE)]
    lines: list[str] = []
    for unit in said or [unit for unit in parts if unit.kind is Kind.TABLE]:
        text = draw_plain(unit, image_word)
        if unit.kind is Kind.TABLE:
            text = text.replace(" | ", " ")
        elif unit.kind in (Kind.ITEM, Kind.QUOTE):
            text = _LINE_SIGNS.sub("", text)
        lines.append(text)
        if sum(map(len, lines)) > characters:
            break
    return "\n".join(lines)


def _mended(unit: Unit) -> Unit:
    match unit.kind:
        case Kind.CODE | Kind.RULE:
            return unit
        case Kind.TABLE:
            rows, mark, cell = unit.source.rpartition("|")
            return replace(unit, source=rows + mark + mend(cell))
        case _:
            return replace(unit, source=mend(unit.source))
