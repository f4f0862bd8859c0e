"""/new, /sessions, /resume, /usage: going back to what was said, in every place."""

from channels.emulator.accounts import GROUP
from tests.integration.cards_seen import WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.conversations.conftest import say, verdict
from tests.integration.house import House

IN_CHAT = {"private": "chat", "group": "chat"}
SESSION_OF = "SELECT session_id FROM turns WHERE cause_id = :message_id"


async def session_of(house: House, message_id: str) -> str:
    return str(await house.one(SESSION_OF, message_id=message_id))


async def test_a_list_with_numbers_and_back_by_number(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT)
    apples, _ = await house.ask("apples are red")
    await house.ask("/new")
    pears, _ = await house.ask("pears are green")
    listed = await say(house, "/sessions")
    assert listed.index("pears are green") < listed.index("apples are red"), "the newest first"
    assert "**1.** apples are red" in listed and "**2.** pears are green" in listed
    assert listed.count(WORDS.sessions_here) == 1
    assert "apples are red" in await say(house, "/resume 1")
    back, _ = await house.ask("what did I say before")
    assert await session_of(house, back) == await session_of(house, apples)
    assert "apples are red" in await say(house, "what did I say before")
    await house.ask("/resume2")
    again, _ = await house.ask("and now")
    assert await session_of(house, again) == await session_of(house, pears)


async def test_numbers_that_mean_nothing(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT)
    assert WORDS.sessions_none in await say(house, "/sessions")
    await house.ask("hello")
    for typed in ("0", "2", "99999999999"):
        number = int(typed[:9])
        assert WORDS.resume_unknown.format(number=number) in await say(house, f"/resume {typed}")
    for typed in ("", " one", " -1", " 1.5"):
        assert WORDS.resume_how in await say(house, f"/resume{typed}")
    assert WORDS.resume_here.format(number=1) in await say(house, "/resume 1")


async def test_a_topic_can_be_pointed_at_another_conversation(house: House) -> None:
    first, one = await house.ask("apples are red")
    second, two = await house.ask("pears are green")
    assert "apples are red" in await say(house, "/resume 1", thread_id=two.thread_id)
    inside, reply = await house.ask("what did I say before", thread_id=two.thread_id)
    assert await session_of(house, inside) == await session_of(house, first)
    assert reply.thread_id == two.thread_id
    still, _ = await house.ask("more", thread_id=one.thread_id)
    assert await session_of(house, still) == await session_of(house, first)
    assert await session_of(house, second) != await session_of(house, first)


async def test_a_chat_can_go_on_with_what_was_said_in_a_topic(house: House) -> None:
    first, _ = await house.ask("apples are red")
    await house.ask("/resume 1")
    outside, reply = await house.ask("go on")
    assert await session_of(house, outside) == await session_of(house, first)
    assert reply.thread_id == ""


async def test_new_in_a_topic_keeps_the_topic(house: House) -> None:
    """Its next message needs no mention, and is answered in the same place by a fresh session."""
    first, reply = await house.ask("apples are red", chat_id=GROUP, mention_bot=True)
    thread = reply.thread_id
    assert WORDS.new_in_topic in await say(house, "/new", chat_id=GROUP, thread_id=thread)
    second, answer = await house.ask("what did I say before", chat_id=GROUP, thread_id=thread)
    assert await session_of(house, second) != await session_of(house, first)
    assert answer.thread_id == thread
    assert "apples" not in str(house.card(answer.message_id))
    assert WORDS.new_in_topic in await say(house, "/new", chat_id=GROUP, thread_id=thread)
    assert WORDS.new_nothing in await say(house, "/new", chat_id=GROUP, thread_id=thread), "nothing was said since"
    assert await house.one("SELECT count(*) FROM routes") == 1


async def test_new_leaves_the_running_answer(open_house: OpenHouse) -> None:
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}}, topics=IN_CHAT)
    await house.ask("hello")
    running = house.say("work 1 second")
    await house.held("SELECT state FROM turns WHERE cause_id = :message_id", "entered", message_id=running)
    await house.shown(house.say("/new"))
    fresh, _ = await house.ask("hello again")
    await house.answered(running)
    house.assert_answered_once(running)
    assert await session_of(house, fresh) != await session_of(house, running)


async def test_in_a_group_everybody_sees_only_their_own(house: House) -> None:
    await house.ask("apples are red", "Alice", GROUP, mention_bot=True)
    await house.ask("pears are green", "Bob", GROUP, mention_bot=True)
    await house.ask("plums are blue", "Alice")
    mine = await say(house, "/sessions", "Alice", GROUP, mention_bot=True)
    assert "apples" in mine and "pears" not in mine and "plums" not in mine
    assert "apples" not in await say(house, "/sessions", "Bob", GROUP, mention_bot=True)


async def test_usage_is_that_of_the_person_who_asked(house: House) -> None:
    _, reply = await house.ask("apples are red", "Alice", GROUP, mention_bot=True)
    await house.ask("and pears?", "Bob", GROUP, thread_id=reply.thread_id)
    await house.ask("plums", "Alice")
    mine, bobs = await say(house, "/usage", "Alice"), await say(house, "/usage", "Bob")
    assert mine.count("answers: 2, conversations: 2") == 3
    assert bobs.count("answers: 1, conversations: 1") == 3
    house.advance(2 * 24 * 3600)
    later = await say(house, "/usage", "Alice")
    assert later.count("answers: 2") == 2 and later.count("answers: 0") == 1


async def test_commands_in_chinese(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT, ui={"language": "zh"})
    await house.ask("苹果是红的")
    message_id, _ = await house.ask("/会话")
    assert await verdict(house, message_id) == "command:sessions"
    assert "苹果是红的" in str(house.card(house.replies(message_id)[0].message_id))
    question, _ = await house.ask("/价格是多少")
    assert await verdict(house, question) == "continue"


async def test_a_command_that_is_brought_twice_works_once(open_house: OpenHouse) -> None:
    house = await open_house(topics=IN_CHAT)
    await house.ask("one")
    await house.ask("/new")
    await house.restart()
    message_id, _ = await house.ask("two")
    assert await house.one("SELECT count(*) FROM sessions") == 2
    assert await verdict(house, message_id) == "start"
