"""Where a message goes: `routing_cases.txt` is the table, readable by someone who knows Feishu and not the code.

Each row is one message. *where*: "private" and "group" are chats, "… topic" a topic in one, "topic group" the first
message of a topic there. *writes*: Alice where nobody else is named; "us" is the bot itself. *the bot knows*: what its
file holds about the place: routed (there is a session), establishing (a session is being opened: by this person, or
"root" for the message under which this one hangs), expired (the topic has a tombstone), taken back (recalled), asked
for (somebody pressed *Handle all* on a pending card), waiting (messages in the queue), bots had (answers to bots),
quota used up (of whoever writes).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from channels.ids import ChatId, ConversationKey, MessageId, OpenId, SessionId, ThreadId, UserId
from channels.rules.command import parse
from channels.rules.message import Envelope, Message, Sender
from channels.rules.quota import Short
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
    takes_commands,
)

TABLE = Path(__file__).with_name("routing_cases.txt")
COLUMNS = ("where", "writes", "the bot knows", "settings", "what happens", "because")
LEAST_CASES = 120

SENDERS = {
    "Alice": Sender(UserId("alice"), OpenId("ou_alice")),
    "Bob": Sender(UserId("bob"), OpenId("ou_bob")),
    "Robot": Sender(UserId(""), OpenId("ou_robot"), "app"),
    "us": Sender(UserId(""), OpenId("ou_bot"), "app"),
}
THREAD, ROOT, QUOTED, EARLIER = ThreadId("omt_1"), MessageId("om_root"), MessageId("om_quoted"), MessageId("om_earlier")
PLACES: dict[str, dict[str, object]] = {
    "private": {"chat_type": "p2p"},
    "private topic": {"chat_type": "p2p", "thread_id": THREAD, "root_id": ROOT},
    "group": {"chat_type": "group"},
    "group topic": {"chat_type": "group", "thread_id": THREAD, "root_id": ROOT},
    "topic group": {"chat_type": "group", "thread_id": THREAD},
    "meeting": {"chat_type": "meeting"},
}
SETTINGS: dict[str, Mapping[str, object]] = {
    "private in chat": {"topic_in_private": False},
    "group in chat": {"topic_in_group": False},
    "@all counts": {"respond_to_all": True},
    "bots allowed": {"allow_bots": True},
    "two for bots": {"bot_answers": 2},
    "dm off": {"dm": "off"},
    "dm users": {"dm": "users"},
    "dm Alice": {"dm": "users", "dm_users": frozenset({UserId("alice")})},
    "queue of 1": {"queue_limit": 1},
    "queue of 30": {"queue_limit": 30},
}
THREAD_ROUTE = RouteFact(ConversationKey(THREAD), SessionId("session_of_the_topic"))
CHAT_ROUTE = RouteFact(ConversationKey("chat:p2p:oc_1:alice"), SessionId("session_of_the_chat"))
KNOWN: dict[str, Mapping[str, object]] = {
    "topic routed": {"thread_route": THREAD_ROUTE},
    "chat routed": {"chat_route": CHAT_ROUTE},
    "establishing": {"claim_of_sender": EARLIER},
    "root establishing": {"claim_of_root": ROOT},
    "expired": {"tombstoned": True},
    "taken back": {"recalled": True},
    "asked for": {"asked_for": True},
    "quota used up": {"short": Short("turns", "day", 3, 3, 0, 86_400_000)},
}
COUNTS = {r"(\d+) waiting": "waiting", r"bots had (\d+)": "bot_answers"}


@dataclass(frozen=True)
class Case:
    line: int
    cells: Mapping[str, str]

    def __str__(self) -> str:
        return " / ".join(cell for name, cell in self.cells.items() if cell and name != "because")


def read_table() -> list[Case]:
    cases = []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        cells = tuple(cell.strip() for cell in line.split("|"))
        if line and not line.startswith("#") and cells != COLUMNS:
            cases.append(Case(number, dict(zip(COLUMNS, cells, strict=True))))
    return cases


def message_of(where: str, writes: str) -> Message:
    """The message as the normaliser hands it on: without the bot's own mention."""
    named = re.match(r"(Bob|Robot|us): (.*)", writes)
    sender, words = (SENDERS[named[1]], named[2]) if named else (SENDERS["Alice"], writes)
    place = dict(PLACES[where])
    if words.endswith("quote"):
        place |= {"root_id": place.get("root_id", QUOTED), "parent_id": QUOTED}
    envelope = Envelope(
        message_id=MessageId("om_1"),
        chat_id=ChatId("oc_1"),
        create_time_ms=1,
        sender=sender,
        message_type="image" if words == "picture" else "text",
        empty=words == "nothing",
        **place,  # type: ignore[arg-type]
    )
    text = re.sub(r"@bot\s*", "", words)
    return Message(envelope, text, mentioned_bot="@bot" in words, mentioned_all="@all" in words)


def facts_of(known: str, where: str) -> Facts:
    values: dict[str, object] = {}
    for fact in filter(None, (each.strip() for each in known.split(","))):
        counted = [(name, found[1]) for shape, name in COUNTS.items() if (found := re.fullmatch(shape, fact))]
        values |= {name: int(count) for name, count in counted} if counted else KNOWN[fact]
    if where == "private" and "claim_of_root" in values:
        values["claim_of_root"] = QUOTED
    return Facts(**values)  # type: ignore[arg-type]


def policy_of(settings: str) -> Policy:
    policy = Policy(bot_open_id="ou_bot", app_id="cli_app")
    for setting in filter(None, (each.strip() for each in settings.split(","))):
        policy = replace(policy, **SETTINGS[setting])  # type: ignore[arg-type]
    return policy


def outcome(message: Message, facts: Facts, policy: Policy) -> str:
    """What happens, in the table's words."""
    if (reason := drop_at_the_door(message.envelope, policy)) is not None:
        return f"ignored: {reason}"
    if takes_commands(message, policy) and parse(message.text) is not None:
        return "command"
    return in_words(decide(message, facts, policy), message)


def in_words(decision: Decision, message: Message) -> str:
    in_topic = message.envelope.thread_id is not None
    match decision:
        case Drop(reason):
            return f"ignored: {reason}"
        case Refuse(reason):
            return f"refused: {reason}"
        case Continue(route, in_thread):
            assert (route, in_thread) in ((THREAD_ROUTE, True), (CHAT_ROUTE, False))
            return "goes on in the topic" if in_thread else "goes on in the chat"
        case AwaitEstablishing(claim):
            return "waits for the first" if claim == EARLIER else "waits for its topic"
        case Start(in_thread, chat_key):
            assert chat_key == message.envelope.chat_key
            if not in_thread:
                assert not in_topic
                return "starts in the chat"
            return "starts in this topic" if in_topic else "opens a topic"
        case _:
            return type(decision).__name__


CASES = read_table()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_message_goes_where_people_expect(case: Case) -> None:
    cells = case.cells
    message = message_of(cells["where"], cells["writes"])
    facts = facts_of(cells["the bot knows"], cells["where"])
    happens = outcome(message, facts, policy_of(cells["settings"]))
    assert happens == cells["what happens"], f"line {case.line}: {cells['because']}"


def test_the_table_is_large_enough_and_says_why() -> None:
    assert len(CASES) >= LEAST_CASES
    assert [case.line for case in CASES if len(case.cells["because"]) < 8] == []


def test_no_case_stands_there_twice() -> None:
    seen = [tuple(case.cells[name] for name in COLUMNS[:4]) for case in CASES]
    assert len(set(seen)) == len(seen)


def test_the_table_knows_every_outcome_and_every_fact() -> None:
    happens = {case.cells["what happens"].partition(":")[0] for case in CASES}
    assert happens == {
        *("opens a topic", "starts in the chat", "starts in this topic", "goes on in the topic", "goes on in the chat"),
        *("waits for the first", "waits for its topic", "ignored", "refused", "command"),
    }
    known = {fact.strip() for case in CASES for fact in case.cells["the bot knows"].split(",")}
    assert set(KNOWN) <= known
    assert set(SETTINGS) <= {each.strip() for case in CASES for each in case.cells["settings"].split(",")}


def test_our_own_app_id_as_sender_is_ourselves_too() -> None:
    """History names bots by their app id."""
    ours = replace(message_of("group", "@bot hi").envelope, sender=Sender(UserId(""), OpenId("cli_app"), "app"))
    assert drop_at_the_door(ours, replace(policy_of("bots allowed"))) == "own_message"
