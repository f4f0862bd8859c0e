"""Kinds of fault that people report of such bots, as far as no other test shows them."""

import sqlite3
from functools import partial

import pytest

from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.storm.agent import GatedAgent, TellingAgent
from tests.integration.taps import Failing

HOUR_S, MINUTE_S = 3600.0, 60.0
STATE = "SELECT state FROM turns WHERE cause_id = :message_id"
UPDATE, FRAME, SETTINGS = "cardkit.card.update", "cardkit.element.content", "cardkit.card.settings"


@pytest.mark.timeout(90)
async def test_field_2_again_after_six_hours_and_a_restart_under_a_new_event_id(house: House) -> None:
    message_id, _ = await house.ask("hello")
    await house.stop()
    house.advance(6 * HOUR_S)
    await house.start()
    house.world.push_message(house.world.message(message_id))
    await house.seen(lambda: house.acks(message_id) == [200, 200])
    await house.quiet()
    first, again = house.ledger.deliveries(message_id)
    assert first.event_id != again.event_id
    assert await house.one("SELECT count(*) FROM turns") == 1
    house.assert_answered_once(message_id)


async def test_field_3_the_ack_waits_for_no_agent(open_house: OpenHouse) -> None:
    house = await open_house(start=False)
    agent = GatedAgent()
    house.agents = {"demo": agent}
    agent.gate.clear()
    await house.start()
    message_id = house.say("hello")
    await house.held(STATE, "entered", message_id=message_id)
    await house.seen(lambda: house.acks(message_id) == [200])
    assert not house.has_ended(message_id)
    agent.gate.set()
    await house.answered(message_id)
    assert house.acks(message_id) == [200]


@pytest.mark.parametrize("statement", ["WITH due AS", "WITH ready AS", "SELECT lane FROM outbox"])
async def test_field_10_a_background_loop_that_fails_goes_on(house: House, statement: str) -> None:
    """Each looks at the file anew; what was rung while it failed is not lost."""
    failing = Failing(statement, lambda: ValueError("no"), times=1)
    await house.stop()
    house.tap.listeners.append(failing)
    await house.start()
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)
    assert house.service is not None
    assert house.service.parts.standing.failed_loops == []
    assert failing.left == 0


async def test_field_11_an_old_message_that_nobody_handled_is_answered(house: House) -> None:
    """It comes live for the first time, an hour after it was written."""
    written = house.world.clock.now_ms() - int(HOUR_S * 1000)
    message_id = house.say("hello", create_time=written)
    await house.answered(message_id)
    house.assert_answered_once(message_id)


async def test_field_12_a_turn_of_eleven_minutes_streams_to_its_end(open_house: OpenHouse) -> None:
    """Streaming is opened anew before the platform closes it; nothing is refused, and the last words are there."""
    house = await open_house(
        start=False, cards={"frame_gaps_ms": [0], "notify_after_s": 0.0}, missed={"enabled": False}
    )
    agent = TellingAgent("abcdefghijklmnopqrstuvwxyz" * 4, piece=26)
    house.agents = {"demo": agent}
    agent.step.clear()
    await house.start()
    message_id = house.say("tell")
    for count in (26, 52, 78):
        await house.seen(partial(_shows, house, message_id, count))
        house.advance(4 * MINUTE_S)
        agent.go_on()
    await house.answered(message_id)
    refused = [call for call in house.calls("cardkit.") if call.code in (200850, 300309)]
    assert refused == []
    assert house.calls(SETTINGS)
    assert cards_seen.answer(house.assert_answered_once(message_id)) == "abcdefghijklmnopqrstuvwxyz" * 4


def _shows(house: House, message_id: str, letters: int) -> bool:
    replies = house.replies(message_id)
    return bool(replies) and len(cards_seen.answer(house.card(replies[0].message_id))) == letters


@pytest.mark.parametrize("code", [230031, 200750])
async def test_field_22_a_card_that_is_too_old_is_left_alone(open_house: OpenHouse, code: int) -> None:
    """The answer comes as a new message, and the old card is not tried again."""
    house = await open_house(cards={"streaming": False})
    house.fault(UPDATE, "error", code=code, times=None)
    message_id = house.say("hello")
    await house.done(message_id)
    said = [each for each in house.replies(message_id) if each.message_type == "text"]
    assert len(said) == 1
    assert "hello" in said[0].content
    assert len(house.calls(UPDATE)) <= 2


async def test_field_24_an_address_is_masked_once(open_house: OpenHouse) -> None:
    """The audit refuses what carries it; the answer comes all the same."""
    house = await open_house(platform={"audit_pattern": "somebody@example"}, cards={"streaming": False})
    house.fault(UPDATE, "error", code=230028, times=None, contains="somebody@example")
    message_id, _ = await house.ask("write to somebody@example.com please")
    card = house.assert_answered_once(message_id)
    assert "please" in cards_seen.answer(card)
    assert "somebody@example" not in cards_seen.answer(card)
    assert [call.code for call in house.calls(UPDATE)] == [230028, 0]


async def test_field_44_a_busy_database_in_the_gate_loses_nothing(house: House) -> None:
    busy = Failing("INSERT INTO processed", lambda: sqlite3.OperationalError("database is locked"), times=1)
    house.tap.listeners.append(busy)
    message_id, _ = await house.ask("hello")
    assert house.acks(message_id) == [500, 200]
    house.assert_answered_once(message_id)
