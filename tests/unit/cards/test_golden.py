"""Every card as it is sent, in both languages, beside the file that was looked at.

CHANNELS_GOLDEN=1 writes the files anew; then look at what has changed.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from channels.cards.card import CARD_BYTES, CARD_ELEMENTS, CARD_TABLES, Card, card_size, elements_of
from channels.cards.notice import text_message
from tests.unit.cards.samples import cards

FOLDER = Path(__file__).parent / "golden"
ALL = [(language, name, card) for language in ("zh", "en") for name, card in cards(language).items()]
EVERY_CARD = pytest.mark.parametrize(("language", "name", "card"), ALL, ids=[f"{name}-{lang}" for lang, name, _ in ALL])

# What each component may have in schema 2.0; an unknown property is an error there
PROPERTIES = {
    "markdown": {"content", "element_id"},
    "div": {"text", "element_id"},
    "plain_text": {"content", "text_size", "text_color"},
    "collapsible_panel": {
        *("element_id", "expanded", "header", "border", "padding", "vertical_spacing", "elements"),
    },
    "standard_icon": {"token", "color", "size"},
    "column_set": {"flex_mode", "horizontal_spacing", "columns"},
    "column": {"width", "elements"},
    "button": {"element_id", "text", "type", "behaviors", "disabled"},
}


@EVERY_CARD
def test_golden(language: str, name: str, card: Card) -> None:
    path = FOLDER / f"{name}.{language}.json"
    now = {"card": json.loads(card.json), "text": card.text}
    if os.environ.get("CHANNELS_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(json.dumps(now, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    assert now == json.loads(path.read_text(encoding="utf-8"))


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.{language}.json" for language, name, _ in ALL}


@EVERY_CARD
def test_a_card_keeps_to_the_schema(language: str, name: str, card: Card) -> None:
    body: dict[str, Any] = json.loads(card.json)
    assert body["schema"] == "2.0"
    assert body["config"]["update_multi"] is True
    assert set(body) <= {"schema", "config", "header", "body"}
    elements = list(elements_of(body))
    assert len(elements) <= CARD_ELEMENTS
    for element in elements:
        assert set(element) - {"tag"} <= PROPERTIES[element["tag"]], element
    ids = [element["element_id"] for element in elements if "element_id" in element]
    assert len(ids) == len(set(ids))
    assert all(identifier[0].isalpha() and len(identifier) <= 20 for identifier in ids)
    assert card_size(card.json) <= CARD_BYTES
    assert sum(element.get("content", "").count("| --- |") for element in elements) <= CARD_TABLES


@EVERY_CARD
def test_buttons_carry_ids_only(language: str, name: str, card: Card) -> None:
    for element in elements_of(json.loads(card.json)):
        for behavior in element.get("behaviors", []):
            assert behavior["type"] == "callback"
            assert behavior["value"]["do"]
            for value in behavior["value"].values():
                assert value.isascii()
                assert len(value) <= 64
                assert " " not in value


@EVERY_CARD
def test_the_plain_form_says_something_and_shows_no_marks(language: str, name: str, card: Card) -> None:
    assert card.text.strip()
    for mark in ("**", "##", "|--", "```", "&#", "<br>"):
        assert mark not in card.text
    kind, content = text_message(card)
    assert (kind, json.loads(content)["text"]) == ("text", card.text)
