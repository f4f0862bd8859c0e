"""An agent that asks before it acts.

| words of the message | what it does, one after another |
|---|---|
| edit, delete, move, execute, read, fetch, other | asks for a tool of this kind; says what it was told |
| bare | the same as edit, with no options of its own |
| wait | says something and waits until it is stopped |
| lost | ends as one that could not load its old session, unless it has no reference |
| print, say | runs a command that prints much, or little |
| stuck | runs a command that does not come to its end |
| plan | says what it means to do |
| open | opens a session of its own, and names its model |
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from channels.agents.protocol import PermissionAnswer, PermissionOption, PermissionQuestion, TurnRequest
from channels.agents.running import RunningTurns
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    ModelReported,
    Outcome,
    PlanUpdated,
    SessionOpened,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)

OPTIONS = (
    PermissionOption("yes-1", "Yes", "allow_once"),
    PermissionOption("yes-2", "Yes, always", "allow_always"),
    PermissionOption("no-1", "No", "reject_once"),
)
DIFF = "--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-old\n+new\n"


@dataclass
class AskingAgent:
    """Remembers what it was asked and told."""

    name: str = "demo"
    kind: str = "demo"
    requests: list[TurnRequest] = field(default_factory=list)
    answers: list[PermissionAnswer] = field(default_factory=list)
    changed: Callable[[], None] = lambda: None
    references: int = 0
    ignores_stop: bool = False  # it goes on waiting for its answer
    _turns: RunningTurns = field(default_factory=RunningTurns)

    def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        self.requests.append(turn)
        return self._turns.lead(turn, self._answer(turn))

    async def stop(self, turn_id: TurnId) -> None:
        if not self.ignores_stop:
            self._turns.stop(turn_id)

    async def resume(self, session_id: SessionId) -> None:
        """Nothing to do."""

    def help_text(self, language: str) -> str:
        return "an agent that asks"

    async def close(self) -> None:
        self._turns.close()

    async def _answer(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        yield UsageReported(10, 5, 0)
        for number, word in enumerate(turn.text.split()):
            tool_id = f"tool-{number}"
            match word:
                case "open":
                    self.references += 1
                    yield SessionOpened(f"own-{self.references}")
                    yield ModelReported("model-7")
                case "lost" if turn.reference:
                    yield Ended(Outcome.FAILED, "The agent could not load its session.", lost_session=True)
                    return
                case "plan":
                    yield PlanUpdated(
                        (("Read the notes", "completed"), ("Mend them", "in_progress"), ("Test", "pending"))
                    )
                case "print" | "say":
                    printed = "\n".join(f"line {line} \u4e00" for line in range(3_000 if word == "print" else 3))
                    yield ToolCalled(tool_id, "Run the tests", "execute", "make test")
                    yield ToolUpdated(tool_id, ToolStatus.DONE, printed)
                case "stuck":
                    yield TextDelta("Deploying the notes. ")
                    yield ToolCalled(tool_id, "make deploy", "execute", "make deploy")
                    await asyncio.Event().wait()
                case "wait":
                    yield TextDelta("waiting. ")
                    await asyncio.Event().wait()
                case "bare" | "edit" | "delete" | "move" | "execute" | "read" | "fetch" | "other":
                    question = self._question(tool_id, word)
                    yield ToolCalled(tool_id, question.title, question.kind, question.arguments, question.diff)
                    assert turn.gate is not None
                    answer = await turn.gate.ask(question)
                    self.answers.append(answer)
                    self.changed()
                    yield ToolUpdated(tool_id, ToolStatus.DONE if answer.allowed else ToolStatus.FAILED)
                    yield TextDelta(f"{word}: {answer.why}. ")
        yield TextDelta("Finished.")
        yield Ended(Outcome.COMPLETED)

    def _question(self, tool_id: str, word: str) -> PermissionQuestion:
        if word == "bare":
            return PermissionQuestion(tool_id, "Change notes.md", "edit")
        if word == "execute":
            return PermissionQuestion(tool_id, "make test", word, "make test", options=OPTIONS)
        diff = DIFF if word == "edit" else ""
        return PermissionQuestion(
            tool_id, f"{word} notes.md", word, '{"path": "notes.md"}', diff, ("notes.md",), OPTIONS
        )
