"""Going down in the middle of an answer, cleanly or by SIGKILL, and a file that cannot be written for a while."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.children import Child
from tests.integration.conftest import OpenHouse
from tests.integration.house import House, settings_of
from tests.integration.taps import Failing

StartChild = Callable[[House], Awaitable[Child]]

SLOW = {"demo": {"kind": "demo", "pace": 1.0}}
OUTCOME = "SELECT outcome FROM turns WHERE cause_id = :message_id"


@pytest_asyncio.fixture
async def start_child() -> AsyncIterator[StartChild]:
    children: list[Child] = []

    async def start(house: House) -> Child:
        settings = settings_of(house.emulator.url, house.folder, **house.sections)
        children.append(await Child.start(house.folder, settings))
        return children[-1]

    yield start
    for child in children:
        await child.stop()


def assert_interrupted(house: House, message_id: str) -> str:
    """One reply, whose card says that it was interrupted; no reaction left. Returns its text."""
    (reply,) = house.replies(message_id)
    card = house.card(reply.message_id)
    assert cards_seen.phase(card) is Phase.INTERRUPTED
    assert not cards_seen.is_running(card)
    assert WORDS.interrupted_note in cards_seen.words(card)
    assert house.ledger.reactions(message_id) == []
    return cards_seen.answer(card)


async def test_a_stop_in_mid_answer(open_house: OpenHouse) -> None:
    house = await open_house(agents=SLOW, cards={"frame_gaps_ms": [0, 100]})
    message_id = house.say("slow long answer")
    reply = await house.shown(message_id)
    await house.seen(lambda: len(cards_seen.answer(house.card(reply.message_id))) > 10)
    await house.stop()
    await house.start()
    await house.done(message_id)
    assert len(assert_interrupted(house, message_id)) > 10
    again, _ = await house.ask("hello", thread_id=reply.thread_id)
    house.assert_answered_once(again)
    assert await house.one("SELECT count(*) FROM sessions") == 1


async def test_a_stop_waits_for_short_answers(open_house: OpenHouse) -> None:
    house = await open_house(agents=SLOW, turns={"drain_s": 20.0})
    message_id = house.say("work 1 second")
    await house.shown(message_id)
    await house.stop()
    house.assert_answered_once(message_id)


async def test_no_turn_begins_behind_a_drain(house: House) -> None:
    """A drain that begins while the runnable turns are read sees no task to wait for: none may be made afterwards."""
    assert house.service is not None
    turns, loop = house.service.parts.turns, asyncio.get_running_loop()
    points: list[str] = []

    def drain(name: str) -> None:
        points.append(name)
        if name.startswith("WITH ready AS") and any(one.startswith("INSERT INTO turns") for one in points):
            house.tap.listeners.remove(drain)
            asyncio.run_coroutine_threadsafe(turns.drain(0.0), loop).result(10)

    house.tap.listeners.append(drain)
    message_id = house.say("hello")
    await house.passed(lambda: drain not in house.tap.listeners)
    state = "SELECT state FROM turns WHERE cause_id = :message_id"
    for _ in range(2):  # by the second answer of the database thread the looking task has had its own
        assert await house.one(state, message_id=message_id) == "queued"
    assert turns.running == 0
    await house.restart()
    await house.answered(message_id)
    house.assert_answered_once(message_id)


async def test_killed_in_mid_answer(open_house: OpenHouse, start_child: StartChild) -> None:
    """Field report 41: what the person has read stays; the reaction goes; new questions are answered."""
    house = await open_house(start=False, agents=SLOW, cards={"frame_gaps_ms": [0, 100]})
    child = await start_child(house)
    message_id = house.say("slow")
    reply = await house.shown(message_id)
    await house.seen(lambda: len(cards_seen.answer(house.card(reply.message_id))) > 20)
    await child.kill()
    read = cards_seen.answer(house.card(reply.message_id))
    assert house.ledger.reactions(message_id) == ["Typing"]
    await house.start()
    await house.done(message_id)
    kept = assert_interrupted(house, message_id)
    assert len(kept) > 5
    assert read.startswith(kept) or kept.startswith(read)
    again, _ = await house.ask("hello", thread_id=reply.thread_id)
    house.assert_answered_once(again)
    assert await house.one("SELECT count(*) FROM sessions") == 1


async def test_a_queued_turn_runs_into_its_card_after_a_kill(open_house: OpenHouse, start_child: StartChild) -> None:
    house = await open_house(start=False, agents=SLOW)
    child = await start_child(house)
    running = house.say("work 60 seconds")
    reply = await house.shown(running)
    queued = house.say("hello", thread_id=reply.thread_id)
    card = await house.shown(queued)
    assert cards_seen.phase(house.card(card.message_id)) is Phase.WAITING
    await child.kill()
    await house.start()
    await house.answered(queued)
    assert_interrupted(house, running)
    house.assert_answered_once(queued)
    assert house.replies(queued)[0].message_id == card.message_id
    assert await house.one(OUTCOME, message_id=queued) == "completed"


@pytest.mark.parametrize(
    "statement", ["UPDATE turns SET state = 'ended'", "UPDATE turns SET state = 'entered'", "INSERT INTO turns"]
)
async def test_a_full_disk_for_a_while(open_house: OpenHouse, statement: str) -> None:
    """Field report 45: it goes on when there is room: one answer, nothing said twice."""
    house = await open_house()
    full = Failing(statement, lambda: sqlite3.OperationalError("database or disk is full"))
    house.tap.listeners.append(full)
    message_id = house.say("hello")
    await house.passed(lambda: full.hits >= 3)
    full.on = False
    await house.answered(message_id)
    house.assert_answered_once(message_id)
    assert await house.one("SELECT count(*) FROM turns") == 1
    assert await house.one("SELECT count(*) FROM session_events WHERE kind = 'user/message'") == 1
    again, _ = await house.ask("again")
    house.assert_answered_once(again)


async def test_a_disk_that_is_full_for_everything(open_house: OpenHouse) -> None:
    """In mid-answer no commit goes through at all; acks say 500 meanwhile."""
    house = await open_house(agents=SLOW)
    message_id = house.say("work 1 second")
    await house.shown(message_id)
    await house.held("SELECT count(*) FROM turns WHERE state = 'entered'", 1)
    full = Failing("COMMIT", lambda: sqlite3.OperationalError("database or disk is full"))
    house.tap.listeners.append(full)
    refused = house.say("hello", "Bob")
    await house.seen(lambda: house.acks(refused)[:1] == [500])
    await house.passed(lambda: full.hits >= 8)
    full.on = False
    for each in (message_id, refused):
        await house.answered(each)
        house.assert_answered_once(each)


async def test_an_enter_that_committed_although_it_was_told_to_have_failed(house: House) -> None:
    """Nobody runs such a turn, and nobody may again: it ends as interrupted instead of running for ever."""
    entering = False

    def told_wrong(name: str) -> None:
        nonlocal entering
        if name.startswith("UPDATE turns SET state = 'entered'"):
            entering = True
        elif name == "COMMITTED" and entering:
            house.tap.listeners.remove(told_wrong)
            raise sqlite3.OperationalError("disk I/O error")

    house.tap.listeners.append(told_wrong)
    message_id = house.say("hello")
    await house.done(message_id)
    assert await house.one("SELECT outcome FROM turns") == "interrupted"
    assert house.ledger.reactions(message_id) == []
    again, _ = await house.ask("hello again")
    house.assert_answered_once(again)
