"""Every failure has a sentence in both languages, and none tells what it should not."""

from dataclasses import fields
from typing import Any, get_args

import pytest

from channels.agents.acp.failures import AgentSaid, ProcessFailure, reopened, sentence

SAMPLES: dict[str, Any] = {"program": "opencode", "limit_s": 12.5, "said": "no model"}


@pytest.mark.parametrize("phase", ["first", "between"])
@pytest.mark.parametrize("kind", get_args(ProcessFailure), ids=lambda kind: kind.__name__)
def test_sentences_are_whole_and_hold_the_facts(kind: type[ProcessFailure], phase: str) -> None:
    values = SAMPLES | {"phase": phase}
    names = [field.name for field in fields(kind)]
    failure = kind(**{name: values[name] for name in names})
    english, chinese = sentence(failure, "coder", "en"), sentence(failure, "coder", "zh")
    assert english.isascii()
    assert english.endswith(".")
    assert chinese.endswith("。")
    facts = [f"{value:g}" if isinstance(value, float) else value for name, value in SAMPLES.items() if name in names]
    for fact in ("coder", *facts):
        assert fact in english
        assert fact in chinese


def test_an_error_without_words_is_still_a_sentence() -> None:
    assert sentence(AgentSaid(), "coder", "en") == "The agent coder reported an error. Please try again."


def test_a_reopened_session_is_told_as_a_quote() -> None:
    for language in ("en", "zh"):
        assert reopened("coder", language).startswith("> ")
        assert reopened("coder", language).endswith("\n\n")
