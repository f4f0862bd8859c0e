"""What an agent says, as events."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.agents.acp.tool_book import MOST_TOOLS, RUNNING_CHARACTERS, TEXTS_OF_TURN, ToolBook
from channels.agents.acp.tool_texts import OUTPUT_CHARACTERS, arguments_text, clean
from channels.agents.acp.updates import read_context, read_update, read_usage
from channels.rules.agent_event import (
    AgentEvent,
    PlanUpdated,
    ReasoningDelta,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)


class Talk:
    """Updates read one after another, a second apart unless said otherwise."""

    def __init__(self, folder: str = "/work") -> None:
        self.book, self.now = ToolBook(folder), 0.0

    def hear(self, what: str, /, *, after_s: float = 1.0, **fields: Any) -> list[AgentEvent]:
        self.now += after_s
        return read_update({"sessionUpdate": what, **fields}, self.book, self.now)


def text_block(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def test_words_thoughts_and_other_content() -> None:
    talk = Talk()
    assert talk.hear("agent_message_chunk", content={"type": "text", "text": "a\ud800"}) == [TextDelta("a\ud800")]
    assert talk.hear("agent_thought_chunk", content={"type": "text", "text": "t"}) == [ReasoningDelta("t")]
    link = {"type": "resource_link", "uri": "file:///x", "name": "x.pdf"}
    assert talk.hear("agent_message_chunk", content=link) == [TextDelta("x.pdf")]
    picture = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    assert talk.hear("agent_message_chunk", content=picture) == [TextDelta("[image/png]")]
    assert talk.hear("user_message_chunk", content={"type": "text", "text": "mine"}) == []


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "agent_message_chunk"},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text"}},
        {"sessionUpdate": "tool_call"},
        {"sessionUpdate": "plan", "entries": 3},
    ],
)
def test_what_says_nothing_readable_is_a_value_error(update: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=update["sessionUpdate"]):
        read_update(update, ToolBook(), 0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KINDS = ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "plan_update", "odd"]
FIELDS = ["content", "toolCallId", "title", "kind", "status", "locations", "rawInput", "rawOutput", "entries", "plan"]


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), json_values))
def test_no_update_raises_anything_else(kind: str, fields: dict[str, Any]) -> None:
    try:
        events = read_update({"sessionUpdate": kind, **fields}, ToolBook("/work"), 0)
    except ValueError:
        return
    assert isinstance(events, list)


class TestTools:
    def test_a_call_grows_by_its_updates(self) -> None:
        talk = Talk()
        first = talk.hear("tool_call", toolCallId="t", title="Terminal", kind="execute", status="pending")
        assert first == [ToolCalled("t", "Terminal", "execute"), ToolUpdated("t", ToolStatus.PENDING)]
        named = talk.hear("tool_call_update", toolCallId="t", title="Run tests", rawInput={"command": "pytest"})
        assert named[0] == ToolCalled("t", "Run tests", "execute", "pytest")
        assert talk.hear("tool_call_update", toolCallId="t", status="in_progress") == [
            ToolUpdated("t", ToolStatus.RUNNING)
        ]
        done = talk.hear("tool_call_update", toolCallId="t", status="completed", content=[text_block("3 passed")])
        assert done == [ToolUpdated("t", ToolStatus.DONE, "3 passed")]

    def test_an_update_alone_announces_its_call(self) -> None:
        events = Talk().hear("tool_call_update", toolCallId="t", title="Look", status="completed")
        assert events == [ToolCalled("t", "Look"), ToolUpdated("t", ToolStatus.DONE)]

    def test_a_diff_is_shown_from_the_folder_on(self) -> None:
        diff = {"type": "diff", "path": "/work/a/b.txt", "oldText": "1\n", "newText": "2\n"}
        called, _ = Talk().hear("tool_call", toolCallId="t", title="Edit", kind="edit", content=[diff])
        assert isinstance(called, ToolCalled)
        assert called.diff.splitlines()[:2] == ["--- a/b.txt", "+++ a/b.txt"]

    def test_running_output_is_its_end_and_not_too_often_and_the_whole_comes_last(self) -> None:
        talk, shown = Talk(), []
        talk.hear("tool_call", toolCallId="t", title="Run", status="in_progress")
        for number in range(100):
            text = text_block("x" * 100 * number)
            shown += talk.hear("tool_call_update", after_s=0.1, toolCallId="t", status="in_progress", content=[text])
        assert 8 <= len(shown) <= 11
        assert all(isinstance(event, ToolUpdated) and len(event.output) <= RUNNING_CHARACTERS for event in shown)
        last = talk.hear("tool_call_update", after_s=0.01, toolCallId="t", status="completed")
        assert last == [ToolUpdated("t", ToolStatus.DONE, "x" * 9_900)]

    def test_everything_is_bounded(self) -> None:
        talk = Talk()
        for number in range(MOST_TOOLS + 10):
            talk.hear("tool_call", toolCallId=f"t{number}", title="T" * 10_000)
        assert len(talk.book.open_tools()) == MOST_TOOLS
        update = talk.hear("tool_call_update", toolCallId="t1", status="completed", content=[text_block("x" * 10**6)])
        assert isinstance(update[-1], ToolUpdated)
        assert len(update[-1].output) == OUTPUT_CHARACTERS
        assert talk.hear("tool_call_update", toolCallId="t999", status="completed") == []

    def test_all_calls_of_a_turn_together_are_bounded(self) -> None:
        """Output and the texts of changes: a turn may last half an hour, and several run at once."""
        talk, said = Talk(), 0
        for number in range(100):
            written = {"type": "diff", "path": f"/work/{number}", "oldText": None, "newText": f"{number}" * 400_000}
            talk.hear("tool_call", toolCallId=f"t{number}", title="Write", kind="edit", content=[written])
        tools = talk.book.open_tools()
        assert sum(len(new) for tool in tools for _, _, new in tool.edits) <= TEXTS_OF_TURN
        assert len([tool for tool in tools if tool.edits]) >= 8
        for number in range(100):
            block = text_block("x" * OUTPUT_CHARACTERS)
            *_, last = talk.hear("tool_call_update", toolCallId=f"t{number}", status="completed", content=[block])
            assert isinstance(last, ToolUpdated)
            assert len(last.output) in (OUTPUT_CHARACTERS, RUNNING_CHARACTERS)
            said += len(last.output)
        assert said <= TEXTS_OF_TURN + 100 * RUNNING_CHARACTERS
        known = [talk.book.find(f"t{number}") for number in range(100)]
        assert not any(tool.edits for tool in known if tool is not None), "nobody asks about them any more"

    def test_a_refused_call_that_fails_stays_refused_and_one_that_ran_all_the_same_says_so(self) -> None:
        talk = Talk()
        for tool_id in ("a", "b"):
            talk.hear("tool_call", toolCallId=tool_id, title="x")
            talk.book.mark(tool_id, ToolStatus.DENIED, talk.now)
        assert talk.hear("tool_call_update", toolCallId="a", status="failed") == []
        assert talk.hear("tool_call_update", toolCallId="b", status="completed") == [ToolUpdated("b", ToolStatus.DONE)]

    def test_while_a_person_is_asked_the_agent_does_not_say_that_it_runs(self) -> None:
        talk = Talk()
        talk.hear("tool_call", toolCallId="a", title="x")
        talk.book.mark("a", ToolStatus.ASKING, talk.now)
        assert talk.hear("tool_call_update", toolCallId="a", status="in_progress") == []

    def test_raw_output_stands_in_where_there_is_no_content(self) -> None:
        events = Talk().hear("tool_call", toolCallId="t", title="x", status="completed", rawOutput={"output": "hi"})
        assert events[-1] == ToolUpdated("t", ToolStatus.DONE, "hi")


def test_arguments_are_the_command_or_json_with_long_values_cut() -> None:
    assert arguments_text({"command": "make all", "timeout": 3}) == "make all"
    assert arguments_text({"command": ["bash", "-lc", "make all"]}) == "make all"
    assert arguments_text({"cmd": ["ls", "-l"]}) == "ls -l"
    shown = json.loads(arguments_text({"path": "x", "content": "y" * 10_000}))
    assert shown["path"] == "x"
    assert len(shown["content"]) == 400


def test_colours_of_terminals_are_taken_off() -> None:
    assert clean("\x1b[31mred\x1b[0m plain \x1b]0;title") == "red plain 0;title"


def test_a_plan_is_bounded() -> None:
    entries = [{"content": "x" * 1_000, "priority": "low", "status": "pending"}] * 200
    (plan,) = Talk().hear("plan", entries=entries)
    assert isinstance(plan, PlanUpdated)
    assert len(plan.entries) == 100
    assert plan.entries[0] == ("x" * 500, "pending")


class TestUsage:
    def test_the_cache_inside_of_the_input(self) -> None:
        usage = {"totalTokens": 97, "inputTokens": 90, "outputTokens": 7, "cachedReadTokens": 40}
        assert read_usage({"usage": usage}) == UsageReported(90, 7, 40)

    def test_the_cache_beside_the_input(self) -> None:
        usage = {
            "totalTokens": 53,
            "inputTokens": 35,
            "outputTokens": 12,
            "cachedReadTokens": 5,
            "cachedWriteTokens": 1,
        }
        assert read_usage({"usage": usage}) == UsageReported(41, 12, 5)

    def test_nothing_usable_is_nothing(self) -> None:
        assert read_usage({}) is None
        assert read_usage({"usage": {"inputTokens": -1}}) is None

    def test_the_context_is_a_lower_bound(self) -> None:
        assert read_context({"used": 5000, "size": 1}) == UsageReported(5000)
        assert read_context({"used": "many"}) is None
