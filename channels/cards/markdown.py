"""Answer Markdown → what Feishu's rich text component shows as people expect, and the same in plain words."""

from collections.abc import Sequence
from dataclasses import replace

from channels.cards.inline import literal
from channels.cards.mending import mend
from channels.cards.rendering import draw, draw_plain, join_units
from channels.cards.units import Kind, Unit, units

__all__ = ["clean", "clean_units", "literal", "plain", "plain_units"]


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


def _mended(unit: Unit) -> Unit:
    match unit.kind:
        case Kind.CODE | Kind.RULE:
            return unit
        case Kind.TABLE:
            rows, mark, cell = unit.source.rpartition("|")
            return replace(unit, source=rows + mark + mend(cell))
        case _:
            return replace(unit, source=mend(unit.source))
