"""Every failure has a sentence in both languages that tells a person what to do."""

from dataclasses import fields
from typing import Any, get_args

import pytest

from channels.agents.failures import Failure, RateLimited, TooSlow, sentence

SAMPLES: dict[str, Any] = {"host": "model.example", "limit_s": 2.5, "status": 499, "model": "m-1", "begun": True}


def sample(kind: type[Failure], phase: str = "first") -> Failure:
    values = {**SAMPLES, "phase": phase, "said": "their words", "wait_s": 7}
    return kind(**{field.name: values[field.name] for field in fields(kind)})


@pytest.mark.parametrize("kind", get_args(Failure), ids=lambda kind: kind.__name__)
def test_sentences_are_whole_and_hold_the_facts(kind: type[Failure]) -> None:
    failure = sample(kind)
    english, chinese = sentence(failure, "en"), sentence(failure, "zh")
    assert english.isascii()
    assert english.endswith(".")
    assert chinese.endswith("。")
    for field in fields(kind):
        value = getattr(failure, field.name)
        if field.name not in ("phase", "begun"):
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            if field.name == "status" and kind.__name__ == "RequestRefused":
                shown = f"HTTP {value}"
            assert shown in english
            assert shown in chinese


@pytest.mark.parametrize("phase", ["connect", "first", "between", "whole"])
def test_each_limit_has_its_words(phase: str) -> None:
    other = "between" if phase != "between" else "whole"
    assert "2.5 s" in sentence(TooSlow(phase, 2.5), "en")
    assert sentence(TooSlow(phase, 2.5), "zh") != sentence(TooSlow(other, 2.5), "zh") or phase == other


@pytest.mark.parametrize("language", ["zh", "zh-CN", "ZH"])
def test_chinese_by_any_name(language: str) -> None:
    assert sentence(RateLimited(), language) == sentence(RateLimited(), "zh") != sentence(RateLimited(), "en")
