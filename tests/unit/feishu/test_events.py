import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.feishu.events import (
    BotAdded,
    BotRemoved,
    CardClicked,
    ChatDisbanded,
    Event,
    Malformed,
    MessageRecalled,
    MessageReceived,
    PrivateChatEntered,
    ReactionAdded,
    UnknownEvent,
    parse,
)
from channels.ids import ChatId, EventId, MessageId, OpenId, ThreadId, UserId
from channels.rules.message import Envelope, Sender

PERSON = {"union_id": "on_1", "user_id": "u1", "open_id": "ou_1"}
ALICE = Sender(UserId("u1"), OpenId("ou_1"))


def payload(event_type: str, event: Any, event_id: str = "ev1") -> bytes:
    header = {"event_id": event_id, "event_type": event_type, "create_time": "1700000000000"}
    return json.dumps({"schema": "2.0", "header": header, "event": event}).encode()


def message(**fields: Any) -> dict[str, Any]:
    basic = {
        "message_id": "om_1",
        "chat_id": "oc_1",
        "chat_type": "group",
        "message_type": "text",
        "create_time": "1700000000001",
        "content": '{"text":"hi"}',
    }
    sender = fields.pop("sender", {"sender_id": PERSON, "sender_type": "user"})
    return {"sender": sender, "message": {**basic, **fields}}


def received(**fields: Any) -> Envelope:
    event = parse(payload("im.message.receive_v1", message(**fields)))
    assert isinstance(event, MessageReceived)
    return event.envelope


def test_a_message_in_a_topic() -> None:
    data = payload("im.message.receive_v1", message(thread_id="omt_1", root_id="om_0", parent_id="om_0"))
    event = parse(data)
    assert event == MessageReceived(
        EventId("ev1"),
        Envelope(
            MessageId("om_1"),
            ChatId("oc_1"),
            "group",
            1700000000001,
            ALICE,
            ThreadId("omt_1"),
            MessageId("om_0"),
            MessageId("om_0"),
            "text",
        ),
        data.decode(),
    )


def test_ids_that_are_absent_or_empty_are_none() -> None:
    for envelope in (received(), received(thread_id="", root_id="", parent_id=None)):
        assert (envelope.thread_id, envelope.root_id, envelope.parent_id) == (None, None, None)


def test_a_person_without_user_id_is_known_by_open_id() -> None:
    assert received(sender={"sender_id": {"open_id": "ou_9"}, "sender_type": "user"}).sender == Sender(
        UserId("open:ou_9"), OpenId("ou_9")
    )


@pytest.mark.parametrize("kind", ["app", "bot"])
def test_a_bot_has_no_user_id(kind: str) -> None:
    sender = received(sender={"sender_id": PERSON, "sender_type": kind}).sender
    assert sender == Sender(UserId(""), OpenId("ou_1"), kind)


@pytest.mark.parametrize(
    ("given_type", "chat_type"),
    [("p2p", "p2p"), ("group", "group"), ("topic_group", "group"), ("private", "p2p"), ("odd", "odd"), ("", "")],
)
def test_chat_types(given_type: str, chat_type: str) -> None:
    assert received(chat_type=given_type).chat_type == chat_type


@pytest.mark.parametrize(
    ("message_type", "content", "empty"),
    [
        ("text", '{"text":"hi"}', False),
        ("text", '{"text":"@_user_1"}', False),
        ("text", '{"text":" \\n "}', True),
        ("text", "{}", True),
        ("text", "no json", True),
        ("text", "", True),
        ("text", "[]", True),
        ("image", '{"image_key":"k"}', False),
        ("post", "", True),
    ],
)
def test_what_counts_as_empty(message_type: str, content: str, empty: bool) -> None:
    assert received(message_type=message_type, content=content).empty is empty


@pytest.mark.parametrize("value", [None, "x", "-5", 1e400, True, "9" * 30, 2**70, [1]])
def test_an_absurd_time_is_zero(value: Any) -> None:
    assert received(create_time=value).create_time_ms == 0


def test_half_a_surrogate_pair_never_reaches_an_id() -> None:
    raw = payload("im.message.receive_v1", message()).replace(b'"om_1"', b'"om_\\ud800"')
    event = parse(raw)
    assert isinstance(event, MessageReceived)
    assert event.envelope.message_id == "om_?"
    event.raw.encode()


CLICK = {
    "operator": {**PERSON, "tenant_key": "t"},
    "token": "c-1",
    "action": {"value": {"id": "7"}, "tag": "button", "name": "stop", "option": "o", "form_value": {"f": ["a"]}},
    "host": "im_message",
    "context": {"open_message_id": "om_2", "open_chat_id": "oc_2"},
}
CHAT = {"chat_id": "oc_1", "operator_id": PERSON, "name": "Team"}


@pytest.mark.parametrize(
    ("event_type", "body", "expected"),
    [
        (
            "card.action.trigger",
            CLICK,
            CardClicked(
                EventId("ev1"),
                "c-1",
                ALICE,
                MessageId("om_2"),
                ChatId("oc_2"),
                {"id": "7"},
                "button",
                "stop",
                "o",
                {"f": ["a"]},
            ),
        ),
        (
            "im.message.recalled_v1",
            {"message_id": "om_1", "chat_id": "oc_1", "recall_time": "17"},
            MessageRecalled(EventId("ev1"), MessageId("om_1"), ChatId("oc_1"), 17),
        ),
        ("im.chat.member.bot.added_v1", CHAT, BotAdded(EventId("ev1"), ChatId("oc_1"), "Team", ALICE)),
        ("im.chat.member.bot.deleted_v1", CHAT, BotRemoved(EventId("ev1"), ChatId("oc_1"))),
        ("im.chat.disbanded_v1", CHAT, ChatDisbanded(EventId("ev1"), ChatId("oc_1"))),
        (
            "im.chat.access_event.bot_p2p_chat_entered_v1",
            CHAT,
            PrivateChatEntered(EventId("ev1"), ChatId("oc_1"), ALICE),
        ),
        (
            "im.message.reaction.created_v1",
            {
                "message_id": "om_1",
                "reaction_type": {"emoji_type": "OK"},
                "operator_type": "user",
                "user_id": PERSON,
                "action_time": "5",
            },
            ReactionAdded(EventId("ev1"), MessageId("om_1"), "OK", ALICE, 5),
        ),
        ("im.message.message_read_v1", {}, UnknownEvent(EventId("ev1"), "im.message.message_read_v1")),
    ],
)
def test_the_other_events(event_type: str, body: dict[str, Any], expected: Event) -> None:
    assert parse(payload(event_type, body)) == expected


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("word", {"value": "word"}),
        ('{"id":"7"}', {"id": "7"}),
        ("[1]", {"value": "[1]"}),
        ("", {}),
        (None, {}),
        (3, {}),
    ],
)
def test_a_buttons_value_may_be_text(value: Any, read: dict[str, object]) -> None:
    event = parse(payload("card.action.trigger", {**CLICK, "action": {"value": value}}))
    assert isinstance(event, CardClicked)
    assert event.value == read


def test_a_clicks_token_is_not_shown() -> None:
    assert "c-1" not in repr(parse(payload("card.action.trigger", CLICK)))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xff", "no JSON: UnicodeDecodeError"),
        (b"{", "no JSON: JSONDecodeError"),
        (b"[" * 100_000, "no JSON: RecursionError"),
        (b"9" * 5000, "no JSON: ValueError"),
        (b"[]", "JSON is a list"),
        (b"{}", "no event type"),
        (b'{"header":[],"event":1}', "no event type"),
        (payload("im.message.receive_v1", {}), "im.message.receive_v1 without message_id"),
        (payload("im.message.receive_v1", message(chat_id=1)), "im.message.receive_v1 without chat_id"),
        (payload("im.message.recalled_v1", []), "im.message.recalled_v1 without message_id"),
        (payload("card.action.trigger", {"action": {}}), "card.action.trigger without operator"),
        (payload("im.chat.disbanded_v1", {"chat_id": ""}), "im.chat.disbanded_v1 without chat_id"),
    ],
)
def test_malformed(data: bytes, why: str) -> None:
    assert parse(data) == Malformed(why)


def test_an_event_of_the_old_schema_is_unknown() -> None:
    old = {"uuid": "x", "type": "event_callback", "event": {"type": "p2p_chat_create"}}
    assert parse(json.dumps(old).encode()) == UnknownEvent(EventId("x"), "p2p_chat_create")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.one_of(
    st.sampled_from(["header", "event", "event_type", "event_id", "sender", "sender_id", "message", "message_id"]),
    st.sampled_from(["chat_id", "content", "mentions", "create_time", "action", "value", "operator", "open_id"]),
    st.sampled_from(["context", "reaction_type", "user_id", "operator_id"]),
)
TYPES = st.one_of(
    st.sampled_from(["im.message.receive_v1", "card.action.trigger", "im.message.recalled_v1"]),
    st.sampled_from(["im.chat.disbanded_v1", "im.message.reaction.created_v1", "im.chat.member.bot.added_v1"]),
)
SHAPED = st.recursive(
    JSON, lambda inner: st.dictionaries(KEYS, inner, max_size=6) | st.lists(inner, max_size=3), max_leaves=20
)


@given(st.binary(max_size=200))
def test_junk_bytes_never_raise(data: bytes) -> None:
    parse(data)


@given(TYPES, SHAPED)
def test_junk_in_the_shape_of_events_never_raises(event_type: str, event: Any) -> None:
    parse(payload(event_type, event))
