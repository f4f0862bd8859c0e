"""What an agent may do, asked at the gate of its turn, once for each thing.

An agent asks by itself (session/request_permission), or it simply hands us a file to write or a command to run, and we
ask. Nobody is asked twice for one thing: what was allowed for a call is remembered for as long as that call is open. A
write is covered by an allowed call that was shown with its file (or with none and is an edit); a command by an allowed
call that shows this very command, once. "Always" of a person covers what we would ask for in the same session, kind by
kind, as long as whoever the turn stands for has the right to it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence

from acp import schema

from channels.agents.acp.files import FileRefused, Place, inside, read_if_there
from channels.agents.acp.host import HeldSession
from channels.agents.acp.tool_book import OURS, ToolBook, ToolState
from channels.agents.protocol import Gate, PermissionAnswer, PermissionOption, PermissionQuestion, TurnRequest
from channels.rules.agent_event import AgentEvent, ToolCalled, ToolStatus

MOST_OLD_TEXTS = 20
REFUSED = PermissionAnswer(False, why="policy")


class Permissions:
    """Those of one turn. `emit` takes what there is to show, `now` is the loop's time."""

    def __init__(
        self,
        turn: TurnRequest,
        session: HeldSession,
        book: ToolBook,
        emit: Callable[[Iterable[AgentEvent]], None],
        now: Callable[[], float],
        place: Place | None = None,
    ) -> None:
        self._gate: Gate | None = turn.gate
        self._folder, self._place = turn.folder, place
        self._session, self._book, self._emit, self._now = session, book, emit, now
        self._allowed: dict[str, PermissionQuestion] = {}
        self._own = 0
        self.asking = 0
        self.refused = False  # somebody, or the policy, has said no at least once

    async def requested(self, request: schema.RequestPermissionRequest) -> dict[str, object]:
        """The outcome for the agent's own question, in its own options."""
        update, tool_id = request.tool_call, self._book.asked_about(request.tool_call)
        if tool_id != update.tool_call_id:  # the call has a name already
            update = update.model_copy(update={"tool_call_id": tool_id, "title": None, "status": None})
        self._emit(self._book.take(update, self._now()))
        await self._read_old_texts(tool_id)
        options = tuple(PermissionOption(one.option_id, one.name, one.kind) for one in request.options)
        state = self._book.glimpse(update)
        answer = await self._ask(self._question(state, options))
        chosen = outcome_of(answer, options)
        if answer.allowed and _kind_of(chosen.get("optionId"), options) == "allow_always":
            self._session.allowed.add(state.called.kind)
        return {"outcome": chosen}

    async def may_write(self, path: str, diff: str) -> bool:
        """Whether this file may be written now."""
        covering = next((tool for tool in self._book.open_tools() if self._covers_write(tool, path)), None)
        if covering is not None or await self._for_good("edit"):
            return True
        own = self._own_call("edit", self._book.short(path), path)
        question = PermissionQuestion(own.tool_id, own.title, "edit", diff=diff, paths=(self._book.short(path),))
        answer = await self._ask(question)
        self._emit(
            self._book.mark(own.tool_id, ToolStatus.RUNNING if answer.allowed else ToolStatus.DENIED, self._now())
        )
        return answer.allowed

    async def may_run(self, command: str) -> bool:
        """Whether this command may be run now; an earlier permission is used up by it."""
        for tool in self._book.open_tools():
            question = self._allowed.get(tool.called.tool_id)
            if question is not None and question.kind == "execute" and _shows(question, command):
                del self._allowed[tool.called.tool_id]
                return True
        if await self._for_good("execute"):
            return True
        own = self._own_call("execute", command)
        return (await self._ask(PermissionQuestion(own.tool_id, own.title, "execute", command))).allowed

    def finished_own(self, path: str, *, done: bool) -> None:
        """The call that we made up for a write has come to its end."""
        for tool in self._book.open_tools():
            if tool.called.tool_id.startswith(OURS) and path in tool.paths:
                status = ToolStatus.DONE if done else ToolStatus.FAILED
                self._emit(self._book.mark(tool.called.tool_id, status, self._now()))

    async def _for_good(self, kind: str) -> bool:
        """Whether somebody has allowed this kind for good, and it still may."""
        return kind in self._session.allowed and self._gate is not None and await self._gate.allows(kind)

    async def _ask(self, question: PermissionQuestion) -> PermissionAnswer:
        """The gate's answer, with the call marked as asking and then as going on or denied."""
        self._emit(self._book.mark(question.tool_id, ToolStatus.ASKING, self._now()))
        self.asking += 1
        try:
            answer = REFUSED if self._gate is None else await self._gate.ask(question)
        finally:
            self.asking -= 1
        status = ToolStatus.RUNNING if answer.allowed else ToolStatus.DENIED
        self._emit(self._book.mark(question.tool_id, status, self._now()))
        if answer.allowed:
            self._allowed[question.tool_id] = question
        else:
            self.refused = True
        return answer

    async def _read_old_texts(self, tool_id: str) -> None:
        """Some agents (Claude Code) do not say what stands in a file that they write anew: who is asked has to see what
        would be lost."""
        state, folder = self._book.find(tool_id), self._folder
        unsaid = [] if state is None or folder is None else [path for path, old, _ in state.edits if old is None]
        texts: dict[str, str] = {}
        for path in unsaid[:MOST_OLD_TEXTS]:
            assert folder is not None
            with contextlib.suppress(FileRefused, OSError):
                old = await asyncio.to_thread(read_if_there, folder, path, place=self._place)
                if old is not None:
                    texts[path] = old
        self._emit(self._book.put_old_texts(tool_id, texts, self._now()))

    def _question(self, state: ToolState, options: tuple[PermissionOption, ...]) -> PermissionQuestion:
        called = state.called
        paths = tuple(self._book.short(path) for path in state.paths)
        return PermissionQuestion(
            called.tool_id, called.title, called.kind, called.arguments, called.diff, paths, options
        )

    def _covers_write(self, tool: ToolState, path: str) -> bool:
        question = self._allowed.get(tool.called.tool_id)
        if question is None or question.kind not in ("edit", "move", "delete"):
            return False
        named = {self._real(one) for one in question.paths}  # those that were shown: the agent may name others later
        return self._real(path) in named if named else question.kind == "edit"

    def _real(self, path: str) -> str:
        try:
            return path if self._folder is None else str(inside(self._folder, path))
        except FileRefused:
            return path

    def _own_call(self, kind: str, title: str, path: str = "") -> ToolCalled:
        """A call that the agent did not announce, so that there is something to ask about and to show. One that it did
        announce for this file is taken instead."""
        for tool in self._book.open_tools():
            if tool.called.kind == kind and path and self._real(path) in {self._real(one) for one in tool.paths}:
                return tool.called
        self._own += 1
        update = schema.ToolCallUpdate.model_validate(
            {
                "toolCallId": f"{OURS}{self._own}",
                "title": title,
                "kind": kind,
                "locations": [{"path": path}] if path else [],
            }
        )
        self._emit(self._book.take(update, self._now()))
        state = self._book.find(update.tool_call_id)
        return state.called if state is not None else ToolCalled(update.tool_call_id, title, kind)


def outcome_of(answer: PermissionAnswer, options: Sequence[PermissionOption]) -> dict[str, str]:
    """The answer in the protocol's words: the chosen option, else the mildest of the right kind, else cancelled."""
    offered = {one.option_id: one.kind for one in options}
    if answer.why == "ended":
        return {"outcome": "cancelled"}
    wanted = ("allow_once", "allow_always") if answer.allowed else ("reject_once", "reject_always")
    if offered.get(answer.option_id) in wanted:
        return {"outcome": "selected", "optionId": answer.option_id}
    for kind in wanted:
        for option_id, its_kind in offered.items():
            if its_kind == kind:
                return {"outcome": "selected", "optionId": option_id}
    return {"outcome": "cancelled"}


def _kind_of(option_id: object, options: Sequence[PermissionOption]) -> str:
    return next((one.kind for one in options if one.option_id == option_id), "")


def _shows(question: PermissionQuestion, command: str) -> bool:
    """Whether the person who allowed `question` has seen this very command in it: for a shell, a line break is no
    blank."""
    words = command.strip()
    return bool(words) and words in (question.arguments.strip(), question.title.strip("`").strip())
