"""The answer as units: the pieces of Markdown that are drawn whole and between which a page may end.

A unit is a top-level block; of a list each item is one. What a unit is depends only on the text around it, never on
what comes much later, and is kept per chunk: a growing answer parses its last chunk again and nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from markdown_it.token import Token

from channels.cards.parsing import block_tokens, chunks

# How many chunks are kept, for all turns together; one is a few paragraphs
CHUNKS_KEPT = 2_000


class Kind(StrEnum):
    PARAGRAPH = "paragraph"
    HEADING = "heading"
    ITEM = "item"
    QUOTE = "quote"
    CODE = "code"
    TABLE = "table"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of an answer.

    source   its lines as they were written
    number   of an item in a numbered list, counted as the list counts; None in other items
    follows  the item belongs to the list of the unit before it
    tables   how many tables it draws
    info     of code: what stands behind the opening fence
    body     of code: the lines between the fences
    """

    kind: Kind
    source: str
    number: int | None = None
    follows: bool = False
    tables: int = 0
    info: str = ""
    body: str = ""


def units(text: str) -> tuple[Unit, ...]:
    """The units of a Markdown text, in order. Every line that is not blank is in exactly one of them."""
    return tuple(unit for chunk in chunks(text) for unit in units_of_chunk(chunk))


def code_unit(info: str, body: str) -> Unit:
    """A fenced code block; the fence is longer than any in its body."""
    fence = "```"
    while fence in body:
        fence += "`"
    return Unit(Kind.CODE, f"{fence}{info}\n{body}{fence}", info=info, body=body)


@lru_cache(maxsize=CHUNKS_KEPT)
def units_of_chunk(chunk: str) -> tuple[Unit, ...]:
    """The units of one run of whole blocks, parsed as one."""
    lines = chunk.split("\n")
    tokens = block_tokens(chunk)
    return tuple(unit for group in _top_level(tokens) for unit in _units_of_block(group, lines))


def _top_level(tokens: list[Token]) -> Iterator[list[Token]]:
    """The tokens of each top-level block."""
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield group
            group = []


def _units_of_block(group: list[Token], lines: list[str]) -> Iterator[Unit]:
    first = group[0]
    source = _lines_of(first, lines)
    match first.type:
        case "fence" | "code_block":
            yield Unit(Kind.CODE, source, info=first.info.strip(), body=first.content)
        case "table_open":
            yield Unit(Kind.TABLE, source, tables=1)
        case "heading_open":
            yield Unit(Kind.HEADING, source)
        case "hr":
            yield Unit(Kind.RULE, source)
        case "blockquote_open":
            yield Unit(Kind.QUOTE, source, tables=_tables(group))
        case "bullet_list_open" | "ordered_list_open":
            yield from _items(group, lines)
        case _:
            yield Unit(Kind.PARAGRAPH, source)


def _items(group: list[Token], lines: list[str]) -> Iterator[Unit]:
    """The items of a top-level list."""
    ordered = group[0].type == "ordered_list_open"
    number = int(group[0].attrs.get("start", 1)) if ordered else None
    starts = [place for place, token in enumerate(group) if token.type == "list_item_open" and token.level == 1]
    for count, (start, end) in enumerate(zip(starts, [*starts[1:], len(group)], strict=True)):
        yield Unit(
            Kind.ITEM,
            _lines_of(group[start], lines),
            number=None if number is None else number + count,
            follows=count > 0,
            tables=_tables(group[start:end]),
        )


def _tables(tokens: list[Token]) -> int:
    return sum(token.type == "table_open" for token in tokens)


def _lines_of(token: Token, lines: list[str]) -> str:
    start, end = token.map or (0, 0)
    return "\n".join(lines[start:end]).rstrip()
