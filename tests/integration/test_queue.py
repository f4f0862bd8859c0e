"""Several questions to one session: one at a time, in order; and ending them: a stop belongs to who asked."""

import asyncio
from itertools import pairwise

import pytest

from channels.emulator.accounts import GROUP
from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.taps import Failing, Holding

OUTCOME = "SELECT outcome FROM turns WHERE cause_id = :message_id"
STATE = "SELECT state FROM turns WHERE cause_id = :message_id"
TURN = "SELECT turn_id FROM turns WHERE cause_id = :message_id"
SPANS = "SELECT entered_at, ended_at FROM turns WHERE entered_at IS NOT NULL ORDER BY seq"


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    """With an agent that takes its time."""
    return await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}})


def phases(house: House, card_message: str) -> list[Phase | None]:
    """The states that people saw in the header, without repeats."""
    seen: list[Phase | None] = []
    for state in house.states(card_message):
        now = cards_seen.phase(state.card)
        if seen[-1:] != [now]:
            seen.append(now)
    return seen


async def open_topic(house: House, user: str = "Alice", chat_id: str | None = None) -> str:
    """A finished first question; its topic."""
    _, reply = await house.ask("hi", user, chat_id, mention_bot=chat_id is not None)
    return reply.thread_id


async def press_stop(house: House, message_id: str, user: str = "Alice") -> dict[str, str]:
    """Press the Stop button of this message's answer; the toast."""
    reply = await house.shown(message_id)
    value = cards_seen.stop_value(house.card(reply.message_id))
    assert value is not None
    answer = await house.world.click(user, reply.message_id, value)
    assert answer["code"] == 0
    return dict(answer["toast"])


async def test_three_in_one_topic(house: House) -> None:
    topic = await open_topic(house)
    messages = [house.say("work 1 second", thread_id=topic) for _ in range(3)]
    for message_id in messages:
        await house.shown(message_id)
    for message_id in messages:
        await house.answered(message_id)
        house.assert_answered_once(message_id)
    first, *waited = [phases(house, house.replies(each)[0].message_id) for each in messages]
    assert first[0] is Phase.THINKING
    for seen in waited:
        assert seen[0] is Phase.WAITING
        assert Phase.THINKING in seen or Phase.REPLYING in seen
        assert seen[-1] is Phase.DONE
    spans = await house.rows(SPANS)
    assert all(ended <= entered for (_, ended), (entered, _) in pairwise(spans))


async def test_stop_on_a_queued_one(house: House) -> None:
    topic = await open_topic(house)
    running, queued, last = (house.say(text, thread_id=topic) for text in ("work 2 seconds", "two", "three"))
    toast = await press_stop(house, queued)
    assert toast["content"] == WORDS.toast_stopping
    await house.seen(lambda: house.has_ended(queued))
    assert await house.one(STATE, message_id=running) == "entered"
    for message_id in (running, last):
        await house.answered(message_id)
        house.assert_answered_once(message_id)
    card = house.card(house.replies(queued)[0].message_id)
    assert cards_seen.phase(card) is Phase.STOPPED
    assert house.ledger.reactions(queued) == []
    assert await house.one("SELECT entered_at FROM turns WHERE cause_id = :message_id", message_id=queued) is None


@pytest.mark.parametrize("how", ["button", "command"])
async def test_stop_on_the_running_one(house: House, how: str) -> None:
    topic = await open_topic(house)
    running, queued = house.say("work 60 seconds", thread_id=topic), house.say("two", thread_id=topic)
    await house.held(STATE, "entered", message_id=running)
    await house.shown(queued)
    if how == "button":
        assert (await press_stop(house, running))["content"] == WORDS.toast_stopping
    else:
        command, _ = await house.ask("/stop", thread_id=topic)
        assert WORDS.stop_done in cards_seen.words(house.card(house.replies(command)[0].message_id))
    await house.answered(running)
    await house.answered(queued)
    house.assert_answered_once(queued)
    card = house.card(house.replies(running)[0].message_id)
    assert cards_seen.phase(card) is Phase.STOPPED
    assert WORDS.stopped_note in cards_seen.words(card)
    assert house.ledger.reactions(running) == []
    assert await house.one(OUTCOME, message_id=running) == "stopped"


async def test_stop_while_the_first_answer_is_coming(house: House) -> None:
    """There is no route yet to look the turn up by."""
    running = house.say("work 60 seconds")
    await house.held(STATE, "entered", message_id=running)
    await house.ask("/stop")
    await house.answered(running)
    assert await house.one(OUTCOME, message_id=running) == "stopped"


async def test_a_stop_reaches_an_agent_that_says_nothing(open_house: OpenHouse) -> None:
    """It is told; waiting for its next word would take a minute."""
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 60.0}})
    message_id = house.say("work 60 seconds")
    await house.held(STATE, "entered", message_id=message_id)
    await press_stop(house, message_id)
    await house.answered(message_id)
    assert await house.one(OUTCOME, message_id=message_id) == "stopped"


async def test_somebody_else_may_not_stop_it(house: House) -> None:
    message_id = house.say("work 60 seconds", chat_id=GROUP, mention_bot=True)
    await house.held(STATE, "entered", message_id=message_id)
    toast = await press_stop(house, message_id, user="Bob")
    assert toast["content"] == WORDS.toast_not_yours
    assert await house.one("SELECT stop_requested FROM turns") == 0
    reply = house.replies(message_id)[0]
    refused = await house.shown(house.say("/stop", "Bob", GROUP, thread_id=reply.thread_id))
    assert WORDS.toast_not_yours in cards_seen.words(house.card(refused.message_id))
    assert await house.one(STATE, message_id=message_id) == "entered"
    await press_stop(house, message_id)
    await house.answered(message_id)


async def test_an_admin_may(open_house: OpenHouse) -> None:
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}}, access={"admins": ["u_bob"]})
    message_id = house.say("work 60 seconds", chat_id=GROUP, mention_bot=True)
    await house.held(STATE, "entered", message_id=message_id)
    assert (await press_stop(house, message_id, user="Bob"))["content"] == WORDS.toast_stopping
    await house.answered(message_id)
    assert await house.one(OUTCOME, message_id=message_id) == "stopped"


async def test_clicks_that_come_twice_or_too_late(house: House) -> None:
    message_id = house.say("work 60 seconds")
    reply = await house.shown(message_id)
    value = cards_seen.stop_value(house.card(reply.message_id))
    answers = await asyncio.gather(*(house.world.click("Alice", reply.message_id, value) for _ in range(2)))
    assert {each["toast"]["content"] for each in answers} <= {WORDS.toast_stopping, WORDS.toast_already_ended}
    await house.answered(message_id)
    late = await house.world.click("Alice", reply.message_id, value)
    assert late["toast"]["content"] == WORDS.toast_already_ended
    assert cards_seen.phase(house.card(reply.message_id)) is Phase.STOPPED
    for unknown in ({"do": "stop", "turn": "turn_of_nobody"}, {"do": "dance"}, {}, "text"):
        answer = await house.world.click("Alice", reply.message_id, unknown)
        assert answer["code"] == 0
        assert answer["toast"]["content"] in (WORDS.toast_unknown, WORDS.toast_already_ended)


async def test_a_click_that_cannot_be_committed_in_time(house: House) -> None:
    """The person is told to press again, before the platform gives up; what was pressed counts all the same."""
    message_id = house.say("work 60 seconds")
    await house.held(STATE, "entered", message_id=message_id)
    reply = await house.shown(message_id)
    value = cards_seen.stop_value(house.card(reply.message_id))
    holding = Holding("UPDATE turns SET stop_requested")
    house.tap.listeners.append(holding)
    answer = await house.world.click("Alice", reply.message_id, value)
    holding.release()
    assert answer["toast"]["content"] == WORDS.toast_press_again
    click = next(each for each in house.ledger.deliveries() if each.event_type == "card.action.trigger")
    assert click.latency_ms is not None
    assert 1900 < click.latency_ms < 2900
    await house.answered(message_id)
    assert await house.one(OUTCOME, message_id=message_id) == "stopped"


async def test_a_click_whose_commit_fails(house: House) -> None:
    message_id = house.say("work 60 seconds")
    await house.held(STATE, "entered", message_id=message_id)
    reply = await house.shown(message_id)
    value = cards_seen.stop_value(house.card(reply.message_id))
    failing = Failing("UPDATE turns SET stop_requested", lambda: ValueError("no"), times=1)
    house.tap.listeners.append(failing)
    answer = await house.world.click("Alice", reply.message_id, value)
    assert answer["toast"]["content"] == WORDS.toast_press_again
    assert await house.one(STATE, message_id=message_id) == "entered"
    assert (await press_stop(house, message_id))["content"] == WORDS.toast_stopping
    await house.answered(message_id)


async def test_a_recalled_question_in_the_queue_never_runs(house: House) -> None:
    topic = await open_topic(house)
    running, queued = house.say("work 1 second", thread_id=topic), house.say("zweitens", thread_id=topic)
    await house.held(TURN, message_id=queued)
    house.world.recall("Alice", queued)
    await house.answered(running)
    await house.done(queued)
    assert await house.one(OUTCOME, message_id=queued) == "stopped"
    assert await house.one("SELECT entered_at FROM turns WHERE cause_id = :message_id", message_id=queued) is None
    assert "zweitens" not in "".join(row[0] for row in await house.rows("SELECT body FROM session_events"))


async def test_a_recall_that_overtakes_its_message(house: House) -> None:
    """The message comes by redelivery, after its recall."""
    house.emulator.settings.ack_timeout_s = 0.3
    sockets = house.emulator.sockets
    sockets.mute()
    message_id = house.say("hello")
    sockets.mute(False)
    house.world.recall("Alice", message_id)
    await house.held("SELECT verdict FROM inbox WHERE message_id = :message_id", "recalled", message_id=message_id)
    await house.quiet()
    assert await house.one("SELECT count(*) FROM turns") == 0
    assert house.replies(message_id) == []
