"""A history item, read twice, becomes the event that it was: the emulator's own event is the witness."""

import json
from typing import Any

import pytest

from channels.emulator import GROUP
from channels.emulator.world import World
from channels.feishu.events import MessageReceived, normalise, parse
from channels.feishu.history import event_from, is_said

Json = dict[str, Any]


@pytest.fixture
def world() -> World:
    return World()


def rebuilt(world: World, message_id: str, *, chat_type: str = "group", twin: bool = True) -> bytes:
    message = world.message(message_id)
    item, other = world.views.item(message), world.views.item(message, id_type="user_id")
    return event_from(item, other if twin else None, chat_type, world.bot.app_id, world.bot.open_id)


def live(world: World, message_id: str) -> bytes:
    message = world.message(message_id)
    event = world.views.received(message, world.chat(message.chat_id))
    header = {"event_id": "live", "event_type": "im.message.receive_v1"}
    return json.dumps({"schema": "2.0", "header": header, "event": event}).encode()


def received(payload: bytes) -> MessageReceived:
    event = parse(payload)
    assert isinstance(event, MessageReceived), event
    return event


CONTENTS: list[tuple[str, Json | str | None]] = [
    ("text", None),
    ("post", {"title": "T", "content": [[{"tag": "text", "text": "words"}, {"tag": "at", "user_id": "@_user_1"}]]}),
    ("image", {"image_key": "img_1"}),
    ("file", {"file_key": "file_1", "file_name": "a.pdf"}),
    ("merge_forward", "Merged and Forwarded Message"),
]


@pytest.mark.parametrize(("kind", "content"), CONTENTS, ids=[kind for kind, _ in CONTENTS])
@pytest.mark.parametrize("place", ["group", "p2p"])
def test_it_says_the_same_as_the_live_event(world: World, kind: str, content: Json | str | None, place: str) -> None:
    chat_id = GROUP if place == "group" else world.private_chat("Alice")
    message_id = world.say(
        "Alice",
        chat_id,
        "words  for\n  the bot",
        message_type=kind,
        content=content,
        mention_bot=True,
        mentions=["Bob"],
        push=False,
    )
    bot = world.bot.open_id
    ours, theirs = received(rebuilt(world, message_id, chat_type=place)), received(live(world, message_id))
    assert ours.envelope == theirs.envelope
    assert normalise(ours.raw, bot) == normalise(theirs.raw, bot)
    assert normalise(ours.raw, bot).mentioned_bot
    assert ours.event_id == f"history:{message_id}"


def test_topics_and_quotes_keep_their_places(world: World) -> None:
    root = world.say("Alice", GROUP, "root", push=False)
    world.timeline.open_thread(world.message(root), "omt_1")
    reply = world.say("Bob", GROUP, "reply", thread_id="omt_1", push=False)
    quote = world.say("Bob", GROUP, "quote", parent_id=world.say("Alice", GROUP, "said", push=False), push=False)
    for message_id in (root, reply, quote):
        assert received(rebuilt(world, message_id)).envelope == received(live(world, message_id)).envelope


def test_without_the_right_to_user_ids_people_are_known_by_their_open_id(world: World) -> None:
    message_id = world.say("Alice", GROUP, "words", mentions=["Bob"], push=False)
    envelope = received(rebuilt(world, message_id, twin=False)).envelope
    assert (envelope.sender.user_id, envelope.sender.open_id) == ("open:ou_alice", "ou_alice")
    world.settings.scopes.discard("contact:user.employee_id:readonly")
    assert envelope == received(live(world, message_id)).envelope


def test_a_twin_of_the_wrong_kind_tells_nothing(world: World) -> None:
    """Some gateways ignore user_id_type and answer with open_ids."""
    item = world.views.item(world.message(world.say("Alice", GROUP, "words", push=False)))
    payload = event_from(item, item, "group", world.bot.app_id, world.bot.open_id)
    assert received(payload).envelope.sender.user_id == "open:ou_alice"


def test_a_mention_of_our_app_id_means_us(world: World) -> None:
    item = world.views.item(world.message(world.say("Alice", GROUP, "words", mention_bot=True, push=False)))
    item["mentions"][0] |= {"id": world.bot.app_id, "id_type": "app_id"}
    payload = event_from(item, None, "group", world.bot.app_id, world.bot.open_id)
    assert normalise(received(payload).raw, world.bot.open_id).mentioned_bot


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, True),
        ({"deleted": True}, False),
        ({"msg_type": "system"}, False),
        ({"upper_message_id": "om_forward"}, False),
        ({"message_id": ""}, False),
    ],
)
def test_what_counts_as_said(changes: Json, said: bool) -> None:
    assert is_said({"message_id": "om_1", "msg_type": "text", "deleted": False} | changes) is said


@pytest.mark.parametrize("item", [{}, {"message_id": 5}, {"sender": "x", "body": [], "mentions": [1, {}]}])
def test_nonsense_becomes_no_message(item: Json) -> None:
    assert not isinstance(parse(event_from(item, None, "group", "cli", "ou_bot")), MessageReceived)
