"""The view of a turn: a fold over what the agent says."""

import sqlite3
from functools import reduce
from importlib.resources import files

import pytest

from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    ModelReported,
    Outcome,
    PlanUpdated,
    ReasoningDelta,
    SessionOpened,
    SlotAwaited,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)
from channels.rules.pace import FRAME_GAPS_MS, gap_ms
from channels.rules.turn import PHASE_OF_OUTCOME, TURN_STATES, Phase, View, advance, finished, shown_phase, with_status

START = View("turn_1")


def fold(*events: AgentEvent) -> View:
    return reduce(advance, events, START)


def test_equal_deltas_are_two_deltas() -> None:
    """Field report 19: "ha", "ha" must not shrink."""
    assert (
        fold(TextDelta("ha"), TextDelta("ha"), TextDelta("1000000"), TextDelta("1000000")).answer
        == "haha" + "1000000" * 2
    )


def test_the_first_text_makes_it_a_reply() -> None:
    assert fold(ReasoningDelta("hm")).phase is Phase.THINKING
    assert fold(ReasoningDelta("hm"), TextDelta("")).phase is Phase.THINKING
    assert fold(ReasoningDelta("hm"), TextDelta("a")).phase is Phase.REPLYING


def test_tools_are_updated_by_id_and_unknown_updates_change_nothing() -> None:
    view = fold(ToolCalled("1", "ls"), ToolCalled("2", "cat"), ToolUpdated("1", ToolStatus.DONE, "a\nb"))
    assert [(tool.title, tool.status, tool.output) for tool in view.tools] == [
        ("ls", ToolStatus.DONE, "a\nb"),
        ("cat", ToolStatus.RUNNING, ""),
    ]
    assert advance(view, ToolUpdated("3", ToolStatus.DONE)) == view


def test_an_update_without_output_keeps_the_output() -> None:
    view = fold(ToolCalled("1", "ls"), ToolUpdated("1", ToolStatus.RUNNING, "a"), ToolUpdated("1", ToolStatus.DONE))
    assert view.tools[0].output == "a"


def test_tools_that_never_reported_back_have_failed_at_the_end() -> None:
    view = fold(
        ToolCalled("1", "ls"), ToolCalled("2", "cat"), ToolUpdated("2", ToolStatus.DONE), Ended(Outcome.STOPPED)
    )
    assert [tool.status for tool in view.tools] == [ToolStatus.FAILED, ToolStatus.DONE]


def test_plan_and_usage_are_replaced_whole() -> None:
    view = fold(
        PlanUpdated((("a", "pending"),)), PlanUpdated((("b", "completed"),)), UsageReported(1), UsageReported(2, 3)
    )
    assert (view.plan, view.usage) == ((("b", "completed"),), UsageReported(2, 3))


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_its_phase(outcome: Outcome) -> None:
    view = finished(START, outcome, "why")
    assert (view.phase, view.outcome, view.error) == (PHASE_OF_OUTCOME[outcome], outcome, "why")


def test_the_last_frame_gap_repeats() -> None:
    assert [gap_ms(n) for n in range(6)] == [*FRAME_GAPS_MS, FRAME_GAPS_MS[-1], FRAME_GAPS_MS[-1]]


def test_the_schema_lets_a_turn_move_exactly_as_the_rules_say() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript((files("channels.store") / "schema" / "0001_spine.sql").read_text())
    connection.execute("INSERT INTO owners VALUES (1, 0, 'test')")
    connection.execute("INSERT INTO sessions VALUES ('s', 'c', 'p2p', 'u', 'demo', '', 0)")
    for before in TURN_STATES:
        for after in TURN_STATES:
            connection.execute("SAVEPOINT trial")
            connection.execute(
                "INSERT INTO turns (turn_id, cause, cause_id, session_id, state, start_epoch, owner_epoch, outcome,"
                " queued_at, ended_at) VALUES ('t', 'message', 'm', 's', ?, 1, 1, ?, 0, ?)",
                (before, "failed" if before == "ended" else None, 1 if before == "ended" else None),
            )
            allowed = after == before or after in TURN_STATES[before]
            try:
                connection.execute(
                    "UPDATE turns SET state = ?, outcome = ?, ended_at = ?",
                    (after, "failed" if after == "ended" else None, 1 if after == "ended" else None),
                )
                moved = True
            except sqlite3.IntegrityError:
                moved = False
            assert moved is allowed, f"{before} -> {after}"
            connection.execute("ROLLBACK TO trial")
    connection.close()


def called(tool_id: str = "t") -> ToolCalled:
    return ToolCalled(tool_id, "Edit", "edit")


class TestAsking:
    def test_while_a_person_is_asked_the_header_says_so(self) -> None:
        asked = with_status(fold(TextDelta("so "), called()), called(), ToolStatus.ASKING)
        assert shown_phase(asked) is Phase.ASKING
        assert asked.phase is Phase.REPLYING
        assert shown_phase(with_status(asked, called(), ToolStatus.RUNNING)) is Phase.REPLYING
        assert shown_phase(finished(asked, Outcome.STOPPED)) is Phase.STOPPED

    def test_a_tool_that_was_not_announced_is_shown_all_the_same(self) -> None:
        view = with_status(START, called("new"), ToolStatus.DENIED)
        assert [(tool.tool_id, tool.status) for tool in view.tools] == [("new", ToolStatus.DENIED)]

    def test_a_refused_tool_that_fails_was_refused(self) -> None:
        refused = with_status(fold(called()), called(), ToolStatus.DENIED)
        assert advance(refused, ToolUpdated("t", ToolStatus.FAILED, "not allowed")).tools[0].status is ToolStatus.DENIED
        assert finished(refused, Outcome.COMPLETED).tools[0].status is ToolStatus.DENIED
        asking = with_status(refused, called(), ToolStatus.ASKING)
        assert finished(asking, Outcome.STOPPED).tools[0].status is ToolStatus.FAILED


def test_places_models_and_lost_sessions() -> None:
    assert fold(SlotAwaited(2)).phase is Phase.WAITING
    assert fold(SlotAwaited(2), SlotAwaited(0)).phase is Phase.THINKING
    assert fold(TextDelta("x"), SlotAwaited(2)).phase is Phase.REPLYING
    assert fold(ModelReported("m"), SessionOpened("s")).model == "m"
    assert fold(Ended(Outcome.FAILED, "gone", lost_session=True)).lost_session
