"""What an agent wrote, as a person reads it: formatted, and never anything that acts."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.web.admin.prose import LONGEST, as_html

TAGS = {
    *("p", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "a", "br", "hr"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {
    "a": {"href", "rel"},
    "pre": {"tabindex"},
    "p": {"class"},
    "ol": {"start"},
    "th": {"class"},
    "td": {"class"},
}


class Reader(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def assert_harmless(text: str) -> None:
    for tag, attributes in Reader(as_html(text)).tags:
        assert tag in TAGS, (text, tag)
        assert set(attributes) <= ATTRIBUTES.get(tag, set()), (text, tag, attributes)
        if tag == "a" and attributes:
            assert re.match(r"(?i)(https?://|mailto:)", attributes["href"] or ""), attributes
            assert attributes["rel"] == "noreferrer noopener"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# Title\n\nwords", '<p class="heading level1">Title</p>\n<p>words</p>\n'),
        ("one\ntwo", "<p>one<br />\ntwo</p>\n"),
        ("**a** `b<`", "<p><strong>a</strong> <code>b&lt;</code></p>\n"),
        ("```py\na < b\n```", '<pre tabindex="0"><code>a &lt; b\n</code></pre>\n'),
        ("    a", '<pre tabindex="0"><code>a\n</code></pre>\n'),
        ("[x](https://a.b 'title')", '<p><a href="https://a.b" rel="noreferrer noopener">x</a></p>\n'),
        ("![x](https://a.b/c.png)", '<p><a href="https://a.b/c.png" rel="noreferrer noopener">x</a></p>\n'),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"),
        ("[x]()", "<p><a>x</a></p>\n"),
        ("![x]()", "<p>x</p>\n"),
        ("", ""),
    ],
)
def test_it_reads_as_it_was_meant(text: str, wanted: str) -> None:
    assert as_html(text) == wanted


def test_a_table_is_a_table() -> None:
    cells = '<td>1</td>\n<td class="right">2</td>\n</tr>\n</tbody>\n</table>\n'
    assert as_html("|a|b|\n|-|-:|\n|1|2|").endswith(cells)


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](//evil.example)",
        "[x](/admin/logout)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
        "![x](javascript:alert(1))",
        '![" onerror="alert(1)](https://a.b/"onerror="alert(1))',
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        '```"><script>alert(1)</script>\nx\n```',
        '[x]: https://a.b "onmouseover=alert(1)"\n\n[x]',
        "|a|\n|-|\n|<svg onload=alert(1)>|",
        "x" * (LONGEST + 1) + "<script>",
        "[" * 5000,
        "> " * 2000 + "x",
    ],
)
def test_nothing_in_it_acts(text: str) -> None:
    assert_harmless(text)


@given(st.text(alphabet="<>[]()!`*_|-#&\"'=:/ \naxjhtps", max_size=80))
def test_whatever_an_agent_writes_is_harmless(text: str) -> None:
    assert_harmless(text)
