"""/archive, /unarchive, /delete, and `channels sessions`: people put conversations away."""

import asyncio
from typing import Any

import pytest

from channels.emulator.accounts import GROUP
from channels.emulator.messages import Message
from channels.errors import Refused
from tests.integration import cards_seen
from tests.integration.access.gate import button, click
from tests.integration.cards_seen import WORDS
from tests.integration.command_line import json_of, output_of, refusal_of, run_command
from tests.integration.conftest import OpenHouse
from tests.integration.conversations.conftest import say, verdict
from tests.integration.house import House
from tests.integration.web.visitor import ask_socket

IN_CHAT = {"private": "chat", "group": "chat"}
SESSION_OF = "SELECT session_id FROM turns WHERE cause_id = :message_id"


async def session_of(house: House, message_id: str) -> str:
    return str(await house.one(SESSION_OF, message_id=message_id))


async def ask_to_delete(house: House, number: int, user: str = "Alice") -> Message:
    """The card that asks."""
    _, reply = await house.ask(f"/delete {number}", user)
    return reply


async def test_archived_taken_out_and_gone_on_with(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT)
    first, _ = await house.ask("apples are red")
    assert WORDS.archive_done in await say(house, "/archive")
    assert WORDS.archive_nothing in await say(house, "/archive")
    assert WORDS.archive_unchanged in await say(house, "/archive 1")
    fresh, _ = await house.ask("pears are green")
    assert await session_of(house, fresh) != await session_of(house, first)
    listed = await say(house, "/sessions")
    assert "apples" not in listed and "**2.** pears are green" in listed, "numbers never change"
    assert WORDS.resume_archived.format(number=1) in await say(house, "/resume 1")
    assert WORDS.sessions_archived.format(numbers="1") in listed
    assert WORDS.unarchive_done in await say(house, "/unarchive 1")
    assert WORDS.sessions_archived.split("{")[0] not in await say(house, "/sessions")
    assert WORDS.unarchive_unchanged in await say(house, "/unarchive 1")
    assert "apples are red" in await say(house, "/resume 1")
    again, _ = await house.ask("what did I say before")
    assert await session_of(house, again) == await session_of(house, first)


async def test_a_topic_that_is_archived_takes_no_more_questions(house: House) -> None:
    first, reply = await house.ask("apples are red")
    assert WORDS.archive_done in await say(house, "/archive", thread_id=reply.thread_id)
    later = house.say("and pears?", thread_id=reply.thread_id)
    await house.shown(later)
    assert await verdict(house, later) == "expired"
    assert await house.one("SELECT count(*) FROM turns") == 1
    await house.restart()
    late = house.say("anybody?", thread_id=reply.thread_id)
    await house.shown(late)
    assert await verdict(house, late) == "expired"
    assert await session_of(house, first)


async def test_a_running_conversation_stays_as_it_is(open_house: OpenHouse) -> None:
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}}, topics=IN_CHAT)
    await house.ask("hello")
    running = house.say("work 30 seconds")
    await house.held("SELECT state FROM turns WHERE cause_id = :message_id", "entered", message_id=running)
    refused = house.say("/archive")
    await house.shown(refused)
    assert await verdict(house, refused) == "command:session_busy"
    card = house.card(house.replies(refused)[0].message_id)
    assert cards_seen.words(card) == WORDS.archive_busy
    await house.shown(house.say("/stop"))
    await house.answered(running)
    assert WORDS.archive_done in await say(house, "/archive")


async def test_words_without_a_number_and_numbers_that_mean_nothing(house: House) -> None:
    for name in ("unarchive", "delete"):
        assert WORDS.archive_how.format(command=f"/{name}") in await say(house, f"/{name}")
        assert WORDS.archive_how.format(command=f"/{name}") in await say(house, f"/{name} all")
        assert WORDS.resume_unknown.format(number=7) in await say(house, f"/{name} 7")


async def test_deleting_is_asked_about_and_done_once(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT)
    first, _ = await house.ask("apples are red")
    session_id = await session_of(house, first)
    card = await ask_to_delete(house, 1)
    assert WORDS.delete_ask.format(number=1, words="apples are red") in cards_seen.words(house.card(card.message_id))
    value = button(house, card, "session_delete")
    assert await house.one("SELECT deleted_at FROM sessions") is None, "nothing before the button"
    await house.restart()
    assert await click(house, card, value, "Alice") == WORDS.delete_done
    assert cards_seen.words(house.card(card.message_id)) == WORDS.delete_done
    assert await click(house, card, value, "Alice") == WORDS.delete_done
    assert await house.one("SELECT count(*) FROM session_events WHERE session_id = :id", id=session_id) == 0
    assert await house.one("SELECT count(*) FROM audit WHERE action = 'session.deleted'") == 1
    assert WORDS.resume_unknown.format(number=1) in await say(house, "/resume 1")
    fresh, _ = await house.ask("pears are green")
    assert await session_of(house, fresh) != session_id
    assert "**2.** pears are green" in await say(house, "/sessions")


async def test_a_button_is_for_whose_conversation_it_is(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT, access={"admins": ["u_zhang_san"]})
    await house.ask("apples are red")
    card = await ask_to_delete(house, 1)
    value = button(house, card, "session_delete")
    assert await click(house, card, value, "Bob") == WORDS.toast_not_yours
    for forged in ({}, {"session": 7}, {"session": ["x"]}, {"session": "nowhere"}):
        made: dict[str, Any] = {"do": "session_delete"} | forged
        assert await click(house, card, made, "Alice") == WORDS.archive_unknown
    assert await house.one("SELECT deleted_at FROM sessions") is None
    assert await click(house, card, value, "张三") == WORDS.delete_done


async def test_in_a_group_only_whose_conversation_it_is(house: House) -> None:
    _, reply = await house.ask("apples are red", "Alice", GROUP, mention_bot=True)
    refused = house.say("/archive", "Bob", GROUP, thread_id=reply.thread_id)
    await house.shown(refused)
    assert await verdict(house, refused) == "command:not_yours"
    assert WORDS.archive_done in await say(house, "/archive", "Alice", GROUP, thread_id=reply.thread_id)


async def test_in_chinese(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT, ui={"language": "zh"})
    await house.ask("苹果是红的")
    for text, wanted in (("/归档", "done"), ("/取消归档 1", "done"), ("/归档1", "done")):
        message_id, _ = await house.ask(text)
        assert await verdict(house, message_id) == f"command:{wanted}"
    message_id, _ = await house.ask("/删除 1")
    assert await verdict(house, message_id) == "command:delete"


async def test_the_command_line(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT)
    assert "no conversation yet" in await output_of(house, "sessions", "list")
    first, _ = await house.ask("apples are red")
    session_id = await session_of(house, first)
    (one,) = (await json_of(house, "sessions", "list"))["sessions"]
    assert (one["session_id"], one["turns"], one["archived_at"]) == (session_id, 1, None)
    assert session_id in await output_of(house, "sessions", "list")
    shown = await output_of(house, "sessions", "show", session_id)
    assert "person: apples are red" in shown and "agent:" in shown
    assert "is archived" in await output_of(house, "sessions", "archive", session_id)
    assert "was archived already" in await output_of(house, "sessions", "archive", session_id)
    assert "archived" in await output_of(house, "sessions", "list")
    assert (await json_of(house, "sessions", "unarchive", session_id))["changed"] is True
    line, code = await refusal_of(house, "sessions", "show", "nowhere")
    assert "unknown_session" in line and code == 3
    assert "is deleted" in await output_of(house, "sessions", "delete", session_id, "--yes")
    line, code = await refusal_of(house, "sessions", "archive", session_id)
    assert "session_deleted" in line and code == 3
    assert (await json_of(house, "sessions", "show", session_id))["log"] == []


async def test_while_no_service_runs_its_file_is_asked(house: House) -> None:
    """Archived in the closed file: the next boot takes no more questions there."""
    first, reply = await house.ask("apples are red")
    session_id = await session_of(house, first)
    await house.stop()
    assert session_id in await output_of(house, "sessions", "list")
    assert "is archived" in await output_of(house, "sessions", "archive", session_id)
    await house.start()
    later = house.say("and pears?", thread_id=reply.thread_id)
    await house.shown(later)
    assert await verdict(house, later) == "expired"
    assert await house.rows("SELECT actor, via FROM audit WHERE action = 'session.archived'") == [("console", "cli")]


async def test_deleting_is_never_done_unasked_by_a_script(house: House) -> None:
    first, _ = await house.ask("apples are red")
    done = await run_command(house, "sessions", "delete", await session_of(house, first))
    assert done.exit_code == 2 and "--yes" in done.output
    assert await house.one("SELECT deleted_at FROM sessions") is None


@pytest.mark.parametrize("operation", ["session_show", "session_archive", "session_delete"])
async def test_the_socket_says_what_is_wrong(house: House, operation: str) -> None:
    for arguments, code in (
        ({}, "invalid_input"),
        ({"session": 7}, "invalid_input"),
        ({"session": "x"}, "unknown_session"),
    ):
        with pytest.raises(Refused) as caught:
            await asyncio.to_thread(ask_socket, house, operation, arguments)
        assert caught.value.code == code
