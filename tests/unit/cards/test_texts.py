"""Both languages say the same: the same placeholders, and never an empty sentence."""

import string
from dataclasses import asdict

import pytest

from channels.cards.gate_texts import gate_texts
from channels.cards.texts import texts

ZH = asdict(texts("zh")) | {f"gate_{name}": said for name, said in asdict(gate_texts("zh")).items()}
EN = asdict(texts("en")) | {f"gate_{name}": said for name, said in asdict(gate_texts("en")).items()}


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


@pytest.mark.parametrize("name", [name for name in EN if name != "between_sentences"])
def test_both_languages_have_the_same_placeholders(name: str) -> None:
    assert placeholders(ZH[name]) == placeholders(EN[name])
    assert ZH[name].strip()
    assert EN[name].strip()


@pytest.mark.parametrize(("language", "stop"), [("zh", "停止"), ("zh-CN", "停止"), ("en", "Stop"), ("fr", "Stop")])
def test_which_language(language: str, stop: str) -> None:
    assert texts(language).stop == stop


def test_chinese_is_chinese() -> None:
    same = {name for name in EN if EN[name] == ZH[name]}
    assert same <= {"footer_duration"}
