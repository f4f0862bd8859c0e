"""Long answers in pages, and what an answer costs in calls."""

import re

import pytest

from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

SAID = "SELECT json_extract(body, '$.text') FROM session_events WHERE kind = 'assistant/message' ORDER BY at DESC"
CHARACTERS = re.compile(r"[^\W_]+")


def spoken(text: str) -> list[str]:
    """The words of a text, without its marks."""
    return CHARACTERS.findall(text)


async def cost(house: House, text: str) -> tuple[str, int]:
    """Ask, and count every call that the answer took."""
    before = len(house.calls())
    message_id, _ = await house.ask(text)
    house.assert_answered_once(message_id)
    return message_id, len(house.calls()) - before


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_long_answer_comes_in_pages(open_house: OpenHouse, streaming: bool) -> None:
    house = await open_house(
        agents={"demo": {"kind": "demo", "pace": 0.2}},
        cards={"streaming": streaming, "frame_gaps_ms": [0, 50]},
    )
    message_id = house.say("long answer")
    await house.answered(message_id)
    pages = house.replies(message_id)
    cards = [house.card(page.message_id) for page in pages]
    assert len(pages) >= 2
    assert len({page.thread_id for page in pages}) == 1
    assert pages[0].thread_id
    assert not any(cards_seen.is_running(card) for card in cards)
    said = str(await house.one(SAID))
    joined = "\n".join(cards_seen.answer(card) for card in cards)
    assert spoken(joined) == spoken(said)
    assert house.ledger.reactions(message_id) == ["DONE"]
    assert sorted(page.order for page in pages) == [page.order for page in pages]


async def test_eight_hundred_characters_cost_eight_calls(open_house: OpenHouse) -> None:
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}})
    message_id, calls = await cost(house, "stream 800 characters in 800 ms")
    assert calls <= 8
    assert len(cards_seen.answer(house.card(house.replies(message_id)[0].message_id))) == 800


async def test_two_thousand_characters_cost_twelve_calls(open_house: OpenHouse) -> None:
    """At the speed of a model, a hundred characters a second; agent and gaps between frames run ten times as fast."""
    house = await open_house(
        agents={"demo": {"kind": "demo", "pace": 0.1}}, cards={"frame_gaps_ms": [0, 100, 300, 500]}
    )
    _, calls = await cost(house, "stream 2000 characters in 20 s")
    assert calls <= 12


async def test_a_thousand_deltas_cost_no_thousand_calls(open_house: OpenHouse) -> None:
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 0.1}})
    message_id, calls = await cost(house, "stream 10000 characters in 20 s")
    assert calls <= 10
    answer = cards_seen.answer(house.card(house.replies(message_id)[0].message_id))
    assert spoken(answer) == spoken(str(await house.one(SAID)))


async def test_the_platforms_own_limits_are_kept(open_house: OpenHouse) -> None:
    """With rate limits on both sides, twenty questions in one chat are answered without one refusal."""
    house = await open_house(platform={"rate_limits": True}, feishu={"rate_limits": True}, turns={"max_running": 32})
    messages = [house.say(f"question {number}") for number in range(20)]
    for message_id in messages:
        await house.answered(message_id, 50)
        house.assert_answered_once(message_id)
    assert [call.kind for call in house.calls() if call.code == 99991400] == []
