"""The agent's own session: its id is kept and handed back, also after a restart; one that is lost begins anew."""

import pytest

from channels.cards.texts import texts
from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.gate.agent import AskingAgent
from tests.integration.gate.asking import ADMIN, ADMINS, SECOND, WORDS, buttons, click, finished, with_agent
from tests.integration.house import House

SAID = texts("en")
REFERENCE = "SELECT agent_reference FROM sessions"
KEPT = "SELECT body FROM session_events WHERE kind = 'subagent/descriptor' ORDER BY number"


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    house = await open_house(start=False, **ADMINS)
    with_agent(house)
    await house.start()
    return house


def agent_of(house: House) -> AskingAgent:
    assert house.agents is not None
    agent = house.agents["demo"]
    assert isinstance(agent, AskingAgent)
    return agent


async def lost(house: House) -> tuple[str, dict[str, str]]:
    """A turn whose agent could not load its session: the message, and what its button carries."""
    first = house.say("open")
    await finished(house, first)
    message_id = house.say("lost", thread_id=house.replies(first)[0].thread_id)
    main = await finished(house, message_id)
    assert cards_seen.phase(main) is Phase.FAILED
    assert SAID.fresh_offer in cards_seen.words(main)
    return message_id, next(one for one in buttons(house, house.replies(message_id)[0]) if one["do"] == "fresh")


async def test_the_id_comes_back_with_every_later_turn(house: House) -> None:
    first = house.say("open")
    main = await finished(house, first)
    assert "model-7" in cards_seen.words(main)
    assert await house.one(REFERENCE) == "own-1"
    thread = house.replies(first)[0].thread_id
    await house.restart()
    again = house.say("hello", thread_id=thread)
    await finished(house, again)
    assert [one.reference for one in agent_of(house).requests] == ["", "own-1"]


async def test_a_lost_session_is_begun_afresh_once_and_the_question_asked_again(house: House) -> None:
    message_id, value = await lost(house)
    card = house.replies(message_id)[0]
    assert await house.one(REFERENCE) == "own-1"
    assert await click(house, card, value, SECOND) == SAID.toast_not_yours
    assert await click(house, card, value) == WORDS.toast_fresh
    await click(house, card, value)
    main = await finished(house, message_id)
    assert cards_seen.phase(main) is Phase.DONE
    assert "Finished." in cards_seen.answer(main)
    assert len(house.replies(message_id)) == 1
    assert [(one.text, one.reference) for one in agent_of(house).requests] == [
        ("open", ""),
        ("lost", "own-1"),
        ("lost", ""),
    ]
    assert await house.one(REFERENCE) == ""
    assert '"lost":true' in (await house.rows(KEPT))[-1][0]
    assert '"own-1"' in (await house.rows(KEPT))[-1][0]


async def test_a_fresh_session_that_was_opened_since_is_kept(house: House) -> None:
    message_id, value = await lost(house)
    thread = house.replies(message_id)[0].thread_id
    other = house.say("lost", thread_id=thread)
    await finished(house, other)
    second = next(one for one in buttons(house, house.replies(other)[0]) if one["do"] == "fresh")
    await click(house, house.replies(message_id)[0], value)
    await finished(house, message_id)
    opened = house.say("open", thread_id=thread)
    await finished(house, opened)
    assert await house.one(REFERENCE) == "own-2"
    await click(house, house.replies(other)[0], second)
    await house.done(other)
    assert await house.one(REFERENCE) == "own-2"


async def test_only_a_turn_that_lost_its_session_has_one_to_begin(house: House) -> None:
    first = house.say("open")
    await finished(house, first)
    turn = await house.one("SELECT turn_id FROM turns")
    forged = {"do": "fresh", "turn": turn}
    assert await click(house, house.replies(first)[0], forged) == WORDS.toast_not_lost
    assert await click(house, house.replies(first)[0], forged, ADMIN) == WORDS.toast_not_lost
    assert await house.one(REFERENCE) == "own-1"
    assert len(agent_of(house).requests) == 1
