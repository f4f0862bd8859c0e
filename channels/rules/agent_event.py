"""What an agent says while it runs one turn. `agents.protocol` streams these; `rules.turn` folds them into a view.

Order: any number of the others, then exactly one `Ended`, which is the last. Text and reasoning are deltas, appended
as they are (two equal deltas are two deltas).
"""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a turn ended. `INTERRUPTED` is never said by an agent: repair and shutdown say it."""

    COMPLETED = "completed"
    MAX_TOKENS = "max_tokens"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class ToolStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    ASKING = "asking"  # a person is asked whether it may run
    DENIED = "denied"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"  # never said by an agent: the service went down while it ran


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool starts. `kind` is ACP's: read, edit, delete, move, search, execute, think, fetch, other. `diff` is the
    change that it means to make, in unified form."""

    tool_id: str
    title: str
    kind: str = "other"
    arguments: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True)
class ToolUpdated:
    tool_id: str
    status: ToolStatus
    output: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True)
class PlanUpdated:
    """The whole plan anew: (text, status) with status pending, in_progress or completed."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Tokens of this turn so far (totals, not deltas); `cached_tokens` are those of `input_tokens` read from cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelReported:
    """The model that answers, as the agent names it."""

    model: str


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The agent's own id of this session. It is kept with the session and handed back with every later turn."""

    reference: str


@dataclass(frozen=True, slots=True)
class SlotAwaited:
    """The agent cannot start yet: `ahead` others are before this turn; 0: it starts now."""

    ahead: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The last event. `error` is a sentence fit for the person, given when the outcome is FAILED. `lost_session`: the
    agent could not load its old session, whose id stays; the person may start a fresh one."""

    outcome: Outcome
    error: str = ""
    lost_session: bool = False


AgentEvent = (
    ReasoningDelta
    | TextDelta
    | ToolCalled
    | ToolUpdated
    | PlanUpdated
    | UsageReported
    | ModelReported
    | SessionOpened
    | SlotAwaited
    | Ended
)
