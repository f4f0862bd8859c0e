"""From presets to agents. The only place that knows every kind; heavy modules load only when their kind is there."""

from collections.abc import Iterable
from typing import assert_never

from channels.agents.acp.guardian import Guardian
from channels.agents.demo import DemoAgent
from channels.agents.presets import AcpPreset, AgentPreset, DemoPreset, OpenAiPreset
from channels.agents.protocol import Agent
from channels.clock import Clock, Rng, SystemClock, SystemRng
from channels.errors import ConfigError


def build_agents(
    presets: Iterable[AgentPreset], clock: Clock | None = None, rng: Rng | None = None
) -> dict[str, Agent]:
    """The agents by name, in the order of `presets`. Call it before the loop serves anybody: importing openai or
    acp takes 0.7 s. Raises ConfigError when two presets have one name."""
    agents: dict[str, Agent] = {}
    guardian = Guardian()
    for preset in presets:
        if preset.name in agents:
            raise ConfigError(f"agents.{preset.name}", "two agents have this name")
        agents[preset.name] = _build(preset, clock or SystemClock(), rng or SystemRng(), guardian)
    return agents


def _build(preset: AgentPreset, clock: Clock, rng: Rng, guardian: Guardian) -> Agent:
    match preset:
        case DemoPreset():
            return DemoAgent(preset.name, clock, pace=preset.pace)
        case OpenAiPreset():
            from channels.agents.openai_chat import OpenAiAgent

            return OpenAiAgent(preset, rng=rng)
        case AcpPreset():
            from channels.agents.acp.agent import AcpAgent

            return AcpAgent(preset, guardian)
        case _:
            assert_never(preset)
