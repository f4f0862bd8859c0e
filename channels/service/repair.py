"""Turns that an older boot had entered: each ends as interrupted in one commit; delivery shows it.

Nothing is ever run again here: the session log says that the agent may have done something.
"""

import asyncio

from channels.logs import LOOP_FAILED, TURN_ENDED, get_logger
from channels.rules.agent_event import Outcome
from channels.rules.turn import View, finished
from channels.service.context import Context
from channels.service.delivery import Delivery
from channels.service.stopping import draw
from channels.store import turns
from channels.store.transactions.repair import repair_turn
from channels.store.transactions.run import Finish, uuids_for
from channels.store.tx import Tx

POLL_S = 5.0
TURNS_PER_PASS = 100

log = get_logger(__name__)


class Repair:
    """Ends unknown turns, whichever boot left them. One that fails does not hold up the others."""

    def __init__(self, context: Context, delivery: Delivery) -> None:
        self._context, self._delivery = context, delivery

    async def run(self) -> None:
        """At boot and every few seconds, for ever."""
        while True:
            try:
                rows = await self._context.database.read(_unknown, TURNS_PER_PASS)
                for turn, snapshot in rows:
                    await self._end(turn, snapshot)
            except Exception:
                log.exception(LOOP_FAILED, loop="repair")
            await asyncio.sleep(POLL_S)

    async def _end(self, turn: turns.Turn, snapshot: turns.Snapshot | None) -> None:
        context = self._context
        outcome = Outcome.STOPPED if turn.stop_requested else Outcome.INTERRUPTED
        text = snapshot.last_text if snapshot else ""
        cards = draw(finished(View(turn.turn_id, answer=text), outcome), context.preferences.language)
        finish = Finish(outcome.value, (), cards, cards, context.uuids(uuids_for(len(cards) + 8)))
        done = await context.database.run(repair_turn, turn, finish, context.epoch, context.now())
        if done is not None:
            self._delivery.kick(done.lanes)
            log.info(TURN_ENDED, turn_id=turn.turn_id, session_id=turn.session_id, outcome=done.outcome, repaired=True)


def _unknown(tx: Tx, limit: int) -> list[tuple[turns.Turn, turns.Snapshot | None]]:
    return [(turn, turns.find_snapshot(tx, turn.turn_id)) for turn in turns.unknown_turns(tx, limit)]
