"""Reading Markdown: CommonMark with tables and strikethrough, minus what would make a growing text change backwards.

Left out on purpose: HTML blocks (Feishu has none; tags are handled inline) and reference definitions, because one at
the end of a text changes how its beginning reads. Added: `**` opens and closes wherever it touches a character, since
by CommonMark's own rule `**注意：**后` is not bold and people would see the asterisks; `__init__` is a name, `2*3*4` a
product.
"""

from collections.abc import Iterator
from functools import lru_cache
from re import compile as pattern

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token

_FENCE = pattern(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_LINE = pattern(r"(?m)^[ \t]*((?:```|~~~).*)$")
_DUNDER = pattern(r"(?<!\w)__[A-Za-z][A-Za-z0-9_]*__(?!\w)")
_LIST_ITEM = pattern(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:\s|$)")


def block_tokens(source: str) -> list[Token]:
    """The block structure of `source`; inline content is not parsed yet."""
    tokens: list[Token] = []
    _READER.block.parse(source, _READER, {}, tokens)
    return tokens


def inline_tokens(content: str) -> list[Token]:
    """The inline structure of one paragraph, heading or cell."""
    tokens: list[Token] = []
    _READER.inline.parse(content, _READER, {}, tokens)
    return tokens


def chunks(text: str) -> Iterator[str]:
    """Cut `text` into runs of whole top-level blocks, cheaply, so that each run can be parsed on its own and kept.

    A cut is made before a line that follows a blank line, is not inside a fence and can continue no list: it starts in
    the first column and is no list item. Where in doubt there is no cut; a chunk is then merely longer.
    """
    lines = text.split("\n")
    start, fence, nested, in_list, blank = 0, "", False, False, True
    for number, line in enumerate(lines):
        if not line.strip():
            blank = True
            continue
        if nested and line[0] not in " \t":  # left of its list item: the item has ended, and its fence with it
            fence, nested = "", False
        item = _LIST_ITEM.match(line) is not None
        if blank and not fence and number > start and line[0] not in " \t" and not (item and in_list):
            yield "\n".join(lines[start:number])
            start, in_list = number, False
        blank = False
        in_list = in_list or (item and not fence)
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif opener := _FENCE.match(line):
            fence, nested = opener[2], in_list and bool(opener[1])
    yield "\n".join(lines[start:])


def in_open_fence(text: str) -> bool:
    """Whether the last line of `text` stands inside a fence that is not closed before it."""
    fence = ""
    for line in _FENCE_LINE.finditer(text, 0, text.rfind("\n") + 1):
        if fence:
            fence = "" if _closes(line[1], fence) else fence
        elif opener := _FENCE.match(line[1]):
            fence = opener[2]
    return bool(fence)


def _closes(line: str, fence: str) -> bool:
    body = line.strip()
    return len(body) >= len(fence) and not body.strip(fence[0]) and len(line) - len(line.lstrip()) <= 3


def _emphasis(state: StateInline, silent: bool) -> bool:
    """markdown-it's rule with looser edges; see the module's docstring."""
    marker = state.src[state.pos]
    if silent or marker not in "_*":
        return False
    if name := _DUNDER.match(state.src, state.pos):
        state.append_pending(name[0])
        state.pos = name.end()
        return True
    scanned = state.scanDelims(state.pos, marker == "*")
    can_open, can_close = scanned.can_open, scanned.can_close
    if marker == "*":
        before = state.src[state.pos - 1 : state.pos] if state.pos else " "
        after = state.src[state.pos + scanned.length : state.pos + scanned.length + 1] or " "
        if scanned.length == 1 and before.isascii() and before.isalnum() and after.isascii() and after.isalnum():
            can_open = can_close = False
        elif scanned.length >= 2 or max(before, after) > "\u2e7f":
            can_open, can_close = can_open or not after.isspace(), can_close or not before.isspace()
    for _ in range(scanned.length):
        token = state.push("text", "", 0)
        token.content = marker
        state.delimiters.append(
            Delimiter(ord(marker), scanned.length, len(state.tokens) - 1, end=-1, open=can_open, close=can_close)
        )
    state.pos += scanned.length
    return True


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    reader.disable(["html_block", "reference"])
    reader.inline.ruler.at("emphasis", _emphasis)
    # Addresses stay as they were written; `inline` decides which of them become links
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return reader


_READER = _reader()
