"""The desk of one running turn: what the agent says in it and asks of it, until its prompt is answered.

Updates become events in the feed. Requests (a permission, a file, a terminal) are answered by short tasks of this desk;
`close` ends them all, and every permission still open is answered as cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from acp import schema
from pydantic import ValidationError

from channels.agents.acp.choices import Choice, read_choice
from channels.agents.acp.diffs import unified
from channels.agents.acp.feed import TurnFeed
from channels.agents.acp.files import FileRefused, inside, place_of, read_if_there, read_text, write_text
from channels.agents.acp.guardian import Guardian
from channels.agents.acp.host import HeldSession, Host
from channels.agents.acp.peer import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Refuse, Reply, Respond
from channels.agents.acp.permissions import Permissions
from channels.agents.acp.terminals import Terminals, shown_command
from channels.agents.acp.tool_book import ToolBook
from channels.agents.acp.updates import read_context, read_update
from channels.agents.protocol import TurnRequest
from channels.logs import AGENT_FAILED, AGENT_UNREADABLE, get_logger
from channels.rules.agent_event import AgentEvent, ModelReported, ReasoningDelta, TextDelta, UsageReported

MOST_REQUESTS: Final = 64
_Handler = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any] | None]]

_log = get_logger("agents.acp")


class TurnDesk:
    """Use it as the session's desk while the turn runs."""

    def __init__(self, turn: TurnRequest, host: Host, session: HeldSession, guardian: Guardian) -> None:
        self._loop = asyncio.get_running_loop()
        self._host, self._session, self._folder = host, session, turn.folder
        self._place = None if turn.folder is None else place_of(turn.folder)
        self.feed = TurnFeed(host.preset.max_answer_characters)
        self.book = ToolBook("" if turn.folder is None else str(turn.folder))
        self.permissions = Permissions(turn, session, self.book, self._emit, self._loop.time, self._place)
        self.reply: Reply | None = None
        self.context: UsageReported | None = None
        self.begun = False
        self.last_at = self._loop.time()
        self._tasks: set[asyncio.Task[None]] = set()
        self._unreadable = 0
        terminals = None
        if host.preset.terminal and turn.folder is not None:
            terminals = Terminals(turn.folder, guardian, self._terminal_wrote)
        self._terminals = terminals
        self._handlers = self._table()

    def answered(self, prompt: "asyncio.Future[Reply]") -> None:
        """The prompt's answer is there."""
        if not prompt.cancelled():
            self.reply = prompt.result()
            self.feed.wake()

    def notified(self, update: Mapping[str, Any]) -> None:
        if update.get("sessionUpdate") == "usage_update":
            self.context = read_context(update) or self.context
            return
        if update.get("sessionUpdate") == "config_option_update":
            self._model_changed(read_choice(update, "model"))
            return
        try:
            events = read_update(update, self.book, self._loop.time())
            if events and isinstance(events[0], TextDelta | ReasoningDelta):
                events = [*self.book.settle_untold(self._loop.time()), *events]
        except ValueError as error:
            self._unreadable += 1
            if self._unreadable == 1:
                _log.warning(AGENT_UNREADABLE, agent=self._host.preset.name, pid=self._host.pid, update=str(error))
            return
        self.last_at = self._loop.time()  # whatever it says: of some, there is nothing to show
        if events:
            self.begun = True
            self._emit(events)
            self._show_terminals(update.get("toolCallId"))

    def _model_changed(self, choice: Choice | None) -> None:
        if choice is not None and choice.current_name != self._session.model:
            self._session.model = choice.current_name
            self._emit([ModelReported(choice.current_name)])

    def requested(self, method: str, params: Mapping[str, Any], respond: Respond, refuse: Refuse) -> None:
        handler = self._handlers.get(method)
        if handler is None:
            refuse(METHOD_NOT_FOUND, f"{method} is not offered")
        elif len(self._tasks) >= MOST_REQUESTS:
            refuse(INTERNAL_ERROR, "too many requests at once")
        else:
            self.begun, self.last_at = True, self._loop.time()
            task = self._loop.create_task(self._answer(method, handler, params, respond, refuse))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def take(self) -> AgentEvent | None:
        """The next event, if there is one. The process is read on as soon as little is left."""
        event = self.feed.take()
        if not self.feed.is_full and self._host.process is not None:
            self._host.process.release()
        return event

    async def close(self) -> None:
        """End what is still being answered."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if self._terminals is not None:
            self._terminals.close()
        if self._host.process is not None:
            self._host.process.release()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)

    def _emit(self, events: Iterable[AgentEvent]) -> None:
        for event in events:
            self.feed.put(event)
        if self.feed.is_full and self._host.process is not None:
            self._host.process.hold()

    async def _answer(
        self, method: str, handler: _Handler, params: Mapping[str, Any], respond: Respond, refuse: Refuse
    ) -> None:
        try:
            respond(await handler(params))
        except asyncio.CancelledError:
            if method == "session/request_permission":
                respond({"outcome": {"outcome": "cancelled"}})
            refuse(INTERNAL_ERROR, "the turn has ended")
            raise
        except ValidationError:
            refuse(INVALID_PARAMS, "the parameters cannot be read")
        except (FileRefused, KeyError) as error:
            refuse(INVALID_PARAMS, str(error.args[0]) if error.args else "refused")
        except OSError as error:
            refuse(INTERNAL_ERROR, error.strerror or "it did not work")
        except Exception as error:  # the agent waits for an answer, whatever is wrong with us
            _log.error(AGENT_FAILED, agent=self._host.preset.name, method=method, exc_info=error)
            refuse(INTERNAL_ERROR, "internal error")
        finally:
            self.last_at = self._loop.time()
            self.feed.wake()

    def _table(self) -> dict[str, _Handler]:
        table: dict[str, _Handler] = {
            "session/request_permission": self._permission,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
        }
        if self._terminals is not None:
            table |= {
                "terminal/create": self._create_terminal,
                "terminal/output": self._terminal_output,
                "terminal/wait_for_exit": self._terminal_wait,
                "terminal/kill": self._terminal_kill,
                "terminal/release": self._terminal_release,
            }
        return table

    async def _permission(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return await self.permissions.requested(schema.RequestPermissionRequest.model_validate(params))

    async def _read(self, params: Mapping[str, Any]) -> dict[str, Any]:
        request = schema.ReadTextFileRequest.model_validate(params)
        folder, place = self._own_folder(), self._place
        text = await asyncio.to_thread(read_text, folder, request.path, request.line, request.limit, place=place)
        return {"content": text}

    async def _write(self, params: Mapping[str, Any]) -> dict[str, Any]:
        request = schema.WriteTextFileRequest.model_validate(params)
        folder, path = self._own_folder(), request.path
        inside(folder, path)
        old = await asyncio.to_thread(read_if_there, folder, path, place=self._place)
        diff = await asyncio.to_thread(unified, self.book.short(path), old, request.content)
        if not await self.permissions.may_write(path, diff):
            raise FileRefused(f"writing {path} was not allowed")
        done = False
        try:
            await asyncio.to_thread(write_text, folder, path, request.content, place=self._place)
            done = True
        finally:
            self.permissions.finished_own(path, done=done)
        return {}

    def _own_folder(self) -> Path:
        if self._folder is None:
            raise FileRefused("this session has no folder")
        return self._folder

    async def _create_terminal(self, params: Mapping[str, Any]) -> dict[str, Any]:
        assert self._terminals is not None
        request = schema.CreateTerminalRequest.model_validate(params)
        if not await self.permissions.may_run(shown_command(request)):
            raise FileRefused("running this command was not allowed")
        return {"terminalId": await self._terminals.create(request)}

    async def _terminal_output(self, params: Mapping[str, Any]) -> dict[str, Any]:
        assert self._terminals is not None
        return self._terminals.state(str(params.get("terminalId")))

    async def _terminal_wait(self, params: Mapping[str, Any]) -> dict[str, Any]:
        assert self._terminals is not None
        return await self._terminals.wait(str(params.get("terminalId")))

    async def _terminal_kill(self, params: Mapping[str, Any]) -> dict[str, Any]:
        assert self._terminals is not None
        self._terminals.kill(str(params.get("terminalId")))
        return {}

    async def _terminal_release(self, params: Mapping[str, Any]) -> dict[str, Any]:
        assert self._terminals is not None
        self._terminals.release(str(params.get("terminalId")))
        return {}

    def _show_terminals(self, tool_id: object) -> None:
        """What the terminals have written before the agent said which call they belong to."""
        tool = self.book.find(tool_id) if isinstance(tool_id, str) else None
        for name in () if tool is None or self._terminals is None else tool.terminals:
            self._terminal_wrote(name)

    def _terminal_wrote(self, name: str) -> None:
        """A terminal that a call shows: its output is the call's."""
        assert self._terminals is not None
        for tool in self.book.open_tools():
            if name in tool.terminals and self._terminals.holds(name):
                events = self.book.show_output(tool.called.tool_id, self._terminals.output(name), self._loop.time())
                self._emit(events)
