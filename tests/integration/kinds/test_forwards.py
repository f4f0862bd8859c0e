"""Forwards: their messages are read and shown, with the comment that follows as one question."""

import pytest

from channels.emulator.accounts import GROUP
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.kinds.desk import HELD, TURNS, downloads, given, pass_window, read_alone, send

GETS = "im.message.get"


def said_in_group(house: House, count: int = 2) -> list[str]:
    """Messages between people that the bot has nothing to do with."""
    people = ("Alice", "Bob")
    return [house.say(f"line {number}", people[number % 2], GROUP, push=False) for number in range(count)]


async def forward_between_others(house: House) -> str:
    """A forward in the group that nobody asks the bot about."""
    message_id = house.world.forward("Bob", GROUP, said_in_group(house))
    await pass_window(house, 1)
    await house.done(message_id)
    return message_id


async def test_field_39_children_are_read_and_shown(house: House) -> None:
    inside = said_in_group(house)
    message_id = house.world.forward("Alice", house.world.private_chat("Alice"), inside)
    text, words = await read_alone(house, message_id)
    heads = [line for line in text.splitlines() if line.startswith("> **")]
    assert text.startswith("**Forwarded messages**\n\n> **Alice · ")
    assert [head.split(" · ")[0] for head in heads] == ["> **Alice", "> **Bob"]
    assert "> line 0\n" in text and text.endswith("> line 1")
    assert "line 1" in words
    assert "Merged and Forwarded" not in text


async def test_field_38_a_forward_and_its_comment_are_one_turn(house: House) -> None:
    forward = house.world.forward("Alice", house.world.private_chat("Alice"), said_in_group(house))
    await house.held(HELD, 1)
    house.advance(2.5)
    comment = house.say("who is right?")
    await house.answered(comment)
    house.assert_answered_once(comment)
    assert house.replies(forward) == []
    assert await house.one(TURNS) == 1
    text = await given(house, comment)
    assert text.startswith("**Forwarded messages**")
    assert text.endswith("> line 1\n\nwho is right?")


async def test_field_38_the_forward_still_waits_after_a_restart(house: House) -> None:
    forward = house.world.forward("Alice", house.world.private_chat("Alice"), said_in_group(house))
    await house.held(HELD, 1)
    await house.restart()
    comment = house.say("who is right?")
    await house.answered(comment)
    assert house.replies(forward) == []
    assert await house.one(TURNS) == 1


async def test_a_forward_without_a_comment_is_answered_after_three_seconds(house: House) -> None:
    forward = house.world.forward("Alice", house.world.private_chat("Alice"), said_in_group(house))
    await house.held(HELD, 1)
    house.advance(2)
    other = house.say("hello", "Bob")
    await house.seen(lambda: house.has_ended(other))
    assert await house.one(HELD) == 1
    house.advance(1.1)
    await house.answered(forward)
    house.assert_answered_once(forward)


async def test_in_a_group_the_comment_names_the_bot(house: House) -> None:
    forward = house.world.forward("Alice", GROUP, said_in_group(house))
    await house.held(HELD, 1)
    comment, _ = await house.ask("sum that up", "Alice", GROUP, mention_bot=True)
    assert "line 0" in await given(house, comment)
    assert house.replies(forward) == []


async def test_what_cannot_be_read_in_a_forward_is_named(house: House) -> None:
    picture = send(house, "", kind="image", chat_id=GROUP, push=False)
    file = send(house, "plan.pdf", b"%PDF", chat_id=GROUP, push=False)
    gone = house.say("wrong", "Alice", GROUP, push=False)
    message_id = house.world.forward("Alice", house.world.private_chat("Alice"), [picture, file, gone])
    house.world.message(house.world.message(message_id).children[2]).recalled = True
    text, words = await read_alone(house, message_id)
    withheld = "not read: Feishu does not hand it out to apps"
    assert f"> [picture ({withheld})]" in text
    assert f"> [file: plan.pdf ({withheld})]" in text
    assert "> [not read: it was taken back or deleted]" in text
    assert "Not read: picture: Feishu does not hand it out to apps; plan.pdf: " in words
    assert downloads(house) == []


async def test_a_forward_inside_a_forward(house: House) -> None:
    """It is read by itself where the list does not bring what lies in it."""
    chat_id = house.world.private_chat("Alice")
    inner = await forward_between_others(house)
    outer = house.world.forward("Alice", chat_id, [inner])
    (copy,) = house.world.message(outer).children
    house.world.message(copy).children = house.world.message(inner).children
    for child in house.world.message(inner).children:
        house.world.message(child).upper_message_id = copy
    text, _ = await read_alone(house, outer)
    assert "> Forwarded messages\n>\n> > **Alice · " in text
    assert "> > line 0" in text
    assert len(house.calls(GETS)) == 2


async def test_forwards_in_forwards_are_read_three_deep(house: House) -> None:
    outer = upper = house.world.forward("Alice", house.world.private_chat("Alice"), said_in_group(house, 1))
    for _ in range(6):
        inner = house.world.new_message(GROUP, "ou_bob", "merge_forward", "{}")
        inner.upper_message_id = upper
        house.world.timeline.add(inner, listed=False)
        house.world.message(upper).children.append(inner.message_id)
        upper = inner.message_id
    text, words = await read_alone(house, outer)
    assert "> > > [not read: it lies too deep in other forwards]" in text
    assert "Not read: forwarded messages: it lies too deep" in words
    assert len(house.calls(GETS)) == 3


async def test_a_forward_of_very_many_messages_is_bounded(house: House) -> None:
    message_id = house.world.forward("Alice", house.world.private_chat("Alice"), said_in_group(house, 150))
    text, _ = await read_alone(house, message_id)
    assert "> line 99\n" in text
    assert "line 100" not in text
    assert text.endswith("> … 50 more messages are left out")


async def test_a_forward_of_very_long_messages_is_bounded(house: House) -> None:
    inside = [house.say("x" * 20_000, "Alice", GROUP, push=False) for _ in range(5)]
    message_id = house.world.forward("Alice", house.world.private_chat("Alice"), inside)
    text, _ = await read_alone(house, message_id)
    assert len(text) < 70_000
    assert text.endswith("> … (cut here)")


@pytest.mark.parametrize("code", [230002, 230027])
async def test_a_forward_that_cannot_be_read_is_named(house: House, code: int) -> None:
    house.fault(GETS, "error", code=code, times=None)
    message_id = house.world.forward("Alice", house.world.private_chat("Alice"), said_in_group(house))
    text, words = await read_alone(house, message_id)
    assert text == "**Forwarded messages**\n\n> [not read: this app may not see it]"
    assert "Not read: forwarded messages: this app may not see it" in words


async def test_people_without_a_name_are_told_apart(open_house: OpenHouse) -> None:
    house = await open_house()
    house.fault("contact.user.batch", "error", code=99991672, times=None)
    for _ in range(2):
        message_id = house.world.forward("Alice", house.world.private_chat("Alice"), said_in_group(house))
        text, words = await read_alone(house, message_id)
        assert "> **#1 · " in text and "> **#2 · " in text
        assert cards_seen.WORDS.unread_note.split("{")[0] not in words
    assert len(house.calls("contact.user.batch")) == 1
