"""What an agent writes, and what a person sees."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from channels.cards.languages import language_name
from channels.cards.markdown import clean, literal, plain
from channels.cards.parsing import block_tokens, inline_tokens
from tests.unit.cards.answers import ANSWERS, NASTY

SLOW = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))

CASES = [
    # headings become modest; whatever way they were written
    ("# A", "#### A"),
    ("## A", "##### A"),
    ("###### A ##", "###### A"),
    ("A\nB\n===", "#### A B"),
    ("#A", "#A"),
    # emphasis, also where CommonMark's own rules would leave the marks to be seen
    ("**注意：**后面", "**注意：** 后面"),
    ("前面**“引用”**后面", "前面 **“引用”** 后面"),
    ("**Note:**text", "**Note:** text"),
    ("__b__ and _i_", "&#95;&#95;b&#95;&#95; and *i*"),
    ("__two words__", "**two words**"),
    ("***both*** ~~gone~~", "***both*** ~~gone~~"),
    ("__init__.py and snake_case", "&#95;&#95;init&#95;&#95;.py and snake_case"),
    ("2*3*4 and 2 * 3", "2&#42;3&#42;4 and 2 &#42; 3"),
    ("**open", "&#42;&#42;open"),
    ("3~5 天，7~8 天", "3&#126;5 天，7&#126;8 天"),
    # what looks like a mark but was escaped stays literal
    (r"\# no heading", "&#35; no heading"),
    (r"\*lit\* 1\. x", "&#42;lit&#42; 1. x"),
    (r"1\. no list", "1&#46; no list"),
    (r"a\\[x](https://y.z)", r"a&#92;[x](https://y.z)"),
    (r"C:\new\*", r"C:\new&#42;"),
    ("a &amp; b &lt; c &copy;", "a &#38; b &#60; c ©"),
    ("&amp;#42;", "&#38;#42;"),
    (":DONE: 12:30", "&#58;DONE: 12:30"),
    # HTML: formatting goes, mentions and unknown tags are only read
    ("<b>x</b><br>y<!-- c -->", "x<br>y"),
    ("<at id=all></at>", "&#60;at id=all>&#60;/at>"),
    ("<person id='ou_1'></person>", "&#60;person id='ou_1'>&#60;/person>"),
    ("List<T> and a < b", "List&#60;T> and a &#60; b"),
    ('<a href="https://a.b">x</a>', "[x](https://a.b)"),
    ("<div>\n\n# T\n\n</div>", "#### T"),
    ("`<at id=all></at>`", "`<\u200bat id=all><\u200b/at>`"),
    # links: only http and https can be pressed
    ("[x](https://a.b/c_(d))", "[x](https://a.b/c_%28d%29)"),
    ("[x](./a.md) [y](#z)", "x (./a.md) y"),
    ("[mail](mailto:a@b.c)", "mail (a@b.c)"),
    ("[x](javascript:alert(1))", "x"),
    ("<https://a.b/c>", "[https://a.b/c](https://a.b/c)"),
    ("see https://a.b/c_d?e=1&f=2.", "see [https://a.b/c_d?e=1&f=2](https://a.b/c_d?e=1&f=2)."),
    ("（https://a.b/c）。", "（[https://a.b/c](https://a.b/c)）。"),
    ("[a [b] c](https://x.y)", "[a &#91;b&#93; c](https://x.y)"),
    ("arr[0] [1]", "arr&#91;0&#93; &#91;1&#93;"),
    # pictures of the web are links
    ("![cat](https://a.b/c.png)", "[🖼 cat](https://a.b/c.png)"),
    ("![](https://a.b/c.png)", "[🖼 picture](https://a.b/c.png)"),
    ("![cat](img_v3_x)", "🖼 cat"),
    ("[![b](https://i.j)](https://a.b)", "[🖼 b](https://a.b)"),
    # code
    ("`a|b` ``x`y``", "`a|b` ``x`y``"),
    ("```js\nx\n```", "```javascript\nx\n```"),
    ("```mermaid\nx\n```", "```\nx\n```"),
    ("~~~py\n```\n~~~", "````python\n```\n````"),
    ("    indented", "```\nindented\n```"),
    ("```py\nopen", "```python\nopen\n```"),
    # lists: four spaces a level, boxes, code at the left edge
    ("* a\n  * b\n    * c", "- a\n    - b\n        - c"),
    ("1) a\n2) b", "1. a\n2. b"),
    ("3. a\n3. b", "3. a\n4. b"),
    ("- [ ] a\n- [x] b", "- ☐ a\n- ☑ b"),
    ("- a\n\n  b", "- a<br>b"),
    ("- a\n  ```py\n  x\n  ```\n- b", "- a\n\n```python\nx\n```\n\n- b"),
    ("- ### Title\n- x", "- **Title**\n- x"),
    ("1. a\n   - b\n2. c", "1. a\n    - b\n2. c"),
    # quotes
    ("> a\nb\n>\n> c", "> a\n> b\n>\n> c"),
    ("> a\n> > b", "> a\n>\n> b"),
    ("> a\n> ```\n> x\n> ```", "> a\n\n```\nx\n```"),
    # tables
    ("a | b\n--|:-:\n1 | 2", "| a | b |\n| --- | :---: |\n| 1 | 2 |"),
    ("| a | b |\n|---|---|\n| `x\\|y` | 1\\|2 |", "| a | b |\n| --- | --- |\n| `x\\|y` | 1&#124;2 |"),
    ("| a | b |\n|---|---|\n| `x|y` | z |", "| a | b |\n| --- | --- |\n| `x\\|y` | z |"),
    ("- t\n  | a | b |\n  |---|---|\n  | 1 | `x|y` |", "- t\n\n| a | b |\n| --- | --- |\n| 1 | `x\\|y` |"),
    ("| a |\n|---|\n| 1 | 2 |", "| a |\n| --- |\n| 1 &#124; 2 |"),
    ("text\n| a |\n|---|\n| 1 |", "text\n\n| a |\n| --- |\n| 1 |"),
    # rules
    ("a\n\n***\n\nb", "a\n\n---\n\nb"),
    ("a  \nb\\\nc", "a<br>b<br>c"),
    ("", ""),
]


@pytest.mark.parametrize(("source", "expected"), CASES)
def test_clean(source: str, expected: str) -> None:
    """Field report 23: a picture of the web is a link."""
    assert clean(source, "picture") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# A\n\n**b** `c` ~~d~~", "A\n\nb c d"),
        ("[x](https://a.b) <https://c.d> ![p](https://i.j)", "x (https://a.b) https://c.d [p] https://i.j"),
        ("- a\n  - b\n1. c", "• a\n    • b\n\n1. c"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a | b\n1 | 2"),
        ("```py\nx = 1\n```", "x = 1"),
        ("> q", "> q"),
        ("a<br>b", "a\nb"),
        ("***", "———"),
    ],
)
def test_plain(source: str, expected: str) -> None:
    assert plain(source, "picture") == expected


@SLOW
@given(st.one_of(ANSWERS, NASTY))
def test_no_tag_but_a_line_break_is_let_through(text: str) -> None:
    for token in _strict_tokens(clean(text)):
        for child in token.children or []:
            assert child.type != "html_inline" or child.content == "<br>"
            assert child.type != "image"
            if child.type == "link_open":
                assert str(child.attrs["href"]).startswith(("http://", "https://"))


@SLOW
@given(st.one_of(ANSWERS, NASTY))
def test_by_the_strict_rules_people_read_what_the_agent_meant(text: str) -> None:
    """Feishu parses by CommonMark's own rules; what it shows must be what our looser reader understood."""
    shown = clean(text)
    assert _visible(_strict_tokens(shown)) == _visible(_loose_tokens(shown))


@SLOW
@given(st.one_of(ANSWERS, NASTY.map(lambda text: text.translate({ord(mark): None for mark in "[]<"}))))
def test_cleaning_changes_the_marks_and_not_the_words(text: str) -> None:
    assert _visible(_strict_tokens(clean(text))) == _visible(_loose_tokens(text))


@SLOW
@given(st.text(alphabet="ab1 #*_-+>|`~.[]()<&;:\\!=文，", max_size=80))
def test_literal_shows_exactly_these_characters(text: str) -> None:
    tokens = _strict_tokens(literal(text))
    assert "".join(child.content for token in tokens for child in token.children or []) == text.strip()
    assert [token.type for token in tokens] in ([], ["paragraph_open", "inline", "paragraph_close"])


@pytest.mark.parametrize(
    ("info", "name"),
    [("py", "python"), ("C++", "cpp"), ("json title=x", "json"), ("{.bash}", "bash"), ("mermaid", ""), ("", "")],
)
def test_language_names(info: str, name: str) -> None:
    assert language_name(info) == name


def test_reference_definitions_are_text() -> None:
    """One at the end would change how the beginning reads."""
    assert [token.type for token in block_tokens("[a]: https://b.c")] == ["paragraph_open", "inline", "paragraph_close"]
    assert all(token.type != "link_open" for token in inline_tokens("[a]"))


def _strict_tokens(text: str) -> list[Token]:
    """By CommonMark's own rules, with tables and strikethrough: how Feishu reads."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).disable("html_block").parse(text)


def _loose_tokens(text: str) -> list[Token]:
    tokens = block_tokens(text)
    for token in tokens:
        if token.type == "inline":
            token.children = inline_tokens(token.content)
    return tokens


def _visible(tokens: list[Token]) -> str:
    """Every character that is shown, without blanks, pictures and boxes."""
    out = []
    for token in tokens:
        for child in token.children or []:
            out.append("" if child.type == "html_inline" and child.content == "<br>" else child.content)
        if token.type in ("fence", "code_block"):
            out.append(token.content)
    return re.sub(r"[\s🖼\u200b]", "", "".join(out))
