"""Commands as people type them, in every place; and what in a group is not for the bot."""

import pytest

from channels.agents.demo_words import DEMO_WORDS
from channels.emulator.accounts import GROUP
from channels.emulator.messages import Message
from channels.rules.command import COMMANDS
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.house import House


def read(house: House, reply: Message) -> str:
    card = house.card(reply.message_id)
    return f"{cards_seen.title(card)}\n{cards_seen.words(card)}"


async def verdict(house: House, message_id: str) -> str:
    return str(await house.held("SELECT verdict FROM inbox WHERE message_id = :message_id", message_id=message_id))


async def test_help_names_every_command_and_what_the_agent_shows(house: House) -> None:
    message_id, reply = await house.ask("/help")
    text = read(house, reply)
    assert [name for name in COMMANDS if f"/{name}" not in text] == []
    assert [row.example_en for row in DEMO_WORDS if row.example_en not in text] == []
    assert house.ledger.reactions(message_id) == []
    assert await house.one("SELECT count(*) FROM turns") == 0


@pytest.mark.parametrize("typed", ["/help", "／help", " /HELP ", "/Help", "/ help"])
async def test_help_as_people_type_it(house: House, typed: str) -> None:
    _, reply = await house.ask(typed)
    assert WORDS.help_title in read(house, reply)


async def test_status_and_whoami(house: House) -> None:
    _, reply = await house.ask("hello")
    _, inside = await house.ask("/status", thread_id=reply.thread_id)
    session = await house.one("SELECT session_id FROM sessions")
    assert session in read(house, inside)
    _, outside = await house.ask("/status")
    assert WORDS.status_connected in read(house, outside)
    _, me = await house.ask("/whoami")
    assert all(words in read(house, me) for words in ("u_alice", "ou_alice"))


async def test_new_starts_another_session(open_house: OpenHouse) -> None:
    house = await open_house(topics={"private": "chat"})
    await house.ask("my name is Alice")
    _, reply = await house.ask("/new")
    assert WORDS.new_done in read(house, reply)
    again, reply = await house.ask("what did I say before")
    assert "my name is" not in read(house, reply)
    house.assert_answered_once(again)
    assert await house.one("SELECT count(*) FROM sessions") == 2


async def test_an_unknown_command_gets_the_nearest(house: House) -> None:
    _, reply = await house.ask("/staus")
    assert "/status" in read(house, reply)
    _, reply = await house.ask("/xyzzy")
    assert "/xyzzy" in read(house, reply)
    _, reply = await house.ask("/etc/hosts is a file")
    assert "/etc/hosts is a file" in read(house, reply)
    assert await house.one("SELECT count(*) FROM turns") == 1


async def test_commands_in_a_group(house: House) -> None:
    """With a mention, and without one inside a topic of ours."""
    ignored = house.say("/help", chat_id=GROUP)
    assert await verdict(house, ignored) == "not_mentioned"
    _, reply = await house.ask("/help", chat_id=GROUP, mention_bot=True)
    assert WORDS.help_title in read(house, reply)
    assert reply.thread_id == ""
    _, topic = await house.ask("hello", chat_id=GROUP, mention_bot=True)
    _, inside = await house.ask("/groupid", chat_id=GROUP, thread_id=topic.thread_id)
    assert GROUP in read(house, inside)
    assert inside.thread_id == topic.thread_id


async def test_a_command_does_not_wait_in_the_queue(house: House) -> None:
    """Not even behind a question that waits until a session is established."""
    first, waiting = house.say("one"), house.say("two")
    house.fault(f"POST */messages/{first}/reply", "drop", times=None)
    await house.held("SELECT count(*) FROM outbox WHERE op = 'reply' AND unsure = 1")
    reply = await house.shown(house.say("/status"))
    assert WORDS.status_title in read(house, reply)
    assert house.replies(first) == house.replies(waiting) == []
    house.emulator.faults.clear()
    for message_id in (first, waiting):
        await house.answered(message_id)
        house.assert_answered_once(message_id)


async def test_a_group_hears_only_what_is_for_it(house: House) -> None:
    dropped = {
        house.say("hello all", chat_id=GROUP): "not_mentioned",
        house.say("@_all hello", chat_id=GROUP): "not_mentioned",
        house.say("hello Bob", chat_id=GROUP, mentions=["Bob"]): "not_mentioned",
    }
    for message_id, why in dropped.items():
        assert await verdict(house, message_id) == why
    message_id, reply = await house.ask("hello", chat_id=GROUP, mention_bot=True)
    house.assert_answered_once(message_id)
    assert reply.thread_id
    inside, answer = await house.ask("more", "Bob", GROUP, thread_id=reply.thread_id)
    house.assert_answered_once(inside)
    assert answer.thread_id == reply.thread_id
    assert await house.one("SELECT count(*) FROM sessions") == 1
    assert not any(house.replies(each) for each in dropped)


async def test_other_bots_are_not_answered(house: House) -> None:
    """Two bots that answer each other never end."""
    house.world.add_other_bot("Robot", "robot", [GROUP])
    message_id = house.say("hello", "Robot", GROUP, mention_bot=True)
    assert await verdict(house, message_id) == "bot_sender"
    _, topic = await house.ask("hello", chat_id=GROUP, mention_bot=True)
    inside = house.say("more", "Robot", GROUP, thread_id=topic.thread_id)
    assert await verdict(house, inside) == "bot_sender"
    assert house.replies(message_id) == house.replies(inside) == []


async def test_a_person_in_two_places_has_two_sessions(house: House) -> None:
    private, _ = await house.ask("hello")
    group, _ = await house.ask("hello", chat_id=GROUP, mention_bot=True)
    house.assert_answered_once(private)
    house.assert_answered_once(group)
    assert await house.one("SELECT count(*) FROM sessions") == 2
