"""The table of demo words: what people type finds its row, and nothing else."""

import pytest

from channels.agents.demo import DEMO_WORDS
from channels.agents.demo_words import DemoAsk, DemoWord, Word, demo_help, read_ask


@pytest.mark.parametrize("row", DEMO_WORDS, ids=lambda row: row.word)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_example_asks_for_exactly_its_row(row: DemoWord, language: str) -> None:
    assert read_ask(row.example(language)).words == {row.word}


def test_every_word_has_one_row() -> None:
    assert [row.word for row in DEMO_WORDS] == list(dict.fromkeys(row.word for row in DEMO_WORDS))
    assert {row.word for row in DEMO_WORDS} == set(Word)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_shows_every_example(language: str) -> None:
    text = demo_help(language)
    for row in DEMO_WORDS:
        assert f"`{row.example(language)}`" in text
        assert row.shows(language) in text


@pytest.mark.parametrize(
    "text",
    ["hello", "你好", "", "planning a longer trip", "encoded, tooled, thinker", "workflow 20 seconds", "stream it"],
)
def test_ordinary_messages_ask_for_nothing(text: str) -> None:
    assert read_ask(text).words == frozenset()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a SLOW, long answer with reasoning and tools", {Word.SLOW, Word.LONG, Word.REASONING, Word.TOOLS}),
        ("请用慢速给一个长回答，并先思考", {Word.SLOW, Word.LONG, Word.REASONING}),
        ("code, 3 tables, then an error", {Word.CODE, Word.TABLES, Word.ERROR}),
        ("plan and work 5 seconds", {Word.PLAN, Word.WORK}),
    ],
)
def test_words_combine(text: str, words: set[Word]) -> None:
    assert read_ask(text).words == words


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("work 20 seconds", 20),
        ("Work for 20 s please", 20),
        ("work 7", 7),
        ("work 2 minutes", 120),
        ("WORK 2 M", 120),
        ("工作20秒", 20),
        ("工作 2 分钟", 120),
        ("work 99999 seconds", 3600),
    ],
)
def test_work_reads_its_time(text: str, seconds: int) -> None:
    assert read_ask(text).work_s == seconds


@pytest.mark.parametrize(
    ("text", "characters", "ms"),
    [
        ("stream 800 characters in 800 ms", 800, 800),
        ("Stream 800 chars in 2 seconds", 800, 2000),
        ("stream 0 characters in 0 ms", 0, 0),
        ("输出 800 字，用时 800 毫秒", 800, 800),
        ("流式输出 50 个字符 3 秒", 50, 3000),
        ("stream 9999999 characters in 1 ms", 1_000_000, 1),
    ],
)
def test_stream_reads_its_numbers(text: str, characters: int, ms: int) -> None:
    ask = read_ask(text)
    assert (ask.stream_characters, ask.stream_ms) == (characters, ms)


@pytest.mark.parametrize(
    ("text", "count"), [("tables", 8), ("12 tables", 12), ("3个表格", 3), ("0 tables", 1), ("999 tables", 60)]
)
def test_tables_reads_its_number(text: str, count: int) -> None:
    assert read_ask(text).tables == count


def test_default_asks_for_nothing() -> None:
    assert read_ask("hello") == DemoAsk()
