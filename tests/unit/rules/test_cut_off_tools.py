"""Tools that were at work when the service went down: what the log says of them, and what a card makes of it."""

from dataclasses import asdict
from typing import Any

import pytest

from channels.cards.reply import reply_cards
from channels.cards.texts import texts
from channels.rules.agent_event import AgentEvent, Outcome, ToolCalled, ToolStatus, ToolUpdated
from channels.rules.repair import tools_of
from channels.rules.turn import View, finished

DONE, CUT, READING = "Edit a.txt", "Run make", "Read b.txt"
SAID: tuple[ToolCalled | ToolUpdated, ...] = (
    ToolCalled("1", DONE, "edit", diff="+x"),
    ToolUpdated("1", ToolStatus.DONE, "ok"),
    ToolCalled("2", CUT, "execute", "make all"),
    ToolUpdated("2", ToolStatus.RUNNING, "cc -c"),
    ToolCalled("3", READING, "read"),
)


def entry(event: AgentEvent) -> tuple[str, dict[str, Any]]:
    return ("tool/call" if isinstance(event, ToolCalled) else "tool/result"), asdict(event)


def cut_off() -> View:
    return finished(View("t", tools=tools_of(map(entry, SAID))), Outcome.INTERRUPTED)


def test_they_are_read_back_from_the_log() -> None:
    tools = tools_of([("user/message", {"text": "go"}), *map(entry, SAID), ("assistant/chunk", {"text": "x"})])
    assert [(tool.title, tool.status, tool.output) for tool in tools] == [
        (DONE, ToolStatus.DONE, "ok"),
        (CUT, ToolStatus.RUNNING, "cc -c"),
        (READING, ToolStatus.RUNNING, ""),
    ]
    assert tools[0].diff == "+x"


@pytest.mark.parametrize(
    "body", [{}, {"tool_id": 3, "title": "x"}, {"tool_id": "1", "status": "odd"}, {"tool_id": "9", "status": "done"}]
)
def test_entries_that_say_nothing_are_left(body: dict[str, Any]) -> None:
    assert tools_of([("tool/call", body), ("tool/result", body)]) == ()


def test_nobody_knows_what_became_of_them() -> None:
    assert [tool.status for tool in cut_off().tools] == [ToolStatus.DONE, ToolStatus.UNKNOWN, ToolStatus.UNKNOWN]
    stopped = finished(View("t", tools=tools_of(map(entry, SAID))), Outcome.STOPPED)
    assert [tool.status for tool in stopped.tools] == [ToolStatus.DONE, ToolStatus.FAILED, ToolStatus.FAILED]


def test_one_that_nobody_allowed_was_not_at_work() -> None:
    waiting = finished(View("t", tools=tools_of(map(entry, SAID), {"1", "2"})), Outcome.INTERRUPTED)
    assert [tool.status for tool in waiting.tools] == [ToolStatus.DONE, ToolStatus.FAILED, ToolStatus.UNKNOWN]
    assert texts("en").interrupted_tools.split("{")[0] not in reply_cards(waiting, "en")[0].text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_card_names_those_that_may_have_changed_something(language: str) -> None:
    words = texts(language)
    (card,) = reply_cards(cut_off(), language)
    assert words.interrupted_tools.format(things=CUT) in card.text
    assert words.interrupted_note in card.text
    assert words.tools_unknown.format(count=3, unknown=2) in card.json
    assert READING not in card.text
    harmless = finished(View("t", tools=tools_of([entry(SAID[4])])), Outcome.INTERRUPTED)
    assert words.interrupted_tools.split("{")[0] not in reply_cards(harmless, language)[0].text
