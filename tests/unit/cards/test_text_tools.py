"""Cutting, masking, and the words of the footer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.cards.card import card_size, wire_size
from channels.cards.excerpt import clip, fitting, one_line, tail, tidy
from channels.cards.footer import duration, footer_line
from channels.cards.masks import mask_emails
from channels.cards.texts import texts
from channels.rules.agent_event import UsageReported
from channels.rules.turn import View


@given(st.text(), st.integers(1, 50))
def test_what_fits_fits_and_is_never_half_a_character(text: str, limit: int) -> None:
    text = tidy(text)
    if not text:
        return
    end = fitting(text, limit)
    assert end >= 1
    assert end == 1 or wire_size(text[:end]) <= limit


@given(st.text(), st.integers(10, 60))
def test_clip_and_tail_keep_to_their_bytes(text: str, limit: int) -> None:
    text = tidy(text)
    assert wire_size(clip(text, limit)) <= max(limit, 12)
    assert wire_size(tail(text, limit)) <= limit
    assert text.endswith(tail(text, limit))


@pytest.mark.parametrize("joined", ["é", "👩‍👩‍👧", "👍🏽", "🇨🇳", "❤️"])
def test_a_joined_character_is_not_split(joined: str) -> None:
    text = "a" + joined
    assert {fitting(text, limit) for limit in range(1, wire_size(text))} == {1}


def test_sizes_count_the_double_escaping_of_the_request() -> None:
    assert wire_size('a"b\\c\n字') == 1 + 4 + 1 + 4 + 1 + 3 + 3
    assert card_size('{"a":"\\n"}') == len('{"a":"\\n"}') + 4 + 1


def test_tidy_takes_out_what_cannot_be_sent() -> None:
    assert tidy("a\r\nb\rc\x00\x1b[31m\ud83d") == "a\nb\nc[31m\ufffd"


def test_one_line() -> None:
    assert one_line("a\n  b\tc", 10) == "a b c"
    assert one_line("abcdef", 4) == "abc…"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("write to ann.b+c@example.com, now", "write to a***(at)example.com, now"),
        ("发给zhang@feishu.cn。", "发给z***(at)feishu.cn。"),
        ("@someone and a@b", "@someone and a@b"),
        ("<x_y@mail.example.co.uk>", "<x***(at)mail.example.co.uk>"),
    ],
)
def test_mask_emails(text: str, masked: str) -> None:
    assert mask_emails(text) == masked
    assert mask_emails(masked) == masked


@pytest.mark.parametrize(
    ("span_ms", "words"),
    [
        (400, "0.4 s"),
        (9_949, "9.9 s"),
        (12_400, "12 s"),
        (59_600, "1 min 0 s"),
        (61_000, "1 min 1 s"),
        (3_660_000, "1 h 1 min"),
    ],
)
def test_durations(span_ms: int, words: str) -> None:
    assert duration(span_ms, texts("en")) == words


def test_the_footer_says_only_what_is_known() -> None:
    assert footer_line(View("t"), texts("en")) == ""
    assert footer_line(View("t", agent="demo", duration_ms=1_200), texts("en")) == "demo · 1.2 s"
    usage = UsageReported(input_tokens=12_345, output_tokens=67, cached_tokens=8_000)
    assert (
        footer_line(View("t", usage=usage, agent="a"), texts("zh"))
        == "a · 输入 12,345 / 输出 67 tokens · 缓存命中 8,000"
    )
    cut_off = UsageReported(input_tokens=12_345, cached_tokens=8_000)  # "0 out" under half an answer would be untrue
    assert footer_line(View("t", usage=cut_off, agent="a", duration_ms=20), texts("en")) == "a · 0.1 s"
