"""What every kind of agent keeps, whatever is on its other side. Parametrised over `rigs.RIGS`."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import pytest

from channels.agents.protocol import PermissionAnswer, PermissionQuestion, Said, TurnRequest
from channels.ids import SessionId, TurnId, UserId
from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    Outcome,
    PlanUpdated,
    ReasoningDelta,
    SessionOpened,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)
from tests.conformance.agents.rigs import ENDS_OF_HUGE, REPEATS, RIGS, Behaviour, Rig

SOON_S = 10  # generous for a busy machine; what must be at once is checked by order, not by time


@pytest.fixture(params=sorted(RIGS))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    async with RIGS[request.param]() as made:
        yield made


def turn(text: str, turn_id: str = "turn-1", language: str = "en", history: tuple[Said, ...] = ()) -> TurnRequest:
    session = SessionId(f"session-of-{turn_id}")  # a session never has two turns at once
    return TurnRequest(TurnId(turn_id), session, text, UserId("user-1"), history, language=language)


def ask(rig: Rig, behaviour: Behaviour) -> TurnRequest:
    if behaviour not in rig.features:
        pytest.skip(f"{rig.agent.kind} has no {behaviour}")
    return turn(rig.ask(behaviour))


def started(rig: Rig, request: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
    return rig.agent.run(request)


async def collect(rig: Rig, request: TurnRequest) -> list[AgentEvent]:
    async with asyncio.timeout(SOON_S):
        return [event async for event in rig.agent.run(request)]


def assert_well_formed(events: list[AgentEvent], *outcomes: Outcome) -> None:
    ends = [event for event in events if isinstance(event, Ended)]
    assert len(ends) == 1, events[-3:]
    assert events[-1] is ends[0]
    assert ends[0].outcome in outcomes
    assert bool(ends[0].error) == (ends[0].outcome is Outcome.FAILED)
    known: set[str] = set()
    for event in events:
        if isinstance(event, ToolCalled):
            known.add(event.tool_id)
        if isinstance(event, ToolUpdated):
            assert event.tool_id in known


def answer(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def assert_no_task_left(before: set["asyncio.Task[object]"]) -> None:
    """Whatever is still closing comes to its end by itself; a task that waits for something would not."""
    left = {task for task in asyncio.all_tasks() if task not in before and not _of_server(task)}
    if left:
        _, waiting = await asyncio.wait(left, timeout=SOON_S)
        assert not waiting


def _of_server(task: "asyncio.Task[object]") -> bool:
    return "RequestHandler" in repr(task) or "Signals" in repr(task)


async def test_plain_answer_completes(rig: Rig) -> None:
    events = await collect(rig, ask(rig, Behaviour.PLAIN))
    assert_well_formed(events, Outcome.COMPLETED)
    assert answer(events)


async def test_deltas_are_appended_as_they_are(rig: Rig) -> None:
    events = await collect(rig, ask(rig, Behaviour.REPEATS))
    assert REPEATS in answer(events)


async def test_reasoning_comes_apart_from_the_answer(rig: Rig) -> None:
    events = await collect(rig, ask(rig, Behaviour.REASONING))
    assert_well_formed(events, Outcome.COMPLETED)
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    assert "think" in thought or "wanted" in thought
    assert thought not in answer(events)
    kinds = [type(event) for event in events]
    assert kinds.index(ReasoningDelta) < kinds.index(TextDelta)


async def test_tools_report_a_last_status(rig: Rig) -> None:
    events = await collect(rig, ask(rig, Behaviour.TOOLS))
    assert_well_formed(events, Outcome.COMPLETED)
    last = {event.tool_id: event.status for event in events if isinstance(event, ToolUpdated)}
    assert len(last) >= 3
    assert set(last.values()) == {ToolStatus.DONE, ToolStatus.FAILED}


async def test_plan_is_whole_every_time(rig: Rig) -> None:
    events = await collect(rig, ask(rig, Behaviour.PLAN))
    plans = [event for event in events if isinstance(event, PlanUpdated)]
    assert len(plans) > 1
    assert len({tuple(text for text, _ in plan.entries) for plan in plans}) == 1
    assert {status for _, status in plans[-1].entries} == {"completed"}


async def test_usage_is_a_total(rig: Rig) -> None:
    events = await collect(rig, ask(rig, Behaviour.USAGE))
    last = [event for event in events if isinstance(event, UsageReported)][-1]
    assert last.input_tokens > 0
    assert last.output_tokens > 0
    assert last.cached_tokens <= last.input_tokens


async def test_length_limit_is_no_failure(rig: Rig) -> None:
    events = await collect(rig, ask(rig, Behaviour.LENGTH))
    assert_well_formed(events, Outcome.MAX_TOKENS)
    assert answer(events)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_failure_is_a_sentence_not_an_exception(rig: Rig, language: str) -> None:
    request = turn(
        rig.ask(Behaviour.FAILURE) if language == "en" or rig.agent.kind != "demo" else "出错", "t", language
    )
    if language == "zh" and rig.agent.kind != "demo":
        request = turn(request.text, "t", language)
    events = await collect(rig, request)
    assert_well_formed(events, Outcome.FAILED)
    last = events[-1]
    assert isinstance(last, Ended)
    assert last.error.endswith("。" if language == "zh" else ".")
    assert "Traceback" not in last.error
    assert "sk-" not in last.error


@pytest.mark.parametrize("allowed", [True, False])
async def test_what_needs_permission_waits_for_it_and_shows_the_answer(rig: Rig, allowed: bool) -> None:
    request = ask(rig, Behaviour.PERMISSION)
    asked: list[PermissionQuestion] = []
    events: list[AgentEvent] = []
    decided = asyncio.Event()

    class Person:
        async def ask(self, question: PermissionQuestion) -> PermissionAnswer:
            asked.append(question)
            await decided.wait()
            return PermissionAnswer(allowed, why="allowed" if allowed else "denied")

        async def allows(self, kind: str) -> bool:
            return allowed

    async with asyncio.timeout(SOON_S):
        async for event in rig.agent.run(replace(request, gate=Person())):
            events.append(event)
            if isinstance(event, ToolUpdated) and event.status is ToolStatus.ASKING:
                decided.set()
    assert_well_formed(events, Outcome.COMPLETED)
    states = [event.status for event in events if isinstance(event, ToolUpdated) and event.tool_id == asked[0].tool_id]
    assert ToolStatus.ASKING in states
    assert states[-1] is (ToolStatus.DONE if allowed else ToolStatus.DENIED)
    assert asked[0].title
    assert len(asked) == 1


async def test_a_break_in_mid_answer_keeps_what_had_arrived(rig: Rig) -> None:
    events = await collect(rig, ask(rig, Behaviour.CRASH))
    assert_well_formed(events, Outcome.FAILED)
    assert answer(events)
    assert_well_formed(await collect(rig, ask(rig, Behaviour.PLAIN)), Outcome.COMPLETED)


async def test_a_session_goes_on_with_an_agent_that_was_started_anew(rig: Rig) -> None:
    """Whether it keeps its sessions itself or is told what was said: nothing of the past is said again."""
    first = await collect(rig, ask(rig, Behaviour.PLAIN))
    question = turn(rig.ask(Behaviour.PLAIN)).text
    opened = [event.reference for event in first if isinstance(event, SessionOpened)]
    await rig.restart()
    past = (Said("user", question), Said("assistant", answer(first)))
    again = replace(ask(rig, Behaviour.LOAD), history=past, reference=opened[0] if opened else "")
    events = await collect(rig, again)
    assert_well_formed(events, Outcome.COMPLETED)
    assert answer(events)
    assert "REPLAYED" not in answer(events)
    assert not any(isinstance(event, SessionOpened) for event in events)
    if opened:
        assert question in answer(events)


async def test_huge_output_is_passed_on_in_bounded_pieces(rig: Rig) -> None:
    request = ask(rig, Behaviour.HUGE)
    total = longest = 0
    end: AgentEvent | None = None
    async with asyncio.timeout(SOON_S * 3):
        async for event in rig.agent.run(request):
            end = event
            if isinstance(event, TextDelta):
                total, longest = total + len(event.text), max(longest, len(event.text))
    assert isinstance(end, Ended)
    assert end.outcome in ENDS_OF_HUGE
    assert 250_000 <= total <= 2_000_000
    assert longest <= 100_000


async def test_stop_during_the_stream(rig: Rig) -> None:
    request = ask(rig, Behaviour.ENDLESS)
    events: list[AgentEvent] = []
    async with asyncio.timeout(SOON_S):
        async for event in rig.agent.run(request):
            events.append(event)
            if isinstance(event, TextDelta):
                await rig.agent.stop(request.turn_id)
        assert_well_formed(events, Outcome.STOPPED)
        assert sum(isinstance(event, TextDelta) for event in events) == 1
        await rig.released()


async def test_stop_before_the_first_word(rig: Rig) -> None:
    request = ask(rig, Behaviour.SILENT)
    run = asyncio.create_task(collect(rig, request))
    async with asyncio.timeout(SOON_S):
        await rig.reached()
        await rig.agent.stop(request.turn_id)
        events = await run
        assert_well_formed(events, Outcome.STOPPED)
        assert answer(events) == ""
        await rig.released()


async def test_stop_before_the_run_is_iterated(rig: Rig) -> None:
    request = ask(rig, Behaviour.PLAIN)
    run = started(rig, request)
    await rig.agent.stop(request.turn_id)
    assert [event async for event in run] == [Ended(Outcome.STOPPED)]


async def test_stop_while_the_consumer_is_busy(rig: Rig) -> None:
    request = ask(rig, Behaviour.ENDLESS)
    run = started(rig, request)
    async with asyncio.timeout(SOON_S):
        await anext(run)
        await rig.agent.stop(request.turn_id)
        assert [event async for event in run] == [Ended(Outcome.STOPPED)]


async def test_stop_of_an_unknown_turn_does_nothing(rig: Rig) -> None:
    await rig.agent.stop(TurnId("nobody"))
    request = ask(rig, Behaviour.PLAIN)
    assert_well_formed(await collect(rig, request), Outcome.COMPLETED)
    await rig.agent.stop(request.turn_id)


async def test_stop_ends_only_its_own_turn(rig: Rig) -> None:
    first = started(rig, ask(rig, Behaviour.ENDLESS))
    async with asyncio.timeout(SOON_S):
        await anext(first)
        silent = turn(rig.ask(Behaviour.SILENT), "turn-2")
        other = asyncio.create_task(collect(rig, silent))
        await rig.reached()
        await rig.agent.stop(silent.turn_id)
        assert_well_formed(await other, Outcome.STOPPED)
        assert not isinstance(await anext(first), Ended)
        await first.aclose()


async def test_two_turns_at_the_same_time(rig: Rig) -> None:
    requests = [turn(rig.ask(Behaviour.REPEATS), f"turn-{number}") for number in (1, 2)]
    for events in await asyncio.gather(*(collect(rig, request) for request in requests)):
        assert_well_formed(events, Outcome.COMPLETED)
        assert answer(events).count(REPEATS) == 1


async def test_newer_start_of_a_turn_ends_the_older(rig: Rig) -> None:
    older = started(rig, ask(rig, Behaviour.ENDLESS))
    async with asyncio.timeout(SOON_S):
        await anext(older)
        newer = await collect(rig, ask(rig, Behaviour.PLAIN))
        assert_well_formed(newer, Outcome.COMPLETED)
        assert [event async for event in older] == [Ended(Outcome.STOPPED)]


async def test_close_ends_running_and_later_turns(rig: Rig) -> None:
    run = started(rig, ask(rig, Behaviour.ENDLESS))
    async with asyncio.timeout(SOON_S):
        await anext(run)
        await rig.agent.close()
        assert_well_formed([event async for event in run], Outcome.FAILED)
        assert_well_formed(await collect(rig, turn("hello", "turn-2")), Outcome.FAILED)


async def test_close_reaches_a_turn_that_waits(rig: Rig) -> None:
    request = ask(rig, Behaviour.SILENT)
    run = asyncio.create_task(collect(rig, request))
    async with asyncio.timeout(SOON_S):
        await rig.reached()
        await rig.agent.close()
        assert_well_formed(await run, Outcome.FAILED)


async def test_consumer_that_leaves_leaves_nothing_behind(rig: Rig) -> None:
    before = asyncio.all_tasks()
    run = started(rig, ask(rig, Behaviour.ENDLESS))
    async with asyncio.timeout(SOON_S):
        await anext(run)
        await run.aclose()
        await rig.released()
        await assert_no_task_left(before)


@pytest.mark.parametrize("behaviour", [Behaviour.ENDLESS, Behaviour.SILENT])
async def test_cancelled_consumer_leaves_nothing_behind(rig: Rig, behaviour: Behaviour) -> None:
    before = asyncio.all_tasks()
    run = asyncio.create_task(collect(rig, ask(rig, behaviour)))
    async with asyncio.timeout(SOON_S):
        await rig.reached()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await rig.released()
        await assert_no_task_left(before)


async def test_next_turn_works_after_every_kind_of_end(rig: Rig) -> None:
    for behaviour in (Behaviour.FAILURE, Behaviour.LENGTH):
        await collect(rig, ask(rig, behaviour))
    run = started(rig, ask(rig, Behaviour.ENDLESS))
    await anext(run)
    await run.aclose()
    assert_well_formed(await collect(rig, ask(rig, Behaviour.PLAIN)), Outcome.COMPLETED)


async def test_resume_and_help(rig: Rig) -> None:
    await rig.agent.resume(SessionId("session-1"))
    english, chinese = rig.agent.help_text("en"), rig.agent.help_text("zh")
    assert english != chinese
    assert english.isascii()
    assert "。" in chinese or "，" in chinese
