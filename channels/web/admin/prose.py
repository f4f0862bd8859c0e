"""An answer's Markdown → HTML that a person can read. Pure.

Whatever stands in an answer stays text: raw HTML is shown as it was written, addresses are links only where a browser
may safely go (http, https, mailto), and pictures become links, so that looking at a conversation fetches nothing.
Headings become bold lines: the page has headings of its own.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

SAFE = ("http://", "https://", "mailto:")
LONGEST = 200_000  # characters; what is longer is shown plain


def as_html(text: str) -> Markup:
    """`text` as HTML without any tag or attribute of its author's."""
    if len(text) > LONGEST:
        return Markup('<pre tabindex="0">{}</pre>').format(text)
    return Markup(_reader().render(text))


class _Reader(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        return _is_safe(url)


@cache
def _reader() -> MarkdownIt:
    reader = _Reader("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    for name, rule in (
        ("heading_open", _heading_open),
        ("heading_close", _heading_close),
        ("image", _image),
        ("fence", _code),
        ("code_block", _code),
        ("link_open", _link_open),
        ("th_open", _cell_open),
        ("td_open", _cell_open),
    ):
        reader.add_render_rule(name, rule)
    return reader


def _is_safe(address: str) -> bool:
    return address.strip().lower().startswith(SAFE)


def _heading_open(_renderer: RendererHTML, tokens: Sequence[Token], place: int, *_more: Any) -> str:
    return f'<p class="heading level{tokens[place].tag[1:]}">'


def _heading_close(*_all: Any) -> str:
    return "</p>\n"


def _image(_renderer: RendererHTML, tokens: Sequence[Token], place: int, *_more: Any) -> str:
    address = str(tokens[place].attrs.get("src", ""))
    said = tokens[place].content or address
    if not _is_safe(address):
        return Markup("{}").format(said)
    return Markup('<a href="{}" rel="noreferrer noopener">{}</a>').format(address, said)


def _code(_renderer: RendererHTML, tokens: Sequence[Token], place: int, *_more: Any) -> str:
    return Markup('<pre tabindex="0"><code>{}</code></pre>\n').format(tokens[place].content)


def _cell_open(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, _env: EnvType) -> str:
    """A column's side as a class: the page's policy takes no style of an element's own."""
    style = str(tokens[place].attrs.pop("style", ""))
    if style:
        tokens[place].attrSet("class", style.removeprefix("text-align:"))
    return renderer.renderToken(tokens, place, options, _env)


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, _env: EnvType) -> str:
    address = str(tokens[place].attrs.get("href", ""))
    tokens[place].attrs = {"href": address, "rel": "noreferrer noopener"} if _is_safe(address) else {}
    return renderer.renderToken(tokens, place, options, _env)
