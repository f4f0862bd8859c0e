"""Agents that break their promises: whatever they do, the turn ends, its card with it, and the session goes on."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

import pytest

from channels.agents.protocol import TurnRequest
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    Outcome,
    PlanUpdated,
    ReasoningDelta,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
)
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.taps import Failing

DONE = Ended(Outcome.COMPLETED)
HALF, OTHER_HALF, LOST = "\ud83d", "\ude00", "\ufffd"


class Scripted:
    """Says the events, then runs `then`; `on_stop` is what it does when it is told to stop."""

    name = kind = "demo"

    def __init__(
        self,
        events: Sequence[AgentEvent],
        then: Callable[[], Awaitable[None]] | None = None,
        on_stop: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._events, self._then, self._on_stop = events, then, on_stop

    async def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        for event in self._events:
            yield event
        if self._then is not None:
            await self._then()
            yield TextDelta("and goes on talking")

    async def stop(self, turn_id: TurnId) -> None:
        if self._on_stop is not None:
            await self._on_stop()

    async def resume(self, session_id: SessionId) -> None: ...

    async def close(self) -> None: ...

    def help_text(self, language: str) -> str:
        return ""


async def for_ever() -> None:
    await asyncio.Event().wait()


async def deaf() -> None:
    """Hangs, and hears no cancel but the third: the one that ends the test's loop."""
    for _ in range(3):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


async def broken() -> None:
    raise RuntimeError("cannot stop")


async def open_with(open_house: OpenHouse, agent: Scripted, **sections: dict[str, object]) -> House:
    house = await open_house(start=False, **sections)
    house.agents = {"demo": agent}
    await house.start()
    return house


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([TextDelta(f"one {HALF} two"), DONE], f"one {LOST} two"),
        ([TextDelta(f"one {HALF}"), TextDelta(f"{OTHER_HALF} two"), DONE], "one \U0001f600 two"),
        ([TextDelta(f"one {HALF}"), DONE], "one"),
        ([ReasoningDelta(HALF), TextDelta("one"), DONE], "one"),
        ([ToolCalled("1", HALF, HALF, HALF), ToolUpdated("1", ToolStatus.DONE, HALF), TextDelta("one"), DONE], "one"),
        ([PlanUpdated(((HALF, "pending"),)), TextDelta("one"), DONE], "one"),
    ],
)
async def test_half_characters(open_house: OpenHouse, events: list[AgentEvent], shown: str) -> None:
    """No file and no wire takes half a surrogate pair: the end of the turn must be committed all the same."""
    house = await open_with(open_house, Scripted(events))
    message_id, _ = await house.ask("hello")
    assert cards_seen.answer(house.assert_answered_once(message_id)).strip() == shown
    assert await house.one("SELECT outcome FROM turns") == "completed"


@pytest.mark.parametrize("on_stop", [for_ever, broken])
async def test_the_time_limit_holds_where_stopping_does_not_work(
    open_house: OpenHouse, on_stop: Callable[[], Awaitable[None]]
) -> None:
    agent = Scripted([TextDelta("one")], then=for_ever, on_stop=on_stop)
    house = await open_with(open_house, agent, turns={"time_limit_s": 0.5})
    message_id, reply = await house.ask("hello")
    assert house.replies(message_id) == [reply]
    assert not cards_seen.is_running(house.card(reply.message_id))
    assert await house.one("SELECT outcome FROM turns") == "failed"
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith(("agent-", "live-", "turn-"))]


async def test_an_agent_that_hears_no_cancel_is_left_alone(open_house: OpenHouse) -> None:
    """A person presses *Stop*: the card ends, whatever the agent goes on doing, and stays as it ended."""
    house = await open_with(open_house, Scripted([TextDelta("one")], then=deaf, on_stop=for_ever))
    message_id = house.say("hello")
    reply = await house.shown(message_id)
    await house.held("SELECT count(*) FROM turns WHERE state = 'entered'", 1)
    turn_id = await house.one("SELECT turn_id FROM turns")
    await house.world.click("Alice", reply.message_id, {"do": "stop", "turn": turn_id})
    await house.answered(message_id)
    assert not cards_seen.is_running(house.card(reply.message_id))
    assert await house.one("SELECT outcome FROM turns") == "stopped"


async def test_an_end_that_cannot_be_committed_is_committed_as_an_error(open_house: OpenHouse) -> None:
    """Something about this answer fails every time: the card must not run until the next boot for it."""
    house = await open_with(open_house, Scripted([TextDelta("one"), DONE]))
    failing = Failing("UPDATE turns SET state = 'ended'", lambda: ValueError("a defect"), times=4)
    house.tap.listeners.append(failing)
    message_id, reply = await house.ask("hello")
    assert failing.hits == 4
    assert len(house.replies(message_id)) == 1
    assert not cards_seen.is_running(house.card(reply.message_id))
    assert await house.one("SELECT outcome FROM turns") == "failed"
    house.tap.listeners.remove(failing)
    second, _ = await house.ask("again")
    house.assert_answered_once(second)


async def test_a_disk_that_is_full_for_a_moment_does_not_end_the_live_lane(open_house: OpenHouse) -> None:
    """The second card of a long answer is shown while the agent still works, though its first try met the full disk."""
    go_on = asyncio.Event()
    full = Failing("INSERT INTO inflight_cards", lambda: sqlite3.OperationalError("database or disk is full"), times=2)

    async def wait() -> None:
        house.tap.listeners.append(full)
        await go_on.wait()

    paragraphs = "\n\n".join(f"{number} " + "word " * 200 for number in range(60))
    house = await open_house(start=False)
    house.agents = {"demo": Waiting(wait, paragraphs)}
    await house.start()
    message_id = house.say("hello")
    await house.seen(lambda: len(house.replies(message_id)) >= 2)
    assert full.hits == 2
    assert await house.one("SELECT count(*) FROM turns WHERE state = 'entered'") == 1
    go_on.set()
    await house.answered(message_id)


class Waiting(Scripted):
    """Calls `before`, says `text` at once, and ends when `before` has returned."""

    def __init__(self, before: Callable[[], Awaitable[None]], text: str) -> None:
        super().__init__([])
        self._before, self._text = before, text

    async def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        waiting = asyncio.ensure_future(self._before())
        await asyncio.sleep(0)
        yield TextDelta(self._text)
        await waiting
        yield DONE
