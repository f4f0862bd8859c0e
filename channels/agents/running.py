"""Runs of turns that can be ended from outside at any moment, whatever they are waiting for.

An agent gives `RunningTurns.lead` a source: an async generator that talks to the other side and may simply wait. What
comes out is a run that keeps the protocol's promises:

  - exactly one `Ended`, as the last event, also when the source raises or forgets it;
  - `stop` and `close` reach into whatever the source awaits; nothing is polled, no task is created, so that a consumer
    which goes away leaves nothing behind;
  - the source is closed (its connection with it) before `Ended` is handed out;
  - once somebody has stopped a run it can only end as stopped, even when its last word was already under way.

A stop wakes the run through the deadline of its own `asyncio.Timeout`: that cancels exactly the one await in progress,
and the task of the consumer, which is not ours, is left in good order.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import TypeVar
from weakref import WeakValueDictionary

from channels.agents.failures import AgentClosed, AgentFault, sentence
from channels.agents.protocol import TurnRequest
from channels.ids import TurnId
from channels.logs import AGENT_FAILED, get_logger
from channels.rules.agent_event import AgentEvent, Ended, Outcome

T = TypeVar("T")
_log = get_logger("agents")


class RunEnded(Exception):
    """The run was told to end while it waited; its verdict says how."""


class Run:
    """One running turn, and the way to end it."""

    __slots__ = ("__weakref__", "_scope", "language", "verdict")

    def __init__(self, language: str) -> None:
        self.language = language
        self.verdict: Ended | None = None
        self._scope: asyncio.Timeout | None = None

    def end_with(self, verdict: Ended) -> None:
        """End soon, with this verdict. The first verdict stands."""
        if self.verdict is not None:
            return
        self.verdict = verdict
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())

    async def wait_for(self, step: Awaitable[T]) -> T:
        """The result of `step`; raises RunEnded as soon as there is a verdict."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scope = scope
                return await step
        except TimeoutError:
            if not scope.expired():
                raise
            raise RunEnded from None
        finally:
            self._scope = None


class RunningTurns:
    """The runs of one agent by turn id. A run that nobody iterates any more disappears by itself."""

    def __init__(self) -> None:
        self._runs: WeakValueDictionary[TurnId, Run] = WeakValueDictionary()
        self._closed = False

    def lead(self, turn: TurnRequest, source: AsyncGenerator[AgentEvent, None]) -> AsyncGenerator[AgentEvent, None]:
        """The run of `turn` over `source`. It can be stopped from now on, before it is iterated too. An earlier run of
        the same turn that still lives is stopped: the newer start owns the turn."""
        self.stop(turn.turn_id)
        run = Run(turn.language)
        if self._closed:
            run.end_with(_closed(turn.language))
        self._runs[turn.turn_id] = run
        return _led(run, source)

    def stop(self, turn_id: TurnId) -> None:
        """End this turn's run as stopped; unknown ids are ignored."""
        run = self._runs.get(turn_id)
        if run is not None:
            run.end_with(Ended(Outcome.STOPPED))

    def close(self) -> None:
        """End every run, and every later one, as failed: nobody asked for a stop, so none is claimed."""
        self._closed = True
        for run in list(self._runs.values()):
            run.end_with(_closed(run.language))

    def count(self) -> int:
        """How many runs are alive."""
        return len(self._runs)


def _closed(language: str) -> Ended:
    return Ended(Outcome.FAILED, sentence(AgentClosed(), language))


async def _led(run: Run, source: AsyncGenerator[AgentEvent, None]) -> AsyncGenerator[AgentEvent, None]:
    last: Ended | None = None
    async with aclosing(source):
        while last is None and run.verdict is None:
            event = await _next_event(run, source)
            if isinstance(event, Ended):
                last = event
            elif run.verdict is None:
                yield event
    yield run.verdict or last or Ended(Outcome.STOPPED)


async def _next_event(run: Run, source: AsyncGenerator[AgentEvent, None]) -> AgentEvent:
    """The source's next event; whatever goes wrong in it becomes the `Ended` that the protocol promises."""
    fault = Ended(Outcome.FAILED, sentence(AgentFault(), run.language))
    try:
        event = await run.wait_for(anext(source, None))
    except RunEnded:
        return run.verdict or fault
    except Exception as error:
        _log.error(AGENT_FAILED, error=type(error).__name__, exc_info=True)
        return fault
    if event is None:
        _log.error(AGENT_FAILED, error="the source ended without Ended")
        return fault
    return event
