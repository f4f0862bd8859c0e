"""An agent that says every question back, in pieces, and waits while its gate is shut."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator

from channels.agents.protocol import TurnRequest
from channels.agents.running import RunningTurns
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import AgentEvent, Ended, Outcome, TextDelta, UsageReported


class GatedAgent:
    """`asked` counts how often each question reached it: a question that is run twice shows here."""

    def __init__(self) -> None:
        self.name = self.kind = "demo"
        self.asked: Counter[str] = Counter()
        self.gate = asyncio.Event()
        self.gate.set()
        self._turns = RunningTurns()

    def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        self.asked[turn.text] += 1
        return self._turns.lead(turn, self._answer(turn))

    async def stop(self, turn_id: TurnId) -> None:
        self._turns.stop(turn_id)

    async def resume(self, session_id: SessionId) -> None:
        """Nothing to do."""

    def help_text(self, language: str) -> str:
        return "says it back"

    async def close(self) -> None:
        self._turns.close()

    async def _answer(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        await self.gate.wait()
        yield UsageReported(10, 5, 0)
        yield TextDelta("You said: ")
        yield TextDelta(turn.text)
        yield Ended(Outcome.COMPLETED)


class TellingAgent(GatedAgent):
    """Gives every question the same answer, in pieces of so many characters, with a moment between them; while `step`
    is clear, each piece after the first waits for `go_on`."""

    def __init__(self, answer: str, piece: int, pause_s: float = 0.0) -> None:
        super().__init__()
        self._text, self._piece, self._pause_s = answer, piece, pause_s
        self.step = asyncio.Event()
        self.step.set()
        self._steps = asyncio.Semaphore(1)

    def go_on(self) -> None:
        self._steps.release()

    async def _answer(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        for place in range(0, len(self._text), self._piece):
            await (asyncio.sleep(self._pause_s) if self.step.is_set() else self._steps.acquire())
            yield TextDelta(self._text[place : place + self._piece])
        yield Ended(Outcome.COMPLETED)
