"""Where a message goes: one table of cases, readable by someone who knows Feishu and not the code."""

from dataclasses import dataclass, replace

import pytest

from channels.ids import ChatId, ConversationKey, MessageId, OpenId, SessionId, ThreadId, UserId
from channels.rules.message import Envelope, Message, Sender
from channels.rules.routing import (
    AwaitEstablishing,
    Continue,
    Decision,
    Drop,
    Facts,
    Policy,
    Refuse,
    RouteFact,
    Start,
    decide,
    drop_at_the_door,
)

BOT = OpenId("ou_bot")
ALICE = Sender(UserId("alice"), OpenId("ou_alice"))
POLICY = Policy(bot_open_id=BOT, app_id="cli_app")
THREAD_ROUTE = RouteFact(ConversationKey("omt_1"), SessionId("session_thread"))
CHAT_ROUTE = RouteFact(ConversationKey("chat:p2p:oc_1:alice"), SessionId("session_chat"))


def message(
    chat_type: str = "p2p",
    *,
    thread: str | None = None,
    root: str | None = None,
    mentioned: bool = False,
    everyone: bool = False,
    sender: Sender = ALICE,
) -> Message:
    envelope = Envelope(
        message_id=MessageId("om_1"),
        chat_id=ChatId("oc_1"),
        chat_type=chat_type,
        create_time_ms=1,
        sender=sender,
        thread_id=ThreadId(thread) if thread else None,
        root_id=MessageId(root) if root else None,
    )
    return Message(envelope, "hello", mentioned_bot=mentioned, mentioned_all=everyone)


@dataclass(frozen=True)
class Case:
    name: str
    message: Message
    facts: Facts
    expected: type[Decision] | Decision
    policy: Policy = POLICY


EXPIRED = Facts(tombstoned=True)
ROUTED = Facts(thread_route=THREAD_ROUTE)
CLAIM_OF_ROOT = Facts(claim_of_root=MessageId("om_0"))
CLAIM_OF_SENDER = Facts(claim_of_sender=MessageId("om_0"))
IN_CHAT = Facts(chat_route=CHAT_ROUTE)

CASES = [
    Case("private: a first message starts a topic", message(), Facts(), Start(True, CHAT_ROUTE.key)),
    Case(
        "private, topics off: a first message starts in the chat",
        message(),
        Facts(),
        Start(False, CHAT_ROUTE.key),
        replace(POLICY, topic_in_private=False),
    ),
    Case("private: a chat route goes on", message(), IN_CHAT, Continue(CHAT_ROUTE, in_thread=False)),
    Case("private: inside a routed topic", message(thread="omt_1"), ROUTED, Continue(THREAD_ROUTE, in_thread=True)),
    Case("private: a topic without a route starts there", message(thread="omt_9"), Facts(), Start),
    Case("private: a topic without a route ignores the chat route", message(thread="omt_9"), IN_CHAT, Start),
    Case(
        "private, topics off: a topic without a route still starts in the topic",
        message(thread="omt_9"),
        Facts(),
        Start(True, CHAT_ROUTE.key),
        replace(POLICY, topic_in_private=False),
    ),
    Case("private: another first message waits for the first", message(), CLAIM_OF_SENDER, AwaitEstablishing),
    Case("private: recalled before it was decided", message(), Facts(recalled=True), Drop("recalled")),
    Case("group: no mention, no route", message("group"), Facts(), Drop("not_mentioned")),
    Case("group: a mention starts", message("group", mentioned=True), Facts(), Start),
    Case("group: no mention needed in a routed topic", message("group", thread="omt_1"), ROUTED, Continue),
    Case("group: a foreign topic needs a mention", message("group", thread="omt_9"), Facts(), Drop("not_mentioned")),
    Case(
        "group: a mention in a foreign topic starts there",
        message("group", thread="omt_9", mentioned=True),
        Facts(),
        Start,
    ),
    Case("group: @_all is no mention", message("group", everyone=True), Facts(), Drop("not_mentioned")),
    Case(
        "group: @_all is a mention when configured",
        message("group", everyone=True),
        Facts(),
        Start,
        replace(POLICY, respond_to_all=True),
    ),
    Case("group: a chat route still needs a mention", message("group"), IN_CHAT, Drop("not_mentioned")),
    Case("group: a mention goes on in the chat route", message("group", mentioned=True), IN_CHAT, Continue),
    Case(
        "group: a topic reply that overtakes the route waits, whoever wrote it, without a mention",
        message("group", thread="omt_1", root="om_0"),
        CLAIM_OF_ROOT,
        AwaitEstablishing(MessageId("om_0")),
    ),
    Case(
        "group: the sender's own claim does not make unmentioned talk a question",
        message("group"),
        CLAIM_OF_SENDER,
        Drop,
    ),
    Case(
        "group: a mention waits for the sender's claim",
        message("group", mentioned=True),
        CLAIM_OF_SENDER,
        AwaitEstablishing,
    ),
    Case("expired topic: refused", message(thread="omt_1"), EXPIRED, Refuse("expired")),
    Case(
        "expired topic: refused even with a mention", message("group", thread="omt_1", mentioned=True), EXPIRED, Refuse
    ),
    Case(
        "expired topic: the tombstone wins over a route",
        message(thread="omt_1"),
        replace(ROUTED, tombstoned=True),
        Refuse("expired"),
    ),
    Case(
        "recalled wins over the tombstone", message(thread="omt_1"), replace(EXPIRED, recalled=True), Drop("recalled")
    ),
    Case(
        "a quote (root without thread) is no topic",
        message(root="om_7"),
        IN_CHAT,
        Continue(CHAT_ROUTE, in_thread=False),
    ),
    Case("a quote in a group needs a mention", message("group", root="om_7"), Facts(), Drop("not_mentioned")),
    Case(
        "a routed topic wins over the sender's claim",
        message(thread="omt_1"),
        replace(ROUTED, claim_of_sender=MessageId("om_0")),
        Continue(THREAD_ROUTE, in_thread=True),
    ),
    Case(
        "group, topics off: a mention starts in the chat",
        message("group", mentioned=True),
        Facts(),
        Start(False, ConversationKey("chat:group:oc_1:alice")),
        replace(POLICY, topic_in_group=False),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_message_goes_where_people_expect(case: Case) -> None:
    decision = decide(case.message, case.facts, case.policy)
    if isinstance(case.expected, type):
        assert isinstance(decision, case.expected)
    else:
        assert decision == case.expected


DOOR = [
    ("a person in private", message(), POLICY, None),
    ("the bot's own message", message(sender=Sender(UserId(""), BOT, "app")), POLICY, "own_message"),
    ("another bot", message(sender=Sender(UserId(""), OpenId("cli_other"), "app")), POLICY, "bot_sender"),
    (
        "another bot where bots are allowed",
        message(sender=Sender(UserId(""), OpenId("cli_other"), "app")),
        replace(POLICY, allow_bots=True),
        None,
    ),
    (
        "the bot's own message where bots are allowed",
        message(sender=Sender(UserId(""), OpenId("cli_app"), "app")),
        replace(POLICY, allow_bots=True),
        "own_message",
    ),
    ("an unknown kind of chat", message("topic_group"), POLICY, "chat_type"),
    ("private where private is off", message(), replace(POLICY, dm="off"), "dm_off"),
    ("a group where private is off", message("group"), replace(POLICY, dm="off"), None),
    ("a person who is not on the list", message(), replace(POLICY, dm="users"), "dm_user"),
    ("a person on the list", message(), replace(POLICY, dm="users", dm_users=frozenset({UserId("alice")})), None),
]


@pytest.mark.parametrize(("name", "what", "policy", "reason"), DOOR, ids=[row[0] for row in DOOR])
def test_static_facts_drop_at_the_door(name: str, what: Message, policy: Policy, reason: str | None) -> None:
    assert drop_at_the_door(what.envelope, policy) == reason


def test_an_empty_message_is_dropped_at_the_door() -> None:
    assert drop_at_the_door(replace(message().envelope, empty=True), POLICY) == "empty"
