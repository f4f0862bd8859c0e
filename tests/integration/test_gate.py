"""Each message is accepted once, and acked only when its row is durable."""

import sqlite3

import pytest

from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.taps import Failing, Holding

ROW = "SELECT count(*) FROM inbox"
TURNS = "SELECT count(*) FROM turns"


async def test_a_message_gets_its_answer(house: House) -> None:
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)
    assert house.acks(message_id) == [200]


async def test_five_deliveries_make_one_turn(open_house: OpenHouse) -> None:
    """Field report 2."""
    house = await open_house()
    behaviour = house.emulator.sockets.behaviour
    behaviour.duplicates, behaviour.new_event_ids = 2, True
    message_id = house.say("hello")
    await house.answered(message_id)
    await house.seen(lambda: house.acks(message_id) == [200] * 3)
    behaviour.duplicates, behaviour.duplicate_after_s = 4, 0.3
    again = house.say("again")
    await house.seen(lambda: house.acks(again).count(200) >= 2)
    await house.restart()
    await house.seen(lambda: house.acks(again).count(200) == 5)
    assert set(house.acks(again)) <= {200, None}
    assert len({each.event_id for each in house.ledger.deliveries(again)}) >= 5
    await house.answered(again)
    house.assert_answered_once(message_id)
    house.assert_answered_once(again)
    assert await house.one(TURNS) == 2


async def test_both_deliveries_hear_that_the_commit_failed(open_house: OpenHouse) -> None:
    house = await open_house(platform={"ack_timeout_s": 0.1})
    holding = Holding("INSERT INTO inbox")
    failing = Failing("INSERT INTO inbox", lambda: sqlite3.OperationalError("disk I/O error"), times=1)
    house.tap.listeners += [holding, failing]
    message_id = house.say("hello")
    await house.seen(lambda: len(house.ledger.deliveries(message_id)) == 2)
    assert house.acks(message_id) == [None, None]
    holding.release()
    await house.seen(lambda: house.acks(message_id)[:2] == [500, 500])
    await house.answered(message_id)
    await house.seen(lambda: house.acks(message_id)[-1] == 200)
    assert failing.hits == 1
    house.assert_answered_once(message_id)


async def test_a_commit_that_takes_too_long_is_acked_later(open_house: OpenHouse) -> None:
    house = await open_house(connection={"ack_limit_s": 0.2})
    holding = Holding("INSERT INTO inbox")
    house.tap.listeners.append(holding)
    message_id = house.say("hello")
    await house.seen(lambda: house.acks(message_id)[:1] == [500])
    holding.release()
    await house.answered(message_id)
    await house.seen(lambda: house.acks(message_id)[-1] == 200)
    house.assert_answered_once(message_id)
    assert await house.one(ROW) == 1
    assert not any(each.late for each in house.ledger.deliveries(message_id))


@pytest.mark.timeout(120)
async def test_a_burst_is_acked_in_time_and_answered(open_house: OpenHouse) -> None:
    """The platform's own three seconds: an ack that comes later makes it send the event again."""
    house = await open_house(platform={"redelivery_s": (15.0, 300.0)}, turns={"max_running": 64})
    people = [house.world.add_person(f"person {number}") for number in range(50)]
    messages = [house.say(f"question {turn}", person.name) for turn in range(10) for person in people]
    await house.seen(lambda: all(house.acks(each) == [200] for each in messages), 60)
    latencies = [each.latency_ms or 0 for one in messages for each in house.ledger.deliveries(one)]
    assert len(latencies) == 500
    assert max(latencies) < 3000
    await house.quiet(60)
    for message_id in messages:
        house.assert_answered_once(message_id)
    assert await house.one(TURNS) == 500
