"""Turns that an older boot had entered: each is ended in one commit; delivery shows it.

Nothing is ever run again here: the session log says that the agent may have done something. A turn that fails to be
ended does not hold up the others, and is tried again with the next look.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from channels.ids import TurnId
from channels.logs import AGENT_FAILED, LOOP_FAILED, TURN_ENDED, get_logger
from channels.rules.agent_event import Outcome
from channels.rules.repair import Finished, Interrupted, Stopped, classify_turn, tools_of
from channels.rules.turn import View, finished
from channels.service.context import Context
from channels.service.delivery import Delivery
from channels.service.signals import Signal
from channels.service.stopping import draw
from channels.store import permission_requests, sessions, snapshots, turns
from channels.store.transactions.repair import repair_turn
from channels.store.transactions.resume import can_continue
from channels.store.transactions.run import Finish, uuids_for
from channels.store.tx import Tx

POLL_S = 5.0
TURNS_PER_PASS = 100
RESUME_LIMIT_S = 10.0  # an agent that takes longer for its session may fail to go on with it
CARDS_TO_SPARE = 20  # cards of a turn beyond those that its text fills now

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Wreck:
    """What is left of an unknown turn."""

    turn: turns.Turn
    agent: str
    last_text: str
    entries: tuple[sessions.LogEntry, ...]
    can_continue: bool
    never_allowed: frozenset[str]  # tools that still waited for a person's yes


class Repair:
    """Ends unknown turns, whichever boot left them. `may_repair` says whether a turn's time has come."""

    def __init__(self, context: Context, delivery: Delivery, may_repair: Callable[[TurnId], bool]) -> None:
        self._context, self._delivery, self._may_repair = context, delivery, may_repair
        self._looked = Signal()

    def look(self) -> None:
        """A turn's time has come."""
        self._looked.ring()

    async def run(self) -> None:
        """At boot and every few seconds, for ever."""
        while True:
            try:
                wrecks = await self._context.database.read(_find_wrecks, TURNS_PER_PASS)
                await asyncio.gather(*(self._try_to_end(one) for one in wrecks if self._may_repair(one.turn.turn_id)))
            except Exception:
                log.exception(LOOP_FAILED, loop="repair")
            await self._looked.wait(POLL_S)

    async def _try_to_end(self, wreck: Wreck) -> None:
        try:
            await self._end(wreck)
        except Exception:
            log.exception(LOOP_FAILED, loop="repair.turn", turn_id=wreck.turn.turn_id)

    async def _end(self, wreck: Wreck) -> None:
        context, turn = self._context, wreck.turn
        entries = [(entry.kind, entry.body) for entry in wreck.entries]
        verdict = classify_turn(turn.stop_requested, entries)
        match verdict:
            case Stopped():
                outcome, text = Outcome.STOPPED, wreck.last_text
            case Finished(outcome, text):
                pass
            case Interrupted():
                outcome, text = Outcome.INTERRUPTED, wreck.last_text
            case _:
                assert_never(verdict)
        offer = (
            outcome is Outcome.INTERRUPTED
            and wreck.can_continue
            and context.preferences.replay_interrupted == "ask"
            and await self._resumes(wreck)
        )
        view = View(turn.turn_id, answer=text, agent=wreck.agent, tools=tools_of(entries, wreck.never_allowed))
        cards = draw(finished(view, outcome), context.preferences.language, offer=offer)
        partial: tuple[str, dict[str, object]] = ("assistant/message", {"text": text, "partial": True})
        said = (partial,) if text and not isinstance(verdict, Finished) else ()
        uuids = context.uuids(uuids_for(len(cards) + CARDS_TO_SPARE))
        finish = Finish(outcome.value, said, cards, cards, uuids)
        done = await context.database.run(repair_turn, turn, finish, context.epoch, context.now())
        if done is not None:
            self._delivery.kick(done.lanes)
            context.turn_ended(wreck.agent, done.settlement)
            context.turns.ring()
            log.info(TURN_ENDED, turn_id=turn.turn_id, session_id=turn.session_id, outcome=done.outcome, repaired=True)

    async def _resumes(self, wreck: Wreck) -> bool:
        """Whether the agent can go on with the session. One that is not configured any more has a stand-in, which
        says so."""
        agent = self._context.agents.get(wreck.agent)
        try:
            async with asyncio.timeout(RESUME_LIMIT_S):
                if agent is not None:
                    await agent.resume(wreck.turn.session_id)
        except Exception as error:
            log.warning(AGENT_FAILED, agent=wreck.agent, session_id=wreck.turn.session_id, error=repr(error))
            return False
        return True


def _find_wrecks(tx: Tx, limit: int) -> list[Wreck]:
    return [_wreck(tx, turn) for turn in turns.unknown_turns(tx, limit)]


def _wreck(tx: Tx, turn: turns.Turn) -> Wreck:
    snapshot = snapshots.find_snapshot(tx, turn.turn_id)
    entries = tuple(entry for entry in sessions.read_log(tx, turn.session_id) if entry.turn_id == turn.turn_id)
    session = sessions.find_session(tx, turn.session_id)
    return Wreck(
        turn,
        session.agent if session else "",
        snapshot.last_text if snapshot else "",
        entries,
        can_continue(tx, turn),
        permission_requests.never_allowed(tx, turn.turn_id),
    )
