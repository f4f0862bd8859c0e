"""Quotes: what a message answers is given to the agent with it; our own cards come from our own records."""

import pytest

from channels.emulator.accounts import GROUP
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.kinds.desk import PNG, given, kept, send


async def test_a_quoted_message_of_somebody(house: House) -> None:
    bob = house.say("the meeting is at nine", "Bob", GROUP, push=False)
    message_id, _ = await house.ask("when?", "Alice", GROUP, mention_bot=True, parent_id=bob)
    text = await given(house, message_id)
    assert text.startswith("**Quoted message (Bob · ")
    assert text.endswith("UTC)**\n\n> the meeting is at nine\n\nwhen?")


async def test_a_quoted_card_of_our_own_comes_from_our_records(open_house: OpenHouse) -> None:
    house = await open_house(topics={"private": "chat"})
    _, reply = await house.ask("the first thing")
    message_id, _ = await house.ask("what did you mean?", parent_id=reply.message_id)
    text = await given(house, message_id)
    assert text.startswith("**Quoted message (Emulator Bot)**")
    assert "> Hello! This is what you sent:" in text
    assert "the first thing" in text
    assert house.calls("im.message.get") == []


async def test_a_quoted_card_that_is_still_being_written(open_house: OpenHouse) -> None:
    house = await open_house(topics={"private": "chat"}, agents={"demo": {"kind": "demo", "pace": 1.0}})
    first = house.say("work 20 seconds")
    reply = await house.shown(first)
    await house.held("SELECT count(*) FROM routes")
    second = house.say("what is that?", parent_id=reply.message_id)
    await house.held("SELECT count(*) FROM turns", 2)
    await house.world.click("Alice", reply.message_id, cards_seen.stop_value(house.card(reply.message_id)))
    await house.answered(second)
    assert (await given(house, second)).startswith("**Quoted message (Emulator Bot)**")


async def test_in_a_topic_the_root_is_no_quote_but_another_message_is(house: House) -> None:
    _, reply = await house.ask("begin", "Alice", GROUP, mention_bot=True)
    topic = reply.thread_id
    bob, _ = await house.ask("bob's words", "Bob", GROUP, thread_id=topic)
    plain, _ = await house.ask("go on", "Alice", GROUP, thread_id=topic)
    assert await given(house, plain) == "go on"
    house.world.settings.thread_parent = "target"
    quoting = house.say("this one", "Alice", GROUP, thread_id=topic, push=False)
    house.world.message(quoting).parent_id = bob
    house.world.push_message(house.world.message(quoting))
    await house.answered(quoting)
    assert "> bob's words" in await given(house, quoting)


async def test_a_topic_that_others_began_is_known_from_its_beginning(house: House) -> None:
    root = house.say("the server is down", "Bob", GROUP, push=False)
    house.emulator.world.timeline.open_thread(house.world.message(root), "omt_others")
    first, _ = await house.ask("what can we do?", "Alice", GROUP, mention_bot=True, thread_id="omt_others")
    assert "> the server is down" in await given(house, first)
    second, _ = await house.ask("and then?", "Alice", GROUP, thread_id="omt_others")
    assert await given(house, second) == "and then?"


async def test_a_quoted_picture_is_fetched(house: House) -> None:
    picture = send(house, "", PNG, "image", "Bob", chat_id=GROUP, push=False)
    message_id, _ = await house.ask("what is this?", "Alice", GROUP, mention_bot=True, parent_id=picture)
    assert "> [picture: inbox/picture.png]\n\nwhat is this?" in await given(house, message_id)
    assert kept(house) == {"picture.png": PNG}


async def test_a_quoted_forward_is_read(house: House) -> None:
    forward = house.world.forward("Bob", GROUP, [house.say("inside", "Bob", GROUP, push=False)])
    await house.held("SELECT count(*) FROM inbox WHERE state = 'held'", 1)
    message_id, _ = await house.ask("and?", "Alice", GROUP, mention_bot=True, parent_id=forward)
    text = await given(house, message_id)
    assert text.startswith("**Quoted message (Bob · ")
    assert "> inside" in text


@pytest.mark.parametrize("how", ["recalled", "hidden", "unknown"])
async def test_a_quote_that_cannot_be_read_is_named(house: House, how: str) -> None:
    bob = house.say("secret", "Bob", GROUP, push=False)
    if how == "recalled":
        house.world.message(bob).recalled = True
    else:
        house.fault("im.message.get", "error", code=230027 if how == "hidden" else 230001, times=None)
    message_id, reply = await house.ask("really?", "Alice", GROUP, mention_bot=True, parent_id=bob)
    text = await given(house, message_id)
    why = {
        "recalled": "it was taken back or deleted",
        "hidden": "this app may not see it",
        "unknown": "Feishu refused it",
    }[how]
    assert text == f"**Quoted message**\n\n> [not read: {why}]\n\nreally?"
    assert f"Not read: message: {why}" in cards_seen.words(house.card(reply.message_id))


async def test_a_very_long_quote_is_cut(house: House) -> None:
    bob = house.say("x" * 40_000, "Bob", GROUP, push=False)
    message_id, _ = await house.ask("short?", "Alice", GROUP, mention_bot=True, parent_id=bob)
    text = await given(house, message_id)
    assert len(text) < 17_000
    assert "> … (cut here)" in text and text.endswith("short?")
