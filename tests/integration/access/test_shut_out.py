"""Who loses the right to chat while a question waits gets no answer to it, and is told; what runs goes on."""

import pytest

from tests.integration import cards_seen
from tests.integration.access.gate import ADMIN, APPROVAL, DAY_S, WORDS, button, command
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

STATE = "SELECT state FROM turns WHERE cause_id = :message_id"
ENTERED = "SELECT count(*) FROM turns WHERE entered_at IS NOT NULL AND cause_id = :message_id"


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    """With an agent that takes its time, and Alice let in."""
    house = await open_house(**APPROVAL, agents={"demo": {"kind": "demo", "pace": 1.0}})
    await command(house, "/grant", mentions=["Alice"])
    return house


async def two_in_a_topic(house: House) -> tuple[str, str]:
    """One question that runs, and one that waits for it."""
    _, reply = await house.ask("hi")
    running = house.say("work 2 seconds", thread_id=reply.thread_id)
    await house.held(STATE, "entered", message_id=running)
    waiting = house.say("and this?", thread_id=reply.thread_id)
    await house.held(STATE, "queued", message_id=waiting)
    return running, waiting


async def assert_shut_out(house: House, message_id: str) -> None:
    """The card says so, nothing of it was ever given to the agent, and nothing is left open."""
    reply = await house.answered(message_id)
    assert WORDS.error_shut_out in cards_seen.words(house.card(reply.message_id))
    assert len(house.replies(message_id)) == 1
    assert await house.one(ENTERED, message_id=message_id) == 0
    assert await house.one("SELECT outcome FROM turns WHERE cause_id = :message_id", message_id=message_id) == "failed"
    await house.quiet()


async def test_what_runs_goes_on_and_what_waits_ends(house: House) -> None:
    running, waiting = await two_in_a_topic(house)
    await command(house, "/revoke Alice")
    await assert_shut_out(house, waiting)
    await house.answered(running)
    house.assert_answered_once(running)


async def test_a_restart_between_the_two_changes_nothing(house: House) -> None:
    _running, waiting = await two_in_a_topic(house)
    await command(house, "/revoke Alice")
    assert await house.one(STATE, message_id=waiting) == "queued"
    await house.restart()
    await assert_shut_out(house, waiting)


async def test_a_grant_that_is_over_before_the_turn_comes(house: House) -> None:
    await command(house, "/grant 1h", mentions=["Alice"])
    _running, waiting = await two_in_a_topic(house)
    await house.stop()
    house.advance(DAY_S)
    await house.start()
    await assert_shut_out(house, waiting)


async def test_who_is_let_in_again_in_time_is_answered(house: House) -> None:
    _running, waiting = await two_in_a_topic(house)
    await command(house, "/revoke Alice")
    assert await house.one(STATE, message_id=waiting) == "queued"
    await command(house, "/grant", mentions=["Alice"])
    await house.answered(waiting)
    house.assert_answered_once(waiting)


async def test_the_last_message_of_a_grant_is_answered_though_it_waits(house: House) -> None:
    await command(house, "/grant 3x", mentions=["Alice"])
    _running, waiting = await two_in_a_topic(house)
    assert await house.one("SELECT messages_left FROM access_users WHERE user_id = 'u_alice'") == 0
    await house.answered(waiting)
    house.assert_answered_once(waiting)


async def test_where_everybody_may_nobody_is_shut_out(open_house: OpenHouse) -> None:
    house = await open_house(access={"admins": ["u_zhang_san"]}, agents={"demo": {"kind": "demo", "pace": 1.0}})
    _running, waiting = await two_in_a_topic(house)
    await command(house, "/revoke u_alice")
    await house.answered(waiting)
    house.assert_answered_once(waiting)


async def test_words_that_were_read_stay_when_it_would_go_on(open_house: OpenHouse) -> None:
    """*Continue* of an interrupted answer waits behind somebody else's turn, and the right to chat goes meanwhile."""
    agents = {"demo": {"kind": "demo", "pace": 1.0}}
    house = await open_house(**APPROVAL, agents=agents, turns={"max_running": 1, "drain_s": 0.0})
    await command(house, "/grant", mentions=["Alice"])
    message_id = house.say("work 9 seconds")
    reply = await house.shown(message_id)
    await house.held("SELECT last_text FROM inflight WHERE last_text <> ''")
    await house.restart()
    await house.seen(lambda: "continue" in str(house.card(reply.message_id)))
    read = cards_seen.answer(house.card(reply.message_id))[:40]
    busy = house.say("work 2 seconds", ADMIN)
    await house.held(STATE, "entered", message_id=busy)
    value = button(house, reply, "continue")
    await house.world.click("Alice", reply.message_id, value)
    await command(house, "/revoke Alice")
    await house.seen(lambda: WORDS.error_shut_out in cards_seen.words(house.card(reply.message_id)))
    assert read and read in cards_seen.words(house.card(reply.message_id))
    await house.quiet()
