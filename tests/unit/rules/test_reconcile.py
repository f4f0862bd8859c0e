"""Which message in history is the one that an unsure attempt made."""

import pytest

from channels.ids import MessageId
from channels.rules.reconcile import SKEW_MS, Seen, find_match

AT = 10_000_000
QUESTION = MessageId("om_question")


def seen(name: str, at: int = AT + 1, *, parent: str | None = "om_question", ours: bool = True) -> Seen:
    return Seen(MessageId(name), MessageId(parent) if parent else None, None, at, ours)


CASES: list[tuple[str, list[Seen], str | None]] = [
    ("nothing there", [], None),
    ("ours, an answer, after", [seen("om_1")], "om_1"),
    ("a person's answer", [seen("om_1", ours=False)], None),
    ("ours, but answers something else", [seen("om_1", parent="om_other")], None),
    ("ours, but a plain message", [seen("om_1", parent=None)], None),
    ("ours, but known as something else", [seen("om_recorded")], None),
    ("ours, but from long before", [seen("om_1", AT - SKEW_MS - 1)], None),
    ("a little before, by Feishu's clock", [seen("om_1", AT - SKEW_MS)], "om_1"),
    ("the earliest of several", [seen("om_2", AT + 5), seen("om_1", AT + 3)], "om_1"),
]


@pytest.mark.parametrize(("name", "history", "found"), CASES, ids=[row[0] for row in CASES])
def test_the_match(name: str, history: list[Seen], found: str | None) -> None:
    match = find_match(history, QUESTION, AT, frozenset({MessageId("om_recorded")}))
    assert (match.message_id if match else None) == found


def test_a_plain_message_has_no_parent() -> None:
    history = [seen("om_answer"), seen("om_plain", parent=None)]
    match = find_match(history, None, AT, frozenset())
    assert match is not None and match.message_id == "om_plain"
