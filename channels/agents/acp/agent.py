"""The agent: runs turns on processes that speak the Agent Client Protocol.

A turn takes a seat, has a process in it (started when there is none), has its session in the process (new, loaded, or
still there), asks, and passes on what comes. When the turn goes away early, the agent is told to cancel; it gets a
while to end its work, then its process is killed, and the session is loaded again with the next message.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from channels.agents.acp.desk import TurnDesk
from channels.agents.acp.ending import ending_of
from channels.agents.acp.failures import AgentSaid, NotLoaded, Silent, Trouble, reopened, sentence
from channels.agents.acp.guardian import Guardian
from channels.agents.acp.host import HeldSession, Host
from channels.agents.acp.memory import group_memory
from channels.agents.acp.opening import Opened, Opener
from channels.agents.acp.peer import Lost
from channels.agents.acp.pool import Pool, Seat
from channels.agents.acp.prompt import Takes, blocks_of, past_of
from channels.agents.failures import is_chinese
from channels.agents.presets import AcpPreset
from channels.agents.protocol import ProcessFigure, ProcessMark, TurnRequest
from channels.agents.running import RunningTurns
from channels.ids import SessionId, TurnId
from channels.logs import AGENT_REFUSED, AGENT_STUCK, get_logger
from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    ModelReported,
    Outcome,
    SessionOpened,
    SlotAwaited,
    TextDelta,
)

CLOSE_EXTRA_S = 2.0  # beyond the grace, for the kernel and the pipes

_log = get_logger("agents.acp")


class AcpAgent:
    """Runs turns on the processes of `preset`. `guardian` is shared by all agents of a service."""

    def __init__(self, preset: AcpPreset, guardian: Guardian | None = None) -> None:
        self.name = preset.name
        self.kind = "acp"
        self._preset = preset
        self._guardian = guardian or Guardian()
        self._guardian.join()
        self._turns = RunningTurns()
        self._opener = Opener(preset)
        self._pool = Pool(1 if preset.shared else preset.max_processes, preset.limits.idle_s)
        self._hosts: set[Host] = set()
        self._empty: asyncio.Future[None] | None = None

    def owned_by(self, mark: ProcessMark) -> None:
        self._guardian.mark = mark

    def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        """Ask the agent and pass on what it says."""
        return self._turns.lead(turn, self._talk(turn))

    async def stop(self, turn_id: TurnId) -> None:
        self._turns.stop(turn_id)

    async def resume(self, session_id: SessionId) -> None:
        """Nothing to do: the session is loaded with its next message."""

    async def leave(self, session_id: SessionId) -> None:
        for host in self._hosts:
            held = host.sessions.get(session_id)
            if held is None or held.is_busy or held.desk is not None:
                continue
            del host.sessions[session_id]
            able = host.offers.session_capabilities
            if able is not None and able.close is not None:
                host.peer.request("session/close", {"sessionId": held.reference})
        if not self._preset.shared:
            self._pool.give_up(session_id)

    def processes(self) -> tuple[ProcessFigure, ...]:
        now = asyncio.get_running_loop().time()
        seats = [seat for seat in self._pool.seats if seat.host is not None and not seat.host.is_gone]
        memory = group_memory({seat.host.pid for seat in seats if seat.host is not None})
        return tuple(
            ProcessFigure(
                agent=self.name,
                session_id=seat.key,
                pid=seat.host.pid,
                memory_bytes=memory.get(seat.host.pid, 0),
                idle_ms=int((now - seat.idle_since) * 1000) if seat.is_idle else 0,
            )
            for seat in seats
            if seat.host is not None
        )

    def waiting(self) -> int:
        return self._pool.waiting

    def help_text(self, language: str) -> str:
        if is_chinese(language):
            return (
                f"直接提问即可，由助手 {self.name} 在本次会话的文件夹中处理，并记得本次会话的内容。"
                "它要修改文件或运行命令时可能会先请你同意。发送 /new 开始新的会话。"
            )
        return (
            f"Just ask: the agent {self.name} works in the folder of this session and remembers it. Before it changes "
            "files or runs commands it may ask you. Send /new to start a fresh session."
        )

    async def close(self) -> None:
        """End every turn and every process; returns when they are gone."""
        self._turns.close()
        for host in self._hosts:
            host.end()
        if self._hosts:
            self._empty = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(self._preset.limits.grace_s + CLOSE_EXTRA_S):
                    await self._empty
            except TimeoutError:
                for host in self._hosts:
                    host.kill()
        await asyncio.to_thread(self._guardian.leave)

    async def _talk(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        claim = self._pool.claim("" if self._preset.shared else turn.session_id, turn.sender_user_id or "")
        try:
            async with aclosing(self._pool.until_seated(claim)) as places:
                async for ahead in places:
                    yield SlotAwaited(ahead)
            assert claim.seat is not None
            async with aclosing(self._in_seat(claim.seat, turn)) as events:
                async for event in events:
                    yield event
        except Trouble as trouble:
            failure = trouble.failure
            _log.warning(AGENT_REFUSED, agent=self.name, failure=type(failure).__name__)
            lost = isinstance(failure, NotLoaded)
            yield Ended(Outcome.FAILED, sentence(failure, self.name, turn.language), lost_session=lost)
        finally:
            self._pool.release(claim)

    async def _in_seat(self, seat: Seat, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        host, opened = await self._session(seat, turn)
        held = opened.session
        if held.reference != turn.reference:
            yield SessionOpened(held.reference)
        if held.model:
            yield ModelReported(held.model)
        past = ""
        if opened.without_past and turn.history:
            past = past_of(turn.history, self._preset.max_history_tokens, turn.language)
            yield TextDelta(reopened(self.name, turn.language))
        async with aclosing(self._ask(seat, host, held, turn, past)) as events:
            async for event in events:
                yield event

    async def _session(self, seat: Seat, turn: TurnRequest) -> tuple[Host, Opened]:
        """A process in this seat with the turn's session in it, free for a question. Raises Trouble.

        Where the conversation has moved to another folder (/cd), the session is loaded again there. An agent that
        cannot do that, gets a new one there and the words of the conversation, and says so."""
        reference, moved = turn.reference, False
        while True:
            failures = seat.failures
            async with seat.lock:
                if seat.host is None or seat.host.is_gone:
                    if seat.failure is not None and seat.failures > failures:
                        raise Trouble(seat.failure)  # while we waited: one after another, everybody would find it slow
                    seat.host = await self._start(seat, turn)
                host = seat.host
            if host.doomed is not None:
                await asyncio.shield(host.doomed)
                continue
            held = host.sessions.get(turn.session_id)
            if held is not None and held.prompt is not None and held.is_busy:
                await asyncio.shield(held.prompt)  # an earlier question is still being cancelled
                continue
            if held is not None and reference in ("", held.reference):
                if held.folder == turn.folder:
                    return host, Opened(held)
                reference, moved = held.reference, True
                del host.sessions[turn.session_id]
                if not self._preset.shared:
                    host.end()  # the process itself stands in the old folder
                    continue
            try:
                opened = await self._open(host, turn.folder, reference)
            except Trouble as trouble:
                if not (moved and reference and isinstance(trouble.failure, NotLoaded)):
                    raise
                reference = ""
                continue
            if any(one.reference == opened.session.reference for one in host.sessions.values()):
                raise Trouble(AgentSaid('two sessions got one id; it needs processes = "session"'))
            host.sessions[turn.session_id] = opened.session
            return host, replace(opened, without_past=opened.without_past or (moved and not reference))

    async def _open(self, host: Host, folder: Path | None, reference: str) -> Opened:
        try:
            return await self._opener.open(host, folder, reference)
        except BaseException:
            if not self._preset.shared:
                host.kill()  # half of a session may be open in it
            raise

    async def _start(self, seat: Seat, turn: TurnRequest) -> Host:
        folder = None if self._preset.shared else turn.folder
        host = Host(self._preset)
        host.on_gone = partial(self._gone, seat, host)
        self._hosts.add(host)
        try:
            await host.start(self._guardian, folder)
        except Trouble as trouble:
            seat.failures, seat.failure = seat.failures + 1, trouble.failure
            raise
        return host

    def _gone(self, seat: Seat, host: Host) -> None:
        self._hosts.discard(host)
        self._pool.left(seat, host)
        if not self._hosts and self._empty is not None and not self._empty.done():
            self._empty.set_result(None)

    async def _ask(
        self, seat: Seat, host: Host, held: HeldSession, turn: TurnRequest, past: str
    ) -> AsyncGenerator[AgentEvent, None]:
        desk = TurnDesk(turn, host, held, self._guardian)
        able = host.offers.prompt_capabilities
        takes = Takes(bool(able and able.image), bool(able and able.embedded_context))
        blocks = await asyncio.to_thread(blocks_of, turn, takes, past)
        held.desk = desk
        prompt = host.peer.request("session/prompt", {"sessionId": held.reference, "prompt": blocks})
        held.prompt = prompt
        prompt.add_done_callback(desk.answered)
        prompt.add_done_callback(lambda _: self._pool.rest(seat))
        try:
            async with aclosing(self._listen(desk)) as events:
                async for event in events:
                    yield event
            if isinstance(desk.reply, Lost):
                host.log_end("in the middle of a turn")
            for event in ending_of(desk, host, held, turn):
                if isinstance(event, Ended) and event.lost_session:
                    host.sessions.pop(turn.session_id, None)
                yield event
        finally:
            if not prompt.done():
                self._cancel(seat, host, held, prompt)
            if held.desk is desk:
                held.desk = None
            await desk.close()

    async def _listen(self, desk: TurnDesk) -> AsyncGenerator[AgentEvent, None]:
        """Everything until the prompt is answered, or the answer is longer than allowed. Raises Trouble for silence."""
        while True:
            event = desk.take()
            if event is not None:
                yield event
                continue
            if desk.reply is not None or desk.feed.overflowed:
                return
            at, silence = self._patience(desk)
            try:
                async with asyncio.timeout_at(at):
                    await desk.feed.changed()
            except TimeoutError:
                if silence is not None and self._patience(desk)[0] == at:
                    raise Trouble(silence) from None

    def _patience(self, desk: TurnDesk) -> tuple[float | None, Silent | None]:
        """Until when something has to come. For ever while somebody is asked or a tool runs: the turn has a limit."""
        limits = self._preset.limits
        if desk.permissions.asking or desk.book.open_tools():
            return None, None
        if desk.begun:
            return desk.last_at + limits.between_s, Silent("between", limits.between_s)
        return desk.last_at + limits.first_s, Silent("first", limits.first_s)

    def _cancel(self, seat: Seat, host: Host, held: HeldSession, prompt: "asyncio.Future[Any]") -> None:
        """Tell the agent to stop its work, and see to it that it does."""
        host.peer.notify("session/cancel", {"sessionId": held.reference})
        limit_s = self._preset.limits.cancel_s
        timer = asyncio.get_running_loop().call_later(limit_s, self._stuck, seat, host)
        prompt.add_done_callback(lambda _: timer.cancel())

    def _stuck(self, seat: Seat, host: Host) -> None:
        _log.warning(AGENT_STUCK, agent=self.name, pid=host.pid)
        if self._preset.shared and any(one.desk is not None for one in host.sessions.values()):
            self._pool.retire(seat)  # others still work in it
        else:
            host.kill()
