"""Which message in history is the one that an unsure attempt made."""

from dataclasses import replace

import pytest

from channels.ids import MessageId
from channels.rules.reconcile import SKEW_MS, Absent, Ambiguous, Found, Seen, Sought, find_match

AT = 10_000_000
ANSWER = Sought(MessageId("om_question"), None, AT, frozenset({MessageId("om_recorded")}))
IN_TOPIC = replace(ANSWER, topic_root=MessageId("om_root"))


def seen(name: str, at: int = AT + 1, *, parent: str | None = "om_question", ours: bool = True) -> Seen:
    return Seen(MessageId(name), MessageId(parent) if parent else None, None, None, at, ours)


CASES: list[tuple[str, list[Seen], Sought, str | None]] = [
    ("nothing there", [], ANSWER, None),
    ("ours, an answer, after", [seen("om_1")], ANSWER, "om_1"),
    ("a person's answer", [seen("om_1", ours=False)], ANSWER, None),
    ("ours, but answers something else", [seen("om_1", parent="om_other")], ANSWER, None),
    ("ours, but a plain message", [seen("om_1", parent=None)], ANSWER, None),
    ("ours, but known as something else", [seen("om_recorded")], ANSWER, None),
    ("ours, but from long before", [seen("om_1", AT - SKEW_MS - 1)], ANSWER, None),
    ("a little before, by Feishu's clock", [seen("om_1", AT - SKEW_MS)], ANSWER, "om_1"),
    ("the earliest of several", [seen("om_2", AT + 5), seen("om_1", AT + 3)], ANSWER, "om_1"),
    ("a plain message has no parent", [seen("om_1"), seen("om_2", parent=None)], replace(ANSWER, target=None), "om_2"),
    ("in a topic Feishu may name the root", [seen("om_1", parent="om_root")], IN_TOPIC, "om_1"),
    ("in a topic the very question is surer", [seen("om_1", parent="om_root"), seen("om_2", AT + 9)], IN_TOPIC, "om_2"),
    (
        "in a topic with another unresolved answer, both there: the earlier",
        [seen("om_1", parent="om_root"), seen("om_2", AT + 9, parent="om_root")],
        replace(IN_TOPIC, rivals=1),
        "om_1",
    ),
    ("the same message on two pages is one", [seen("om_1"), seen("om_1")], replace(ANSWER, rivals=0), "om_1"),
]


@pytest.mark.parametrize(("name", "history", "sought", "found"), CASES, ids=[row[0] for row in CASES])
def test_the_match(name: str, history: list[Seen], sought: Sought, found: str | None) -> None:
    match = find_match(history, sought)
    assert match == Absent() if found is None else isinstance(match, Found) and match.seen.message_id == found


def test_with_fewer_look_alikes_than_unresolved_answers_nobody_guesses() -> None:
    history = [seen("om_1", parent="om_root"), seen("om_1", parent="om_root")]
    assert find_match(history, replace(IN_TOPIC, rivals=1)) == Ambiguous()
    assert find_match(history, replace(IN_TOPIC, target=MessageId("om_root"), rivals=1)) == Ambiguous()
