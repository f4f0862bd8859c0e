"""Every call of the API against the emulator: what it sends is understood, and what comes back is read right."""

import json

import pytest

from channels.emulator import GROUP, PLAIN, TOPICS, Emulator
from channels.errors import ApiRefused, CodeKind
from channels.feishu.api import FeishuApi
from channels.feishu.cardkit import card_content
from channels.feishu.media import file_type_of
from channels.ids import ChatId, MessageId, SendUuid
from tests.integration.wire.conftest import Passed

TEXT = json.dumps({"text": "hello"})
CARD = {
    "schema": "2.0",
    "config": {"streaming_mode": True, "update_multi": True},
    "body": {"elements": [{"tag": "markdown", "element_id": "answer", "content": ""}]},
}
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001"
    "e221bc330000000049454e44ae426082"
)


async def test_who_we_are(api: FeishuApi, emulator: Emulator) -> None:
    info = await api.bot_info()
    assert info.name == "Emulator Bot"
    assert info.open_id.startswith("ou_")
    assert api.counts == {"fetch_token": 1, "bot_info": 1}


async def test_send_and_a_repeat_under_the_same_uuid(api: FeishuApi, emulator: Emulator) -> None:
    first = await api.send_message(ChatId(GROUP), "text", TEXT, SendUuid("u1"))
    again = await api.send_message(ChatId(GROUP), "text", TEXT, SendUuid("u1"))
    assert first == again
    assert (first.chat_id, first.thread_id, first.parent_id) == (GROUP, None, None)
    assert first.create_time_ms > 1_600_000_000_000


async def test_reply_in_a_topic_and_as_a_quote(api: FeishuApi, emulator: Emulator) -> None:
    question = MessageId(emulator.world.say("Alice", GROUP, "?"))
    topic = await api.reply_message(question, "text", TEXT, SendUuid("u1"), in_thread=True, chat_id=ChatId(GROUP))
    assert topic.thread_id is not None
    assert topic.thread_id.startswith("omt_")
    assert (topic.root_id, topic.parent_id) == (question, question)
    other = MessageId(emulator.world.say("Bob", PLAIN, "?"))
    quote = await api.reply_message(other, "text", TEXT, SendUuid("u2"), in_thread=False, chat_id=ChatId(PLAIN))
    assert (quote.thread_id, quote.parent_id) == (None, other)
    with pytest.raises(ApiRefused) as caught:
        await api.reply_message(other, "text", TEXT, SendUuid("u3"), in_thread=True, chat_id=ChatId(PLAIN))
    assert caught.value.kind is CodeKind.NO_THREAD


async def test_to_a_person(api: FeishuApi, emulator: Emulator) -> None:
    alice = emulator.world.person("Alice")
    sent = await api.send_message(ChatId(alice.open_id), "text", TEXT, SendUuid("u1"), receive_id_type="open_id")
    assert sent.chat_id == emulator.world.private_chat("Alice")


async def test_patch_edit_recall(api: FeishuApi, emulator: Emulator) -> None:
    card = await api.send_message(ChatId(GROUP), "interactive", json.dumps(CARD), SendUuid("u1"))
    changed = {**CARD, "header": {"title": {"tag": "plain_text", "content": "done"}}}
    assert await api.patch_card(card.message_id, json.dumps(changed))
    assert emulator.ledger.card_json(card.message_id)["header"]["title"]["content"] == "done"
    text = await api.send_message(ChatId(GROUP), "text", TEXT, SendUuid("u2"))
    await api.edit_message(text.message_id, "text", json.dumps({"text": "better"}))
    (item,) = await api.get_message(text.message_id)
    assert json.loads(item["body"]["content"]) == {"text": "better"}
    await api.recall_message(text.message_id)
    with pytest.raises(ApiRefused) as caught:
        await api.reply_message(text.message_id, "text", TEXT, SendUuid("u3"), in_thread=False, chat_id=ChatId(GROUP))
    assert caught.value.kind is CodeKind.MESSAGE_GONE


async def test_reactions(api: FeishuApi, emulator: Emulator) -> None:
    question = MessageId(emulator.world.say("Alice", GROUP, "?"))
    emulator.world.react("Bob", question, "OK")
    typing = await api.add_reaction(question, "Typing")
    found = await api.list_reactions(question)
    assert {(each.emoji, each.operator_type) for each in found} == {("Typing", "app"), ("OK", "user")}
    (ours,) = await api.list_reactions(question, "Typing")
    assert (ours.reaction_id, ours.operator_id) == (typing, "cli_emulator")
    await api.remove_reaction(question, typing)
    assert emulator.ledger.reactions(question) == ["OK"]
    with pytest.raises(ApiRefused):
        await api.remove_reaction(question, typing)
    with pytest.raises(ApiRefused) as caught:
        await api.add_reaction(question, "NoSuchFace")
    assert caught.value.kind is CodeKind.PARAMETER


async def test_a_card_entity_streams_and_ends(api: FeishuApi, emulator: Emulator) -> None:
    card_id = await api.create_card(json.dumps(CARD))
    sent = await api.send_message(ChatId(GROUP), "interactive", card_content(card_id), SendUuid("u1"))
    assert await api.stream_text(card_id, "answer", "ha", 1, "a")
    assert await api.stream_text(card_id, "answer", "haha", 2, "b")
    assert emulator.ledger.card_json(sent.message_id)["body"]["elements"][0]["content"] == "haha"
    for sequence, uuid, kind in ((2, "c", CodeKind.SEQUENCE), (3, "b", CodeKind.REPEATED_UUID)):
        with pytest.raises(ApiRefused) as caught:
            await api.stream_text(card_id, "answer", "x", sequence, uuid)
        assert caught.value.kind is kind
    actions = [
        {"action": "partial_update_element", "params": {"element_id": "answer", "partial_element": {"content": "hm"}}}
    ]
    assert await api.batch_update_card(card_id, json.dumps(actions), 4, "d")
    settings = {"config": {"streaming_mode": False}}
    assert await api.set_card_settings(card_id, json.dumps(settings), 5, "e")
    with pytest.raises(ApiRefused) as caught:
        await api.stream_text(card_id, "answer", "late", 6, "f")
    assert caught.value.kind is CodeKind.STREAMING_CLOSED
    final = {**CARD, "config": {"update_multi": True}}
    assert await api.update_card(card_id, json.dumps(final), 7, "g")


async def test_a_frame_is_dropped_when_the_card_has_no_room(api: FeishuApi, emulator: Emulator) -> None:
    card_id = await api.create_card(json.dumps(CARD))
    await api.send_message(ChatId(GROUP), "interactive", card_content(card_id), SendUuid("u1"))
    sent = [
        await api.stream_text(card_id, "answer", "x" * number, number, f"f{number}", droppable=True)
        for number in range(1, 15)
    ]
    assert sent == [True] * 10 + [False] * 4
    assert api.counts["stream_text"] == 10
    assert await api.stream_text(card_id, "answer", "last", 15, "last"), "this one waits instead"
    assert {call.code for call in emulator.ledger.calls("cardkit.element.content")} <= {0}


async def test_media_go_both_ways(api: FeishuApi, emulator: Emulator) -> None:
    message_id = MessageId(emulator.world.send_file("Alice", GROUP, "a.json", b'{"code":5,"msg":"mine"}'))
    (item,) = await api.get_message(message_id)
    file_key = json.loads(item["body"]["content"])["file_key"]
    assert await api.download(message_id, file_key, "file") == b'{"code":5,"msg":"mine"}'
    with pytest.raises(ApiRefused) as caught:
        await api.download(message_id, file_key, "file", limit_bytes=5)
    assert caught.value.kind is CodeKind.TOO_LARGE
    with pytest.raises(ApiRefused):
        await api.download(message_id, "file_v3_absent", "file")
    assert (await api.upload_image(PNG)).startswith("img_")
    assert await api.upload_file("报告.pdf", b"%PDF", file_type_of("报告.pdf"))
    with pytest.raises(ApiRefused) as caught:
        await api.upload_file("empty.txt", b"", "stream")
    assert caught.value.kind is CodeKind.PARAMETER


async def test_history_page_by_page(api: FeishuApi, emulator: Emulator) -> None:
    ids = [emulator.world.say("Alice", TOPICS, str(number), push=False) for number in range(7)]
    seen, token = list[str](), None
    while True:
        page = await api.list_messages("chat", TOPICS, page_size=3, page_token=token)
        seen += [item["message_id"] for item in page.items]
        token = page.page_token
        if token is None:
            break
    assert seen == ids
    newest = await api.list_messages("chat", TOPICS, ascending=False, page_size=1)
    assert newest.items[0]["message_id"] == ids[-1]
    thread_id = newest.items[0]["thread_id"]
    thread = await api.list_messages("thread", thread_id, start_s=1, end_s=2)
    assert [item["message_id"] for item in thread.items] == [ids[-1]], "a thread takes no time range"


@pytest.mark.parametrize("mget", [True, False])
async def test_many_messages_at_once(api: FeishuApi, emulator: Emulator, mget: bool) -> None:
    emulator.settings.mget = mget
    ids = [MessageId(emulator.world.say("Alice", GROUP, str(number), push=False)) for number in range(3)]
    found = await api.get_messages([*ids, ids[0]], user_id_type="user_id")
    assert [item["message_id"] for item in found] == ids
    assert {item["sender"]["id_type"] for item in found} == {"user_id"}
    assert api.counts["get_message"] == (0 if mget else 3)
    if not mget:
        await api.get_messages(ids)
        assert api.counts["get_messages"] == 1, "a tenant without mget is asked once"


async def test_messages_that_are_gone_are_left_out(api: FeishuApi, emulator: Emulator) -> None:
    emulator.settings.mget = False
    kept = MessageId(emulator.world.say("Alice", GROUP, "kept", push=False))
    found = await api.get_messages([MessageId("om_absent_0000000000000000000000000"), kept])
    assert [item["message_id"] for item in found] == [kept]


async def test_chats_and_people(api: FeishuApi, emulator: Emulator) -> None:
    assert (await api.get_chat(ChatId(TOPICS))).topics
    group = await api.get_chat(ChatId(GROUP))
    assert (group.topics, group.mode) == (False, "group")
    members = await api.list_members(ChatId(GROUP))
    alice = emulator.world.person("Alice")
    assert (alice.open_id, "Alice") in {(each.member_id, each.name) for each in members}
    (user,) = await api.get_users([alice.open_id, alice.open_id])
    assert (user.open_id, user.user_id, user.name) == (alice.open_id, alice.user_id, "Alice")


async def test_the_probe_is_passed_three_times_a_request(api: FeishuApi, passed: Passed) -> None:
    await api.send_message(ChatId(GROUP), "text", TEXT, SendUuid("u1"))
    points = [point for point, name in passed.points if name == "send_message"]
    assert points == ["before", "after_effect", "after_answer"]
