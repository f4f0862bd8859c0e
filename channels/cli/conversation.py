"""One question and its answer, seen as a person sees them: through the emulator's ledger."""

import asyncio
import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from channels.cards.card import ANSWER_ELEMENT
from channels.cards.reply import TEMPLATES
from channels.cli.faults import CheckFailed
from channels.errors import ConfigError
from channels.rules.turn import Phase

if TYPE_CHECKING:
    from channels.emulator import Emulator

_QUIET_S = 0.25  # an answer counts as whole when nothing about it changed for so long


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    failed: bool


def find_speaker(emulator: "Emulator", name: str | None) -> str:
    """The open_id of the person of that name, or of the first one. Raises ConfigError with the names that exist."""
    directory = emulator.world.directory
    people = list(directory.people.values())
    person = people[0] if name is None else directory.find_person(name)
    if person is None:
        raise ConfigError("--user", f'there is no "{name}"; the people are: {", ".join(each.name for each in people)}')
    return person.open_id


async def ask(emulator: "Emulator", text: str, speaker: str, wait_s: float) -> Answer:
    """Say `text` in the person's private chat and wait for the whole answer. Raises CheckFailed on time-out."""
    world = emulator.world
    message_id = world.say(speaker, world.private_chat(speaker), text)
    try:
        async with asyncio.timeout(wait_s):
            await _settle(emulator, message_id)
    except TimeoutError:
        seen = "an unfinished answer" if emulator.ledger.visible_replies(message_id) else "no answer"
        raise CheckFailed(f"{seen} within {wait_s:g} s; --wait gives more time, --verbose shows the log.") from None
    if _is_asking(emulator, message_id):
        raise CheckFailed(
            "the agent asks on a card whether it may go on, and with --say nobody can press its buttons. Nothing was "
            "changed. Run the demo without --say and decide on its chat page."
        )
    return read_answer(emulator, message_id)


async def _settle(emulator: "Emulator", message_id: str) -> None:
    """Until the answer is whole and stays so for a moment (its cards and reactions are separate calls), or a person is
    asked."""
    while True:
        await emulator.ledger.until(
            lambda: is_whole(emulator, message_id) or _is_asking(emulator, message_id), timeout_s=86_400
        )
        if _is_asking(emulator, message_id):
            return
        before = _picture(emulator, message_id)
        await asyncio.sleep(_QUIET_S)
        if is_whole(emulator, message_id) and _picture(emulator, message_id) == before:
            return


def is_whole(emulator: "Emulator", message_id: str) -> bool:
    """There is an answer, none of its cards streams, and the bot no longer shows that it is typing."""
    replies = emulator.ledger.visible_replies(message_id)
    cards = [_card(emulator, reply.message_id) for reply in replies]
    streaming = any(card and card.get("config", {}).get("streaming_mode") for card in cards)
    return bool(replies) and not streaming and "Typing" not in emulator.ledger.reactions(message_id)


def _is_asking(emulator: "Emulator", message_id: str) -> bool:
    """Whether the turn waits for what a person decides on a card."""
    cards = [_card(emulator, reply.message_id) for reply in emulator.ledger.visible_replies(message_id)]
    return any(card and card.get("header", {}).get("template") == TEMPLATES[Phase.ASKING] for card in cards)


def read_answer(emulator: "Emulator", message_id: str) -> Answer:
    """What the replies to `message_id` say, as text: Markdown as it stands in the cards, page after page."""
    parts: list[str] = []
    failed = False
    for reply in emulator.ledger.visible_replies(message_id):
        card = _card(emulator, reply.message_id)
        if card is None:
            parts += _texts(json.loads(reply.content))
            continue
        failed = failed or card.get("header", {}).get("template") == TEMPLATES[Phase.FAILED]
        parts.append(_card_text(card))
    return Answer("\n\n".join(part for part in parts if part), failed)


def _picture(emulator: "Emulator", message_id: str) -> tuple[int, ...]:
    replies = emulator.ledger.visible_replies(message_id)
    return tuple(len(emulator.ledger.card_states(reply.message_id)) for reply in replies)


def _card(emulator: "Emulator", message_id: str) -> dict[str, Any] | None:
    try:
        return dict(emulator.ledger.card_json(message_id))
    except KeyError:
        return None


def _card_text(card: Mapping[str, Any]) -> str:
    """The answer and the notes below it; of a card without an answer, everything that it says."""
    elements = card.get("body", {}).get("elements", [])
    spoken = [each for each in elements if str(each.get("element_id", "")).startswith((ANSWER_ELEMENT, "note_"))]
    return "\n\n".join(_texts(spoken or [card.get("header", {}), elements]))


def _texts(value: Any) -> Iterator[str]:
    """Every piece of text inside a card or a message, in order; Markdown without the entities that keep it plain."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in ("content", "text") and isinstance(item, str):
                yield html.unescape(item) if value.get("tag") == "markdown" else item
            else:
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
