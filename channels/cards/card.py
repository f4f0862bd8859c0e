"""A finished card, and the pieces that cards are put together from (schema 2.0).

Source of the shapes: Feishu's pages "card JSON 2.0 structure", "rich text", "collapsible panel" and "button".
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

# What a card may be at most. Feishu allows 30 KB of request body, in which the card stands as a string inside JSON;
# `wire_size` counts it that way, and 28 000 leaves room for the rest of the request.
CARD_BYTES = 28_000
CARD_ELEMENTS = 200
CARD_TABLES = 3

ANSWER_ELEMENT = "answer"

Element = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Card:
    """One card, ready to send.

    json    the whole card, compact
    answer  the Markdown in the element ANSWER_ELEMENT: streaming exactly this reaches this card from any card of the
            same `frame`; "" where the card has no such element
    frame   a short hash of everything except `answer`: when it differs, the whole card must be updated
    text    the same in plain words, for quotes, the text lane and logs' sizes
    """

    json: str
    answer: str
    frame: str
    text: str


@dataclass(frozen=True, slots=True)
class Button:
    """A button that calls back. `value` carries ids only; `style` is default, primary or danger."""

    label: str
    value: Mapping[str, str]
    style: str = "default"
    disabled: bool = False


def wire_size(text: str) -> int:
    """Bytes that `text`, standing inside the card, takes in the request: escaped twice, UTF-8, without quotes."""
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    return len(escaped.encode()) + escaped.count("\\") + escaped.count('"')


def card_size(card_json: str) -> int:
    """Bytes of a whole card in the request body, where it is a JSON string."""
    return len(card_json.encode()) + card_json.count("\\") + card_json.count('"')


def finish(
    elements: Sequence[Element],
    *,
    text: str,
    summary: str,
    header: Element | None = None,
    streaming: bool = False,
) -> Card:
    """Put the pieces together. `text` is the plain form, `summary` what the list of chats shows."""
    shell = _shell(summary, header, streaming)
    answer = next((str(element["content"]) for element in elements if _is_answer(element)), "")
    bare = [{**element, "content": ""} if _is_answer(element) else element for element in elements]
    frame = blake2b(_dump(_with_body(shell, bare)).encode(), digest_size=8).hexdigest()
    return Card(json=_dump(_with_body(shell, elements)), answer=answer, frame=frame, text=text)


def header(title: str, template: str, subtitle: str = "") -> Element:
    """The card's title bar; `template` is one of Feishu's colours."""
    bar: Element = {"title": {"tag": "plain_text", "content": title}, "template": template}
    if subtitle:
        bar["subtitle"] = {"tag": "plain_text", "content": subtitle}
    return bar


def markdown(content: str, element_id: str = "") -> Element:
    """Rich text; `content` must already be safe (see `markdown.clean`)."""
    element: Element = {"tag": "markdown", "content": content}
    if element_id:
        element["element_id"] = element_id
    return element


def small(content: str, element_id: str = "") -> Element:
    """Small grey plain text: footers and marks between cards. Nothing in it is Markdown."""
    element: Element = {
        "tag": "div",
        "text": {"tag": "plain_text", "content": content, "text_size": "notation", "text_color": "grey"},
    }
    if element_id:
        element["element_id"] = element_id
    return element


def words_only(content: str) -> Element:
    """Plain text in the normal size. Nothing in it is Markdown."""
    return {"tag": "div", "text": {"tag": "plain_text", "content": content}}


def panel(element_id: str, title: str, content: Sequence[Element], *, expanded: bool) -> Element:
    """A part that folds away under its title."""
    return {
        "tag": "collapsible_panel",
        "element_id": element_id,
        "expanded": expanded,
        "header": {
            "title": {"tag": "plain_text", "content": title},
            "icon": {"tag": "standard_icon", "token": "down-small-ccm_outlined", "color": "grey", "size": "16px 16px"},
            "icon_position": "right",
            "icon_expanded_angle": -180,
        },
        "border": {"color": "grey", "corner_radius": "6px"},
        "padding": "4px 8px 8px 8px",
        "vertical_spacing": "4px",
        "elements": list(content),
    }


def button_row(buttons: Sequence[Button], element_id: str = "buttons") -> Element:
    """Buttons side by side, wrapping on narrow screens."""
    columns = [
        {"tag": "column", "width": "auto", "elements": [_button(button, f"{element_id}_{number}")]}
        for number, button in enumerate(buttons, 1)
    ]
    return {"tag": "column_set", "flex_mode": "flow", "horizontal_spacing": "8px", "columns": columns}


def elements_of(value: object) -> Iterator[Element]:
    """Everything in a card that Feishu counts as an element or component: each object that has a `tag`."""
    if isinstance(value, Mapping):
        if "tag" in value:
            yield dict(value)
        for part in value.values():
            yield from elements_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from elements_of(part)


def _button(button: Button, element_id: str) -> Element:
    element: Element = {
        "tag": "button",
        "element_id": element_id,
        "text": {"tag": "plain_text", "content": button.label},
        "type": button.style,
        "behaviors": [{"type": "callback", "value": dict(button.value)}],
    }
    if button.disabled:
        element["disabled"] = True
    return element


def _shell(summary: str, header: Element | None, streaming: bool) -> Element:
    config: Element = {"update_multi": True, "streaming_mode": streaming, "summary": {"content": summary}}
    if streaming:
        config["streaming_config"] = {
            "print_frequency_ms": {"default": 30},
            "print_step": {"default": 4},
            "print_strategy": "fast",
        }
    shell: Element = {"schema": "2.0", "config": config}
    if header is not None:
        shell["header"] = header
    return shell


def _with_body(shell: Element, elements: Sequence[Element]) -> Element:
    return {**shell, "body": {"direction": "vertical", "vertical_spacing": "8px", "elements": list(elements)}}


def _is_answer(element: Element) -> bool:
    return element.get("element_id") == ANSWER_ELEMENT


def _dump(card: Element) -> str:
    return json.dumps(card, ensure_ascii=False, separators=(",", ":"))
