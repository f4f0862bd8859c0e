"""Names of folders and branches: hostile text in, harmless components out, and never the same for two texts."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.ids import ChatId, MessageId, ThreadId, UserId
from channels.rules.message import Envelope, Sender
from channels.rules.workspace import branch_of, safe_name, topic_folder, topic_of, workspace_path

KEPT = ["u_alice", "ou_7d8a6e6df7621556ce0d21922b676706", "oc_group", "om_1", "a", "A-b_9", "9", "x" * 64]
HOSTILE = {
    "": "nothing at all",
    ".": "this folder",
    "..": "the folder above",
    "../../etc": "a way out",
    "/etc/passwd": "an absolute path",
    "a/b": "a folder in between",
    "a\\b": "the same on Windows",
    "~": "somebody's home",
    "-rf": "an option",
    ".git": "what Git keeps for itself",
    "a\x00b": "the end of a C string",
    "a\nb": "two lines",
    "open:ou_1": "how people without a visible user_id are named",
    "用户": "letters that are no ASCII",
    "a b": "a blank",
    "con": "a device of Windows",
    "COM1": "another one",
    "x" * 65: "too long",
    "x" * 5000: "far too long",
    "a..b": "not a name of a Git branch",
    "head.lock": "not a name of a Git branch",
    "\ud800": "half a character",
}
COMPONENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[0-9a-f]{16})?")


def envelope(thread: str | None = None, root: str | None = None) -> Envelope:
    plain = Envelope(MessageId("om_1"), ChatId("oc_1"), "group", 1, Sender(UserId("u"), ""))  # type: ignore[arg-type]
    return replace(plain, thread_id=ThreadId(thread) if thread else None, root_id=MessageId(root) if root else None)


@pytest.mark.parametrize("name", KEPT)
def test_ids_stay_as_they_are(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize("name", HOSTILE, ids=HOSTILE.values())
def test_hostile_names_become_harmless(name: str) -> None:
    safe = safe_name(name)
    assert safe != name
    assert COMPONENT.fullmatch(safe)
    assert len(safe) <= 64


@given(st.text())
def test_any_text_is_one_harmless_component(name: str) -> None:
    safe = safe_name(name)
    assert COMPONENT.fullmatch(safe) and len(safe) <= 64
    assert safe_name(name) == safe


@given(st.text(), st.text())
def test_two_names_never_share_a_folder(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


@given(st.text(min_size=1))
def test_a_name_that_was_made_harmless_is_nobodys_own(name: str) -> None:
    safe = safe_name(name)
    if safe != name:
        assert safe_name(safe) != safe


@given(st.text(), st.text(), st.text())
def test_nothing_leaves_the_base_folder(chat: str, user: str, topic: str) -> None:
    for chat_type in ("p2p", "group"):
        workspace = workspace_path("/base", chat_type, ChatId(chat), UserId(user))
        folder = topic_folder(workspace, topic)
        parts = folder.split("/")
        assert folder.startswith(f"{workspace}/topics/") and workspace.startswith("/base/")
        assert len(parts) == (6 if chat_type == "p2p" else 7)
        assert all(COMPONENT.fullmatch(part) for part in parts[1:])


def test_a_person_has_a_workspace_in_private_and_in_every_group() -> None:
    chat, user = ChatId("oc_1"), UserId("u_alice")
    assert workspace_path("/base", "p2p", chat, user) == "/base/p2p/u_alice"
    assert workspace_path("/base", "group", chat, user) == "/base/groups/oc_1/u_alice"


@pytest.mark.parametrize(
    ("thread", "root", "topic", "why"),
    [
        (None, None, "om_1", "the topic will hang under this message"),
        (None, "om_0", "om_1", "a quote is no topic: one of its own will open"),
        ("omt_1", "om_0", "om_0", "a reply in a topic belongs to the topic's first message"),
        ("omt_1", None, "om_1", "the first message of a topic in a topic group"),
    ],
)
def test_a_topic_is_named_by_the_message_that_opened_it(
    thread: str | None, root: str | None, topic: str, why: str
) -> None:
    assert topic_of(envelope(thread, root)) == topic, why


def test_only_a_topics_folder_has_a_branch() -> None:
    assert branch_of("/w/topics/om_1", "/w") == "channels/om_1"
    for folder in ("/w", "/w/topics", "/w/topics/", "/w/topics/om_1/src", "/v/topics/om_1"):
        assert branch_of(folder, "/w") is None
