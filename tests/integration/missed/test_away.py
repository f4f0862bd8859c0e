"""Messages written while the service is down: answered when they are young, asked about when they are old, once."""

import pytest

from channels.emulator import GROUP
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.missed.absence import (
    ASKED,
    HOUR_S,
    MINUTE_S,
    WORDS,
    Step,
    all_read,
    answered,
    asked_about,
    became,
    pending_cards,
    press,
    turns_of,
    write_while_away,
)


async def known_places(house: House) -> str:
    """Everybody has talked with the bot before; returns the thread of the topic in the group."""
    for user in ("Alice", "Bob"):
        await house.ask("hello", user)
    message_id, _ = await house.ask("hello", "Alice", GROUP, mention_bot=True)
    return house.world.message(message_id).thread_id


def seven(house: House, thread_id: str) -> list[Step]:
    """Two in each private chat, one in the group, two in the topic."""

    def step(text: str, user: str, chat_id: str = "", **more: object) -> Step:
        return lambda: house.say(text, user, chat_id or None, push=False, **more)

    return [
        step("one", "Alice"),
        step("two", "Bob"),
        step("three", "Bob", GROUP, thread_id=thread_id),
        step("four", "Alice"),
        step("five", "Alice", GROUP, mention_bot=True),
        step("six", "Alice", GROUP, thread_id=thread_id),
        step("seven", "Bob"),
    ]


@pytest.mark.timeout(90)
async def test_ten_minutes_are_answered(house: House) -> None:
    """Field report 7."""
    thread_id = await known_places(house)
    written = await write_while_away(house, 10 * MINUTE_S, seven(house, thread_id))
    for message_id in written:
        await answered(house, message_id)
    await all_read(house)
    await house.quiet()
    for message_id in written:
        house.assert_answered_once(message_id)
    topic = [written[2], written[5]]
    assert await turns_of(house, topic) == topic
    assert [pending_cards(house, chat.chat_id) for chat in house.world.directory.chats.values()].count([]) == 6
    assert await house.one("SELECT count(*) FROM inbox WHERE origin = 'history'") == 7


@pytest.mark.timeout(90)
@pytest.mark.parametrize("hours", [3, 30])
async def test_hours_are_asked_about(house: House, hours: int) -> None:
    """Field report 7."""
    thread_id = await known_places(house)
    written = await write_while_away(house, hours * HOUR_S, seven(house, thread_id))
    alice, bob = house.world.private_chat("Alice"), house.world.private_chat("Bob")
    cards = {alice: await asked_about(house, alice, 2), bob: await asked_about(house, bob, 2)}
    cards[GROUP] = await asked_about(house, GROUP, 3)
    await all_read(house)
    assert [house.replies(message_id) for message_id in written] == [[]] * 7
    assert await house.one(ASKED) == 7
    assert await press(house, cards[alice], "missed_handle") == WORDS.toast_missed_handling.format(count=2)
    assert await press(house, cards[bob], "missed_handle", "Bob") == WORDS.toast_missed_handling.format(count=2)
    assert await press(house, cards[GROUP], "missed_handle", "Bob") == WORDS.toast_missed_handling.format(count=3)
    for message_id in written:
        await answered(house, message_id)
    for card in cards.values():
        await became(house, card, WORDS.missed_handled_title)
    await house.quiet()
    for message_id in written:
        house.assert_answered_once(message_id)
    for places in ([0, 3], [1, 6], [2, 5]):
        conversation = [written[place] for place in places]
        assert await turns_of(house, conversation) == conversation


async def test_young_and_old_part(house: House) -> None:
    """The window is measured from now: of one chat, what is young is answered and what is old is asked about."""
    await house.ask("hello")
    await house.stop()
    house.advance(HOUR_S)
    old = house.say("old", push=False)
    house.advance(HOUR_S)
    young = house.say("young", push=False)
    house.advance(MINUTE_S)
    await house.start()
    await answered(house, young)
    await asked_about(house, house.world.private_chat("Alice"), 1)
    assert house.replies(old) == []


async def test_only_what_would_have_woken_the_bot_is_asked_about(house: House) -> None:
    thread_id = await known_places(house)
    other = house.say("a topic without the bot", "Bob", GROUP)

    def steps() -> list[Step]:
        return [
            lambda: house.say("just talking", "Bob", GROUP, push=False),
            lambda: house.say("/status", "Alice", push=False),
            lambda: house.say("/stop", "Alice", GROUP, thread_id=thread_id, push=False),
            lambda: house.say("hey", "Bob", GROUP, mentions=["Alice"], push=False),
            lambda: house.say("a question", "Bob", GROUP, mention_bot=True, push=False),
        ]

    written = await write_while_away(house, 3 * HOUR_S, steps())
    await asked_about(house, GROUP, 1)
    await all_read(house)
    verdicts = dict(await house.rows("SELECT message_id, verdict FROM inbox WHERE origin = 'history'"))
    assert [verdicts[message_id] for message_id in written] == [
        "not_mentioned",
        "missed_command",
        "missed_command",
        "not_mentioned",
        None,
    ]
    assert pending_cards(house, house.world.private_chat("Alice")) == []
    assert house.replies(other) == []


async def test_nothing_is_read_on_the_very_first_boot(open_house: OpenHouse) -> None:
    house = await open_house(start=False)
    house.say("before anybody was there", push=False)
    house.advance(HOUR_S)
    await house.start()
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)
    await house.held("SELECT count(*) FROM meta WHERE last_alive_at IS NOT NULL")
    assert await house.one("SELECT count(*) FROM missed_gaps") == 0
    assert house.calls("im.message.list") == []


async def test_a_topic_that_was_opened_meanwhile(house: House) -> None:
    """In an ordinary group a listing shows roots only: the reply that names the bot stands in the topic."""
    await known_places(house)

    def open_topic() -> str:
        root = house.say("let us talk", "Bob", GROUP, push=False)
        house.world.timeline.open_thread(house.world.message(root), "omt_meanwhile")
        return root

    def ask_there() -> str:
        return house.say("what do you think?", "Bob", GROUP, thread_id="omt_meanwhile", mention_bot=True, push=False)

    root, question = await write_while_away(house, 10 * MINUTE_S, [open_topic, ask_there])
    await answered(house, question)
    assert house.replies(root) == []


async def test_people_without_a_visible_user_id_are_the_same_people(open_house: OpenHouse) -> None:
    """Without the scope, live events and history both know them by their open_id."""
    house = await open_house(platform={"scopes": {"im:message", "im:message.group_msg", "cardkit:card:write"}})
    await house.ask("hello")
    written = await write_while_away(
        house, 3 * HOUR_S, [lambda: house.say("old", push=False), lambda: house.say("older", push=False)]
    )
    card = await asked_about(house, house.world.private_chat("Alice"), 2)
    senders = await house.rows("SELECT DISTINCT sender_user_id FROM inbox")
    assert senders == [("open:ou_alice",)]
    assert await press(house, card, "missed_handle") == WORDS.toast_missed_handling.format(count=2)
    for message_id in written:
        await answered(house, message_id)


async def test_without_mget_each_is_read_alone(open_house: OpenHouse) -> None:
    house = await open_house(platform={"mget": False})
    await house.ask("hello")
    written = await write_while_away(
        house, 10 * MINUTE_S, [lambda: house.say("one", push=False), lambda: house.say("two", push=False)]
    )
    for message_id in written:
        await answered(house, message_id)
    assert {row[0] for row in await house.rows("SELECT sender_user_id FROM inbox")} == {"u_alice"}


async def test_switched_off_nothing_is_looked_for(open_house: OpenHouse) -> None:
    house = await open_house(missed={"enabled": False})
    await house.ask("hello")
    (lost,) = await write_while_away(house, 10 * MINUTE_S, [lambda: house.say("one", push=False)])
    later, _ = await house.ask("hello again")
    house.assert_answered_once(later)
    assert house.replies(lost) == []
    assert house.calls("im.message.list") == []


async def test_what_was_taken_back_and_what_no_person_said(house: House) -> None:
    """A recalled message, another bot's message and our own stand in history too."""
    await known_places(house)
    other = house.world.add_other_bot("Other", "other", [GROUP])

    def take_back() -> str:
        message_id = house.say("never mind", "Bob", push=False)
        house.world.mark_recalled(house.world.message(message_id))
        return message_id

    steps: list[Step] = [
        take_back,
        lambda: house.world.say(other, GROUP, "a bot speaks", mention_bot=True, push=False),
        lambda: house.say("a person speaks", "Bob", GROUP, mention_bot=True, push=False),
    ]
    *silent, question = await write_while_away(house, 10 * MINUTE_S, steps)
    await answered(house, question)
    await all_read(house)
    assert [house.replies(message_id) for message_id in silent] == [[], []]
    assert await house.rows("SELECT message_id FROM inbox WHERE origin = 'history'") == [(question,)]
