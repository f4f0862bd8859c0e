"""Sending, replying, topics, history, recall: the platform's rules for messages."""

import json
from typing import Any

import pytest

from channels.emulator import GROUP, PLAIN, TOPICS, Emulator
from tests.unit.emulator.bot import IM, Bot, card_of


async def test_same_uuid_makes_one_message_for_an_hour(emulator: Emulator, bot: Bot) -> None:
    message_id = emulator.world.say("Alice", GROUP, "hi")
    first = (await bot.reply(message_id, "answer", "u")).data["message_id"]
    assert (await bot.reply(message_id, "answer", "u")).data["message_id"] == first
    emulator.advance(3599)
    assert (await bot.send(GROUP, "answer", "u")).data["message_id"] == first
    assert len(emulator.ledger.visible_replies(message_id)) == 1
    emulator.advance(2)
    assert (await bot.reply(message_id, "answer", "u")).data["message_id"] != first


async def test_repeated_uuid_can_be_an_error(emulator: Emulator, bot: Bot) -> None:
    emulator.settings.uuid_repeat_code = 230049
    await bot.send(GROUP, "one", "u")
    assert (await bot.send(GROUP, "one", "u")).code == 230049


async def test_reply_in_thread_opens_a_topic_at_its_target(emulator: Emulator, bot: Bot) -> None:
    target = emulator.world.say("Alice", GROUP, "hi")
    first = (await bot.reply(target, in_thread=True)).data
    assert first["thread_id"].startswith("omt_")
    assert (first["root_id"], first["parent_id"]) == (target, target)
    inside = emulator.world.say("Bob", GROUP, "more", thread_id=first["thread_id"])
    second = (await bot.reply(inside)).data
    assert (second["thread_id"], second["root_id"], second["parent_id"]) == (first["thread_id"], target, target)
    assert [each.message_id for each in emulator.ledger.visible_replies(inside)] == [second["message_id"]]
    emulator.settings.thread_parent = "target"
    assert (await bot.reply(inside)).data["parent_id"] == inside


async def test_plain_reply_has_no_thread(emulator: Emulator, bot: Bot) -> None:
    target = emulator.world.say("Alice", GROUP, "hi")
    quote = (await bot.reply(target)).data
    assert "thread_id" not in quote
    deeper = (await bot.reply(quote["message_id"])).data
    assert (deeper["root_id"], deeper["parent_id"]) == (target, quote["message_id"])


async def test_topics_are_impossible_in_some_groups(emulator: Emulator, bot: Bot) -> None:
    target = emulator.world.say("Alice", PLAIN, "hi")
    assert (await bot.reply(target, in_thread=True)).code == 230071
    assert (await bot.reply(target)).code == 0


async def test_topic_group_gives_every_root_a_thread(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    root = emulator.world.say("Alice", TOPICS, "hi")
    message = (await socket.event())["event"]["message"]
    assert message["thread_id"].startswith("omt_")
    assert "root_id" not in message
    assert (await bot.reply(root)).data["thread_id"] == message["thread_id"]


@pytest.mark.parametrize(
    ("change", "code"),
    [("recall", 230011), ("remove_bot", 230002), ("disband", 232009), ("mute", 230018), ("unavailable", 230013)],
)
async def test_refused_replies(emulator: Emulator, bot: Bot, change: str, code: int) -> None:
    world = emulator.world
    chat_id = world.private_chat("Alice") if change == "unavailable" else GROUP
    message_id = world.say("Alice", chat_id, "hi")
    match change:
        case "recall":
            world.recall("Alice", message_id)
        case "remove_bot":
            world.remove_bot(GROUP)
        case "disband":
            world.disband(GROUP)
        case "mute":
            world.chat(GROUP).muted = True
        case _:
            world.person("Alice").available = False
    refused = await bot.reply(message_id)
    assert (refused.status, refused.code) == (400, code)
    assert emulator.ledger.visible_replies(message_id) == []
    assert not emulator.ledger.calls("im.message.reply")[0].effect


@pytest.mark.parametrize(
    ("kind", "content", "code"),
    [
        ("text", "not json", 230001),
        ("text", json.dumps({"text": ""}), 230001),
        ("text", json.dumps({"text": "x" * 160_000}), 230025),
        ("post", json.dumps({"zh_cn": {"title": "t", "content": [{"tag": "text"}]}}), 230001),
        ("post", json.dumps({"zh_cn": {"title": "t", "content": [[{"tag": "text", "text": "ok"}]]}}), 0),
        ("image", json.dumps({"image_key": "img_v3_unknown"}), 230001),
        ("file", json.dumps({"file_key": "file_v3_unknown"}), 230001),
        ("interactive", "{", 230099),
        ("interactive", json.dumps(card_of("x" * 31_000)), 230025),
        ("interactive", json.dumps({"type": "card", "data": {"card_id": "1"}}), 230099),
        ("nonsense", "{}", 230001),
    ],
)
async def test_bodies_are_checked(bot: Bot, kind: str, content: str, code: int) -> None:
    body = {"receive_id": GROUP, "msg_type": kind, "content": content}
    assert (await bot.call("POST", IM, body, receive_id_type="chat_id")).code == code


async def test_receivers(bot: Bot) -> None:
    async def code(id_type: str, receive_id: str) -> int:
        body = {"receive_id": receive_id, "msg_type": "text", "content": '{"text":"hi"}'}
        return (await bot.call("POST", IM, body, receive_id_type=id_type)).code

    assert [await code("open_id", "ou_alice"), await code("user_id", "u_alice"), await code("chat_id", GROUP)] == [
        0,
        0,
        0,
    ]
    assert await code("open_id", "ou_of_another_app") == 99992361
    assert await code("user_id", "nobody") == 230034
    assert await code("chat_id", "oc_unknown") == 230001


async def _list(bot: Bot, **query: Any) -> list[str]:
    return [each["message_id"] for each in (await bot.call("GET", IM, **query)).data["items"]]


async def test_group_listing_shows_topics_by_their_roots(emulator: Emulator, bot: Bot) -> None:
    root = emulator.world.say("Alice", GROUP, "topic")
    thread_id = (reply := (await bot.reply(root, in_thread=True)).data)["thread_id"]
    plain = emulator.world.say("Bob", GROUP, "plain")
    assert await _list(bot, container_id_type="chat", container_id=GROUP) == [root, plain]
    thread = {"container_id_type": "thread", "container_id": thread_id}
    assert await _list(bot, **thread) == [root, reply["message_id"]]
    assert await _list(bot, **thread, sort_type="ByCreateTimeDesc") == [reply["message_id"], root]
    assert (await bot.call("GET", IM, **thread, start_time="1")).code == 230001
    in_topics = [emulator.world.say("Alice", TOPICS, "root")]
    in_topics.append(emulator.world.say("Bob", TOPICS, "more", parent_id=in_topics[0]))
    assert await _list(bot, container_id_type="chat", container_id=TOPICS) == in_topics


async def test_pages_do_not_shift_when_new_messages_come(emulator: Emulator, bot: Bot) -> None:
    said = [emulator.world.say("Alice", GROUP, f"{n}") for n in range(5)]
    query = {"container_id_type": "chat", "container_id": GROUP, "page_size": 2, "sort_type": "ByCreateTimeDesc"}
    first = (await bot.call("GET", IM, **query)).data
    emulator.world.say("Alice", GROUP, "new")
    second = await _list(bot, **query, page_token=first["page_token"])
    assert [each["message_id"] for each in first["items"]] + second == said[:0:-1]
    other = query | {"sort_type": "ByCreateTimeAsc", "page_token": first["page_token"]}
    assert (await bot.call("GET", IM, **other)).code == 230001


async def test_time_range_is_in_whole_seconds(emulator: Emulator, bot: Bot) -> None:
    said = [emulator.world.say("Alice", GROUP, f"{n}", create_time=1_000_000 + n * 600, push=False) for n in range(5)]
    query = {"container_id_type": "chat", "container_id": GROUP}
    assert await _list(bot, **query, start_time="1001", end_time="1001") == said[2:4]


async def test_group_history_needs_its_scope(emulator: Emulator, bot: Bot) -> None:
    emulator.settings.scopes.discard("im:message.group_msg")
    assert (await bot.call("GET", IM, container_id_type="chat", container_id=GROUP)).code == 230027
    private = emulator.world.private_chat("Alice")
    assert await _list(bot, container_id_type="chat", container_id=private) == []


async def test_one_id_type_per_reading(emulator: Emulator, bot: Bot) -> None:
    message_id = emulator.world.say("Alice", GROUP, "hi", mentions=["Bob"])
    [item] = (await bot.call("GET", f"{IM}/{message_id}", user_id_type="user_id")).data["items"]
    assert (item["sender"]["id"], item["mentions"][0]["id"]) == ("u_alice", "u_bob")
    emulator.settings.scopes.discard("contact:user.employee_id:readonly")
    assert (await bot.call("GET", f"{IM}/{message_id}", user_id_type="user_id")).code == 99991672


async def test_merge_forward_is_read_with_its_children(emulator: Emulator, bot: Bot) -> None:
    said = [emulator.world.say("Alice", GROUP, f"{n}") for n in range(2)]
    upper = emulator.world.forward("Bob", emulator.world.private_chat("Bob"), said)
    items = (await bot.call("GET", f"{IM}/{upper}")).data["items"]
    assert [each.get("upper_message_id") for each in items] == [None, upper, upper]
    assert [json.loads(each["body"]["content"])["text"] for each in items[1:]] == ["0", "1"]


async def test_recalled_message_stays_in_history_without_its_text(emulator: Emulator, bot: Bot) -> None:
    message_id = emulator.world.say("Alice", GROUP, "secret")
    emulator.world.recall("Alice", message_id)
    [item] = (await bot.call("GET", f"{IM}/{message_id}")).data["items"]
    assert item["deleted"]
    assert "secret" not in item["body"]["content"]


async def test_bot_recalls_and_edits_its_own_only(emulator: Emulator, bot: Bot) -> None:
    theirs = emulator.world.say("Alice", GROUP, "hi")
    ours = (await bot.reply(theirs)).data["message_id"]
    text = {"msg_type": "text", "content": '{"text":"new"}'}
    assert (await bot.call("PUT", f"{IM}/{theirs}", text)).code == 230071
    assert (await bot.call("DELETE", f"{IM}/{theirs}")).code == 230026
    assert (await bot.call("PUT", f"{IM}/{ours}", text)).data["updated"]
    assert (await bot.call("DELETE", f"{IM}/{ours}")).code == 0
    assert emulator.ledger.visible_replies(theirs) == []
    assert (await bot.call("PUT", f"{IM}/{ours}", text)).code == 230011


async def test_reactions(emulator: Emulator, bot: Bot) -> None:
    message_id = emulator.world.say("Alice", GROUP, "hi")
    path = f"{IM}/{message_id}/reactions"
    theirs = emulator.world.react("Bob", message_id, "OK")
    added = (await bot.call("POST", path, {"reaction_type": {"emoji_type": "Typing"}})).data["reaction_id"]
    assert emulator.ledger.reactions(message_id) == ["OK", "Typing"]
    listed = (await bot.call("GET", path, reaction_type="Typing")).data["items"]
    assert [each["reaction_id"] for each in listed] == [added]
    assert (await bot.call("DELETE", f"{path}/{theirs}")).code == 231007
    assert (await bot.call("DELETE", f"{path}/{added}")).code == 0
    assert (await bot.call("DELETE", f"{path}/{added}")).code == 231011
    assert (await bot.call("POST", path, {"reaction_type": {"emoji_type": "TYPING"}})).code == 231001
    emulator.world.recall("Alice", message_id)
    assert (await bot.call("POST", path, {"reaction_type": {"emoji_type": "OK"}})).code == 231003
    assert emulator.ledger.reactions(message_id) == ["OK"]


async def test_people_see_notifications_for_messages_not_for_patches(emulator: Emulator, bot: Bot) -> None:
    message_id = emulator.world.say("Alice", emulator.world.private_chat("Alice"), "hi")
    card_message = (await bot.reply_card(message_id, card_of("one"))).data["message_id"]
    await bot.call("PATCH", f"{IM}/{card_message}", {"content": json.dumps(card_of("two"))})
    assert [each.message_id for each in emulator.ledger.notifications] == [card_message]


async def test_observers_hear_of_every_visible_change(emulator: Emulator, bot: Bot) -> None:
    heard: list[str] = []
    stop = emulator.world.observe(lambda change: heard.append(change["type"]))
    message_id = emulator.world.say("Alice", GROUP, "hi")
    card_message = (await bot.reply_card(message_id, card_of("one"))).data["message_id"]
    await bot.call("PATCH", f"{IM}/{card_message}", {"content": json.dumps(card_of("two"))})
    emulator.world.react("Bob", card_message, "OK")
    emulator.world.edit("Alice", message_id, "hello")
    emulator.world.recall("Alice", message_id)
    stop()
    emulator.world.say("Alice", GROUP, "unheard")
    assert heard == ["message", "message", "card", "reaction", "edit", "recall"]
