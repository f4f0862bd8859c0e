"""Pictures and files: kept in the session's folder, several at once as one question, what cannot be read is named."""

import json
from typing import Any

import pytest

from channels.emulator.accounts import GROUP
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.kinds.desk import (
    HELD,
    PNG,
    TURNS,
    downloads,
    given,
    kept,
    pass_window,
    read_alone,
    send,
)
from tests.integration.taps import Failing

ATTEMPTS = "SELECT attempts FROM inflight"
ENTER = "UPDATE turns SET state = 'entered'"


async def test_a_picture(house: House) -> None:
    message_id = send(house, "", kind="image")
    text, words = await read_alone(house, message_id)
    assert text == "[picture: inbox/picture.png]"
    assert "picture.png (108 B)" in words
    assert kept(house) == {"picture.png": PNG}


async def test_field_40_three_pictures_at_once_are_one_turn(house: House) -> None:
    first, *others = [send(house, "", PNG + bytes([number]), "image") for number in range(3)]
    await pass_window(house, 3)
    await house.answered(first)
    house.assert_answered_once(first)
    assert [house.replies(each) for each in others] == [[], []]
    assert await house.one(TURNS) == 1
    assert sorted(kept(house)) == ["picture (2).png", "picture (3).png", "picture.png"]
    text = await given(house, first)
    assert all(name in text for name in kept(house))


async def test_each_picture_waits_anew_for_the_next(house: House) -> None:
    first = send(house, "", kind="image")
    await house.held(HELD, 1)
    house.advance(1.5)
    send(house, "", PNG + b"2", "image")
    await house.held(HELD, 2)
    house.advance(1.5)  # three seconds after the first, one and a half after the last
    bob = house.say("hello", "Bob")
    await house.seen(lambda: house.has_ended(bob))  # what is due by now has been looked at
    assert await house.one(HELD) == 2
    house.advance(1)
    await house.answered(first)
    assert len(kept(house)) == 2


async def test_pictures_and_the_words_that_follow_are_one_question_at_once(house: House) -> None:
    pictures = [send(house, "", PNG + bytes([number]), "image") for number in range(2)]
    await house.held(HELD, 2)
    words = house.say("which is better?")
    await house.answered(words)
    house.assert_answered_once(words)
    assert [house.replies(each) for each in pictures] == [[], []]
    text = await given(house, words)
    assert text == "[picture: inbox/picture.png]\n\n[picture: inbox/picture (2).png]\n\nwhich is better?"


async def test_what_somebody_else_says_does_not_wait_and_is_not_joined(house: House) -> None:
    _, reply = await house.ask("hello", "Alice", GROUP, mention_bot=True)
    place: dict[str, Any] = {"chat_id": GROUP, "thread_id": reply.thread_id}
    picture = send(house, "", kind="image", **place)
    await house.held(HELD, 1)
    bob, _ = await house.ask("me first", "Bob", GROUP, thread_id=reply.thread_id)
    assert await given(house, bob) == "me first"
    house.advance(4)
    await house.answered(picture)
    assert await given(house, picture) == "[picture: inbox/picture.png]"


async def test_words_long_after_are_a_question_of_their_own(house: House) -> None:
    picture = send(house, "", kind="image", create_time=house.world.clock.now_ms() - 60_000)
    words = house.say("good morning")
    await pass_window(house, 1)
    await house.answered(picture)
    await house.answered(words)
    assert await house.one(TURNS) == 2


async def test_in_a_group_a_picture_is_read_with_the_words_that_name_the_bot(house: House) -> None:
    picture = send(house, "", kind="image", chat_id=GROUP)
    await house.held(HELD, 1)
    words, _ = await house.ask("what is this?", "Alice", GROUP, mention_bot=True)
    assert await given(house, words) == "[picture: inbox/picture.png]\n\nwhat is this?"
    assert house.replies(picture) == []


async def test_in_a_group_a_picture_alone_is_not_for_the_bot(house: House) -> None:
    picture = send(house, "", kind="image", chat_id=GROUP)
    await pass_window(house, 1)
    await house.done(picture)
    assert await house.one("SELECT verdict FROM inbox") == "not_mentioned"
    assert downloads(house) == []


async def test_a_picture_that_waits_survives_a_restart(house: House) -> None:
    picture = send(house, "", kind="image")
    await house.held(HELD, 1)
    await house.stop()
    house.advance(60)
    await house.start()
    await house.answered(picture)
    house.assert_answered_once(picture)
    assert kept(house) == {"picture.png": PNG}


async def test_pictures_that_are_refused_are_refused_once(open_house: OpenHouse) -> None:
    house = await open_house(turns={"queue_limit": 1}, agents={"demo": {"kind": "demo", "pace": 1.0}})
    running = house.say("work 600 seconds")
    topic = (await house.shown(running)).thread_id
    await house.held("SELECT count(*) FROM routes")
    await house.held("SELECT count(*) FROM turns WHERE state = 'entered'", 1)  # its card is shown before that
    house.say("waits", thread_id=topic)
    await house.held("SELECT count(*) FROM turns WHERE state = 'queued'", 1)
    first, second = [send(house, "", PNG + bytes([number]), "image", thread_id=topic) for number in range(2)]
    await pass_window(house, 2)
    await house.shown(first)
    await house.held("SELECT count(*) FROM inbox WHERE state = 'refused'", 2)
    assert house.replies(second) == []
    assert downloads(house) == []


async def test_windows_of_zero_take_each_for_itself(open_house: OpenHouse) -> None:
    house = await open_house(files={"together_s": 0.0, "forward_s": 0.0})
    pictures = [send(house, "", kind="image") for _ in range(2)]
    for picture in pictures:
        await house.answered(picture)
    assert await house.one(TURNS) == 2


async def test_a_file_keeps_its_name_and_lies_in_the_sessions_folder(house: House) -> None:
    message_id = send(house, "季度 report.pdf", b"%PDF-1.7")
    text, _ = await read_alone(house, message_id)
    assert text == "[file: inbox/季度 report.pdf]"
    (path,) = house.folder.rglob("inbox/*")
    assert (path.name, path.read_bytes()) == ("季度 report.pdf", b"%PDF-1.7")
    assert path.parent.parent.is_relative_to(house.folder / "workspace")


@pytest.mark.parametrize(
    "name", ["../../../evil.txt", "/etc/passwd", "a\x00b", "..", "CON", "\u202etxt.exe", "x" * 300 + ".txt", ".bashrc"]
)
async def test_a_hostile_name_stays_in_the_folder(house: House, name: str) -> None:
    before = set(house.folder.parent.rglob("*"))
    message_id = send(house, name, b"data")
    await read_alone(house, message_id)
    made = {path for path in house.folder.parent.rglob("*") if path.is_file()} - before
    (file,) = [path for path in made if path.read_bytes() == b"data"]
    assert file.parent.name == "inbox"
    assert file.name.isprintable() and not file.name.startswith(".")


async def test_a_folder_that_was_made_a_link_is_not_followed(house: House) -> None:
    first = send(house, "a.txt", b"one")
    await read_alone(house, first)
    (inbox,) = house.folder.rglob("inbox")
    outside = house.folder / "outside"
    outside.mkdir()
    (inbox / "a.txt").unlink()
    inbox.rmdir()
    inbox.symlink_to(outside)
    second = send(house, "b.txt", b"two", thread_id=house.replies(first)[0].thread_id)
    text, words = await read_alone(house, second)
    assert list(outside.iterdir()) == []
    assert text == "[file: b.txt (not read: it could not be stored)]"
    assert "Not read: b.txt: it could not be stored" in words


async def test_a_file_that_is_too_large_is_named_and_the_turn_goes_on(open_house: OpenHouse) -> None:
    house = await open_house(files={"largest_mb": 0.01})
    message_id = send(house, "big.zip", bytes(20_000))
    await house.held(HELD, 1)
    words = house.say("unpack this")
    reply = await house.answered(words)
    assert await given(house, words) == "[file: big.zip (not read: larger than 0.01 MB)]\n\nunpack this"
    assert "Not read: big.zip: larger than 0.01 MB" in cards_seen.words(house.card(reply.message_id))
    assert house.replies(message_id) == []
    assert kept(house) == {}


async def test_more_files_than_a_question_may_have(open_house: OpenHouse) -> None:
    house = await open_house(files={"most": 2})
    keys = [house.world.media.upload_image(PNG + bytes([number])).key for number in range(3)]
    content = {"content": [[{"tag": "img", "image_key": key}] for key in keys]}
    message_id = house.say("", message_type="post", content=content)
    await house.answered(message_id)
    assert len(kept(house)) == len(downloads(house)) == 2
    assert "more than 2 files in one question" in await given(house, message_id)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ({"kind": "error", "code": 234038}, "this app may not see it"),
        ({"kind": "error", "code": 230110}, "it was taken back or deleted"),
        ({"kind": "error", "code": 234003}, "Feishu refused it"),
        ({"kind": "status", "status": 503}, "Feishu could not be reached"),
    ],
)
async def test_a_download_that_fails_is_named(house: House, fault: dict[str, Any], why: str) -> None:
    house.fault("im.resource.get", **fault, times=None)
    message_id = send(house, "a.txt", b"data")
    text, words = await read_alone(house, message_id)
    assert text == f"[file: a.txt (not read: {why})]"
    assert f"Not read: a.txt: {why}" in words


async def test_a_download_that_fails_once_is_tried_again(house: House) -> None:
    house.fault("im.resource.get", "status", status=502)
    message_id = send(house, "a.txt", b"data")
    text, _ = await read_alone(house, message_id)
    assert text == "[file: inbox/a.txt]"
    assert kept(house) == {"a.txt": b"data"}


async def test_a_download_that_never_ends_is_given_up(open_house: OpenHouse) -> None:
    house = await open_house(files={"time_limit_s": 0.3})
    house.fault("im.resource.get", "mute", times=None)
    message_id = send(house, "a.txt", b"data")
    text, _ = await read_alone(house, message_id)
    assert text == "[file: a.txt (not read: fetching it took too long)]"


async def test_stopping_while_a_file_is_fetched(house: House) -> None:
    """The card's Stop works at once, and the service goes down at once."""
    house.fault("im.resource.get", "mute", times=None)
    message_id = send(house, "a.txt", b"data")
    await pass_window(house, 1)
    reply = await house.shown(message_id)
    await house.held(ATTEMPTS, 1)
    value = cards_seen.stop_value(house.card(reply.message_id))
    await house.world.click("Alice", reply.message_id, value)
    await house.done(message_id)
    assert await house.one("SELECT outcome FROM turns") == "stopped"
    assert house.service is not None
    assert house.service.parts.turns.running == 0


async def test_a_restart_while_a_file_is_fetched(house: House) -> None:
    house.fault("im.resource.get", "mute", times=1)
    message_id = send(house, "a.txt", b"data")
    await pass_window(house, 1)
    await house.held(ATTEMPTS, 1)
    await house.restart()
    await house.answered(message_id)
    house.assert_answered_once(message_id)
    assert kept(house) == {"a.txt": b"data"}


async def test_what_was_fetched_is_not_fetched_again(house: House) -> None:
    """The result is kept with the snapshot: a turn that could not enter does not prepare anew, nor after a restart."""
    broken = Failing(ENTER, lambda: RuntimeError("no"))
    house.tap.listeners.append(broken)
    message_id = send(house, "a.txt", b"data")
    await pass_window(house, 1)
    await house.held("SELECT json_extract(message, '$.prepared') FROM inflight", 1)
    assert await house.one(ATTEMPTS) == 1
    await house.stop()
    broken.on = False
    await house.start()
    await house.answered(message_id)
    house.assert_answered_once(message_id)
    assert len(downloads(house)) == 1
    assert await given(house, message_id) == "[file: inbox/a.txt]"


async def test_a_message_that_kills_the_process_is_given_up(house: House) -> None:
    """Every preparation is counted before it begins."""
    house.fault("im.resource.get", "mute", times=None)
    message_id = send(house, "a.txt", b"data")
    await pass_window(house, 1)
    for number in range(1, 6):
        await house.held(ATTEMPTS, number)
        await house.restart()
    await house.done(message_id)
    assert await house.one("SELECT outcome FROM turns") == "interrupted"


PLACE = {"name": "Gate 3", "longitude": "116.4", "latitude": "39.9"}


@pytest.mark.parametrize(
    ("message_type", "content", "text"),
    [
        ("location", PLACE, "[location: Gate 3 (39.9, 116.4)]"),
        ("share_chat", {"chat_id": "oc_x"}, "[group card: oc_x]"),
        ("share_user", {"user_id": "ou_x"}, "[contact card: ou_x]"),
        ("sticker", {"file_key": "k"}, "[sticker (not read: Feishu does not hand it out to apps)]"),
        ("folder", {"file_key": "k", "file_name": "f"}, "[folder: f (not read: Feishu does not hand it out to apps)]"),
        (
            "hologram",
            {"file_key": "k"},
            "[something else: hologram (not read: I cannot read this kind of message yet)]",
        ),
    ],
)
async def test_what_is_not_words_is_named(house: House, message_type: str, content: Any, text: str) -> None:
    message_id, reply = await house.ask("", message_type=message_type, content=content)
    assert await given(house, message_id) == text
    unread = "Not read" in cards_seen.words(house.card(reply.message_id))
    assert unread == ("not read" in text)
    assert downloads(house) == []


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [("audio", "", "[voice message: inbox/voice.opus]"), ("media", "clip.mp4", "[video: inbox/clip.mp4]")],
)
async def test_voice_and_video(house: House, kind: str, name: str, text: str) -> None:
    data = b"OggS....." if kind == "audio" else b"....ftypmp42"
    message_id = send(house, name, data, kind)
    if kind == "media":
        await pass_window(house, 1)
    await house.answered(message_id)
    assert await given(house, message_id) == text
    assert list(kept(house).values()) == [data]


async def test_field_37_words_and_pictures_in_one_post(house: House) -> None:
    """Every paragraph and tag in its place; a tag from the future keeps its words; the picture is there."""
    image, video = house.world.media.upload_image(PNG), house.world.media.keep_file("v.mp4", b"....ftypmp42", "mp4")
    body = [
        [{"tag": "text", "text": "first "}, {"tag": "a", "href": "https://example.test", "text": "link"}],
        [{"tag": "img", "image_key": image.key}],
        [{"tag": "text", "text": "old", "style": ["lineThrough"]}, {"tag": "emotion", "emoji_type": "SMILE"}],
        [{"tag": "code_block", "language": "PYTHON", "text": "if a:\n    b"}],
        [{"tag": "media", "file_key": video.key, "image_key": ""}],
        [{"tag": "hr"}, {"tag": "from_the_future", "text": "kept"}],
        [{"tag": "at", "user_id": "all"}],
    ]
    message_id, _ = await house.ask("", message_type="post", content={"title": "Title", "content": body})
    text = await given(house, message_id)
    order = ["# Title", "first [link](https://example.test)", "[picture: inbox/picture.png]", "~~old~~:SMILE:"]
    order += ["```python\nif a:\n    b\n```", "[video: inbox/video.mp4]", "---kept", "@all"]
    places = [text.find(piece) for piece in order]
    assert -1 not in places and places == sorted(places), text
    assert sorted(kept(house)) == ["picture.png", "video.mp4"]
    assert await house.one(HELD) == 0


async def test_the_log_names_the_files(house: House) -> None:
    message_id = send(house, "a.txt", b"data")
    await read_alone(house, message_id)
    body = json.loads(await house.one("SELECT body FROM session_events WHERE kind = 'user/message'"))
    (file,) = body["files"]
    assert (file["kind"], file["name"]) == ("file", "a.txt")
    assert [str(path) for path in house.folder.rglob("inbox/*")] == [file["path"]]
