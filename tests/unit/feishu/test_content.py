import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.feishu.events import normalise
from channels.rules.message import Message, Resource
from tests.unit.feishu.test_events import JSON, message, payload

BOT = "ou_bot"
MENTION_BOT = {"key": "@_user_1", "id": {"open_id": BOT}, "name": "Helper", "mentioned_type": "bot"}
MENTION_AL = {"key": "@_user_10", "id": {"open_id": "ou_al"}, "name": "Al"}


def heard(message_type: str, content: Any, *mentions: Any) -> Message:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    body = message(message_type=message_type, content=text, mentions=list(mentions))
    return normalise(payload("im.message.receive_v1", body).decode(), BOT)


@pytest.mark.parametrize(
    ("text", "read", "bot"),
    [
        ("a < b & c > d \"e\" 'f'", "a < b & c > d \"e\" 'f'", False),
        ("@_user_1 hello", "hello", True),
        ("@_user_1/new", "/new", True),
        ("／new @_user_1", "／new", True),
        ("hello @_user_1 there", "hello there", True),
        ("@_user_1", "", True),
        ("@_user_1 ask @_user_10", "ask @Al", True),
        ("@_user_1 def f():\n    return  1", "def f():\n    return  1", True),
        ("@_user_2 who", "@_user_2 who", False),
        ("ha ha", "ha ha", False),
    ],
)
def test_text(text: str, read: str, bot: bool) -> None:
    mentions = [MENTION_AL, *([MENTION_BOT] if bot else [])]
    found = heard("text", {"text": text}, *mentions)
    assert (found.text, found.mentioned_bot, found.mentioned_all) == (read, bot, False)


def test_at_all_is_no_mention_of_the_bot() -> None:
    found = heard("text", {"text": "@_all dinner"})
    assert (found.mentioned_all, found.mentioned_bot, found.text) == (True, False, "@all dinner")
    assert heard("text", {"text": "@_all_hands"}).mentioned_all is False
    assert heard("text", {"text": "x"}, {"key": "@_all", "id": {}, "name": "all"}).mentioned_all is True
    assert heard("post", {"content": [[{"tag": "at", "user_id": "all"}]]}).mentioned_all is True


POST = {
    "title": "Title",
    "content": [
        [{"tag": "at", "user_id": "@_user_1", "user_name": "Helper"}, {"tag": "text", "text": " x < y "}],
        [{"tag": "a", "href": "https://example.test", "text": "link"}, {"tag": "text", "text": "b", "style": ["bold"]}],
        [{"tag": "img", "image_key": "img_1"}],
        [{"tag": "code_block", "language": "PYTHON", "text": "if a:\n    b"}],
        [{"tag": "at", "user_id": "@_user_10", "user_name": "Al"}],
        [{"tag": "from_the_future", "text": "kept"}],
    ],
}


@pytest.mark.parametrize("post", [POST, {"en_us": POST}, {"content_v2": POST["content"], "title": "Title"}])
def test_a_post_keeps_every_paragraph_and_tag(post: Any) -> None:
    found = heard("post", post, MENTION_BOT, MENTION_AL)
    for piece in ("# Title", "x < y", "[link](https://example.test)", "**b**", "if a:\n    b", "@Al", "kept"):
        assert piece in found.text
    assert "Helper" not in found.text
    assert found.mentioned_bot


def test_a_posts_picture_is_a_resource() -> None:
    assert heard("post", POST).resources == (Resource("image", "img_1"),)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_posts_attached_file_is_a_resource(wrapped: bool) -> None:
    body = {"content": [[{"tag": "text", "text": "see"}]]}
    files = {"files": [{"file_key": "f1", "file_name": "plan.pdf", "is_folder": False}]}
    found = heard("post", {"zh_cn": body, **files} if wrapped else {**body, **files})
    assert found.resources == (Resource("file", "f1", "plan.pdf"),)
    assert "see" in found.text


def test_a_post_can_name_the_bot_without_a_mention_entry() -> None:
    assert heard("post", {"content": [[{"tag": "at", "user_id": BOT}]]}).mentioned_bot


@pytest.mark.parametrize(
    ("message_type", "content", "resource"),
    [
        ("image", {"image_key": "k"}, Resource("image", "k")),
        ("file", {"file_key": "k", "file_name": "a.txt"}, Resource("file", "k", "a.txt")),
        ("audio", {"file_key": "k", "duration": 1000}, Resource("audio", "k")),
        ("media", {"file_key": "k", "file_name": "v.mp4"}, Resource("video", "k", "v.mp4")),
        ("sticker", {"file_key": "k"}, Resource("sticker", "k")),
    ],
)
def test_media(message_type: str, content: Any, resource: Resource) -> None:
    found = heard(message_type, content)
    assert found.resources == (resource,)
    assert "k" in found.text


def test_a_card_in_the_listings_form_keeps_its_words() -> None:
    card = {"title": "Report", "elements": [[{"tag": "text", "text": "all is well"}]]}
    found = heard("interactive", card)
    assert "Report" in found.text
    assert "all is well" in found.text


@pytest.mark.parametrize("message_type", ["text", "post", "image", "hologram", "merge_forward"])
@pytest.mark.parametrize("content", ["", "no json", "[]", "null", "7"])
def test_broken_content_is_an_empty_message_at_worst(message_type: str, content: str) -> None:
    assert heard(message_type, content).envelope.message_id == "om_1"


def test_content_that_the_normaliser_cannot_take_comes_out_as_its_words() -> None:
    found = heard("text", {"text": "fine"}, {"key": 5, "id": 6}, "junk", None)
    assert found.text == "fine"
    found = heard("post", {"content": [[{"tag": "text", "text": "said", "style": 5}]]})
    assert "said" in found.text


@given(st.sampled_from(["text", "post", "image", "interactive", "merge_forward", "todo", "vote", "x"]), JSON, JSON)
def test_junk_content_never_raises(message_type: str, content: Any, mentions: Any) -> None:
    body = message(message_type=message_type, content=json.dumps(content), mentions=mentions)
    heard_text = normalise(payload("im.message.receive_v1", body).decode(), BOT).text
    heard_text.encode()


ELEMENT = st.dictionaries(
    st.sampled_from(["tag", "text", "user_id", "style", "href", "language", "image_key"]),
    JSON | st.sampled_from(["text", "a", "at", "md", "code_block", "img", "emotion", "media", "hr"]),
    max_size=5,
)


@given(st.lists(st.lists(ELEMENT, max_size=4) | JSON, max_size=4), JSON)
def test_junk_posts_never_raise(content: Any, title: Any) -> None:
    heard("post", {"title": title, "content": content, "zh_cn": title})


def test_the_library_writes_nothing_to_stdout() -> None:
    assert logging.getLogger("Lark").handlers == []
