"""A card's element tree: walks and changes on plain JSON. Elements are dicts with a `tag`, named by `element_id`."""

import re
from collections.abc import Iterator
from typing import Any

from channels.emulator.errors import ApiError

Json = dict[str, Any]
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{1,}:?\s*(\|\s*:?-{1,}:?\s*)+\|?\s*$")


def walk(node: Any) -> Iterator[Json]:
    """Every element below `node` (and itself), parents first."""
    if isinstance(node, list):
        for each in node:
            yield from walk(each)
    elif isinstance(node, dict):
        if "tag" in node:
            yield node
        for each in node.values():
            if isinstance(each, (dict, list)):
                yield from walk(each)


def find_element(card: Json, element_id: str) -> Json | None:
    return next((each for each in walk(card) if each.get("element_id") == element_id), None)


def find_place(node: Any, element_id: str) -> tuple[list[Any], int] | None:
    """The list that holds the element, and its index in it."""
    if isinstance(node, list):
        for index, each in enumerate(node):
            if isinstance(each, dict) and each.get("element_id") == element_id:
                return node, index
    children = node if isinstance(node, list) else list(node.values()) if isinstance(node, dict) else []
    for each in children:
        if isinstance(each, (dict, list)) and (found := find_place(each, element_id)):
            return found
    return None


def add_elements(card: Json, how: str, target_id: str, new: list[Json]) -> None:
    """`how`: insert_before, insert_after (need a target) or append (to a container, or to the body)."""
    if how == "append":
        container = find_element(card, target_id) if target_id else card.setdefault("body", {})
        if container is None:
            raise ApiError(300315, "target element not found")
        container.setdefault("elements", []).extend(new)
        return
    if how not in ("insert_before", "insert_after"):
        raise ApiError(10002, "type is invalid")
    place = find_place(card, target_id)
    if place is None:
        raise ApiError(300315, "target element not found")
    siblings, index = place
    at = index + (how == "insert_after")
    siblings[at:at] = new


def replace_element(card: Json, element_id: str, element: Json) -> None:
    place = find_place(card, element_id)
    if place is None:
        raise ApiError(300313, "element not found")
    place[0][place[1]] = element


def patch_element(card: Json, element_id: str, partial: Json) -> None:
    element = find_element(card, element_id)
    if element is None:
        raise ApiError(300313, "element not found")
    if partial.get("tag", element.get("tag")) != element.get("tag"):
        raise ApiError(300312)
    element.update(partial)


def delete_elements(card: Json, element_ids: list[str]) -> None:
    for element_id in element_ids:
        place = find_place(card, element_id)
        if place is None:
            raise ApiError(300314, "element not found")
        del place[0][place[1]]


def count_tables(card: Json) -> int:
    """Table components plus Markdown tables; pipes inside a fenced code block are no table."""
    count = 0
    for element in walk(card):
        if element["tag"] == "table":
            count += 1
        elif element["tag"] == "markdown":
            count += _count_markdown_tables(str(element.get("content", "")))
    return count


def _count_markdown_tables(text: str) -> int:
    if "|" not in text:
        return 0
    count, previous, fence = 0, "", ""
    for line in text.split("\n"):
        if match := _FENCE.match(line):
            fence = "" if fence == match[1] else fence or match[1]
        elif not fence and "|" in previous and _TABLE_RULE.match(line):
            count += 1
        previous = line
    return count


def outside_fences(text: str) -> str:
    """The text without its fenced code blocks and without inline code."""
    kept, fence = [], ""
    for line in text.split("\n"):
        if match := _FENCE.match(line):
            fence = "" if fence == match[1] else fence or match[1]
        elif not fence:
            kept.append(line)
    return re.sub(r"`[^`\n]*`", "", "\n".join(kept))
