"""Topics that have been silent for too long: closed for good, and never taken for something new (seed 002, gap 3)."""

import pytest

from channels.emulator.accounts import GROUP
from channels.rules.command import COMMANDS, SESSIONLESS
from channels.service import retiring
from tests.integration.cards_seen import WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.conversations.conftest import DAY_S, read, say, verdict
from tests.integration.house import House

TOMBSTONES = "SELECT count(*) FROM expired_routes"
ROUTES = "SELECT count(*) FROM routes"


async def expire(house: House, days: float = 31) -> None:
    """So much time passes while the service runs; its next sweep is waited for."""
    house.advance(days * DAY_S)
    await house.held(TOMBSTONES)


async def test_an_old_topic_is_closed_and_says_so(house: House) -> None:
    _, reply = await house.ask("hello")
    await expire(house)
    assert await house.one(ROUTES) == 0
    late = await say(house, "are you there?", thread_id=reply.thread_id)
    assert WORDS.expired_title in late
    assert await house.one("SELECT count(*) FROM turns") == 1
    fresh, _ = await house.ask("a new question")
    house.assert_answered_once(fresh)


async def test_after_a_restart_it_is_still_closed(house: House) -> None:
    _, reply = await house.ask("hello", chat_id=GROUP, mention_bot=True)
    await expire(house)
    await house.restart()
    for mention in (False, True):
        message_id, answer = await house.ask("there?", chat_id=GROUP, thread_id=reply.thread_id, mention_bot=mention)
        assert WORDS.expired_title in read(house, message_id)
        assert answer.thread_id == reply.thread_id
    assert await house.one("SELECT count(*) FROM sessions") == 1


@pytest.mark.parametrize("name", [*COMMANDS, "staus"])
async def test_four_commands_still_work_there(house: House, name: str) -> None:
    _, reply = await house.ask("hello")
    await expire(house)
    message_id, _ = await house.ask(f"/{name}", thread_id=reply.thread_id)
    refused = WORDS.expired_title in read(house, message_id)
    assert refused == (name not in SESSIONLESS)
    assert await house.one(ROUTES) == 0, "no command brings it back"


async def test_it_happens_at_the_start_too(open_house: OpenHouse) -> None:
    house = await open_house(missed={"enabled": False})
    _, reply = await house.ask("hello")
    await house.stop()
    house.clock.advance(31 * DAY_S)
    house.emulator.advance(31 * DAY_S)
    await house.start()
    await house.held(TOMBSTONES, 1)
    assert WORDS.expired_title in await say(house, "there?", thread_id=reply.thread_id)


async def test_what_was_written_while_the_service_was_away_comes_first(open_house: OpenHouse) -> None:
    """Nothing expires before the history of the gap is read: the last message is a minute old, the turn a month."""
    house = await open_house()
    _, reply = await house.ask("hello")
    await house.stop()
    house.clock.advance(31 * DAY_S)
    house.emulator.advance(31 * DAY_S - 60)
    waited = house.say("are you back?", thread_id=reply.thread_id)
    house.emulator.advance(60)
    await house.start()
    await house.answered(waited)
    house.assert_answered_once(waited)
    assert await house.one(TOMBSTONES) == 0


async def test_a_chat_outside_topics_begins_anew(open_house: OpenHouse) -> None:
    house = await open_house(topics={"private": "chat"})
    await house.ask("apples are red")
    house.advance(31 * DAY_S)
    await house.held(ROUTES, 0)
    message_id, _ = await house.ask("what did I say before")
    assert "apples" not in read(house, message_id)
    assert await verdict(house, message_id) == "start"
    assert await house.one(TOMBSTONES) == 0


async def test_zero_days_switch_it_off_and_tombstones_stay(open_house: OpenHouse) -> None:
    house = await open_house(routes={"ttl_days": 30.0})
    _, old = await house.ask("hello")
    await expire(house)
    house.sections["routes"] = {"ttl_days": 0.0}
    await house.restart()
    _, young = await house.ask("another one")
    house.advance(400 * DAY_S)
    assert await retiring.retire_routes(house.service.parts.context) == 0  # type: ignore[union-attr]
    assert WORDS.expired_title in await say(house, "there?", thread_id=old.thread_id)
    message_id, _ = await house.ask("more", thread_id=young.thread_id)
    house.assert_answered_once(message_id)


async def test_one_that_cannot_be_retired_does_not_hold_up_the_others(house: House) -> None:
    topics = [(await house.ask(text))[1].thread_id for text in ("one", "two", "three")]
    await house.rows("SELECT 1")
    failing = f"a defect in {topics[1]}"

    def break_one(name: str) -> None:
        if name.startswith("INSERT INTO expired_routes") and not tried:
            tried.append(name)
            raise RuntimeError(failing)

    tried: list[str] = []
    house.tap.listeners.append(break_one)
    house.advance(31 * DAY_S)
    await house.held(TOMBSTONES, 2)
    assert await house.one(ROUTES) == 1
    house.advance(7 * 3600)
    await house.held(TOMBSTONES, 3)


async def test_an_old_snapshot_goes_without_a_word(open_house: OpenHouse) -> None:
    """Killed in mid-answer and started again a month later: nobody is startled by a card of that time."""
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}}, missed={"enabled": False})
    message_id = house.say("work 60 seconds")
    await house.held("SELECT state FROM turns", "entered")
    reply = await house.shown(message_id)
    await house.stop()
    await_states = len(house.states(reply.message_id))
    calls = len(house.calls("im.") + house.calls("cardkit."))
    house.clock.advance(31 * DAY_S)
    house.emulator.advance(31 * DAY_S)
    await house.start()
    await house.held("SELECT count(*) FROM inflight", 0)
    await house.quiet()
    assert len(house.states(reply.message_id)) == await_states
    assert len(house.calls("im.") + house.calls("cardkit.")) == calls
