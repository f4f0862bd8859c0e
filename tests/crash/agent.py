"""The provider: an agent that does what the message says, and keeps its own record of which turns reached it.

| text begins with | what happens |
|---|---|
| steps N | N pieces of text, a little time between them |
| forever | pieces until it is stopped |
| long | an answer of several cards |
| fail, raise | ends as failed; raises |
| ask KIND … | asks for tools of these kinds, one after another |
| output | runs a command that prints much |
| open | opens a session of its own |
| lost | cannot load the session that it had opened |
| anything else | says it back |

The record is a file of its own, one JSON line a turn, written with one system call: it outlives a kill, and shares no
transaction with the domain file.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from channels.agents.protocol import PermissionOption, PermissionQuestion, TurnRequest
from channels.agents.running import RunningTurns
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    Outcome,
    SessionOpened,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)

STEP_S = 0.01
SEEN_STEP_S = 1.1  # of the clock's time: what a person has read is saved once a second


class RecordingAgent:
    """`passes` names the points of entering; `let_pass(seconds)` moves the clocks on, as a slow answer would."""

    def __init__(
        self, name: str, record: Path, boot: int, passes: Callable[[str], None], let_pass: Callable[[float], None]
    ) -> None:
        self.name, self.kind = name, "demo"
        self._record, self._boot, self._passes, self._let_pass = record, boot, passes, let_pass
        self._turns = RunningTurns()

    def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        self._passes("agent before")
        line = {
            "turn_id": turn.turn_id,
            "session_id": turn.session_id,
            "text": turn.text,
            "boot": self._boot,
            "reference": turn.reference,
        }
        descriptor = os.open(self._record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, json.dumps(line).encode() + b"\n")
        os.close(descriptor)
        self._passes("agent after_effect")
        return self._turns.lead(turn, self._answer(turn))

    async def stop(self, turn_id: TurnId) -> None:
        self._turns.stop(turn_id)

    async def resume(self, session_id: SessionId) -> None:
        """Nothing to do."""

    def help_text(self, language: str) -> str:
        return "a recording agent"

    async def close(self) -> None:
        self._turns.close()

    async def _answer(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        word, _, rest = turn.text.strip().partition(" ")
        number = rest.split(" ")[0]
        yield UsageReported(10, 5, 0)
        match word:
            case "steps" | "forever":
                count = int(number) if number.isdigit() else 100_000
                for step in range(count):
                    await asyncio.sleep(STEP_S if word == "steps" else 10 * STEP_S)
                    self._let_pass(SEEN_STEP_S)
                    yield TextDelta(f"step {step} of {turn.text}. ")
            case "long":
                for page in range(4):
                    await asyncio.sleep(10 * STEP_S)
                    self._let_pass(SEEN_STEP_S)
                    yield TextDelta("".join(f"Page {page}, line {line}: {'words ' * 40}\n\n" for line in range(60)))
            case "fail":
                yield TextDelta("half an ")
                yield Ended(Outcome.FAILED, "the provider refused")
                return
            case "raise":
                raise RuntimeError("the provider broke")
            case "ask":
                for place, kind in enumerate(rest.split()):
                    yield TextDelta(f"{kind}: {await _ask(turn, str(place), kind)}. ")
            case "output":
                yield ToolCalled("run", "print lines", "execute", "seq 1000")
                yield ToolUpdated("run", ToolStatus.DONE, "\n".join(map(str, range(1000))))
            case "open":
                yield SessionOpened(f"own-{self._boot}")
            case "lost" if turn.reference:
                yield Ended(Outcome.FAILED, "no such session", lost_session=True)
                return
            case _:
                yield TextDelta(f"You said: {turn.text}")
        yield Ended(Outcome.COMPLETED)


async def _ask(turn: TurnRequest, tool_id: str, kind: str) -> str:
    options = (PermissionOption("yes", "Yes", "allow_once"), PermissionOption("no", "No", "reject_once"))
    assert turn.gate is not None
    answer = await turn.gate.ask(
        PermissionQuestion(tool_id, f"{kind} notes.md", kind, "notes", "-old\n+new", ("notes.md",), options)
    )
    return answer.why
