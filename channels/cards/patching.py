"""Cards on the lanes beside streaming: inline cards that are patched, and plain text."""

import json
from typing import Any

from channels.cards.card import Card
from channels.cards.excerpt import tidy


def unstreamed(card_json: str) -> str:
    """The same card for a message of its own: an inline card has no streaming mode."""
    card: dict[str, Any] = json.loads(card_json)
    config = card.get("config", {})
    config.pop("streaming_config", None)
    config["streaming_mode"] = False
    return json.dumps(card, ensure_ascii=False, separators=(",", ":"))


def streaming(opened: bool) -> str:
    """The settings that open or close streaming (Feishu closes it by itself after ten minutes)."""
    return json.dumps({"config": {"streaming_mode": opened}})


def text_only(text: str) -> Card:
    """A card of which only the text will be used (the text lane)."""
    return Card(json="", answer="", frame="", text=tidy(text))
