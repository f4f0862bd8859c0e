"""A card or a place that Feishu refuses never loses the answer: another lane, another place, or a clean end."""

import json

import pytest

from channels.emulator.accounts import GROUP, PLAIN
from channels.emulator.messages import Message
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

REPLY, CREATE, UPDATE, PATCH = "im.message.reply", "cardkit.card.create", "cardkit.card.update", "im.message.patch"
SAID = "SELECT json_extract(body, '$.text') FROM session_events WHERE kind = 'assistant/message' ORDER BY at DESC"
CLAIMS = "SELECT count(*) FROM establishing"


def text_of(message: Message) -> str:
    assert message.message_type == "text"
    return str(json.loads(message.content)["text"])


def said_in_chat(house: House, chat_id: str) -> list[Message]:
    """What the bot wrote into this chat, outside every answer."""
    return [each for each in house.world.timeline.in_chat(chat_id) if each.by_bot and not each.reply_to]


async def test_without_cardkit_the_card_is_patched(open_house: OpenHouse) -> None:
    house = await open_house(
        agents={"demo": {"kind": "demo", "pace": 1.0}}, cards={"frame_gaps_ms": [0, 100, 100, 100]}
    )
    house.fault(CREATE, "error", code=99991672, times=None)
    message_id, reply = await house.ask("stream 400 characters in 800 ms")
    card = house.assert_answered_once(message_id)
    assert not reply.card_id
    calls = [state.call for state in house.states(reply.message_id)]
    assert calls[0] == REPLY
    assert calls.count(PATCH) >= 3
    assert not any(state.card["config"]["streaming_mode"] for state in house.states(reply.message_id))
    assert cards_seen.answer(card) == await house.one(SAID)


async def test_with_cardkit_alone_down_the_card_is_patched(open_house: OpenHouse) -> None:
    """Its creation answers 502 for ever, everything else works: the answer comes within seconds all the same."""
    house = await open_house(
        agents={"demo": {"kind": "demo", "pace": 1.0}}, cards={"frame_gaps_ms": [0, 100, 100, 100]}
    )
    house.fault(CREATE, "status", status=502, times=None)
    message_id = house.say("work 8 seconds")
    reply = await house.shown(message_id)
    assert len(house.calls(CREATE)) == 4
    assert not reply.card_id
    assert cards_seen.is_running(house.card(reply.message_id))
    await house.seen(lambda: house.calls(PATCH))
    await house.answered(message_id)
    house.assert_answered_once(message_id)
    assert len(house.calls(CREATE)) == 4
    house.emulator.faults.clear()
    again, answer = await house.ask("hello", thread_id=reply.thread_id)
    house.assert_answered_once(again)
    assert answer.card_id


@pytest.mark.parametrize("code", [230099, 200861, 230025])
async def test_a_refused_card_becomes_text(house: House, code: int) -> None:
    """Field report 41."""
    house.fault(REPLY, "error", code=code)
    message_id, reply = await house.ask("hello")
    assert [text_of(each) for each in house.replies(message_id)] == [text_of(reply)]
    assert "hello" in text_of(reply)
    assert house.ledger.reactions(message_id) == ["DONE"]
    again, _ = await house.ask("again", thread_id=reply.thread_id)
    house.assert_answered_once(again)
    assert await house.one("SELECT count(*) FROM sessions") == 1


@pytest.mark.parametrize("code", [230099, 11310, 200550])
async def test_a_refused_closing_update_becomes_a_neutral_card_and_text(open_house: OpenHouse, code: int) -> None:
    house = await open_house(cards={"streaming": False})
    house.fault(UPDATE, "error", code=code)
    message_id, reply = await house.ask("hello")
    card, said = house.replies(message_id)
    assert cards_seen.title(house.card(card.message_id)) == cards_seen.WORDS.neutral_title
    assert not cards_seen.is_running(house.card(card.message_id))
    assert "hello" in text_of(said)
    assert said.thread_id == reply.thread_id
    assert house.ledger.reactions(message_id) == ["DONE"]


async def test_even_a_refused_neutral_card_says_the_answer_once(open_house: OpenHouse) -> None:
    house = await open_house(cards={"streaming": False})
    house.fault(UPDATE, "error", code=230099, times=None)
    message_id = house.say("hello")
    await house.done(message_id)
    texts = [text_of(each) for each in house.replies(message_id) if each.message_type == "text"]
    assert len(texts) == 1
    assert "hello" in texts[0]
    assert len(house.calls(UPDATE)) <= 6
    assert house.ledger.reactions(message_id) == ["DONE"]


async def test_a_group_without_topics_gets_a_chat_route(house: House) -> None:
    message_id, reply = await house.ask("first", chat_id=PLAIN, mention_bot=True)
    house.assert_answered_once(message_id)
    assert not reply.thread_id
    assert house.calls(REPLY)[0].code == 230071
    again, _ = await house.ask("what did I say before", chat_id=PLAIN, mention_bot=True)
    card = house.assert_answered_once(again)
    assert "first" in cards_seen.answer(card)
    assert await house.one("SELECT count(*) FROM sessions") == 1
    assert (await house.one("SELECT key FROM routes")).startswith("chat:group:")


@pytest.mark.parametrize("code", [230011, 230110])
async def test_a_question_that_is_gone_is_answered_in_the_chat(open_house: OpenHouse, code: int) -> None:
    house = await open_house(turns={"recalled": "answer"})
    house.fault(REPLY, "error", code=code, times=None)
    message_id = house.say("hello")
    chat_id = house.world.private_chat("Alice")
    await house.seen(lambda: said_in_chat(house, chat_id))
    await house.quiet()
    (said,) = said_in_chat(house, chat_id)
    card = house.card(said.message_id)
    assert not cards_seen.is_running(card)
    assert "hello" in cards_seen.answer(card)
    assert house.replies(message_id) == []
    house.emulator.faults.clear()
    again, _ = await house.ask("again")
    house.assert_answered_once(again)


async def test_a_question_that_is_gone_stops_its_turn(open_house: OpenHouse) -> None:
    """The other setting, and the usual one: nobody wants this answer any more."""
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}})
    message_id = house.say("work 60 seconds")
    house.fault(REPLY, "error", code=230011, times=None)
    await house.done(message_id)
    assert await house.one("SELECT outcome FROM turns") == "stopped"
    assert said_in_chat(house, house.world.private_chat("Alice")) == []
    assert house.replies(message_id) == []
    assert await house.one(CLAIMS) == 0


@pytest.mark.parametrize("event", ["remove_bot", "disband"])
async def test_a_chat_that_is_gone_ends_everything_there(house: House, event: str) -> None:
    """Before the reply: nothing reaches anybody, and nothing spins."""
    house.fault(CREATE, "delay", seconds=0.3)
    message_id = house.say("hello", chat_id=GROUP, mention_bot=True)
    await house.seen(lambda: house.calls(CREATE))
    getattr(house.world, event)(GROUP)
    before = len(house.calls())
    await house.done(message_id)
    house.advance(7200)
    await house.quiet()
    assert await house.one(CLAIMS) == 0
    assert await house.one("SELECT count(*) FROM outbox WHERE state = 'gone'") >= 1
    assert len(house.calls()) - before <= 8
    elsewhere, _ = await house.ask("hello", user="Bob")
    house.assert_answered_once(elsewhere)


async def test_the_bot_is_removed_while_it_answers(open_house: OpenHouse) -> None:
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}})
    message_id = house.say("work 1 second", chat_id=GROUP, mention_bot=True)
    reply = await house.shown(message_id)
    house.world.remove_bot(GROUP)
    before = len(house.calls())
    await house.quiet()
    assert len(house.calls()) - before <= 12
    assert not cards_seen.is_running(house.card(reply.message_id))
    assert await house.one("SELECT outcome FROM turns") == "completed"
