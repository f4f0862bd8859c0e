"""What becomes of a turn that an older boot had entered, read from the session log. Pure.

a stop was asked for                                   → Stopped, before all else
the log has a good end of exactly this turn            → Finished: its cards are drawn from the log
anything else                                          → Interrupted: what was read stays, *Continue* may be offered
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

from channels.rules.agent_event import Outcome, ToolCalled, ToolStatus, ToolUpdated
from channels.rules.turn import AT_WORK, Tool, View, advance

STATUSES = frozenset(status.value for status in ToolStatus)
GOOD_ENDS = {Outcome.COMPLETED.value: Outcome.COMPLETED, Outcome.MAX_TOKENS.value: Outcome.MAX_TOKENS}


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody had stopped it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """It had come to a good end; `text` is the whole answer."""

    outcome: Outcome
    text: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Nobody knows what it did."""


Verdict = Stopped | Finished | Interrupted


def tools_of(
    entries: Iterable[tuple[str, Mapping[str, Any]]], never_allowed: Set[str] = frozenset()
) -> tuple[Tool, ...]:
    """The tools of one turn as its log entries leave them; some may have been at work. Those that were `never_allowed`,
    by id, were not: they waited for a yes."""
    view = View("")
    for kind, body in entries:
        match kind, body:
            case "tool/call", {"tool_id": str(tool_id), "title": str(title)}:
                texts = {name: str(body.get(name, "")) for name in ("arguments", "diff")}
                view = advance(view, ToolCalled(tool_id, title, str(body.get("kind", "other")), **texts))
            case "tool/result", {"tool_id": str(tool_id), "status": str(status)} if status in STATUSES:
                texts = {name: str(body.get(name, "")) for name in ("output", "diff")}
                view = advance(view, ToolUpdated(tool_id, ToolStatus(status), **texts))
    return tuple(
        replace(tool, status=ToolStatus.ASKING) if tool.tool_id in never_allowed and tool.status in AT_WORK else tool
        for tool in view.tools
    )


def classify_turn(stop_requested: bool, entries: Iterable[tuple[str, Mapping[str, Any]]]) -> Verdict:
    """The verdict on one turn. `entries`: (kind, body) of this turn's log entries, in order."""
    if stop_requested:
        return Stopped()
    texts: list[str] = []
    outcome: Outcome | None = None
    for kind, body in entries:
        if kind == "assistant/message":
            texts.append(str(body.get("text", "")))
        elif kind == "turn/end":
            outcome = GOOD_ENDS.get(str(body.get("outcome", "")))
    return Finished(outcome, "\n\n".join(texts)) if outcome is not None else Interrupted()
