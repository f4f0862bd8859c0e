"""The built-in agent: echoes, and shows on request whatever a card can show. No network, no chance, no set-up."""

import asyncio
from collections.abc import AsyncGenerator

from channels.agents.demo_script import after_asking, resumed, script
from channels.agents.demo_words import DEMO_WORDS, DemoWord, demo_help
from channels.agents.protocol import PermissionAnswer, TurnRequest
from channels.agents.running import RunningTurns
from channels.clock import Clock, SystemClock
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import AgentEvent

REFUSED = PermissionAnswer(False, why="policy")

__all__ = ["DEMO_WORDS", "DemoAgent", "DemoWord", "demo_help"]


class DemoAgent:
    """Plays scripts. `pace` scales every pause: 1 is natural, 0 is at once (the loop still turns at each step)."""

    def __init__(self, name: str = "demo", clock: Clock | None = None, *, pace: float = 1.0) -> None:
        self.name = name
        self.kind = "demo"
        self._clock = clock or SystemClock()
        self._pace = pace
        self._turns = RunningTurns()

    def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        """Play the script that `turn.text` asks for."""
        return self._turns.lead(turn, self._play(turn))

    async def stop(self, turn_id: TurnId) -> None:
        self._turns.stop(turn_id)

    async def resume(self, session_id: SessionId) -> None:
        """Nothing to do: what was said comes with every turn."""

    def help_text(self, language: str) -> str:
        return demo_help(language)

    async def close(self) -> None:
        self._turns.close()

    async def _play(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        """Each step at its own moment from the start on, so that a slow reader does not stretch the whole."""
        due_s = self._clock.monotonic()
        for step in resumed(turn) if turn.continues else script(turn):
            due_s += step.pause_s * self._pace
            await asyncio.sleep(max(0.0, due_s - self._clock.monotonic()))
            yield step.event
            if step.asks is not None:
                answer = REFUSED if turn.gate is None else await turn.gate.ask(step.asks)
                for event in after_asking(turn, step.asks, answer):
                    yield event
                due_s = self._clock.monotonic()
