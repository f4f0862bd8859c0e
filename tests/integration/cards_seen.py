"""Reading a card as a person does: its title, its words, its buttons, whether it still runs."""

import html
from collections.abc import Iterator
from typing import Any

from channels.cards.texts import texts
from channels.rules.turn import RUNNING, Phase

Json = dict[str, Any]

WORDS = texts("en")
TITLES = {
    Phase.WAITING: WORDS.phase_waiting,
    Phase.THINKING: WORDS.phase_thinking,
    Phase.REPLYING: WORDS.phase_replying,
    Phase.ASKING: WORDS.phase_asking,
    Phase.DONE: WORDS.phase_done,
    Phase.STOPPED: WORDS.phase_stopped,
    Phase.INTERRUPTED: WORDS.phase_interrupted,
    Phase.FAILED: WORDS.phase_failed,
}


def parts(value: object) -> Iterator[Json]:
    """Every object of the card that has a tag."""
    if isinstance(value, dict):
        if "tag" in value:
            yield value
        for part in value.values():
            yield from parts(part)
    elif isinstance(value, list):
        for part in value:
            yield from parts(part)


def title(card: Json) -> str:
    """What the header says; "" for the further cards of a long answer."""
    return str(card.get("header", {}).get("title", {}).get("content", ""))


def phase(card: Json) -> Phase | None:
    """The state in the header of a main card."""
    return next((one for one, words in TITLES.items() if words == title(card)), None)


def words(card: Json) -> str:
    """Everything there is to read below the header."""
    return "\n".join(html.unescape(str(part["content"])) for part in parts(card.get("body", {})) if "content" in part)


def answer(card: Json) -> str:
    """The Markdown of the answer element; "" when there is none."""
    found = [part for part in parts(card) if part.get("element_id") == "answer"]
    return html.unescape(str(found[0]["content"])) if found else ""


def stop_value(card: Json) -> Json | None:
    """The value of the Stop button; None when there is none."""
    for part in parts(card):
        for behaviour in part.get("behaviors", ()):
            if behaviour.get("value", {}).get("do") == "stop":
                return dict(behaviour["value"])
    return None


def is_running(card: Json) -> bool:
    """Whether this card promises that more is coming: by its header, its streaming mode or its Stop button."""
    streaming = bool(card.get("config", {}).get("streaming_mode"))
    return phase(card) in RUNNING or streaming or stop_value(card) is not None
