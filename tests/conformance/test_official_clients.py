"""The official clients, unmodified, against the emulator in another process: what they accept, Feishu's shape is."""

from typing import Any

import pytest

from tests.conformance.conftest import Start
from tests.conformance.processes import Control

CLIENT_START_S = 90  # importing the official client takes 2.5 s alone, and far longer on a busy machine
pytestmark = pytest.mark.timeout(240)


def test_event_reaches_the_official_client_and_its_reply_arrives(emulator: Control, start: Start) -> None:
    client = start("oapi_events.py", emulator.url)
    emulator.post("wait", pings=1, timeout_s=CLIENT_START_S)
    message_id = emulator.say("Alice", "oc_group", "hello", mention_bot=True)
    line = client.line()
    assert line["message_id"] == message_id
    assert (line["open_id"], line["user_id"], line["chat_type"]) == ("ou_alice", "u_alice", "group")
    assert line["mentions"] == ["ou_bot_cli_emulator"]
    emulator.post("wait", acked=message_id)
    [reply] = emulator.ledger(message_id)["visible_replies"]
    assert reply["content"] == {"text": "echo @_user_1 hello"}


def test_chunks_in_reverse_order_make_one_event(emulator: Control, start: Start) -> None:
    emulator.post("behaviour", chunk_bytes=300, chunk_order="reverse")
    client = start("oapi_events.py", emulator.url)
    emulator.post("wait", connections=1, timeout_s=CLIENT_START_S)
    message_id = emulator.say("Bob", "oc_p2p_bob", "x" * 2000)
    assert client.line()["length"] == 2000
    emulator.post("wait", acked=message_id)
    assert [each["attempt"] for each in emulator.ledger(message_id)["deliveries"]] == [1]


def test_missing_chunk_is_redelivered_whole(emulator: Control, start: Start) -> None:
    emulator.post("behaviour", chunk_bytes=300, chunks_missing=1)
    emulator.post("settings", time_scale=0.01, ack_timeout_s=0.5)
    client = start("oapi_events.py", emulator.url)
    emulator.post("wait", connections=1, timeout_s=CLIENT_START_S)
    message_id = emulator.say("Bob", "oc_p2p_bob", "x" * 2000)
    assert client.line()["length"] == 2000
    emulator.post("wait", acked=message_id)
    attempts = emulator.ledger(message_id)["deliveries"]
    assert [each["ack_code"] for each in attempts] == [None, 200]


def test_click_gets_the_toast_and_the_card_of_the_answer(emulator: Control, start: Start) -> None:
    client = start("oapi_events.py", emulator.url)
    emulator.post("wait", connections=1, timeout_s=CLIENT_START_S)
    emulator.say("Alice", "oc_p2p_alice", "a card please")
    card_message = client.line()["reply"]
    answer = emulator.world("click", user="Alice", message_id=card_message, value={"id": 7}, form={"why": "because"})
    assert answer["code"] == 0
    assert answer["applied"]
    assert answer["toast"] == {"type": "success", "content": "saved"}
    line = client.line()
    assert (line["value"], line["form"], line["message_id"]) == ({"id": 7}, {"why": "because"}, card_message)
    last = emulator.ledger(card_message)["card_states"][-1]
    assert (last["call"], last["card"]["body"]["elements"][0]["content"]) == ("callback", "done")


def test_official_client_comes_back_after_a_cut(emulator: Control, start: Start) -> None:
    client = start("oapi_events.py", emulator.url)
    emulator.post("wait", connections=1, timeout_s=CLIENT_START_S)
    assert emulator.post("connections", do="cut") == {"connections": 1}
    emulator.post("wait", connections=1, timeout_s=CLIENT_START_S)
    message_id = emulator.say("Alice", "oc_p2p_alice", "again")
    assert client.line()["message_id"] == message_id


def test_recall_reaches_the_official_client(emulator: Control, start: Start) -> None:
    client = start("oapi_events.py", emulator.url)
    emulator.post("wait", connections=1, timeout_s=CLIENT_START_S)
    message_id = emulator.say("Alice", "oc_p2p_alice", "oops")
    assert client.line()["event"] == "message"
    emulator.world("recall", user="Alice", message_id=message_id)
    assert client.line() == {"event": "recall", "message_id": message_id}


def test_calls_of_the_official_client(emulator: Control, start: Start) -> None:
    message_id = emulator.say("Alice", "oc_group", "work", mention_bot=True)
    result = start("oapi_calls.py", emulator.url, message_id, *_file(emulator)).line()
    assert len(set(result["created"])) == 1
    assert len(set(result["replied"])) == 1
    assert result["found"] == [message_id]
    assert result["listed"] == [message_id, result["replied"][0]]
    assert result["reactions"]["listed"] == ["app"]
    assert result["media"]["downloaded"] == "what Bob has sent"
    ledger = emulator.ledger(message_id)
    assert [each["message_id"] for each in ledger["visible_replies"]] == [
        result["replied"][0],
        result["cards"]["message_id"],
    ]
    assert ledger["reactions"] == []
    patched = emulator.ledger(result["replied"][0])["card_states"]
    assert [each["call"] for each in patched] == ["im.message.reply", "im.message.patch"]
    _assert_streamed(emulator, result["cards"])


def test_echo_bot_of_the_channel_sdk(emulator: Control, start: Start) -> None:
    start("channel_echo.py", emulator.url)
    emulator.post("wait", connections=1, timeout_s=CLIENT_START_S)
    message_id = emulator.say("张三", "oc_p2p_zhang_san", "你好")
    emulator.post("wait", replies_to=message_id, timeout_s=CLIENT_START_S)
    [reply] = emulator.ledger(message_id)["visible_replies"]
    assert "received: 你好" in str(reply["content"])
    emulator.post("wait", acked=message_id)


def _file(emulator: Control) -> tuple[str, str]:
    """A message of Bob that carries a file, and the key of the file."""
    data = "d2hhdCBCb2IgaGFzIHNlbnQ="  # "what Bob has sent"
    message_id = emulator.world("send_file", user="Bob", chat_id="oc_p2p_bob", name="a.txt", data=data)
    chats = emulator.get("snapshot?user=Bob")["chats"]
    messages = [message for chat in chats for message in chat["messages"]]
    content = next(message["content"] for message in messages if message["message_id"] == message_id)
    return message_id, content["file_key"]


def _assert_streamed(emulator: Control, cards: dict[str, Any]) -> None:
    """Every frame was visible, the repeated last call was refused."""
    states = emulator.ledger(cards["message_id"])["card_states"]
    texts = [each["card"]["body"]["elements"][0]["content"] for each in states]
    assert texts == ["…", "a", "ab", "abc", "abc", "final"]
    assert [each["sequence"] for each in states] == [0, 1, 2, 3, 4, 5]
    assert cards["late"] == 200770
