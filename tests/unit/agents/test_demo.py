"""What the demo agent shows for each word, and how exactly it keeps time."""

import asyncio

import pytest
from markdown_it import MarkdownIt

from channels.agents.demo import DemoAgent
from channels.agents.demo_script import Step, script
from channels.agents.protocol import Said, TurnRequest
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import (
    Ended,
    Outcome,
    PlanUpdated,
    ReasoningDelta,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)
from channels.rules.turn import Phase, View, advance


def turn(text: str, language: str = "en", history: tuple[Said, ...] = ()) -> TurnRequest:
    return TurnRequest(TurnId("t"), SessionId("s"), text, None, history, language=language)


def steps(text: str, language: str = "en", history: tuple[Said, ...] = ()) -> list[Step]:
    return list(script(turn(text, language, history)))


def view_of(text: str, language: str = "en", history: tuple[Said, ...] = ()) -> View:
    view = View("t")
    for step in steps(text, language, history):
        view = advance(view, step.event)
    return view


def blocks(markdown: str, kind: str) -> int:
    return sum(token.type == kind for token in MarkdownIt("commonmark").enable("table").parse(markdown))


def seconds(text: str) -> float:
    return sum(step.pause_s for step in steps(text))


@pytest.mark.parametrize("text", ["hello", "你好", "markdown", "7 tables think plan tools code", "error"])
def test_same_question_same_script(text: str) -> None:
    assert steps(text) == steps(text)


def test_echo_quotes_every_line() -> None:
    assert "> first\n>\n> ```\n> last" in view_of("first\n\n```\nlast").answer


@pytest.mark.parametrize(
    ("text", "language", "says"),
    [("hello", "zh", "Hello"), ("你好 bot", "en", "你好！"), ("123", "zh", "你好！"), ("123", "en", "Hello")],
)
def test_answers_in_the_language_of_the_message(text: str, language: str, says: str) -> None:
    assert view_of(text, language).answer.startswith(says)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("long answer", 50_000, 90_000),
        ("长回答", 30_000, 90_000),
        ("huge", 300_000, 310_000),
        ("超大", 300_000, 310_000),
    ],
)
def test_size_of_long_answers(text: str, least: int, most: int) -> None:
    assert least <= len(view_of(text).answer.encode()) <= most


@pytest.mark.parametrize("text", ["12 tables", "12 个表格"])
def test_tables_are_tables(text: str) -> None:
    assert blocks(view_of(text).answer, "table_open") == 12


@pytest.mark.parametrize("text", ["code", "代码"])
def test_code_is_whole_fences_and_no_table(text: str) -> None:
    answer = view_of(text).answer
    assert blocks(answer, "fence") == 5
    assert blocks(answer, "table_open") == 0


@pytest.mark.parametrize("text", ["markdown", "格式"])
@pytest.mark.parametrize(
    "kind", ["heading_open", "bullet_list_open", "ordered_list_open", "blockquote_open", "table_open", "hr"]
)
def test_markdown_shows_every_block(text: str, kind: str) -> None:
    assert blocks(view_of(text).answer, kind) >= 1


def test_reasoning_precedes_the_answer() -> None:
    kinds = [type(step.event) for step in steps("think")]
    assert kinds.index(ReasoningDelta) < kinds.index(TextDelta)
    assert view_of("think").reasoning.startswith("First, what is wanted here?")


def test_tools_end_done_or_failed() -> None:
    view = view_of("tools")
    assert [tool.status for tool in view.tools] == [
        ToolStatus.DONE,
        ToolStatus.DONE,
        ToolStatus.FAILED,
        ToolStatus.DONE,
    ]
    assert all(tool.output and tool.arguments for tool in view.tools)


def test_plan_is_ticked_off() -> None:
    plans = [step.event for step in steps("plan") if isinstance(step.event, PlanUpdated)]
    done = [sum(status == "completed" for _, status in plan.entries) for plan in plans]
    assert done == [0, 1, 2, 4]


def test_work_takes_its_time_in_one_tool() -> None:
    made = steps("work 3 seconds")
    assert [step.event.tool_id for step in made if isinstance(step.event, ToolCalled)] == ["demo-work"]
    updates = [step for step in made if isinstance(step.event, ToolUpdated)]
    assert sum(step.pause_s for step in updates) == 3
    assert view_of("work 3 seconds").tools[0].status is ToolStatus.DONE


def test_slow_takes_half_a_minute_at_most() -> None:
    assert 10 <= seconds("slow hello") <= 31
    assert 25 <= seconds("slow long answer") <= 31
    assert seconds("long answer") <= 4
    assert seconds("hello") <= 1


@pytest.mark.parametrize(
    ("text", "outcome", "phase"),
    [
        ("error", Outcome.FAILED, Phase.FAILED),
        ("max tokens", Outcome.MAX_TOKENS, Phase.DONE),
        ("hello", Outcome.COMPLETED, Phase.DONE),
    ],
)
def test_ends(text: str, outcome: Outcome, phase: Phase) -> None:
    view = view_of(text)
    assert (view.outcome, view.phase) == (outcome, phase)
    assert bool(view.error) == (outcome is Outcome.FAILED)
    assert view.answer


def test_empty_answer_has_no_text() -> None:
    assert view_of("empty answer").answer == ""
    assert view_of("empty answer").outcome is Outcome.COMPLETED


def test_history_proves_that_the_session_is_remembered() -> None:
    said = (Said("user", "my cat\nis called Mia"), Said("assistant", "noted"), Said("user", "x" * 300))
    answer = view_of("what did I say before", history=said).answer
    assert "1. my cat is called Mia" in answer
    assert "2. " + "x" * 200 + " …" in answer
    assert "noted" not in answer
    assert "first message" in view_of("what did I say before").answer
    assert "第一条" in view_of("我之前说了什么").answer


def test_usage_counts_history_as_cached() -> None:
    usage = view_of("hello", history=(Said("user", "x" * 40), Said("assistant", "y" * 40))).usage
    assert (usage.input_tokens, usage.cached_tokens) == (22, 20)
    assert usage.output_tokens > 20


@pytest.mark.parametrize(
    ("text", "characters", "ms"),
    [
        ("stream 800 characters in 800 ms", 800, 800),
        ("输出 801 字，用时 3 秒", 801, 3000),
        ("stream 7 characters in 0 ms", 7, 0),
    ],
)
def test_stream_is_exact(text: str, characters: int, ms: int) -> None:
    made = steps(text)
    deltas = [step.event.text for step in made if isinstance(step.event, TextDelta)]
    assert sum(map(len, deltas)) == characters
    assert sum(step.pause_s for step in made) == pytest.approx(ms / 1000)
    assert max(map(len, deltas)) - min(map(len, deltas)) <= 1
    assert [type(step.event) for step in made[-2:]] == [UsageReported, Ended]


class SteppedClock:
    """Time stands still unless the test moves it."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def wall_ms(self) -> int:
        return int(self.now_s * 1000)

    def monotonic(self) -> float:
        return self.now_s


async def test_slow_reader_does_not_stretch_the_whole() -> None:
    """Once the time of every step is over, all the rest comes at once."""
    clock = SteppedClock()
    agent = DemoAgent(clock=clock)
    run = agent.run(turn("work 3000 seconds"))
    assert isinstance(await anext(run), UsageReported)
    clock.now_s += 4000
    async with asyncio.timeout(20):
        events = [event async for event in run]
    assert events[-1] == Ended(Outcome.COMPLETED)
    assert len(events) > 3000


async def test_pace_scales_the_pauses() -> None:
    """At pace 0 an hour of work is over at once."""
    async with asyncio.timeout(20):
        events = [event async for event in DemoAgent(pace=0).run(turn("work 3600 seconds"))]
    assert events[-1] == Ended(Outcome.COMPLETED)
