"""The tool calls of one turn: what the agent says about them, piece by piece, and what there is to show. Pure.

An agent may announce a call with little and add its title, arguments and content later; an update replaces what it
names and leaves the rest. Everything is bounded: the number of calls, the arguments, the output, the diff. While a tool
runs only the end of its output is shown, and not too often; with its last status comes the whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from acp import schema

from channels.agents.acp.diffs import unified
from channels.agents.acp.tool_texts import arguments_text, clean, command_of, output_of
from channels.rules.agent_event import AgentEvent, ToolCalled, ToolStatus, ToolUpdated

OURS: Final = "channels-"  # how the ids of calls begin that the agent has not announced
MOST_TOOLS: Final = 500
TITLE_CHARACTERS: Final = 300
RUNNING_CHARACTERS: Final = 2_000
TEXTS_OF_TURN: Final = 8_000_000  # characters of output of all calls together, and of the texts of their changes
RUNNING_EVERY_S: Final = 1.0
KINDS: Final = frozenset({"read", "edit", "delete", "move", "search", "execute", "think", "fetch"})
OVER: Final = frozenset({ToolStatus.DONE, ToolStatus.FAILED, ToolStatus.DENIED})
_STATUSES: Final = {
    "pending": ToolStatus.PENDING,
    "in_progress": ToolStatus.RUNNING,
    "completed": ToolStatus.DONE,
    "failed": ToolStatus.FAILED,
}


@dataclass(frozen=True, slots=True)
class ToolState:
    """What is known of one call. `terminals` are the ids of terminals of ours that it shows; `edits` its changes as
    (path, old text, new text), while somebody may be asked about them; `told`: the agent has named a status of it at
    least once."""

    called: ToolCalled
    status: ToolStatus = ToolStatus.PENDING
    output: str = ""
    paths: tuple[str, ...] = ()
    terminals: tuple[str, ...] = ()
    edits: tuple[tuple[str, str | None, str], ...] = ()
    told: bool = False
    shown_at: float = field(default=float("-inf"))

    @property
    def is_open(self) -> bool:
        return self.status not in OVER


class ToolBook:
    """All calls of one turn, by the agent's ids. `folder` is where relative names begin, as text."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder.rstrip("/") + "/" if folder.strip("/") else ""
        self._tools: dict[str, ToolState] = {}
        self._output = self._edits = 0  # characters that are kept

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
        new = replace(new, told=old.told or update.status is not None)
        status = _status_after(old.status, _STATUSES.get(update.status or "", old.status))
        events: list[AgentEvent] = [] if known is not None and new.called == known.called else [new.called]
        return events + self._set(replace(new, status=status), now, changed=bool(events) or new.output != old.output)

    def glimpse(self, update: schema.ToolCallUpdate) -> ToolState:
        """The call that this update is about, also one that came after as many as are kept."""
        unknown = ToolState(ToolCalled(update.tool_call_id, update.title or update.tool_call_id))
        return self._tools.get(update.tool_call_id) or self._merged(unknown, update)

    def mark(self, tool_id: str, status: ToolStatus, now: float) -> list[AgentEvent]:
        """What follows when we give a call this status ourselves (asking, denied, running)."""
        known = self._tools.get(tool_id)
        return [] if known is None else self._set(replace(known, status=status), now, changed=False)

    def settle_untold(self, now: float) -> list[AgentEvent]:
        """What follows when the agent has gone on: calls of which it never names a status (Hermes) are over."""
        over = [tool for tool in self.open_tools() if not tool.told and tool.status is not ToolStatus.ASKING]
        over = [tool for tool in over if not tool.called.tool_id.startswith(OURS)]
        return [event for tool in over for event in self.mark(tool.called.tool_id, ToolStatus.DONE, now)]

    def asked_about(self, update: schema.ToolCallUpdate) -> str:
        """The id of the call that a permission is about. Some agents (Hermes) ask under an id of its own about a call
        that they have announced under another one: then it is that of the same kind with the same file or command."""
        if update.tool_call_id in self._tools:
            return update.tool_call_id
        paths = {one.path for one in _edits_of(update)} | {one.path for one in update.locations or []}
        command = command_of(update.raw_input)
        for tool in self.open_tools():
            called = tool.called
            if called.kind != update.kind or tool.status is ToolStatus.ASKING:
                continue
            if paths & set(tool.paths) or (command and command in (called.arguments, *_last_words(called.title))):
                return called.tool_id
        return update.tool_call_id

    def put_old_texts(self, tool_id: str, texts: Mapping[str, str], now: float) -> list[AgentEvent]:
        """What follows when the files of a call's changes are read, whose old text the agent did not say."""
        known = self._tools.get(tool_id)
        if known is None or not texts:
            return []
        edits = tuple((path, texts.get(path) if old is None else old, new) for path, old, new in known.edits)
        called = replace(known.called, diff=self._diff(edits))
        return [called, *self._set(replace(known, called=called, edits=edits), now, changed=True)]

    def show_output(self, tool_id: str, output: str, now: float) -> list[AgentEvent]:
        """What follows when a terminal of ours that this call shows has written something."""
        known = self._tools.get(tool_id)
        return [] if known is None else self._set(replace(known, output=clean(output)), now, changed=True)

    def _merged(self, old: ToolState, update: schema.ToolCallUpdate) -> ToolState:
        called = old.called
        if update.kind in KINDS:
            called = replace(called, kind=update.kind)
        if update.title:
            title = " ".join(update.title.split())
            title = title if called.kind == "execute" else self._without_folder(title)
            called = replace(called, title=title[:TITLE_CHARACTERS] or called.title)
        if update.raw_input not in (None, {}, ""):
            text = arguments_text(update.raw_input)
            called = replace(called, arguments=text if command_of(update.raw_input) else self._without_folder(text))
        diffs = _edits_of(update)
        edits = tuple((one.path, one.old_text, one.new_text) for one in diffs) or old.edits
        if diffs:
            called = replace(called, diff=self._diff(edits))
        if called.kind == "edit" and called.diff:
            called = replace(called, arguments="")  # they say nothing that the paths and the diff do not
        paths = [one.path for one in diffs] + [one.path for one in update.locations or []]
        terminals = [one.terminal_id for one in update.content or [] if isinstance(one, schema.TerminalToolCallContent)]
        return replace(
            old,
            called=called,
            output=output_of(update) or old.output,
            paths=tuple(dict.fromkeys((*old.paths, *paths))),
            terminals=tuple(terminals) or old.terminals,
            edits=edits,
        )

    def _diff(self, edits: Sequence[tuple[str, str | None, str]]) -> str:
        return "\n".join(unified(self.short(path), old, new) for path, old, new in edits)

    def _without_folder(self, text: str) -> str:
        """Without the way to the session's folder, which says nothing to people. Not for commands: they are shown as
        they would be run. Some agents (opencode) leave the first slash out."""
        if not self._folder:
            return text
        return text.replace(self._folder, "").replace(self._folder[1:], "")

    def _bounded(self, state: ToolState, old: ToolState | None) -> ToolState:
        """With no more text than there is room for: then the end of the output, and of a change only how it reads."""
        (output, edits), (output_before, edits_before) = _characters(state), _characters(old)
        if self._output - output_before + output > TEXTS_OF_TURN:
            state = replace(state, output=state.output[-RUNNING_CHARACTERS:])
        if not state.is_open or self._edits - edits_before + edits > TEXTS_OF_TURN:
            state = replace(state, edits=())
        output, edits = _characters(state)
        self._output += output - output_before
        self._edits += edits - edits_before
        return state

    def _set(self, state: ToolState, now: float, *, changed: bool) -> list[AgentEvent]:
        """Keep `state`; the update to show, unless only a running tool's output grew, moments after the last one."""
        old = self._tools.get(state.called.tool_id)
        state = self._bounded(state, old)
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


def _characters(state: ToolState | None) -> tuple[int, int]:
    """Of its output, and of the texts of its changes."""
    if state is None:
        return 0, 0
    return len(state.output), sum(len(old or "") + len(new) for _, old, new in state.edits)


def _status_after(old: ToolStatus, new: ToolStatus) -> ToolStatus:
    """A refused call that the agent then reports as failed stays refused; one that was asked about waits for us."""
    if old is ToolStatus.DENIED and new is ToolStatus.FAILED:
        return old
    if old is ToolStatus.ASKING and new in (ToolStatus.PENDING, ToolStatus.RUNNING):
        return old
    return new


def _edits_of(update: schema.ToolCallUpdate) -> list[schema.FileEditToolCallContent]:
    return [one for one in update.content or [] if isinstance(one, schema.FileEditToolCallContent)]


def _last_words(title: str) -> tuple[str, str]:
    """A title, and what stands in it behind a first word like "terminal:"."""
    return title, title.partition(": ")[2]
