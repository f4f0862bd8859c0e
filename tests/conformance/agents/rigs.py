"""One rig per kind of agent: the agent, and how to make the other side behave in a given way.

A new kind joins the suite by adding a rig here. `ask(behaviour)` prepares the other side and returns the question that
provokes the behaviour; a behaviour outside `features` is skipped.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol

from channels.agents.acp.agent import AcpAgent
from channels.agents.demo import DemoAgent
from channels.agents.openai_chat import OpenAiAgent
from channels.agents.presets import AcpPreset, OpenAiPreset, ProcessLimits
from channels.agents.protocol import Agent
from channels.rules.agent_event import Outcome
from tests.conformance.agents import fake_acp
from tests.conformance.agents import fake_openai as fake
from tests.conformance.agents.acp_signals import Signals

REPEATS = "hahahaha1000000"


class Behaviour(StrEnum):
    PLAIN = "plain"  # a short answer
    REPEATS = "repeats"  # the answer holds REPEATS
    REASONING = "reasoning"
    TOOLS = "tools"
    PLAN = "plan"
    USAGE = "usage"
    ENDLESS = "endless"  # text without end, or for very long
    SILENT = "silent"  # working for very long without a word of the answer
    FAILURE = "failure"
    LENGTH = "length"
    PERMISSION = "permission"  # a tool that needs somebody's permission
    CRASH = "crash"  # the other side breaks in the middle of the answer
    LOAD = "load"  # the session goes on with an agent that was started anew
    HUGE = "huge"  # more than 250 000 characters, or text without end that the agent has to bound


class Rig(Protocol):
    agent: Agent
    features: frozenset[Behaviour]

    def ask(self, behaviour: Behaviour) -> str: ...

    async def restart(self) -> None:
        """Another agent takes the place of this one, as after a restart of the service."""

    async def reached(self) -> None:
        """Returns once the other side has got the last question."""

    async def released(self) -> None:
        """Returns once the other side holds nothing of a turn that was ended early."""


class DemoRig:
    features = frozenset(Behaviour) - {Behaviour.CRASH}
    _texts: ClassVar[Mapping[Behaviour, str]] = {
        Behaviour.PLAIN: "hello",
        Behaviour.REPEATS: REPEATS,
        Behaviour.REASONING: "think",
        Behaviour.TOOLS: "tools",
        Behaviour.PLAN: "plan",
        Behaviour.USAGE: "hello",
        Behaviour.ENDLESS: "slow long answer",
        Behaviour.SILENT: "work 3600 seconds",
        Behaviour.FAILURE: "error",
        Behaviour.LENGTH: "max tokens",
        Behaviour.LOAD: "hello",
        Behaviour.HUGE: "huge",
        Behaviour.PERMISSION: "ask permission",
    }

    def __init__(self) -> None:
        self.agent: Agent = DemoAgent(pace=0.01)

    def ask(self, behaviour: Behaviour) -> str:
        return self._texts[behaviour]

    async def restart(self) -> None:
        await self.agent.close()
        self.agent = DemoAgent(pace=0.01)

    async def reached(self) -> None:
        await asyncio.sleep(0)

    async def released(self) -> None:
        """There is no other side."""


class OpenAiRig:
    features = frozenset(Behaviour) - {Behaviour.TOOLS, Behaviour.PLAN, Behaviour.PERMISSION}
    _replies: ClassVar[Mapping[Behaviour, fake.Reply]] = {
        Behaviour.PLAIN: fake.Reply.of(fake.words("Hello ", "there."), fake.finish()),
        Behaviour.REPEATS: fake.Reply.of(fake.words("ha", "ha", "ha", "ha", "1", "000", "000"), fake.finish()),
        Behaviour.REASONING: fake.Reply.of(fake.thoughts("Let me ", "think."), fake.words("Done."), fake.finish()),
        Behaviour.USAGE: fake.Reply.of(fake.words("Hi"), fake.chunk({}, "stop"), fake.usage(90, 7, 40)),
        Behaviour.ENDLESS: fake.Reply.of(fake.Flood("on and on ")),
        Behaviour.SILENT: fake.Reply.of(fake.Hang()),
        Behaviour.FAILURE: fake.Reply.error(401, "Incorrect API key provided"),
        Behaviour.LENGTH: fake.Reply.of(fake.words("Once upon a"), fake.finish("length")),
        Behaviour.CRASH: fake.Reply.of(fake.words("I was about"), fake.Cut()),
        Behaviour.LOAD: fake.Reply.of(fake.words("I remember."), fake.finish()),
        Behaviour.HUGE: fake.Reply.of(fake.Flood("x" * 5_000)),
    }

    def __init__(self, server: fake.FakeOpenAi) -> None:
        self.server = server
        self.agent: Agent = self._made()

    def _made(self) -> Agent:
        return OpenAiAgent(OpenAiPreset("model", self.server.base_url, "fake", "sk-conformance-key"))

    async def restart(self) -> None:
        await self.agent.close()
        self.agent = self._made()

    def ask(self, behaviour: Behaviour) -> str:
        self.server.script(self._replies[behaviour])
        self.server.reached.clear()
        self.server.gone.clear()
        return f"Please be {behaviour}."

    async def reached(self) -> None:
        await self.server.reached.wait()

    async def released(self) -> None:
        await self.server.gone.wait()


class AcpRig:
    """Over a real subprocess: `fake_acp`."""

    features = frozenset(Behaviour)

    def __init__(self, folder: Path, signals: Signals) -> None:
        self.folder, self.signals = folder, signals
        self.agent: Agent = AcpAgent(fake_preset(folder, signals))

    def ask(self, behaviour: Behaviour) -> str:
        self.signals.forget()
        return "What did I say? history" if behaviour is Behaviour.LOAD else f"Please be {behaviour}."

    async def restart(self) -> None:
        await self.agent.close()
        self.agent = AcpAgent(fake_preset(self.folder, self.signals))

    async def reached(self) -> None:
        await self.signals.heard("prompt")

    async def released(self) -> None:
        await self.signals.rested()


def fake_preset(folder: Path, signals: Signals, *options: str, **fields: Any) -> AcpPreset:
    """A preset whose command is the fake agent."""
    home = folder / "agent"
    home.mkdir(exist_ok=True)
    env = (("FAKE_ACP_HOME", str(home)), ("FAKE_ACP_SIGNALS", str(signals.path)))
    command = (sys.executable, "-I", "-S", str(fake_acp.__file__), *options)
    return replace(AcpPreset("fake", command, env, limits=ProcessLimits(cancel_s=5.0, grace_s=1.0)), **fields)


@asynccontextmanager
async def acp_rig() -> AsyncIterator[Rig]:
    with tempfile.TemporaryDirectory() as folder:
        async with Signals(Path(folder) / "signals") as signals:
            rig = AcpRig(Path(folder), signals)
            yield rig
            await rig.agent.close()


@asynccontextmanager
async def demo_rig() -> AsyncIterator[Rig]:
    rig = DemoRig()
    yield rig
    await rig.agent.close()


@asynccontextmanager
async def openai_rig() -> AsyncIterator[Rig]:
    async with fake.FakeOpenAi() as server:
        rig = OpenAiRig(server)
        yield rig
        await rig.agent.close()


RIGS: dict[str, Callable[[], AbstractAsyncContextManager[Rig]]] = {
    "acp": acp_rig,
    "demo": demo_rig,
    "openai": openai_rig,
}

ENDS_OF_HUGE = frozenset({Outcome.COMPLETED, Outcome.MAX_TOKENS})
