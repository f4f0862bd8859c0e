"""Inline Markdown, written again so that Feishu shows it: emphasis, code, links, and everything else literally.

Feishu's rich text takes some HTML tags, `<at>` among them, so no `<` of a model reaches it. Characters that would mean
something are written as entities, which is what Feishu's page on rich text asks for.
"""

import re
import unicodedata
from dataclasses import dataclass, field

from markdown_it.token import Token

from channels.cards.parsing import inline_tokens

_PUNCTUATION = r"!-/:-@\[-`{-~"
_ESCAPED = re.compile(
    rf"[*`<~\[\]]|\\(?=[{_PUNCTUATION}\n]|\Z)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=#|\w+;|\Z)|:(?=\w{{2,30}}:)|!(?=\Z|\[)",
    re.ASCII,
)
_LINE_START = re.compile(r"^(?:(#{1,6})(?=\s|$)|([-+>=])|(\d{1,9})([.)])(?=\s|$))", re.MULTILINE)
_BARE_URL = re.compile(r"https?://[^\s<>\"'`*~，。；：、！？（）【】《》「」『』“”‘’|]+")
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")
_HREF = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
# Inside code Feishu should show `<at …>` as it is; that no client takes it for a mention is not documented
_MENTION_IN_CODE = re.compile(r"<(?=/?(?:at|person)\b)")
# Formatting that Feishu has no tag for: the text between the tags is what matters. Unknown tags are shown literally,
# because `List<T>` and `<your name>` are meant to be read.
_FORMATTING = (
    "abbr b big blockquote center cite dd del details dfn div dl dt em figcaption figure font h1 h2 h3 h4 h5 h6 hr i "
    "ins kbd label li mark ol p pre q s samp section small span strike strong sub summary sup table tbody td tfoot th "
    "thead tr tt u ul var"
)
_DROPPED_TAGS = frozenset(_FORMATTING.split())


def inline_markdown(content: str, image_word: str) -> str:
    """One paragraph, heading or cell as Markdown that Feishu renders; lines stay lines."""
    return _LINE_START.sub(_escape_line_start, _Writer(image_word).write(inline_tokens(content)))


def inline_plain(content: str, image_word: str) -> str:
    """The same in plain words: no marks, addresses in brackets."""
    out: list[str] = []
    links: list[tuple[int, str]] = []
    for token in inline_tokens(content):
        match token.type:
            case "text" | "text_special" | "code_inline":
                out.append(token.content)
            case "softbreak" | "hardbreak":
                out.append("\n")
            case "link_open":
                links.append((len(out), str(token.attrs.get("href", ""))))
            case "link_close":
                start, url = links.pop()
                out.append(_beside("".join(out[start:]), url))
            case "image":
                out.append(f"[{token.content or image_word}] {token.attrs.get('src', '')}".strip())
            case "html_inline":
                out.append(_plain_tag(token.content))
            case _:
                pass
    return "".join(out)


def literal(text: str) -> str:
    """`text` as Markdown that shows exactly these characters; its lines stay lines of one paragraph."""
    lines = re.sub(r"\s*\n\s*", "\n", text.strip())
    return _LINE_START.sub(_escape_line_start, _entities(lines).replace("_", "&#95;"))


def code_span(content: str) -> str:
    """Inline code around `content`, with as many backticks as it needs."""
    content = _MENTION_IN_CODE.sub("<\u200b", content)
    runs = {len(run) for run in re.findall("`+", content)}
    ticks = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    padded = f" {content} " if content[:1] == "`" or content[-1:] == "`" else content
    return f"{ticks}{padded}{ticks}"


def safe_code(body: str) -> str:
    """Lines of a code block; nothing in them can mention a person."""
    return _MENTION_IN_CODE.sub("<\u200b", body)


def web_address(url: str) -> str:
    """`url` as it may stand in a Markdown link, or "" when Feishu would not open it (only http and https)."""
    if not re.match(r"https?://[^\s/]", url, re.IGNORECASE):
        return ""
    return re.sub(r"[()<>\s\\\"]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), url)


@dataclass(slots=True)
class _Writer:
    """Writes tokens as fragments; marks are kept apart from text, because they need to see their neighbours."""

    image_word: str
    out: list[str] = field(default_factory=list)
    marks: dict[int, str] = field(default_factory=dict)  # place in `out` → "open" or "close"
    links: list[tuple[int, str]] = field(default_factory=list)

    def write(self, tokens: list[Token]) -> str:
        for token in tokens:
            self._token(token)
        while self.links:
            self._close_link()
        return self._joined()

    def _token(self, token: Token) -> None:
        match token.type:
            case "text" | "text_special":
                self.out.append(_entities(token.content) if self.links else _with_links(token.content))
            case "softbreak":
                self.out.append("\n")
            case "hardbreak":
                self.out.append("<br>")
            case "code_inline":
                self.out.append(code_span(token.content))
            case "html_inline":
                self._tag(token.content)
            case "image":
                self._image(token)
            case "link_open":
                self.links.append((len(self.out), str(token.attrs.get("href", ""))))
            case "link_close":
                self._close_link()
            case _:  # strong, em and s
                self.marks[len(self.out)] = "open" if token.nesting == 1 else "close"
                self.out.append(token.markup.replace("_", "*"))

    def _close_link(self) -> None:
        start, url = self.links.pop()
        address = web_address(url)
        label = "".join(self.out[start:])
        if address:
            self.out.insert(start, "[")
            self.marks = {place + (place >= start): side for place, side in self.marks.items()}
            self.out.append(f"]({address})" if label.strip() else f"{_entities(url)}]({address})")
        else:
            self.out.append(_entities(_beside(label, url)))

    def _image(self, token: Token) -> None:
        words = _entities(token.content or self.image_word)
        address = web_address(str(token.attrs.get("src", "")))
        self.out.append(f"🖼 {words}" if self.links or not address else f"[🖼 {words}]({address})")

    def _tag(self, tag: str) -> None:
        name = (found[1].lower() if (found := _TAG.match(tag)) else "").lower()
        if name == "br":
            self.out.append("<br>")
        elif name == "a":
            self._anchor(tag)
        elif name == "img":
            self.out.append(f"🖼 {_entities(self.image_word)}")
        elif name not in _DROPPED_TAGS and not tag.startswith("<!--"):
            self.out.append(_entities(tag))

    def _anchor(self, tag: str) -> None:
        if tag.startswith("</"):
            if self.links:
                self._close_link()
        elif not self.links and (href := _HREF.search(tag)):
            self.links.append((len(self.out), href[1] or href[2] or href[3] or ""))

    def _joined(self) -> str:
        """Join the fragments, with a space beside a mark that Feishu would otherwise not take for one."""
        parts = self.out
        spaced = list(parts)
        for place, side in self.marks.items():
            first, last = place, place
            while self.marks.get(first - 1) == side:
                first -= 1
            while self.marks.get(last + 1) == side:
                last += 1
            before, after = "".join(parts[max(first - 4, 0) : first])[-1:], "".join(parts[last + 1 : last + 4])[:1]
            touches = first - 1 in self.marks or (_word(before) and not _word(after))
            if side == "open" and place == first and touches:
                spaced[place] = " " + parts[place]
            elif side == "close" and place == last and _word(after) and not _word(before):
                spaced[place] = parts[place] + " "
        return "".join(spaced)


def _entities(text: str) -> str:
    return _ESCAPED.sub(lambda found: "".join(f"&#{ord(character)};" for character in found[0]), text)


def _with_links(text: str) -> str:
    """Text with its bare addresses made links, so that nothing in them is taken for a mark."""
    if "://" not in text:
        return _entities(text)
    out, place = [], 0
    for found in _BARE_URL.finditer(text):
        url = _trimmed(found[0])
        if address := web_address(url):
            out += [_entities(text[place : found.start()]), f"[{_entities(url)}]({address})"]
            place = found.start() + len(url)
    return "".join([*out, _entities(text[place:])])


def _trimmed(url: str) -> str:
    """A bare address without the punctuation of the sentence around it."""
    url = url.rstrip(".,;:!?]}")
    while url.endswith(")") and url.count(")") > url.count("("):
        url = url[:-1].rstrip(".,;:!?]}")
    return url


def _escape_line_start(found: re.Match[str]) -> str:
    if found[3]:
        return f"{found[3]}&#{ord(found[4])};"
    return f"&#{ord(found[0][0])};{found[0][1:]}"


def _plain_tag(tag: str) -> str:
    name = found[1].lower() if (found := _TAG.match(tag)) else ""
    if name == "br":
        return "\n"
    return "" if name in _DROPPED_TAGS or name in ("a", "img") or tag.startswith("<!--") else tag


def _beside(label: str, url: str) -> str:
    """What to write after a label whose address cannot be pressed: the address, where it tells a person something."""
    shown = re.sub(r"^(?:mailto:|tel:(?://)?)", "", url)
    if shown.lower().startswith(("#", "javascript:", "data:", "vbscript:")) or shown == label.strip():
        return ""
    return f" ({shown})" if label.strip() and shown else shown


def _word(character: str) -> bool:
    """Neither the edge of the text, nor a space, nor punctuation."""
    return bool(character) and unicodedata.category(character)[0] not in "PSZC"
