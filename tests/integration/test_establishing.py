"""Messages that come while a session is being established: who waits for whom, and where each goes."""

import pytest

from channels.emulator.accounts import GROUP
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

REPLY = "im.message.reply"
SESSIONS, TURNS = "SELECT count(*) FROM sessions", "SELECT count(*) FROM turns"
SESSION_OF = "SELECT session_id FROM turns WHERE cause_id = :message_id"
QUEUED_AT = "SELECT queued_at FROM turns WHERE cause_id = :message_id"
REPLIED_AT = "SELECT min(ended_at) FROM outbox WHERE target = :message_id AND op = 'reply'"
TRIED_AGAIN = "SELECT sum(attempts) FROM inbox"  # waiting is no failure
CHAT = {"private": "chat", "group": "chat"}


async def test_two_first_messages_get_a_topic_each(house: House) -> None:
    """The second waits until the first has its route, because it might belong there."""
    house.fault(REPLY, "delay", seconds=0.5)
    first, second = house.say("one"), house.say("two")
    for message_id in (first, second):
        await house.answered(message_id)
        house.assert_answered_once(message_id)
    assert await house.one(SESSIONS) == 2
    assert house.replies(first)[0].thread_id != house.replies(second)[0].thread_id
    replied_at = await house.one(REPLIED_AT, message_id=first)
    assert await house.one(QUEUED_AT, message_id=second) >= replied_at
    assert await house.one(TRIED_AGAIN) == 0


async def test_two_first_messages_share_a_chat_route(open_house: OpenHouse) -> None:
    house = await open_house(topics=CHAT)
    first, second = house.say("one"), house.say("what did I say before")
    for message_id in (first, second):
        await house.answered(message_id)
        house.assert_answered_once(message_id)
    assert (await house.one(SESSIONS), await house.one(TURNS)) == (1, 2)
    assert "one" in cards_seen.answer(house.card(house.replies(second)[0].message_id))
    assert await house.one(TRIED_AGAIN) == 0


async def test_a_topic_reply_may_overtake_the_route(house: House) -> None:
    """People see the topic before we have heard of it: what they write there belongs to the same session."""
    house.fault(REPLY, "drop_after", seconds=1)
    first = house.say("one")
    reply = await house.shown(first)
    second = house.say("two", user="Alice", thread_id=reply.thread_id)
    await house.seen(lambda: house.acks(second) == [200])
    assert await house.one("SELECT count(*) FROM routes") == 0
    for message_id in (first, second):
        await house.answered(message_id)
        house.assert_answered_once(message_id)
    session = await house.one(SESSION_OF, message_id=first)
    assert await house.one(SESSION_OF, message_id=second) == session
    assert await house.one("SELECT key FROM routes") == reply.thread_id


async def test_in_a_group_another_person_may_overtake_the_route(house: House) -> None:
    house.fault(REPLY, "drop_after", seconds=1)
    first = house.say("one", chat_id=GROUP, mention_bot=True)
    reply = await house.shown(first)
    second = house.say("two", user="Bob", chat_id=GROUP, thread_id=reply.thread_id)
    await house.answered(first)
    await house.answered(second)
    assert await house.one(SESSIONS) == 1


@pytest.mark.parametrize("code", [230027, 230002])
async def test_when_the_first_fails_the_second_goes_on(house: House, code: int) -> None:
    first, second = house.say("one"), house.say("two")
    house.fault(f"POST */messages/{first}/reply", "error", code=code, times=None)
    house.fault("POST *v1/messages", "error", code=code, times=None)
    await house.answered(second)
    house.assert_answered_once(second)
    assert house.replies(first) == []
    assert await house.one("SELECT count(*) FROM establishing") == 0


async def test_a_first_that_cannot_be_shown_frees_the_next_at_once(open_house: OpenHouse) -> None:
    """Not when its turn is over at last."""
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}})
    first, second = house.say("work 60 seconds"), house.say("two")
    house.fault(f"POST */messages/{first}/reply", "error", code=230002, times=None)
    await house.seen(lambda: house.has_ended(second))
    state = "SELECT state FROM turns WHERE cause_id = :message_id"
    assert await house.one(state, message_id=first) == "entered"
    assert await house.one("SELECT count(*) FROM establishing") == 0


async def test_of_three_waiters_exactly_one_is_the_next(open_house: OpenHouse) -> None:
    house = await open_house(topics=CHAT)
    first, *others = [house.say(text) for text in ("one", "two", "three", "four")]
    house.fault(f"POST */messages/{first}/reply", "error", code=230027, times=None)
    for message_id in others:
        await house.answered(message_id)
        house.assert_answered_once(message_id)
    assert (await house.one(SESSIONS), await house.one(TURNS)) == (2, 4)
    assert len({await house.one(SESSION_OF, message_id=message_id) for message_id in others}) == 1
    entered = [row[0] for row in await house.rows("SELECT cause_id FROM turns ORDER BY entered_at, seq")]
    assert entered == [first, *others]


async def test_an_unknown_reply_closes_its_claim_after_half_a_minute(open_house: OpenHouse) -> None:
    """Others go on in the chat; the late result still writes the topic's route."""
    house = await open_house()
    first = house.say("one")
    house.fault(f"POST */messages/{first}/reply", "drop", times=None)
    await house.held("SELECT count(*) FROM outbox WHERE op = 'reply' AND unsure = 1")
    second = house.say("two")
    await house.seen(lambda: house.acks(second) == [200])
    assert await house.one(SESSIONS) == 1
    house.advance(31)
    await house.held("SELECT state FROM establishing", "unsure")
    await house.held(SESSION_OF, message_id=second)
    house.emulator.faults.clear()
    house.advance(31)
    await house.answered(first)
    await house.answered(second)
    house.assert_answered_once(first)
    house.assert_answered_once(second)
    thread = house.replies(first)[0].thread_id
    assert await house.one("SELECT count(*) FROM routes WHERE key = :key", key=thread) == 1


async def test_two_people_establish_beside_each_other(house: House) -> None:
    house.fault(REPLY, "delay", seconds=0.3)
    first = house.say("one", chat_id=GROUP, mention_bot=True)
    second = house.say("two", user="Bob", chat_id=GROUP, mention_bot=True)
    await house.answered(first)
    await house.answered(second)
    assert await house.one(SESSIONS) == 2
