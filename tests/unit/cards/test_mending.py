"""Half-written Markdown looks sane at every moment."""

import pytest

from channels.cards.markdown import clean_units
from channels.cards.mending import hold_back, mend, open_marks
from channels.cards.units import units


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("text", "text"),
        ("text\n", "text"),
        ("text\n#", "text"),
        ("text\n## ", "text"),
        ("text\n## T", "text\n## T"),
        ("text\n-", "text"),
        ("text\n- ", "text"),
        ("text\n- [", "text"),
        ("text\n- [x] ", "text"),
        ("text\n- [x] a", "text\n- [x] a"),
        ("text\n1", "text"),
        ("text\n12. ", "text"),
        ("text\n12. a", "text\n12. a"),
        ("text\n**", "text"),
        ("text\n>", "text"),
        ("text\n> > ", "text"),
        ("text\n``", "text"),
        ("text\n```pyt", "text"),
        ("text\n- ```pyt", "text"),
        ("text\n```py\n", "text\n```py"),
        ("```py\nx = 1\n``", "```py\nx = 1"),
        ("```py\nx = 1\n# a", "```py\nx = 1\n# a"),
        ("```py\nx = 1\n#", "```py\nx = 1\n#"),
        ("```py\nx = 1\n```", "```py\nx = 1"),
        ("```py\nx = 1\n```\nafter", "```py\nx = 1\n```\nafter"),
        ("text\n\n|", "text"),
        ("text\n\n| a | b", "text"),
        ("text\n\n| a | b |\n", "text"),
        ("text\n\n| a | b |\n|--", "text"),
        ("text\n\n| a | b |\n|---|---|\n", "text\n\n| a | b |\n|---|---|"),
        ("text\n\n| a | b |\n|---|---|\n| 1", "text\n\n| a | b |\n|---|---|\n| 1"),
        ("text\n\n| a | b |\n|---|---|\n|", "text\n\n| a | b |\n|---|---|"),
    ],
)
def test_an_end_that_cannot_be_read_yet_is_held_back(text: str, shown: str) -> None:
    assert hold_back(text) == shown


@pytest.mark.parametrize(
    ("source", "mended"),
    [
        ("plain", "plain"),
        ("a **bold", "a **bold**"),
        ("a **bold*", "a **bold**"),
        ("a **", "a"),
        ("a **bold** and", "a **bold** and"),
        ("a *it", "a *it*"),
        ("a **b *c", "a **b *c***"),
        ("2 * 3", "2 * 3"),
        ("2*3", "2*3"),
        ("a ~~gone", "a ~~gone~~"),
        ("a `code", "a `code`"),
        ("a `", "a "),
        ("a ``co`de", "a ``co`de``"),
        ("`**` is", "`**` is"),
        ("see [link](https://exa", "see link"),
        ("see [link](https://e.x)", "see [link](https://e.x)"),
        ("see [li", "see li"),
        ("see ![pic](https://exa", "see pic"),
        ("arr[0", "arr[0"),
        ("a <b", "a "),
        ("a < b", "a < b"),
        ("- **x** one\n- **two", "- **x** one\n- **two**"),
        (r"a \** b", r"a \** b"),
    ],
)
def test_open_marks_are_closed(source: str, mended: str) -> None:
    assert mend(source) == mended


def test_open_marks_are_named_from_the_inside_out() -> None:
    assert open_marks("**a ~~b *c") == "*~~**"


def test_no_raw_mark_is_seen_at_any_moment() -> None:
    """Every prefix of an ordinary answer is drawn without a mark that people would read."""
    text = (
        "# 标题\n\n这是 **重点：** 和 `code`，见 [文档](https://a.b/c)。\n\n"
        "| 名称 | 值 |\n|---|---|\n| a | **1** |\n\n- 一\n- **二** 和 ~~三~~\n    1. 四\n\n"
        "```py\nx = 1\n```\n\n> 引用 *强调* 结束"
    )
    for end in range(1, len(text) + 1):
        shown = clean_units(units(hold_back(text[:end])), unfinished=True)
        for mark in ("&#42;", "&#96;", "&#126;", "&#91;", "&#60;"):
            assert mark not in shown, (end, shown)
        assert shown.count("```") % 2 == 0
        assert not any(line.lstrip().startswith("|") and not line.endswith("|") for line in shown.split("\n"))
