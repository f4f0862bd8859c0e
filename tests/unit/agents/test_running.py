"""Runs keep the protocol's promises over sources that do not."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from channels.agents.protocol import TurnRequest
from channels.agents.running import RunningTurns
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import AgentEvent, Ended, Outcome, TextDelta

TURN = TurnRequest(TurnId("t"), SessionId("s"), "text", None)
STOPPED = Ended(Outcome.STOPPED)


class Source:
    """Yields what it is given, then waits for ever when asked to; knows whether it was closed."""

    def __init__(self, *events: AgentEvent, hang: bool = False, error: Exception | None = None) -> None:
        self.events, self.hang, self.error = events, hang, error
        self.waiting, self.closed = asyncio.Event(), asyncio.Event()

    async def stream(self) -> AsyncGenerator[AgentEvent, None]:
        try:
            for event in self.events:
                yield event
            if self.error is not None:
                raise self.error
            self.waiting.set()
            if self.hang:
                await asyncio.Event().wait()
        finally:
            self.closed.set()


async def collect(turns: RunningTurns, source: Source) -> list[AgentEvent]:
    async with asyncio.timeout(10):
        return [event async for event in turns.lead(TURN, source.stream())]


async def test_events_after_the_end_are_not_passed_on() -> None:
    events = await collect(RunningTurns(), Source(TextDelta("a"), Ended(Outcome.COMPLETED), TextDelta("b")))
    assert events == [TextDelta("a"), Ended(Outcome.COMPLETED)]


@pytest.mark.parametrize("error", [RuntimeError("sk-secret-12345678"), TimeoutError(), StopAsyncIteration()])
async def test_source_that_raises_ends_as_failed(error: Exception) -> None:
    events = await collect(RunningTurns(), Source(TextDelta("a"), error=error))
    assert isinstance(events[-1], Ended)
    assert events[-1].outcome is Outcome.FAILED
    assert "secret" not in events[-1].error


async def test_source_that_forgets_its_end_ends_as_failed() -> None:
    events = await collect(RunningTurns(), Source(TextDelta("a")))
    assert isinstance(events[-1], Ended)
    assert events[-1].outcome is Outcome.FAILED


async def test_source_is_closed_before_the_end_is_handed_out() -> None:
    source = Source(Ended(Outcome.COMPLETED), TextDelta("never"))
    run = RunningTurns().lead(TURN, source.stream())
    assert await anext(run) == Ended(Outcome.COMPLETED)
    assert source.closed.is_set()
    await run.aclose()


async def test_stop_wins_over_an_end_that_is_under_way() -> None:
    """The source's last word is ready when the stop comes; the turn still ends as stopped."""
    turns = RunningTurns()

    async def stream() -> AsyncGenerator[AgentEvent, None]:
        turns.stop(TURN.turn_id)
        yield Ended(Outcome.COMPLETED)

    assert [event async for event in turns.lead(TURN, stream())] == [STOPPED]


async def test_stop_of_a_source_that_swallows_it_still_ends() -> None:
    turns = RunningTurns()
    waiting = asyncio.Event()

    async def stream() -> AsyncGenerator[AgentEvent, None]:
        try:
            waiting.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            yield TextDelta("late")

    async def read() -> list[AgentEvent]:
        return [event async for event in turns.lead(TURN, stream())]

    async with asyncio.timeout(10):
        task = asyncio.create_task(read())
        await waiting.wait()
        turns.stop(TURN.turn_id)
        assert await task == [STOPPED]
        assert not task.cancelling()


async def test_stop_leaves_the_consumer_s_task_uncancelled() -> None:
    """The task that reads goes on to do other things after a stop, and can still be cancelled from outside."""
    turns, source = RunningTurns(), Source(hang=True)
    forever = asyncio.Event()

    async def read() -> None:
        assert [event async for event in turns.lead(TURN, source.stream())] == [STOPPED]
        await asyncio.sleep(0)
        forever.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(10):
        task = asyncio.create_task(read())
        await source.waiting.wait()
        turns.stop(TURN.turn_id)
        await forever.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_cancel_and_stop_together_is_a_cancel() -> None:
    turns, source = RunningTurns(), Source(hang=True)
    async with asyncio.timeout(10):
        task = asyncio.create_task(collect(turns, source))
        await source.waiting.wait()
        turns.stop(TURN.turn_id)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert source.closed.is_set()


async def test_stop_twice_and_close_after_stop_keep_the_first_verdict() -> None:
    turns, source = RunningTurns(), Source(hang=True)
    async with asyncio.timeout(10):
        task = asyncio.create_task(collect(turns, source))
        await source.waiting.wait()
        turns.stop(TURN.turn_id)
        turns.stop(TURN.turn_id)
        turns.close()
        assert await task == [STOPPED]


async def test_ended_and_abandoned_runs_are_forgotten() -> None:
    turns = RunningTurns()
    await collect(turns, Source(Ended(Outcome.COMPLETED)))
    assert turns.count() == 0
    run = turns.lead(TURN, Source(hang=True).stream())
    assert turns.count() == 1
    del run
    assert turns.count() == 0
