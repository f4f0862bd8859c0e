"""Field report 25: the last update of a card raises no unread mark, so a long answer ends with a short message."""

import json

import pytest

from channels.emulator.accounts import GROUP
from channels.emulator.messages import Message
from tests.integration.conftest import OpenHouse
from tests.integration.house import House


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    """With an agent that takes its time, and a person who is told after half a second."""
    return await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}}, cards={"notify_after_s": 0.5})


def told(house: House, message_id: str) -> list[Message]:
    """The texts among the answers."""
    return [each for each in house.replies(message_id) if each.message_type == "text"]


async def test_field_report_25_a_long_answer_tells_its_person(house: House) -> None:
    message_id = house.say("work 1 second", "Bob", GROUP, mention_bot=True)
    await house.seen(lambda: told(house, message_id))
    await house.quiet()
    card, text = house.replies(message_id)
    said = json.loads(text.content)["text"]
    assert said.startswith('<at user_id="u_bob"></at> ')
    assert "work 1 second" in said
    assert text.thread_id == card.thread_id != ""
    marks = [each.open_id for each in house.ledger.notifications if each.message_id == text.message_id]
    assert "ou_bob" in marks
    states = house.states(card.message_id)
    assert states[-1].at_ms <= text.create_ms, "the answer is there before it is announced"


async def test_a_short_answer_says_nothing_more(house: House) -> None:
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)


async def test_who_stopped_it_needs_no_word(house: House) -> None:
    message_id = house.say("work 60 seconds")
    await house.held("SELECT state FROM turns", "entered")
    house.clock.advance(2)
    await house.ask("/stop")
    await house.answered(message_id)
    assert told(house, message_id) == []


async def test_it_can_be_switched_off(open_house: OpenHouse) -> None:
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}}, cards={"notify_after_s": 0.0})
    message_id, _ = await house.ask("work 1 second")
    house.assert_answered_once(message_id)


async def test_words_that_look_like_a_mention_are_words(house: House) -> None:
    message_id = house.say('<at user_id="all"></at> work 1 second')
    await house.seen(lambda: told(house, message_id))
    await house.quiet()
    assert '<at user_id=\\"all\\"' not in told(house, message_id)[0].content


async def test_a_question_that_was_taken_back_meanwhile(open_house: OpenHouse) -> None:
    """The answer is wanted all the same: the word about it goes to the chat, as the answer does."""
    house = await open_house(
        agents={"demo": {"kind": "demo", "pace": 1.0}}, cards={"notify_after_s": 0.5}, turns={"recalled": "answer"}
    )
    message_id = house.say("work 1 second")
    reply = await house.shown(message_id)
    await house.held("SELECT state FROM turns", "entered")
    house.world.recall("Alice", message_id)
    await house.done(message_id)
    texts = [
        each for each in house.world.timeline.in_chat(reply.chat_id) if each.by_bot and each.message_type == "text"
    ]
    assert len(texts) == 1
