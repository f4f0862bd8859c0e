"""How much of a card a unit takes."""

from functools import lru_cache

from channels.cards.card import CARD_BYTES, wire_size
from channels.cards.rendering import UNITS_KEPT, draw
from channels.cards.units import Kind, Unit

GAP_BYTES = wire_size("\n\n")
LONGEST_IMAGE_WORD = "picture"

_MAY_GROW = "*_<>~`&[]#|!-+:"


@lru_cache(maxsize=UNITS_KEPT)
def unit_cost(unit: Unit) -> int:
    """Bytes of the request that the unit takes at most, with the gap before it; never less when its source grows."""
    possible = wire_size(unit.body) if unit.kind is Kind.CODE else possible_size(unit.source)
    if possible > CARD_BYTES:  # too large for any page: drawing it would only cost time
        return possible
    return max(wire_size(draw(unit, LONGEST_IMAGE_WORD)), possible) + GAP_BYTES


def possible_size(source: str) -> int:
    """Bytes that Markdown may take once drawn: each mark may have to be written as an entity, each line indented.

    What is drawn can become shorter when text is added (an opened `**` is two entities until it is closed); this sum
    cannot, and it is the same for every kind of block that the text may turn out to be.
    """
    return wire_size(source) + 5 * sum(map(source.count, _MAY_GROW)) + 8 * source.count("\n")
