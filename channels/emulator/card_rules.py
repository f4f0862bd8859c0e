"""What Feishu accepts as a card, as pure checks. Inline cards and entities fail with different codes for one fault."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from channels.emulator.elements import Json, count_tables, outside_fences, walk
from channels.emulator.errors import ApiError, card_error

_ELEMENT_ID = re.compile(r"^[A-Za-z][A-Za-z0-9_]{0,19}$")
_MARKDOWN_IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
_GONE_IN_V2 = ("action", "note")


@dataclass(frozen=True, slots=True)
class CardLimits:
    max_bytes: int
    max_elements: int
    max_tables: int


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parse_card(text: Any, *, entity: bool) -> Json:
    """The JSON object in `text`, or the refusal that the lane (entity or inline) gives."""
    try:
        card = json.loads(text)
    except (ValueError, TypeError):
        raise _refusal(entity, 200220, 200621, "parse card json err, not JSON") from None
    if not isinstance(card, dict):
        raise _refusal(entity, 200220, 200621, "parse card json err, card is not an object")
    if not card:
        raise _refusal(entity, 300307, 300307, "card is empty")
    return card


def check_card(card: Json, limits: CardLimits, *, entity: bool, knows_image: Callable[[str], bool]) -> None:
    """Raise the refusal for the first rule that the card breaks; its size is checked by the caller on the wire form."""
    v2 = str(card.get("schema", "")) == "2.0"
    if entity and not v2:
        raise ApiError(300303)
    if card.get("config", {}).get("update_multi") is False and entity:
        raise ApiError(300302)
    _check_ids(card, entity)
    elements = list(walk(card))
    if len(elements) > limits.max_elements:
        raise _refusal(entity, 300305, 11310, "element exceeds the limit")
    if count_tables(card) > limits.max_tables:
        raise card_error(11310, "card table number over limit")
    for element in elements:
        if v2 and element["tag"] in _GONE_IN_V2:
            detail = f"cards of schema V2 no longer support this capability; unsupported tag {element['tag']}"
            raise _refusal(entity, 200861, 200861, detail)
        _check_table(element, entity)
        _check_images(element, entity, knows_image)


def check_size(text: str, limits: CardLimits) -> None:
    if len(text) * 3 > limits.max_bytes and len(text.encode()) > limits.max_bytes:
        raise ApiError(200860)


def _check_ids(card: Json, entity: bool) -> None:
    seen: set[str] = set()
    for element in walk(card):
        element_id = element.get("element_id")
        if element_id is None:
            continue
        if not isinstance(element_id, str) or not _ELEMENT_ID.match(element_id):
            raise _refusal(entity, 10002, 200621, f"element_id {element_id!r} is invalid")
        if element_id in seen:
            raise _refusal(entity, 300301, 300301, f"duplicate element_id {element_id}")
        seen.add(element_id)


def _check_table(element: Json, entity: bool) -> None:
    if element["tag"] != "table":
        return
    rows, columns = element.get("rows"), element.get("columns")
    if not isinstance(rows, list) or not isinstance(columns, list) or not all(isinstance(row, dict) for row in rows):
        raise _refusal(entity, 200914, 200914, "table rows is invalid")
    names = {column.get("name") for column in columns}
    if any(set(row) - names for row in rows):
        raise _refusal(entity, 200915, 200915, "table rows name is invalid")


def _check_images(element: Json, entity: bool, knows_image: Callable[[str], bool]) -> None:
    keys: list[str] = []
    if element["tag"] == "img":
        keys = [str(element.get("img_key", ""))]
    elif element["tag"] == "markdown" and "![" in str(element.get("content", "")):
        keys = _MARKDOWN_IMAGE.findall(outside_fences(element["content"]))
    for key in keys:
        if not knows_image(key):
            raise _refusal(entity, 200570, 200570, f"card contains invalid image keys; ErrorValue: image key {key}")


def _refusal(entity: bool, entity_code: int, inner: int, detail: str) -> ApiError:
    return ApiError(entity_code, detail) if entity else card_error(inner, detail)
