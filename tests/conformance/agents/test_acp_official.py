"""The official package on the other side: what we send, it takes; what it sends, we understand."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from channels.agents.acp.agent import AcpAgent
from channels.agents.presets import AcpPreset
from channels.agents.protocol import Attachment, TurnRequest
from channels.ids import SessionId, TurnId, UserId
from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    ModelReported,
    Outcome,
    PlanUpdated,
    ReasoningDelta,
    TextDelta,
    ToolCalled,
    ToolStatus,
    UsageReported,
)
from channels.rules.permission import PermissionAnswer
from tests.conformance.agents.test_acp import PNG, Person, end, reference, statuses, words

ROOT = Path(__file__).resolve().parents[3]
LIMIT_S = 60
PRESET = AcpPreset(
    "official",
    (sys.executable, "-m", "tests.conformance.agents.official_acp"),
    (("PYTHONPATH", str(ROOT)),),
    model="Model Two",
)


@pytest.fixture
async def agent() -> AsyncIterator[AcpAgent]:
    made = AcpAgent(PRESET)
    yield made
    await made.close()


async def ask(agent: AcpAgent, request: TurnRequest) -> list[AgentEvent]:
    async with asyncio.timeout(LIMIT_S):
        return [event async for event in agent.run(request)]


async def test_a_whole_turn(agent: AcpAgent, tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(PNG)
    person = Person(PermissionAnswer(True, "yes"))
    request = TurnRequest(
        TurnId("t"),
        SessionId("s"),
        "hello",
        UserId("u"),
        folder=tmp_path,
        attachments=(Attachment("image", "dot.png", picture, len(PNG)),),
        gate=person,
    )
    events = await ask(agent, request)
    assert words(events) == "hello|yes|two\n|2"
    assert reference(events) == f"official:{tmp_path}"
    assert ModelReported("Model Two") in events
    assert ReasoningDelta("hm") in events
    assert PlanUpdated((("look", "completed"),)) in events
    called = next(event for event in events if isinstance(event, ToolCalled))
    assert "+two" in called.diff
    assert statuses(events, "t1")[-1] is ToolStatus.DONE
    assert UsageReported(10, 2) in events
    assert events[-1] == Ended(Outcome.COMPLETED)
    assert len(person.asked) == 1
    assert (tmp_path / "made.txt").read_text() == "two\n"


async def test_a_stop_and_an_old_session(agent: AcpAgent, tmp_path: Path) -> None:
    request = TurnRequest(
        TurnId("t"), SessionId("s"), "wait", UserId("u"), folder=tmp_path, reference=f"official:{tmp_path}"
    )
    events: list[AgentEvent] = []
    async with asyncio.timeout(LIMIT_S):
        async for event in agent.run(request):
            events.append(event)
            if isinstance(event, TextDelta):
                await agent.stop(request.turn_id)
    assert words(events) == "waiting"
    assert end(events).outcome is Outcome.STOPPED
