"""An answer of 120 KB with 30 tables and 40 code blocks, through the whole house onto the platform with its limits."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from channels.emulator.messages import Message
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.storm.agent import TellingAgent
from tests.unit.cards.answers import long_answer

TABLES, BLOCKS, BYTES = 30, 40, 120_000
WAYS: dict[str, dict[str, Any]] = {
    "streamed": {"cards": {"frame_gaps_ms": [0, 100]}},
    "at_once": {"cards": {"streaming": False}},
}
_DELIMITERS = re.compile(r"^\|(?: *:?-+:? *\|)+$", re.MULTILINE)
_FENCES = re.compile(r"^```", re.MULTILINE)


def letters(text: str) -> str:
    """What must be there whatever it is drawn with: letters and digits, in order."""
    return "".join(character for character in text.casefold() if character.isalnum())


async def tell(open_house: OpenHouse, answer: str, **sections: dict[str, Any]) -> tuple[House, str]:
    """A house with the platform's rate limits, and a question in it that got this answer."""
    house = await open_house(
        start=False, platform={"rate_limits": True}, **sections | {"feishu": {"rate_limits": True}}
    )
    house.agents = {"demo": TellingAgent(answer, piece=100, pause_s=0.005)}
    await house.start()
    message_id = house.say("tell me everything")
    await house.answered(message_id, 100)
    return house, message_id


def cards_of(house: House, replies: Sequence[Message]) -> list[dict[str, Any]]:
    return [house.card(each.message_id) for each in replies]


@pytest.mark.timeout(150)
@pytest.mark.parametrize("way", WAYS)
async def test_field_18_a_very_long_answer_shows_whole(open_house: OpenHouse, way: str) -> None:
    """Field reports 16, 18 and 35: nothing is dropped, no card is refused, every card is in the topic."""
    answer = long_answer(TABLES, BLOCKS, BYTES)
    assert len(answer.encode()) >= BYTES
    house, message_id = await tell(open_house, answer, **WAYS[way])
    replies = house.replies(message_id)
    cards = cards_of(house, replies)
    texts = [cards_seen.answer(card) for card in cards]
    assert letters("".join(texts)) == letters(answer)
    assert sum(len(_DELIMITERS.findall(text)) for text in texts) == TABLES
    assert [len(_FENCES.findall(text)) % 2 for text in texts] == [0] * len(texts)
    assert sum(len(_FENCES.findall(text)) for text in texts) == 2 * BLOCKS
    assert not any(cards_seen.is_running(card) for card in cards)
    assert len({each.thread_id for each in replies}) == 1
    assert house.ledger.reactions(message_id) == ["DONE"]


@pytest.mark.timeout(150)
@pytest.mark.parametrize("way", WAYS)
async def test_it_costs_few_calls_and_none_is_refused(open_house: OpenHouse, way: str) -> None:
    house, message_id = await tell(open_house, long_answer(TABLES, BLOCKS, BYTES), **WAYS[way])
    calls = [call for call in house.calls() if call.kind.startswith(("im.", "cardkit."))]
    assert [(call.kind, call.code) for call in calls if call.code] == []
    cards = len(house.replies(message_id))
    kinds = [call.kind for call in calls]
    assert kinds.count("im.message.reply") == kinds.count("cardkit.card.create") == cards
    streamed = kinds.count("cardkit.element.content")
    print(f"{way}: {cards} cards, {len(calls)} calls, {streamed} of them frames")
    # for each card: create, reply, the last update of its page; then reactions, and frames of the card that grows
    assert len(calls) - streamed <= 4 * cards + 6
