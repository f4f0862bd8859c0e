"""Pages of an answer: each becomes one card.

A page ends between units. A unit that does not fit on the page at hand begins the next one; only one that is larger
than `whole_bytes` is cut. A heading never stays behind at the end of a page.

Growing text never changes a page that has been left: where a page ends depends only on what stands on it and on the
unit that no longer fitted, and no unit ever shrinks (`measure.unit_cost` counts what its source could become). This
holds for text from `mending.hold_back`, with one known exception: a table without a leading `|` whose second line has
not been written yet.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from channels.cards.card import CARD_TABLES
from channels.cards.measure import unit_cost
from channels.cards.splitting import cut
from channels.cards.units import Kind, Unit, units

# Bytes of the request body for the answer of one card; the main card's panels, notes, buttons and footer have the rest
# of CARD_BYTES.
PAGE_BYTES = 15_500
HEADING_PART = 18  # a heading is short, and goes along to the next page, up to 1/18 of a page


@dataclass(frozen=True, slots=True)
class Page:
    """What stands on one card. `text` is its Markdown as the agent wrote it."""

    units: tuple[Unit, ...]

    @property
    def text(self) -> str:
        return "".join(
            ("" if not place else "\n" if unit.follows else "\n\n") + unit.source
            for place, unit in enumerate(self.units)
        )


def whole_bytes(budget: int = PAGE_BYTES) -> int:
    """The cost (see `measure.unit_cost`) up to which a unit is never cut."""
    return budget - budget // HEADING_PART


def pages(text: str, budget: int = PAGE_BYTES) -> tuple[Page, ...]:
    """The answer in pages of at most `budget` bytes in the request; none when it is blank."""
    book = _Book(budget)
    waiting = deque(units(text))
    while waiting:
        unit = waiting.popleft()
        if book.fits(unit):
            book.add(unit)
        elif book.has_body:
            book.turn_page()
            waiting.appendleft(unit)
        else:
            waiting.extendleft(reversed(cut(unit, book.room)))
    return book.pages


class _Book:
    """Pages being filled; the last one is open."""

    def __init__(self, budget: int) -> None:
        self._budget, self._heading_bytes = budget, budget // HEADING_PART
        self._done: list[Page] = []
        self._open: list[Unit] = []
        self._used = 0

    @property
    def pages(self) -> tuple[Page, ...]:
        return (*self._done, Page(tuple(self._open))) if self._open else tuple(self._done)

    @property
    def room(self) -> int:
        return self._budget - self._used

    @property
    def has_body(self) -> bool:
        """Whether there is more on the open page than short headings."""
        return any(not self._is_short_heading(unit) for unit in self._open) or self._used > self._heading_bytes

    def fits(self, unit: Unit) -> bool:
        tables = unit.tables + sum(other.tables for other in self._open)
        return unit_cost(unit) <= self.room and tables <= CARD_TABLES

    def add(self, unit: Unit) -> None:
        self._open.append(unit)
        self._used += unit_cost(unit)

    def turn_page(self) -> None:
        """Close the open page; headings at its end come along."""
        stay = len(self._open)
        while stay and self._is_short_heading(self._open[stay - 1]):
            stay -= 1
        kept, moved = self._open[:stay], self._open[stay:]
        if not kept or _cost_of(moved) > self._heading_bytes:
            kept, moved = self._open, []
        self._done.append(Page(tuple(kept)))
        self._open = list(moved)
        self._used = _cost_of(moved)

    def _is_short_heading(self, unit: Unit) -> bool:
        return unit.kind is Kind.HEADING and unit_cost(unit) <= self._heading_bytes


def _cost_of(parts: Sequence[Unit]) -> int:
    return sum(unit_cost(unit) for unit in parts)
