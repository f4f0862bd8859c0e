"""What people do to a message after they have sent it: edit it, take it back."""

import pytest

from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.kinds.desk import HELD, given, kept, pass_window, send
from tests.integration.taps import Failing

OUTCOME = "SELECT outcome FROM turns WHERE cause_id = :message_id"
STATE = "SELECT state FROM turns WHERE cause_id = :message_id"
SLOW = {"demo": {"kind": "demo", "pace": 1.0}}


async def busy(house: House) -> tuple[str, str]:
    """A topic in which a long answer runs: that question, and the topic."""
    first = house.say("work 600 seconds")
    reply = await house.shown(first)
    await house.held("SELECT count(*) FROM routes")
    await house.held(STATE, "entered", message_id=first)
    return first, reply.thread_id


async def stop(house: House, message_id: str) -> None:
    reply = house.replies(message_id)[0]
    await house.world.click("Alice", reply.message_id, cards_seen.stop_value(house.card(reply.message_id)))


async def test_a_question_that_was_edited_while_it_waited(open_house: OpenHouse) -> None:
    house = await open_house(agents=SLOW)
    first, topic = await busy(house)
    second = house.say("how old is Bob", thread_id=topic)
    await house.held(STATE, "queued", message_id=second)
    house.world.edit("Alice", second, "how old is Alice")
    house.advance(11)
    await stop(house, first)
    await house.answered(second)
    assert await given(house, second) == "how old is Alice"


async def test_a_question_that_ran_at_once_is_not_read_again(house: House) -> None:
    await house.ask("hello")
    assert house.calls("im.message.get") == house.calls("im.message.mget") == []


async def test_a_question_that_was_taken_back_while_nobody_listened(open_house: OpenHouse) -> None:
    """No event has told it: the look before the run does."""
    house = await open_house(agents=SLOW)
    first, topic = await busy(house)
    second = house.say("how old is Bob", thread_id=topic)
    await house.held(STATE, "queued", message_id=second)
    house.world.message(second).recalled = True
    house.advance(11)
    await stop(house, first)
    await house.held(OUTCOME, "stopped", message_id=second)
    assert await house.one("SELECT count(*) FROM session_events WHERE kind = 'user/message'") == 1


async def test_a_recalled_question_that_runs_is_stopped_quietly(open_house: OpenHouse) -> None:
    """Field 21: no error card, no Typing that stays."""
    house = await open_house(agents=SLOW)
    first, _ = await busy(house)
    card = house.replies(first)[0].message_id
    house.world.recall("Alice", first)
    await house.held(OUTCOME, "stopped", message_id=first)
    await house.seen(lambda: cards_seen.phase(house.card(card)) is Phase.STOPPED)
    assert house.service is not None
    await house.quiet()
    assert house.service.parts.turns.running == 0
    assert len(house.replies(first)) == 1


async def test_a_recalled_question_that_runs_is_finished_where_that_is_wanted(open_house: OpenHouse) -> None:
    house = await open_house(turns={"recalled": "answer"}, agents=SLOW)
    first = house.say("work 1 second")
    await house.held(STATE, "entered", message_id=first)
    await house.shown(first)
    house.world.recall("Alice", first)
    await house.held(OUTCOME, "completed", message_id=first)
    card = house.replies(first)[0].message_id
    await house.seen(lambda: cards_seen.phase(house.card(card)) is Phase.DONE)


@pytest.mark.parametrize("recalled", ["stop", "answer"])
async def test_a_recalled_question_that_waits_is_not_run(open_house: OpenHouse, recalled: str) -> None:
    house = await open_house(turns={"recalled": recalled}, agents=SLOW)
    first, topic = await busy(house)
    second = house.say("never mind", thread_id=topic)
    await house.held(STATE, "queued", message_id=second)
    house.world.recall("Alice", second)
    await house.held(OUTCOME, "stopped", message_id=second)
    await stop(house, first)
    await house.held(OUTCOME, "stopped", message_id=first)
    assert await house.one("SELECT count(*) FROM session_events WHERE kind = 'user/message'") == 1


async def test_a_picture_that_is_taken_back_while_it_waits_is_left_out(house: House) -> None:
    pictures = [send(house, "", bytes([number]) * 9, "image") for number in range(3)]
    await house.held(HELD, 3)
    house.world.recall("Alice", pictures[1])
    await house.held("SELECT count(*) FROM events WHERE kind = 'message_recalled'", 1)
    await pass_window(house, 3)
    await house.answered(pictures[0])
    house.assert_answered_once(pictures[0])
    assert sorted(kept(house).values()) == [bytes([0]) * 9, bytes([2]) * 9]


async def test_one_of_several_pictures_is_taken_back_while_their_turn_waits(house: House) -> None:
    broken = Failing("UPDATE turns SET state = 'entered'", lambda: RuntimeError("no"))
    house.tap.listeners.append(broken)
    house.fault("im.resource.get", "mute", times=None)
    pictures = [send(house, "", bytes([number]) * 9, "image") for number in range(2)]
    await pass_window(house, 2)
    await house.held("SELECT count(*) FROM turns WHERE state = 'queued'", 1)
    house.world.recall("Alice", pictures[1])
    await house.held("SELECT count(*) FROM inbox WHERE verdict = 'recalled'", 1)
    house.emulator.faults.clear()
    broken.on = False
    await house.restart()
    await house.answered(pictures[0])
    house.assert_answered_once(pictures[0])
    assert list(kept(house).values()) == [bytes(9)]
