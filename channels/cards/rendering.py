"""Units drawn: as Markdown for Feishu's rich text component, and as plain words.

What Feishu shows badly is changed on the way: large headings become modest ones (a first-level heading is 26 px high in
a card), code blocks and tables inside lists and quotes are taken out to the left edge, where they render, nested lists
are indented by four spaces, a paragraph inside an item becomes a line of it, and task boxes become characters.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, groupby

from markdown_it.token import Token

from channels.cards.inline import inline_markdown, inline_plain, safe_code
from channels.cards.languages import language_name
from channels.cards.parsing import block_tokens
from channels.cards.units import Kind, Unit

UNITS_KEPT = 4_000
HEADING_LEVELS = {1: 4, 2: 5}  # everything below becomes 6
DEEPEST = 5  # lists nested deeper are drawn at this depth

Block = list[Token]

_PIPE = re.compile(r"(?<!\\)\|")
_EDGE = re.compile(r"[\s>]*(?:[-+*]\s+|\d{1,9}[.)]\s+)?")
_DELIMITER_ROW = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_BOXES = {"&#91; &#93; ": "☐ ", "&#91;x&#93; ": "☑ ", "&#91;X&#93; ": "☑ ", "[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a drawn block. `lifted`: it was taken out of its list or quote and stands at the left edge."""

    text: str
    lifted: bool = False


@dataclass(frozen=True, slots=True)
class _Style:
    """How one form writes what the walk below finds."""

    plain: bool
    inline: Callable[[str], str]

    def heading(self, level: int, text: str) -> str:
        return text if self.plain or not text else f"{'#' * HEADING_LEVELS.get(level, 6)} {text}"

    def code(self, info: str, body: str) -> str:
        if self.plain:
            return body.rstrip("\n")
        fence = "```"
        while fence in body:
            fence += "`"
        body = safe_code(body if not body or body.endswith("\n") else body + "\n")
        return f"{fence}{language_name(info)}\n{body}{fence}"

    def row(self, cells: list[str]) -> str:
        if self.plain:
            return " | ".join(cell.replace("\n", " ") for cell in cells)
        return "| " + " | ".join(cell.replace("\n", " ") or " " for cell in cells) + " |"

    def quoted(self, text: str) -> str:
        return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


@lru_cache(maxsize=UNITS_KEPT)
def draw(unit: Unit, image_word: str) -> str:
    """The unit as Feishu-safe Markdown."""
    return _draw(unit, _Style(False, partial(inline_markdown, image_word=image_word)))


@lru_cache(maxsize=UNITS_KEPT)
def draw_plain(unit: Unit, image_word: str) -> str:
    """The unit in plain words."""
    return _draw(unit, _Style(True, partial(inline_plain, image_word=image_word)))


def join_units(drawn: list[tuple[Unit, str]]) -> str:
    """Drawn units as one text: items of a list stand close, everything else apart."""
    out = before = ""
    for unit, text in drawn:
        if not text:
            continue
        close = unit.follows and "\n\n" not in before
        out += ("\n" if close else "\n\n") + text if out else text
        before = text
    return out


def blocks(tokens: list[Token]) -> Iterator[Block]:
    """The direct children of a token list, each with everything inside it."""
    block: Block = []
    for token in tokens:
        block.append(token)
        if token.level == tokens[0].level and token.nesting <= 0:
            yield block
            block = []


def _draw(unit: Unit, style: _Style) -> str:
    if unit.kind is Kind.CODE:
        return style.code(unit.info, unit.body)
    tokens = block_tokens(_with_whole_rows(unit.source) if unit.tables else unit.source)
    if unit.number is not None and tokens and tokens[0].type == "ordered_list_open":
        tokens[0].attrs["start"] = unit.number
    return "\n\n".join(part.text for block in blocks(tokens) for part in _parts(block, style) if part.text)


def _parts(block: Block, style: _Style) -> Iterator[_Part]:
    """A block at the left edge: one part or, where something was taken out of it, several."""
    first = block[0]
    match first.type:
        case "fence" | "code_block":
            yield _Part(style.code(first.info.strip(), first.content), lifted=True)
        case "table_open":
            yield _Part(_table(block, style), lifted=True)
        case "heading_open":
            yield _Part(style.heading(int(first.tag[1]), _one_line(block, style)))
        case "hr":
            yield _Part("———" if style.plain else "---")
        case "blockquote_open":
            for part in _quoted_parts(block[1:-1], style):
                yield part if part.lifted else _Part(style.quoted(part.text), lifted=True)
        case "bullet_list_open" | "ordered_list_open":
            yield from _list(block, style, 0)
        case _:
            yield _Part(style.inline(block[1].content))


def _quoted_parts(inner: list[Token], style: _Style) -> Iterator[_Part]:
    """What a quote holds; quotes within it count as part of it."""
    within = (
        _quoted_parts(block[1:-1], style) if block[0].type == "blockquote_open" else _parts(block, style)
        for block in blocks(inner)
    )
    return _joined(chain.from_iterable(within), "\n\n")


def _list(block: Block, style: _Style, depth: int) -> Iterator[_Part]:
    """The lines of a list, as one part for each run without anything taken out."""
    ordered = block[0].type == "ordered_list_open"
    number = int(block[0].attrs.get("start", 1))
    lines = (
        _item(item[1:-1], style, f"{at}." if ordered else ("•" if style.plain else "-"), depth)
        for at, item in enumerate(blocks(block[1:-1]), number)
    )
    return _joined(chain.from_iterable(lines), "\n")


def _joined(parts: Iterable[_Part], between: str) -> Iterator[_Part]:
    """Neighbours become one part; what was taken out stands alone."""
    for lifted, run in groupby(parts, lambda part: part.lifted):
        if lifted:
            yield from run
        else:
            yield _Part(between.join(part.text for part in run))


def _item(inner: list[Token], style: _Style, marker: str, depth: int) -> Iterator[_Part]:
    """An item: its paragraphs are lines under the marker; what follows something taken out stands at the left edge."""
    indent = "    " * min(depth, DEEPEST)
    head: list[str] = []
    begun = taken_out = False
    for block in blocks(inner):
        if not _is_line(block):
            if not begun or head:
                yield _item_lines(head, style, marker, indent)
            head, begun = [], True
            for part in _list(block, style, 0 if taken_out else depth + 1) if _is_list(block) else _parts(block, style):
                taken_out = taken_out or part.lifted
                yield part
        elif begun:
            yield _Part(_line(block, style), lifted=True)
            taken_out = True
        else:
            head.append(_line(block, style))
    if not begun or head:
        yield _item_lines(head, style, marker, indent)


def _item_lines(head: list[str], style: _Style, marker: str, indent: str) -> _Part:
    inner_break = f"\n{indent}    "
    text = ("\n" if style.plain else "<br>").join(part for part in head if part)
    return _Part(f"{indent}{marker} {_boxed(text)}".rstrip().replace("\n", inner_break))


def _is_line(block: Block) -> bool:
    """Whether the block stays a line of its item."""
    return not _is_list(block) and block[0].type not in ("fence", "code_block", "table_open", "blockquote_open")


def _is_list(block: Block) -> bool:
    return block[0].type in ("bullet_list_open", "ordered_list_open")


def _line(block: Block, style: _Style) -> str:
    """A paragraph, heading or rule inside an item."""
    match block[0].type:
        case "heading_open":
            text = _one_line(block, style)
            return text if style.plain or not text or "*" in text else f"**{text}**"
        case "hr":
            return ""
        case _:
            return style.inline(block[1].content)


def _one_line(block: Block, style: _Style) -> str:
    return " ".join(style.inline(block[1].content).split("\n"))


def _boxed(text: str) -> str:
    """Task list boxes as characters."""
    for box, drawn in _BOXES.items():
        if text.startswith(box):
            return drawn + text[len(box) :]
    return text


def _table(block: Block, style: _Style) -> str:
    rows: list[list[str]] = []
    aligns: list[str] = []
    for place, token in enumerate(block):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append(_cell(block[place + 1].content, style))
            if token.type == "th_open":
                aligns.append(_align(str(token.attrs.get("style", ""))))
    lines = [style.row(row) for row in rows]
    if not style.plain:
        lines.insert(1, "| " + " | ".join(aligns) + " |")
    return "\n".join(lines)


def _with_whole_rows(source: str) -> str:
    """Table rows with more cells than the heading: a `|` in code, or one too many, becomes text and is not lost."""
    lines = source.split("\n")
    width = 0
    for number, line in enumerate(lines):
        edge = _EDGE.match(line)
        start = edge.end() if edge else 0
        if number and _DELIMITER_ROW.match(line, start):
            width = len(_PIPE.findall(lines[number - 1][start:].strip().strip("|"))) + 1
        elif width and "|" in line:
            lines[number] = line[:start] + _whole_row(line[start:].rstrip(), width)
        else:
            width = 0
    return "\n".join(lines)


def _whole_row(row: str, width: int) -> str:
    if len(_PIPE.findall(row.strip("|"))) < width:
        return row
    row = _CODE.sub(lambda found: _PIPE.sub(r"\|", found[0]), row)
    places = [found.start() for found in _PIPE.finditer(row)][width - 1 + row.startswith("|") :]
    for place in reversed(places[:-1] if row.endswith("|") else places):
        row = row[:place] + "\\" + row[place:]
    return row


def _cell(content: str, style: _Style) -> str:
    drawn = style.inline(content)
    return drawn if style.plain else drawn.replace("|", "\\|" if "`" in drawn else "&#124;")


def _align(css: str) -> str:
    return {"text-align:left": ":---", "text-align:center": ":---:", "text-align:right": "---:"}.get(css, "---")
