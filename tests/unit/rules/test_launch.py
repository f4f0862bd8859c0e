"""Keys, digests and sentences of launches and wake-ups."""

import string

import pytest

from channels.cards import launch_texts
from channels.cards.launch_texts import launch_text
from channels.ids import ChatId, TurnId
from channels.rules.launch import digest_of, is_key, is_pending, launch_claim_key, launch_claims_of, pending_claim


@pytest.mark.parametrize("key", ["a", "daily-2026-12-01", "x" * 128, "~!/:"])
def test_keys(key: str) -> None:
    assert is_key(key)


@pytest.mark.parametrize("key", ["", "two words", "x" * 129, "报告", "a\n", "\x7f"])
def test_what_is_no_key(key: str) -> None:
    assert not is_key(key)


def test_a_digest_tells_requests_apart_whatever_stands_where() -> None:
    assert digest_of("a", "b") == digest_of("a", "b")
    assert (
        len({digest_of("a", "b"), digest_of("ab", ""), digest_of("b", "a"), digest_of("a", "b", ""), digest_of()}) == 5
    )
    assert len(digest_of("\ud83d")) == 32, "half of a character is a text too"


def test_claims_of_a_chat_begin_alike() -> None:
    key = launch_claim_key(ChatId("oc_1"), TurnId("turn_1"))
    assert key.startswith(launch_claims_of(ChatId("oc_1")))
    assert not key.startswith(launch_claims_of(ChatId("oc_12")))
    assert is_pending(pending_claim(TurnId("turn_1"))) and not is_pending(pending_claim(TurnId("x"))[1:])  # type: ignore[arg-type]


def test_both_languages_say_the_same() -> None:
    def names(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    english, chinese = launch_texts._EN, launch_texts._ZH
    assert set(english) == set(chinese)
    assert {key for key in english if names(english[key]) != names(chinese[key])} == set()
    assert launch_text("unknown_chat", "zh", chat="oc_1").startswith("没有会话 oc_1")
    assert launch_text("unknown_chat", "fr", chat="oc_1").startswith("There is no chat oc_1")
