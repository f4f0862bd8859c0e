"""What history shows as answered, and what becomes of a message after that."""

import pytest

from channels.ids import MessageId, ThreadId
from channels.rules.quarantine import (
    SKEW_MS,
    Answer,
    Ask,
    Done,
    Fate,
    Question,
    find_answered,
    is_from_before,
    sort_held,
)
from channels.rules.reconcile import Seen

TOPIC = ThreadId("omt_1")
SINCE = 1_000_000


def ours(parent: str | None, at: int, *, root: str | None = None, topic: ThreadId | None = None) -> Seen:
    return Seen(
        MessageId(f"om_ours_{at}"),
        MessageId(parent) if parent else None,
        MessageId(root) if root else None,
        topic,
        at,
        ours=True,
    )


def asked(name: str, at: int, *, topic: ThreadId | None = None, root: bool = False) -> Question:
    return Question(MessageId(name), at, topic, root)


ROOT = asked("root", 10, topic=TOPIC, root=True)
SECOND = asked("second", 20, topic=TOPIC)


def in_topic(at: int, parent: str = "root") -> Seen:
    return ours(parent, at, root="root", topic=TOPIC)


@pytest.mark.parametrize(
    ("seen", "questions", "answered"),
    [
        # outside of topics a quote names its question
        ([ours("a", 11)], [asked("a", 10), asked("b", 10)], {"a"}),
        ([ours(None, 11)], [asked("a", 10)], set()),
        # the answer that opened the topic
        ([in_topic(11)], [ROOT], {"root"}),
        ([in_topic(11)], [ROOT, SECOND], {"root"}),
        # Feishu names the root for an answer to the second question as well: it speaks for neither
        ([in_topic(21)], [ROOT, SECOND], set()),
        ([in_topic(11), in_topic(21)], [ROOT, SECOND], {"root"}),
        # where it names the question itself, that one is answered
        ([in_topic(21, parent="second")], [ROOT, SECOND], {"second"}),
        # somebody else's message answers nothing
        ([Seen(MessageId("om_theirs"), MessageId("a"), None, None, 11, ours=False)], [asked("a", 10)], set()),
        # other topics do not count
        ([in_topic(21)], [ROOT, asked("elsewhere", 15, topic=ThreadId("omt_2"))], {"root"}),
    ],
)
def test_what_is_answered(seen: list[Seen], questions: list[Question], answered: set[str]) -> None:
    assert find_answered(seen, questions) == answered


@pytest.mark.parametrize(
    ("at", "answered", "fate"),
    [
        (SINCE - 1, True, Done()),
        (SINCE - 1, False, Ask()),
        (SINCE, False, Answer()),
        (SINCE + 1, True, Done()),
    ],
)
def test_what_becomes_of_it(at: int, answered: bool, fate: Fate) -> None:
    found = frozenset({MessageId("a")}) if answered else frozenset[MessageId]()
    assert sort_held(asked("a", at), found, SINCE) == fate


def test_clocks_may_differ_by_a_minute() -> None:
    assert is_from_before(SINCE + SKEW_MS - 1, SINCE)
    assert not is_from_before(SINCE + SKEW_MS, SINCE)
