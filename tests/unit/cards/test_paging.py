"""Pages: nothing lost, nothing cut that fits, none over budget, and none that changes after it was left."""

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from channels.cards.card import CARD_TABLES, wire_size
from channels.cards.markdown import clean_units
from channels.cards.measure import unit_cost
from channels.cards.mending import hold_back
from channels.cards.paging import PAGE_BYTES, Page, pages, whole_bytes
from channels.cards.units import Kind, Unit, units, units_of_chunk
from tests.unit.cards.answers import ANSWERS, NASTY, long_answer

BUDGET = 1_500  # small pages have many borders
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
MENDING = 60  # closing what is open at the end of a growing page
TEXTS = st.one_of(ANSWERS, NASTY)


def squeezed(text: str) -> str:
    return "".join(text.split())


def drawn(page: Page) -> str:
    return clean_units(page.units, "picture", unfinished=True)


@SLOW
@given(TEXTS)
@example("")
@example(" \n\n ")
def test_pages_hold_every_character_in_order(text: str) -> None:
    assert squeezed("".join(page.text for page in pages(text, 100_000))) == squeezed(text)


@SLOW
@given(TEXTS)
@example("- a\n\n- b\n\n  c\n\nd")
@example("1. a\n\n1. b")
@example("- a\n  ```\n  x\n\nb\n\n```\n\nc\n```")
@example("```\n\na\n\n~~~\n\nb\n```\n\nc")
def test_parsing_in_chunks_is_parsing_the_whole(text: str) -> None:
    assert units(text) == units_of_chunk(text)


@SLOW
@given(st.lists(TEXTS, min_size=1, max_size=3), st.integers(1, 4))
def test_no_page_is_over_budget(texts: list[str], times: int) -> None:
    for page in pages("\n\n".join(texts * times), BUDGET):
        assert page.units
        assert wire_size(drawn(page)) <= BUDGET + MENDING
        assert sum(unit.tables for unit in page.units) <= CARD_TABLES


@SLOW
@given(st.lists(ANSWERS, min_size=1, max_size=3), st.integers(1, 3))
def test_what_fits_a_page_is_not_cut(texts: list[str], times: int) -> None:
    text = "\n\n".join(texts * times)
    assume(all(unit_cost(unit) <= whole_bytes(BUDGET) and unit.tables <= CARD_TABLES for unit in units(text)))
    assert [unit for page in pages(text, BUDGET) for unit in page.units] == list(units(text))


@SLOW
@given(TEXTS, st.integers(1, 6), st.data())
def test_growing_text_never_changes_a_page_that_was_left(text: str, times: int, data: st.DataObject) -> None:
    text = "\n\n".join([text] * times)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=12)))
    left: tuple[Page, ...] = ()
    for end in [*cuts, len(text)]:
        now = pages(hold_back(text[:end]), BUDGET)
        assert now[: len(left)] == left
        left = now[:-1]
    assert pages(text, BUDGET)[: len(left)] == left


def test_growing_character_by_character_over_a_page_border() -> None:
    start = "字" * (PAGE_BYTES // 3 - 60) + "\n\n"
    text = (
        start
        + "## 标题\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```\n\n1. 一\n2. 二\n\n> 引用\n\n**加粗**结尾"
    )
    left: tuple[Page, ...] = ()
    for end in range(len(start), len(text) + 1):
        now = pages(hold_back(text[:end]))
        assert now[: len(left)] == left
        left = now[:-1]
    assert len(left) == 1


def test_a_heading_goes_with_what_it_heads() -> None:
    text = "字" * (PAGE_BYTES // 3 - 40) + "\n\n## 标题\n\n" + "文" * 100
    first, second = pages(text)
    assert [unit.kind for unit in first.units] == [Kind.PARAGRAPH]
    assert [unit.kind for unit in second.units] == [Kind.HEADING, Kind.PARAGRAPH]


def test_four_tables_need_two_pages() -> None:
    table = "| a |\n|---|\n| 1 |"
    assert [len(page.units) for page in pages("\n\n".join([table] * 4))] == [3, 1]


def test_a_pipe_in_code_is_no_table() -> None:
    """Field report 17."""
    code = "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```"
    assert len(pages("\n\n".join([code] * 9))) == 1


def test_code_larger_than_a_page_is_cut_between_lines_and_opened_again() -> None:
    lines = [f"line {number} = '{'x' * 40}'" for number in range(1_000)]
    parts = pages("before\n\n```python\n" + "\n".join(lines) + "\n```\n\nafter")
    code = [unit for page in parts for unit in page.units if unit.kind is Kind.CODE]
    assert len(code) > 2
    assert {unit.info for unit in code} == {"python"}
    assert "".join(unit.body for unit in code).split("\n")[:-1] == lines
    assert all(wire_size(drawn(page)) <= PAGE_BYTES for page in parts)
    assert parts[-1].units[-1] == Unit(Kind.PARAGRAPH, "after")


def test_one_line_of_code_larger_than_a_page_keeps_every_character() -> None:
    line = "0123456789é👩‍👩‍👧" * 4_000
    parts = pages(f"```js\n{line}\n```")
    assert "".join(unit.body.replace("\n", "") for page in parts for unit in page.units) == line
    assert not any(unit.body.startswith("\u200d") for page in parts for unit in page.units)


def test_a_table_larger_than_a_page_repeats_its_heading() -> None:
    rows = [f"| {number} | {'值' * 20} |" for number in range(800)]
    parts = pages("\n".join(["| 编号 | 值 |", "|---|---|", *rows]))
    assert len(parts) > 2
    assert all(page.text.startswith("| 编号 | 值 |\n|---|---|\n| ") for page in parts)
    assert [row for page in parts for row in page.text.split("\n")[2:]] == rows


def test_a_row_larger_than_a_page_becomes_text() -> None:
    parts = pages(f"| a | b |\n|---|---|\n| 1 | {'长' * 9_000} |\n| 2 | z |")
    assert squeezed("".join(page.text for page in parts)).count("长") == 9_000
    assert "| 2 | z |" in parts[-1].text


def test_a_paragraph_larger_than_a_page_is_cut_after_a_sentence() -> None:
    text = "这是一个足够长的句子，**里面有重点**，还有 `代码`。" * 900
    parts = pages(text)
    assert len(parts) > 2
    assert all(page.text.endswith("。") for page in parts)
    assert "".join(page.text for page in parts) == text


def test_emphasis_open_at_a_cut_is_closed_and_opened_again() -> None:
    parts = pages("**" + "重要内容没有标点" * 2_000 + "**")
    assert all(page.text.startswith("**") and page.text.endswith("**") for page in parts)
    assert all("&#42;" not in drawn(page) for page in parts)


@pytest.mark.parametrize("lead", ["- ", "> ", "1. "])
def test_an_item_or_quote_larger_than_a_page_falls_apart(lead: str) -> None:
    inner = "\n".join(["第一段", "", *("文字" * 2_000 + "。\n" for _ in range(6)), "```py", "x = 1", "```"])
    indent = "> " if lead == "> " else "   "
    text = lead + inner.replace("\n", f"\n{indent}")
    parts = pages(text)
    assert squeezed("".join(page.text for page in parts)).count("文") == 12_000
    assert any(unit.kind is Kind.CODE for page in parts for unit in page.units)
    assert all(wire_size(drawn(page)) <= PAGE_BYTES for page in parts)


def test_numbers_go_on_over_pages() -> None:
    text = "\n".join("1. " + "字" * 500 for _ in range(30))
    numbers = [unit.number for page in pages(text) for unit in page.units]
    assert len(pages(text)) > 1
    assert numbers == list(range(1, 31))


def test_a_growing_answer_parses_its_last_blocks_only() -> None:
    """120 KB with 30 tables and 40 code blocks are drawn on every frame; hardly anything is parsed anew."""
    text = long_answer()
    for page in pages(hold_back(text[:-8_000])):
        drawn(page)
    parsed, frames = units_of_chunk.cache_info().misses, range(len(text) - 8_000, len(text), 200)
    for end in frames:
        for page in pages(hold_back(text[:end])):
            drawn(page)
    assert 0 < units_of_chunk.cache_info().misses - parsed <= 4 * len(frames)
