"""What goes wrong for people who run such bots: conversations, clicks, commands. Each test names its report.

25 stands in test_notices, 36 in test_limits; the routing side of 30, 31, 34 and 36 in tests/unit/rules.
"""

import asyncio
import json

import pytest

from channels.emulator.accounts import GROUP
from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.conversations.conftest import read, verdict
from tests.integration.house import House

PACED = {"demo": {"kind": "demo", "pace": 1.0}}
IN_CHAT = {"private": "chat", "group": "chat"}
REPLY = "POST */messages/*/reply"
STATE = "SELECT state FROM turns WHERE cause_id = :message_id"
OUTCOME = "SELECT outcome FROM turns WHERE cause_id = :message_id"
SESSION_OF = "SELECT session_id FROM turns WHERE cause_id = :message_id"


@pytest.fixture
async def slow(open_house: OpenHouse) -> House:
    """With an agent that takes its time."""
    return await open_house(agents=PACED)


async def running(house: House, message_id: str) -> str:
    """Wait until the agent works on it and people see its card; the card's message id."""
    await house.held(STATE, "entered", message_id=message_id)
    return (await house.shown(message_id)).message_id


def button(house: House, card_message: str, action: str) -> dict[str, str]:
    """The value of a button on this card."""
    found = [
        dict(behaviour["value"])
        for part in cards_seen.parts(house.card(card_message))
        for behaviour in part.get("behaviors", ())
        if behaviour.get("value", {}).get("do") == action
    ]
    assert found, f"no {action} button"
    return found[0]


async def interrupted(house: House, message_id: str) -> str:
    """Restart in mid-answer; the message id of the card that offers to continue."""
    card = await running(house, message_id)
    await house.restart()
    await house.seen(lambda: cards_seen.phase(house.card(card)) is Phase.INTERRUPTED)
    await house.quiet()
    return card


async def test_field_report_20_a_question_does_not_close_somebody_elses_card(slow: House) -> None:
    first = slow.say("work 60 seconds", "Alice", GROUP, mention_bot=True)
    card = await running(slow, first)
    second = slow.say("hello", "Bob", GROUP, mention_bot=True)
    await slow.seen(lambda: slow.has_ended(second))
    assert cards_seen.is_running(slow.card(card))
    assert await slow.one(STATE, message_id=first) == "entered"


@pytest.mark.parametrize("recalled", ["stop", "answer"])
async def test_field_report_21_a_question_is_taken_back_while_it_is_answered(
    open_house: OpenHouse, recalled: str
) -> None:
    house = await open_house(agents=PACED, turns={"recalled": recalled, "drain_s": 0.0})
    seconds = 60 if recalled == "stop" else 1
    message_id = house.say(f"work {seconds} seconds")
    card = await running(house, message_id)
    house.world.recall("Alice", message_id)
    await house.held(OUTCOME, "stopped" if recalled == "stop" else "completed", message_id=message_id)
    await house.quiet()
    assert not cards_seen.is_running(house.card(card))


async def test_field_report_26_a_button_works_after_a_restart(slow: House) -> None:
    message_id = slow.say("work 4 seconds")
    card = await interrupted(slow, message_id)
    value = button(slow, card, "continue")
    await slow.restart()
    answer = await slow.world.click("Alice", card, value)
    assert answer["toast"]["content"] == WORDS.toast_continuing
    await slow.seen(lambda: cards_seen.phase(slow.card(card)) is Phase.DONE)
    late = await slow.world.click("Alice", card, {"do": "stop", "turn": value["turn"]})
    assert late["toast"]["content"] == WORDS.toast_already_ended, "or it says that it is over"


async def test_field_report_27_a_click_may_come_before_the_card_is_known_to_be_sent(slow: House) -> None:
    """The call that sends the card has not returned; the person is faster."""
    slow.fault(REPLY, "drop_after", seconds=2)
    message_id = slow.say("work 60 seconds")
    card = (await slow.shown(message_id)).message_id
    assert await slow.one("SELECT count(*) FROM inflight_cards WHERE message_id IS NOT NULL") == 0
    answer = await slow.world.click("Alice", card, button(slow, card, "stop"))
    assert answer["toast"]["content"] == WORDS.toast_stopping
    await slow.answered(message_id)
    assert await slow.one(OUTCOME, message_id=message_id) == "stopped"


async def test_field_report_28_who_may_press_is_asked_for_the_chat_where_it_is_pressed(open_house: OpenHouse) -> None:
    """Bob may not write in private: that does not take his own button in the group from him."""
    house = await open_house(agents=PACED, chat={"dm": "users", "dm_users": ["u_alice"]})
    private = house.say("work 60 seconds", "Alice")
    group = house.say("work 60 seconds", "Bob", GROUP, mention_bot=True)
    cards = {user: await running(house, each) for user, each in (("Alice", private), ("Bob", group))}
    for user, card in cards.items():
        answer = await house.world.click(user, card, button(house, card, "stop"))
        assert answer["toast"]["content"] == WORDS.toast_stopping
    for each in (private, group):
        await house.answered(each)
        assert await house.one(OUTCOME, message_id=each) == "stopped"


async def test_field_report_29_a_double_click_counts_once(slow: House) -> None:
    message_id = slow.say("work 4 seconds")
    card = await interrupted(slow, message_id)
    value = button(slow, card, "continue")
    answers = await asyncio.gather(*(slow.world.click("Alice", card, value) for _ in range(3)))
    assert {each["toast"]["content"] for each in answers} == {WORDS.toast_continuing}
    await slow.quiet()
    assert await slow.one("SELECT count(*) FROM turns WHERE cause = 'continue'") == 1


async def test_field_report_30_everybody_is_not_the_bot(open_house: OpenHouse) -> None:
    for counts in (False, True):
        house = await open_house(chat={"respond_to_all": counts})
        message_id = house.say("@_all hello", chat_id=GROUP)
        assert await verdict(house, message_id) == ("start" if counts else "not_mentioned")


@pytest.mark.parametrize(
    "typed", ["/new", "／new", "/ new", "@_user_1 /new", "@_user_1/new", "@_user_1／NEW", "@Bot /new"]
)
async def test_field_report_31_a_command_as_people_type_it(open_house: OpenHouse, typed: str) -> None:
    house = await open_house(topics=IN_CHAT)
    await house.ask("hello")
    content = json.dumps({"text": typed}, ensure_ascii=False)
    message_id, _ = await house.ask("", mention_bot="_user_1" in typed, content=content)
    assert await verdict(house, message_id) == "command:new"
    assert WORDS.new_done in read(house, message_id)


async def test_field_report_32_stop_does_not_wait_and_leaves_the_queue(open_house: OpenHouse) -> None:
    house = await open_house(agents=PACED, topics=IN_CHAT)
    await house.ask("hello")
    busy, *queued = [house.say(text) for text in ("work 60 seconds", "two", "three")]
    await house.held(STATE, "entered", message_id=busy)
    await house.shown(house.say("/stop"))
    for message_id in (busy, *queued):
        await house.answered(message_id)
    outcomes = [await house.one(OUTCOME, message_id=each) for each in (busy, *queued)]
    assert outcomes == ["stopped", "completed", "completed"]


async def test_field_report_33_four_messages_while_busy_are_four_answers_in_order(open_house: OpenHouse) -> None:
    house = await open_house(agents=PACED, topics=IN_CHAT)
    await house.ask("hello")
    busy, *queued = [house.say(text) for text in ("work 1 second", "one", "two", "three", "four")]
    for message_id in (busy, *queued):
        await house.answered(message_id)
        house.assert_answered_once(message_id)
    order = [row[0] for row in await house.rows("SELECT cause_id FROM turns ORDER BY entered_at, seq")]
    assert order[1:] == [busy, *queued]


@pytest.mark.parametrize("chat_id", [None, GROUP])
async def test_field_report_34_a_quote_does_not_open_a_session(open_house: OpenHouse, chat_id: str | None) -> None:
    house = await open_house(topics=IN_CHAT)
    first, reply = await house.ask("hello", chat_id=chat_id, mention_bot=True)
    quote, _ = await house.ask("about this", chat_id=chat_id, mention_bot=True, parent_id=reply.message_id)
    assert house.world.message(quote).thread_id == ""
    assert await house.one(SESSION_OF, message_id=quote) == await house.one(SESSION_OF, message_id=first)


@pytest.mark.parametrize("chat_id", [None, GROUP])
async def test_field_report_35_every_card_of_a_long_answer_stays_in_the_topic(
    house: House, chat_id: str | None
) -> None:
    message_id, reply = await house.ask("long answer", chat_id=chat_id, mention_bot=chat_id is not None)
    cards = house.replies(message_id)
    assert len(cards) > 1
    assert {each.thread_id for each in cards} == {reply.thread_id} != {""}
