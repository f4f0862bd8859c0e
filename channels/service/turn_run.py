"""One turn: enter, run the agent, save what was read, finish.

The agent starts only after the enter commit, and everything after it is fenced by the lease. Whatever the agent does —
ends, fails, hangs, ignores a stop — the turn ends with one finish commit whose intents the durable lane carries out.
"""

import asyncio
import contextlib
import json
from dataclasses import replace
from pathlib import Path
from sqlite3 import OperationalError

from channels.agents.protocol import Agent, Said, TurnRequest
from channels.cards.reply import reply_cards
from channels.cards.texts import texts
from channels.ids import UserId
from channels.logs import FOLDER_REFUSED, LOOP_FAILED, TURN_ENTERED, get_logger
from channels.rules.agent_event import Ended, Outcome, SessionOpened, ToolCalled, ToolStatus, ToolUpdated
from channels.rules.agent_text import WholeText
from channels.rules.permission import PermissionAnswer, PermissionQuestion
from channels.rules.turn import HARMLESS, Phase, View, advance, finished, joined_prefix, lacking_right, with_status
from channels.service.card_book import CardBook
from channels.service.context import Context
from channels.service.delivery import Delivery
from channels.service.folders import OutsideWorkspace
from channels.service.live_card import LiveCard
from channels.service.permissions import Permissions
from channels.service.preparing import Prepared, Preparing
from channels.service.turn_end import TurnEnd
from channels.service.turn_gate import TurnGate
from channels.service.turn_log import TurnLog
from channels.service.workspaces import Workspaces
from channels.store.snapshots import Snapshot
from channels.store.transactions.run import (
    Entered,
    Lease,
    ShutOut,
    enter_turn,
    keep_reference,
    save_progress,
)

SAVE_EVERY_S = 1.0
STOP_GRACE_S = 5.0  # an agent that ignores a stop for so long is cancelled …
CANCEL_GRACE_S = 1.0  # … and one that ignores that too is left alone; its turn ends without it

# Runs whose agent may not hear the cancel. The loop holds its tasks weakly: one that waits for what nobody else knows
# would be collected in the middle of its wait.
_LEFT_ALONE: set[asyncio.Task[None]] = set()

log = get_logger(__name__)


class TurnRun:
    """Runs one turn to its end. `end_early` may be called at any time."""

    def __init__(
        self,
        context: Context,
        preparing: Preparing,
        workspaces: Workspaces,
        book: CardBook,
        delivery: Delivery,
        permissions: Permissions,
        lease: Lease,
    ) -> None:
        self._context, self._book, self._delivery, self._lease = context, book, delivery, lease
        self._preparing, self._prepared = preparing, Prepared("")
        self._workspaces, self._permissions = workspaces, permissions
        self._folder: Path | None = None
        self._folder_lacks = False
        self._fetching: asyncio.Task[Prepared] | None = None
        self._log = TurnLog()
        self._end = TurnEnd(context, delivery, lease, self._log)
        self._early: Outcome | None = None
        self._pump: asyncio.Task[None] | None = None
        self._agent: Agent | None = None
        self._gate: TurnGate | None = None
        self._sender: UserId | None = None
        self._live: LiveCard | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._given_up = asyncio.Event()
        self._view = View(lease.turn_id)
        self._prefix, self._continues = "", False
        self._saved_at, self._saved_words = 0.0, False

    def end_early(self, outcome: Outcome) -> None:
        """Make the agent stop; the turn ends with this outcome (a committed stop always ends as stopped)."""
        self._early = self._early or outcome
        if self._fetching is not None:
            self._fetching.cancel()
        if self._gate is not None:
            self._gate.close()
        if self._agent is not None:
            self._stopping = asyncio.create_task(self._tell_to_stop(self._agent))
        if self._pump is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(STOP_GRACE_S, self._pump.cancel)
            loop.call_later(STOP_GRACE_S + CANCEL_GRACE_S, self._given_up.set)

    async def _tell_to_stop(self, agent: Agent) -> None:
        """An agent may fail or hang here too."""
        try:
            async with asyncio.timeout(STOP_GRACE_S):
                await agent.stop(self._lease.turn_id)
        except Exception as error:
            log.error(LOOP_FAILED, loop="agent.stop", turn_id=self._lease.turn_id, exc_info=error)

    async def run(self, snapshot: Snapshot | None) -> None:
        """Prepare, enter and run; returns when the finish commit is made, or at once when the turn is not ours (or is
        left queued, because the service stops while it is being prepared)."""
        context, prepared = self._context, await self._prepare(snapshot)
        if prepared is None:
            await self._end.unentered(self._view, self._prefix, self._prepared.text)
            return
        if prepared.recalled and context.preferences.recalled == "stop":
            await self._finish(finished(self._view, Outcome.STOPPED))
            return
        self._prepared = prepared
        files = [{"kind": one.kind, "name": one.name, "path": str(one.path or "")} for one in prepared.attachments]
        policy = context.policy.access
        entered = await context.database.run(enter_turn, self._lease, prepared.text, context.now(), files, policy)
        if entered is None:
            await self._end.unentered(self._view, self._prefix, self._prepared.text)
            return
        if isinstance(entered, ShutOut):
            self._take_prefix(snapshot)
            await self._finish(finished(self._view, Outcome.FAILED, texts(context.preferences.language).error_shut_out))
            return
        log.info(TURN_ENTERED, turn_id=self._lease.turn_id, session_id=self._lease.session_id)
        try:
            await self._run_entered(entered)
        except Exception as error:  # whatever it was, an entered turn must end
            log.error(LOOP_FAILED, loop="turn", turn_id=self._lease.turn_id, exc_info=error)
            words = texts(context.preferences.language)
            self._view = finished(self._view, Outcome.FAILED, words.error_internal)
        await self._finish(self._view)

    async def end_orphan(self) -> None:
        """For a turn that nobody runs although it may have been entered."""
        await self._end.orphan(self._view, self._prefix, self._prepared.text)

    async def _finish(self, view: View) -> None:
        await self._end.finish(view, self._prefix, self._prepared.text)

    async def _prepare(self, snapshot: Snapshot | None) -> Prepared | None:
        """What the agent is given; None when the turn was ended, or the service stops, meanwhile."""
        self._fetching = asyncio.create_task(self._fetch(snapshot), name=f"prepare-{self._lease.turn_id}")
        try:
            await asyncio.wait({self._fetching})
            return None if self._early is not None or self._fetching.cancelled() else self._fetching.result()
        finally:
            self._fetching.cancel()
            self._fetching = None

    async def _fetch(self, snapshot: Snapshot | None) -> Prepared:
        """The folder first: files are saved into it. Without one the turn is entered all the same, and fails aloud."""
        try:
            self._folder = await self._workspaces.session_folder(self._lease.session_id)
        except (OSError, OutsideWorkspace) as error:
            log.error(FOLDER_REFUSED, turn_id=self._lease.turn_id, error=str(error))
            self._folder_lacks = True
        return await self._preparing.prepare(self._lease, snapshot, self._folder)

    async def _run_entered(self, entered: Entered) -> None:
        context, started = self._context, self._context.clock.monotonic()
        agent = context.answering(entered.session.agent, entered.snapshot.chat_type)
        if self._folder_lacks:
            self._view = finished(self._view, Outcome.FAILED, texts(context.preferences.language).error_folder)
            return
        self._take_prefix(entered.snapshot)
        self._sender = entered.snapshot.sender_user_id
        self._agent, self._view = agent, replace(self._view, agent=agent.name)
        shown = replace(self._view, phase=Phase.WAITING) if entered.waited else self._view
        first = reply_cards(shown, context.preferences.language)[0]
        live = self._live = LiveCard(context, self._book, self._delivery, self._lease, first, entered.cards)
        self._view = replace(self._view, unread=self._prepared.unread, notes=self._notes(entered.session.agent))
        if entered.waited or self._prepared.unread or self._view.notes:
            live.show(self._view)
        self._gate = TurnGate(self._permissions, self._lease, agent.name, self._note_permission, self._is_shown)
        request = self._request(entered)
        self._pump = asyncio.create_task(self._stream(agent, request, live), name=f"agent-{self._lease.turn_id}")
        if self._early is not None:  # a stop that came while the turn was being entered
            self.end_early(self._early)
        try:
            await self._watch(self._pump)
        finally:
            self._gate.close()
            self._pump.cancel()
            _LEFT_ALONE.add(self._pump)
            self._pump.add_done_callback(_LEFT_ALONE.discard)
            await live.close()
        self._view = replace(self._view, duration_ms=int((context.clock.monotonic() - started) * 1000))

    def _take_prefix(self, snapshot: Snapshot | None) -> None:
        """An earlier turn's words stay in front."""
        kept = json.loads((snapshot.message if snapshot else None) or "{}")
        self._prefix = joined_prefix(str(kept.get("prefix", "")))
        self._continues = bool(kept.get("continues"))
        self._view = replace(self._view, answer=self._prefix)

    def _notes(self, chosen: str) -> tuple[str, ...]:
        """What must be said when another agent answers than the one with which the conversation was begun."""
        words = texts(self._context.preferences.language)
        if self._agent is None or chosen in self._context.agents:
            return ()
        return (words.agent_gone_note.format(agent=chosen, other=self._agent.name),)

    def _request(self, entered: Entered) -> TurnRequest:
        return TurnRequest(
            turn_id=self._lease.turn_id,
            session_id=self._lease.session_id,
            text=self._prepared.text,
            sender_user_id=entered.snapshot.sender_user_id,
            history=tuple(Said(role, said) for role, said in entered.history),
            folder=self._folder,
            language=self._context.preferences.language,
            continues=self._continues,
            attachments=self._prepared.attachments,
            gate=self._gate,
            reference=self._own(entered.session.agent, entered.session.agent_reference),
        )

    def _own(self, agent: str, reference: str) -> str:
        """The session's reference, where the agent that runs is the one that has made it."""
        return reference if self._agent is not None and self._agent.name == agent else ""

    def _is_shown(self) -> bool:
        """Whether a message shows the main card."""
        place = self._book.get(self._lease.turn_id, 0)
        return place is not None and place.message_id is not None

    def _note_permission(self, question: PermissionQuestion, answer: PermissionAnswer | None) -> None:
        """A person is being asked (None), or it is known whether the tool may run: the card says so."""
        if self._view.outcome is not None or (answer is not None and answer.why == "ended"):
            return
        called = ToolCalled(question.tool_id, question.title, question.kind, question.arguments, question.diff)
        allowed = ToolStatus.RUNNING if answer is not None and answer.allowed else ToolStatus.DENIED
        self._view = with_status(self._view, called, ToolStatus.ASKING if answer is None else allowed)
        if answer is not None and not answer.allowed:
            if answer.why == "no_code_write":
                words = texts(self._context.preferences.language)
                self._view = lacking_right(self._view, words.lacks_person if self._sender is None else "")
            self._log.add(ToolUpdated(question.tool_id, ToolStatus.DENIED, answer.why))
        if self._context.preferences.streaming and self._live is not None:
            self._live.show(self._view)

    async def _watch(self, pump: asyncio.Task[None]) -> None:
        """Until the stream is over, the time limit is, or a stop was ignored for too long."""
        words = texts(self._context.preferences.language)
        await self._wait_for(pump, self._context.preferences.time_limit_s)
        if not pump.done() and self._early is None:
            assert self._agent is not None
            await self._tell_to_stop(self._agent)
            pump.cancel()
            await asyncio.wait({pump}, timeout=CANCEL_GRACE_S)
            self._view = finished(self._view, Outcome.FAILED, words.error_agent_limit)
        elif pump.done() and not pump.cancelled() and (error := pump.exception()) is not None:
            log.error(LOOP_FAILED, loop="agent", turn_id=self._lease.turn_id, exc_info=error)
            self._view = finished(self._view, Outcome.FAILED, words.error_internal)
        if self._early is not None:
            self._view = finished(self._view, self._early)
        elif self._view.outcome is None:
            self._view = finished(self._view, Outcome.FAILED, words.failed_unknown)

    async def _wait_for(self, pump: asyncio.Task[None], limit_s: float) -> None:
        """Until the agent has ended, was given up, or the time is over."""
        given_up = asyncio.create_task(self._given_up.wait())
        try:
            await asyncio.wait({pump, given_up}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            given_up.cancel()

    async def _stream(self, agent: Agent, request: TurnRequest, live: LiveCard) -> None:
        self._saved_at = self._context.clock.monotonic()
        streaming, text = self._context.preferences.streaming, WholeText()
        async with contextlib.aclosing(agent.run(request)) as events:
            async for said in events:
                if self._view.outcome is not None:  # it was given up, and goes on talking
                    return
                event = text.mend(said)
                if isinstance(event, Ended) and self._early is not None:  # by us, whatever the agent makes of it
                    return
                self._view = advance(self._view, event)
                if isinstance(event, Ended):
                    return
                if isinstance(event, SessionOpened):
                    await self._keep_reference(agent.name, event.reference)
                self._log.add(event)
                if streaming:
                    live.show(self._view)
                await self._save(at_once=isinstance(event, ToolCalled) and event.kind not in HARMLESS)

    async def _keep_reference(self, agent: str, reference: str) -> None:
        """Before anything else is done in that session: a restart is to find it."""
        context = self._context
        try:
            await context.database.run(keep_reference, self._lease, agent, reference, context.now())
        except OperationalError as error:  # a full disk: this turn goes on, the next one may find no session
            log.error(LOOP_FAILED, loop="turn.reference", turn_id=self._lease.turn_id, error=str(error))

    async def _save(self, *, at_once: bool = False) -> None:
        """What the person has read so far, with the first words and then once a second, and before a tool changes
        something, so that a restart knows of it; ends the run when the turn is not ours. A disk that is full for a
        while only means that less is saved."""
        monotonic, first_words = self._context.clock.monotonic(), bool(self._view.answer) and not self._saved_words
        if monotonic - self._saved_at < SAVE_EVERY_S and not first_words and not at_once:
            return
        self._saved_at, self._saved_words = monotonic, bool(self._view.answer)
        context, entries = self._context, self._log.take()
        try:
            ours = await context.database.run(save_progress, self._lease, self._view.answer, entries, context.now())
        except OperationalError as error:
            log.error(LOOP_FAILED, loop="turn.save", turn_id=self._lease.turn_id, error=str(error))
            self._log.put_back(entries)
            return
        if not ours:
            self.end_early(Outcome.STOPPED)
