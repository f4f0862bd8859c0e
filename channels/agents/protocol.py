"""The seam between the service and whatever answers."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from channels.ids import SessionId, TurnId, UserId
from channels.rules.agent_event import AgentEvent
from channels.rules.permission import PermissionAnswer, PermissionOption, PermissionQuestion

__all__ = [
    "Agent",
    "Attachment",
    "Gate",
    "KeepsProcesses",
    "PermissionAnswer",
    "PermissionOption",
    "PermissionQuestion",
    "ProcessFigure",
    "Said",
    "TurnRequest",
]


@dataclass(frozen=True, slots=True)
class Said:
    """One earlier message of the session, from its log: role user or assistant."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something that came with the question. `path` is None where it could not be read; `why` then says why, in the
    turn's language. `text` of the request names it too, in its place, by its path below the folder."""

    kind: str  # image, file, audio, video, sticker, folder, location, share_chat, share_user
    name: str
    path: Path | None = None
    size_bytes: int = 0
    why: str = ""


class Gate(Protocol):
    """Decides for one running turn what its agent may do. Never raises but CancelledError; an answer may take minutes,
    because a person gives it. `allows` is for what a person has allowed for good: whether policy and rights still let a
    tool of this kind run."""

    async def ask(self, question: PermissionQuestion) -> PermissionAnswer: ...

    async def allows(self, kind: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One run: the question, what was said before, and on whose behalf. `text` is Markdown; quotes and forwards in it
    are block quotes under a heading of their own."""

    turn_id: TurnId
    session_id: SessionId
    text: str
    sender_user_id: UserId | None
    history: tuple[Said, ...] = ()
    folder: Path | None = None
    language: str = "en"
    continues: bool = False  # the last answer in `history` was cut off: go on from where it stops
    attachments: tuple[Attachment, ...] = ()
    gate: Gate | None = None  # None: whatever would need asking is refused
    reference: str = ""  # the agent's own id of the session, from an earlier `SessionOpened`


class Agent(Protocol):
    """Runs turns. `run` yields events and ends with exactly one `Ended`; it does not raise for failures of the other
    side (those are `Ended(FAILED, sentence)`). `stop` makes a running turn end with STOPPED soon; unknown ids are
    ignored. `resume` prepares a session after a restart. `help_text` says in the given language what can be asked."""

    name: str
    kind: str

    def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]: ...

    async def stop(self, turn_id: TurnId) -> None: ...

    async def resume(self, session_id: SessionId) -> None: ...

    def help_text(self, language: str) -> str: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ProcessFigure:
    """One process group of an agent. `session_id` is empty where sessions share it; `idle_ms` is 0 while it works."""

    agent: str
    session_id: str
    pid: int
    memory_bytes: int
    idle_ms: int


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """Whose processes these are: the domain file, and the boot that started them."""

    db_uuid: str
    epoch: int

    def __str__(self) -> str:
        return f"{self.db_uuid}:{self.epoch}:"


@runtime_checkable
class MarksProcesses(Protocol):
    """`owned_by` comes once, before the first turn: the mark that the agent's processes are to bear, by which a later
    boot finds what this one leaves behind."""

    def owned_by(self, mark: ProcessMark) -> None: ...


@runtime_checkable
class KeepsProcesses(Protocol):
    """What an agent offers besides when it keeps processes for sessions. `leave`: this session is over for the agent (a
    /new, another agent, an archived session); what was kept for it may go. `waiting` counts turns without a place."""

    async def leave(self, session_id: SessionId) -> None: ...

    def processes(self) -> tuple[ProcessFigure, ...]: ...

    def waiting(self) -> int: ...


@runtime_checkable
class NamesModel(Protocol):
    """What an agent offers besides when it knows before any turn which model answers; "" where it does not."""

    model: str
