"""What a person sees of a turn, as a value, and how it moves.

A turn's row in the domain file goes through these states (table TURN_STATES; the README's diagram is made from it):

  queued   admitted, its effects are intents, the agent has not started. May start again under the next start epoch.
  entered  the agent may have done something. Never run again without evidence from the session log.
  unknown  an older boot had entered it; repair will end it.
  ended    it has an outcome; delivery shows it.

`View` is the other half: the fold of the agent's events, from which `cards` draws. `advance` is total: an event that
does not fit (an update of an unknown tool) changes nothing.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import assert_never

from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    ModelReported,
    Outcome,
    PlanUpdated,
    ReasoningDelta,
    SessionOpened,
    SlotAwaited,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)

TURN_STATES: dict[str, frozenset[str]] = {
    "queued": frozenset({"entered", "ended", "unknown"}),
    "entered": frozenset({"ended", "unknown"}),
    "unknown": frozenset({"ended"}),
    "ended": frozenset(),
}


class Phase(StrEnum):
    """What the card's header says."""

    WAITING = "waiting"  # queued behind another turn of the session
    THINKING = "thinking"  # entered, nothing to read yet
    REPLYING = "replying"
    ASKING = "asking"  # a person is asked whether a tool may run
    DONE = "done"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


RUNNING = frozenset({Phase.WAITING, Phase.THINKING, Phase.REPLYING, Phase.ASKING})
AT_WORK = frozenset({ToolStatus.PENDING, ToolStatus.RUNNING})
UNREPORTED = AT_WORK | {ToolStatus.ASKING}
TOOLS_AT_MOST = 1_000
HARMLESS = frozenset({"read", "search", "fetch", "think"})  # kinds of tools after which nobody need look

PHASE_OF_OUTCOME: dict[Outcome, Phase] = {
    Outcome.COMPLETED: Phase.DONE,
    Outcome.MAX_TOKENS: Phase.DONE,
    Outcome.STOPPED: Phase.STOPPED,
    Outcome.FAILED: Phase.FAILED,
    Outcome.INTERRUPTED: Phase.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class Tool:
    tool_id: str
    title: str
    kind: str = "other"
    arguments: str = ""
    status: ToolStatus = ToolStatus.RUNNING
    output: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """All that a card of this turn shows. `answer` is Markdown as the agent wrote it."""

    turn_id: str
    phase: Phase = Phase.THINKING
    outcome: Outcome | None = None
    answer: str = ""
    reasoning: str = ""
    tools: tuple[Tool, ...] = ()
    plan: tuple[tuple[str, str], ...] = ()
    usage: UsageReported = field(default_factory=UsageReported)
    duration_ms: int = 0
    agent: str = ""
    error: str = ""
    stopping: bool = False
    notes: tuple[str, ...] = ()  # sentences about how it was answered
    unread: tuple[str, ...] = ()  # what of the question could not be read, and why
    model: str = ""
    ahead: int = 0  # so many others get a place at the agent before this turn
    lost_session: bool = False  # the agent could not load its old session
    lacks_right: bool = False  # a tool was refused because the person may not have code changed


def advance(view: View, event: AgentEvent) -> View:
    """The view after `event`."""
    match event:
        case TextDelta(text):
            return replace(view, answer=view.answer + text, phase=Phase.REPLYING if text else view.phase)
        case ReasoningDelta(text):
            return replace(view, reasoning=view.reasoning + text)
        case ToolCalled(tool_id, title, kind, arguments, diff):
            others = tuple(tool for tool in view.tools if tool.tool_id != tool_id)
            return replace(view, tools=(*others, Tool(tool_id, title, kind, arguments, diff=diff)))
        case ToolUpdated():
            return replace(view, tools=tuple(_updated(tool, event) for tool in view.tools))
        case PlanUpdated(entries):
            return replace(view, plan=entries)
        case UsageReported():
            return replace(view, usage=event)
        case ModelReported(model):
            return replace(view, model=model)
        case SlotAwaited(ahead):
            phase = Phase.WAITING if ahead else Phase.THINKING
            return replace(view, ahead=ahead, phase=view.phase if view.answer else phase)
        case SessionOpened():
            return view
        case Ended(outcome, error, lost_session):
            return replace(finished(view, outcome, error), lost_session=lost_session)
        case _:
            assert_never(event)


def shown_phase(view: View) -> Phase:
    """What the header says: while a person is asked, that."""
    asking = any(tool.status is ToolStatus.ASKING for tool in view.tools)
    return Phase.ASKING if asking and view.phase in RUNNING else view.phase


def with_status(view: View, called: ToolCalled, status: ToolStatus) -> View:
    """The view with this tool in this state, also where the agent has not announced the tool, up to so many."""
    known = any(tool.tool_id == called.tool_id for tool in view.tools)
    if not known and len(view.tools) >= TOOLS_AT_MOST:
        return view
    return advance(view if known else advance(view, called), ToolUpdated(called.tool_id, status))


def lacking_right(view: View, nobody_note: str) -> View:
    """The view after a tool was refused for want of a right: its person can ask for it. Where nobody stands behind the
    turn, there is nobody to ask, and the note says so."""
    if not nobody_note:
        return replace(view, lacks_right=True)
    return view if nobody_note in view.notes else replace(view, notes=(*view.notes, nobody_note))


def joined_prefix(text: str) -> str:
    """What was said before a cut, ready for what comes: a sentence that was cut goes on in its line."""
    whole = not text or text[-1] in ".!?。！？…:：;；\n`|)"
    return f"{text.rstrip()}\n\n" if whole and text.strip() else text


def finished(view: View, outcome: Outcome, error: str = "") -> View:
    """The view of a turn that has ended; tools that never reported back are shown as failed, but where we went down
    ourselves nobody knows what became of those that ran."""
    at_work = outcome is Outcome.INTERRUPTED
    tools = tuple(
        replace(tool, status=ToolStatus.UNKNOWN if at_work and tool.status in AT_WORK else ToolStatus.FAILED)
        if tool.status in UNREPORTED
        else tool
        for tool in view.tools
    )
    return replace(view, phase=PHASE_OF_OUTCOME[outcome], outcome=outcome, error=error, tools=tools)


def _updated(tool: Tool, event: ToolUpdated) -> Tool:
    if tool.tool_id != event.tool_id:
        return tool
    refused = tool.status is ToolStatus.DENIED and event.status is ToolStatus.FAILED  # that is why it failed
    return replace(
        tool,
        status=tool.status if refused else event.status,
        output=event.output or tool.output,
        diff=event.diff or tool.diff,
    )
