"""The seam between the service and whatever answers."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from channels.ids import SessionId, TurnId, UserId
from channels.rules.agent_event import AgentEvent


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
