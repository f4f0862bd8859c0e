"""The tool calls of one turn: what the agent says about them, piece by piece, and what there is to show. Pure.

An agent may announce a call with little and add its title, arguments and content later; an update replaces what it
names and leaves the rest. Everything is bounded: the number of calls, the arguments, the output, the diff. While a tool
runs only the end of its output is shown, and not too often; with its last status comes the whole.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from acp import schema

from channels.agents.acp.diffs import unified
from channels.rules.agent_event import AgentEvent, ToolCalled, ToolStatus, ToolUpdated

MOST_TOOLS: Final = 500
TITLE_CHARACTERS: Final = 300
ARGUMENT_CHARACTERS: Final = 4_000
OUTPUT_CHARACTERS: Final = 200_000
RUNNING_CHARACTERS: Final = 2_000
RUNNING_EVERY_S: Final = 1.0
KINDS: Final = frozenset({"read", "edit", "delete", "move", "search", "execute", "think", "fetch"})
OVER: Final = frozenset({ToolStatus.DONE, ToolStatus.FAILED, ToolStatus.DENIED})
_STATUSES: Final = {
    "pending": ToolStatus.PENDING,
    "in_progress": ToolStatus.RUNNING,
    "completed": ToolStatus.DONE,
    "failed": ToolStatus.FAILED,
}
_COMMAND_KEYS: Final = ("command", "cmd", "script")
_ANSI_ESCAPE: Final = "\x1b"


@dataclass(frozen=True, slots=True)
class ToolState:
    """What is known of one call. `terminals` are the ids of terminals of ours that it shows."""

    called: ToolCalled
    status: ToolStatus = ToolStatus.PENDING
    output: str = ""
    paths: tuple[str, ...] = ()
    terminals: tuple[str, ...] = ()
    shown_at: float = field(default=float("-inf"))

    @property
    def is_open(self) -> bool:
        return self.status not in OVER


class ToolBook:
    """All calls of one turn, by the agent's ids. `folder` is where relative names begin, as text."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder.rstrip("/") + "/" if folder else ""
        self._tools: dict[str, ToolState] = {}

    def find(self, tool_id: str) -> ToolState | None:
        return self._tools.get(tool_id)

    def open_tools(self) -> list[ToolState]:
        """Calls that have no last status yet, the newest first."""
        return [tool for tool in reversed(self._tools.values()) if tool.is_open]

    def short(self, path: str) -> str:
        """A path as people see it: from the session's folder on, where it lies in it."""
        return path.removeprefix(self._folder) if self._folder else path

    def take(self, update: schema.ToolCallUpdate, now: float) -> list[AgentEvent]:
        """What this announcement or update changes."""
        known = self._tools.get(update.tool_call_id)
        if known is None and len(self._tools) >= MOST_TOOLS:
            return []
        old = known or ToolState(ToolCalled(update.tool_call_id, update.title or update.tool_call_id))
        new = self._merged(old, update)
        status = _status_after(old.status, _STATUSES.get(update.status or "", old.status))
        events: list[AgentEvent] = [] if known is not None and new.called == known.called else [new.called]
        return events + self._set(replace(new, status=status), now, changed=bool(events) or new.output != old.output)

    def mark(self, tool_id: str, status: ToolStatus, now: float) -> list[AgentEvent]:
        """What follows when we give a call this status ourselves (asking, denied, running)."""
        known = self._tools.get(tool_id)
        return [] if known is None else self._set(replace(known, status=status), now, changed=False)

    def show_output(self, tool_id: str, output: str, now: float) -> list[AgentEvent]:
        """What follows when a terminal of ours that this call shows has written something."""
        known = self._tools.get(tool_id)
        return [] if known is None else self._set(replace(known, output=clean(output)), now, changed=True)

    def _merged(self, old: ToolState, update: schema.ToolCallUpdate) -> ToolState:
        called = old.called
        if update.title:
            called = replace(called, title=" ".join(update.title.split())[:TITLE_CHARACTERS] or called.title)
        if update.kind in KINDS:
            called = replace(called, kind=update.kind)
        if update.raw_input not in (None, {}, ""):
            called = replace(called, arguments=arguments_text(update.raw_input))
        content = update.content or []
        diffs = [one for one in content if isinstance(one, schema.FileEditToolCallContent)]
        if diffs:
            whole = "\n".join(unified(self.short(one.path), one.old_text, one.new_text) for one in diffs)
            called = replace(called, diff=whole)
        paths = [one.path for one in diffs] + [one.path for one in update.locations or []]
        terminals = [one.terminal_id for one in content if isinstance(one, schema.TerminalToolCallContent)]
        return replace(
            old,
            called=called,
            output=_output_of(update) or old.output,
            paths=tuple(dict.fromkeys((*old.paths, *paths))),
            terminals=tuple(terminals) or old.terminals,
        )

    def _set(self, state: ToolState, now: float, *, changed: bool) -> list[AgentEvent]:
        """Keep `state`; the update to show, unless only a running tool's output grew, moments after the last one."""
        old = self._tools.get(state.called.tool_id)
        tool_id, called = state.called.tool_id, state.called
        moved = old is None or old.status is not state.status
        if not moved and not changed:
            self._tools[tool_id] = state
            return []
        if not moved and state.is_open and now - state.shown_at < RUNNING_EVERY_S:
            self._tools[tool_id] = state
            return []
        self._tools[tool_id] = replace(state, shown_at=now)
        output = state.output if not state.is_open else state.output[-RUNNING_CHARACTERS:]
        return [ToolUpdated(tool_id, state.status, output, called.diff)]


def _status_after(old: ToolStatus, new: ToolStatus) -> ToolStatus:
    """A refused call that the agent then reports as failed stays refused; one that was asked about waits for us."""
    if old is ToolStatus.DENIED and new is ToolStatus.FAILED:
        return old
    if old is ToolStatus.ASKING and new in (ToolStatus.PENDING, ToolStatus.RUNNING):
        return old
    return new


def arguments_text(raw: Any) -> str:
    """The arguments of a call for people: the command where it is one, else JSON with long values cut."""
    if isinstance(raw, Mapping):
        for key in _COMMAND_KEYS:
            if (command := raw.get(key)) and isinstance(command, str | list):
                return clip(command if isinstance(command, str) else command_line(command), ARGUMENT_CHARACTERS)
        raw = {str(key): _shortened(value) for key, value in raw.items()}
    if isinstance(raw, str):
        return clip(raw, ARGUMENT_CHARACTERS)
    return clip(json.dumps(raw, ensure_ascii=False, default=str), ARGUMENT_CHARACTERS)


def command_line(words: Sequence[Any]) -> str:
    """A command given as a list, as one would type it; of `bash -c TEXT` only the text."""
    said = [str(word) for word in words]
    if len(said) >= 3 and said[-2] in ("-c", "-lc") and said[0].rpartition("/")[2] in ("sh", "bash", "zsh"):
        return said[-1]
    return " ".join(said)


def clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clean(text: str) -> str:
    """Output for people: bounded at its beginning, without the colour codes of terminals."""
    text = text[-OUTPUT_CHARACTERS:]
    return "".join(_without_codes(text)) if _ANSI_ESCAPE in text else text


def _without_codes(text: str) -> list[str]:
    first, *rest = text.split(_ANSI_ESCAPE)
    kept = [first]
    for part in rest:
        end = 1
        if part.startswith("["):
            end = next((at + 1 for at, sign in enumerate(part[1:], 1) if "@" <= sign <= "~"), len(part))
        kept.append(part[end:])
    return kept


def _shortened(value: Any) -> Any:
    return clip(value, 400) if isinstance(value, str) else value


def _output_of(update: schema.ToolCallUpdate) -> str:
    """The text that the call produced: its content, else its raw output."""
    parts = [
        text
        for one in update.content or []
        if isinstance(one, schema.ContentToolCallContent) and (text := block_text(one.content))
    ]
    if not parts and update.raw_output not in (None, "", {}):
        raw = update.raw_output
        said = raw.get("output") or raw.get("stdout") if isinstance(raw, Mapping) else raw
        if isinstance(said, str):
            parts = [said]
        elif not update.content:
            parts = [json.dumps(raw, ensure_ascii=False, default=str)]
    return clean("\n".join(parts))


def block_text(block: Any) -> str:
    """What a content block says in words; a picture or a sound only what it is."""
    match block:
        case schema.TextContentBlock():
            return block.text
        case schema.ResourceContentBlock():
            return block.title or block.name or block.uri
        case schema.EmbeddedResourceContentBlock():
            resource = block.resource
            return resource.text if isinstance(resource, schema.TextResourceContents) else f"[{resource.uri}]"
        case schema.ImageContentBlock() | schema.AudioContentBlock():
            return f"[{block.mime_type}]"
        case _:
            return ""
