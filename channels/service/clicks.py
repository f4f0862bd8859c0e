"""Buttons. Every click is committed before it is answered; the answer leaves within two seconds.

A click that could not be committed by then gets a "please press again" toast: Feishu never sends a callback twice, so
only the person can. Who may press what is decided in the commit, from who pressed.
"""

import asyncio
import json
from collections.abc import Callable

from channels.cards.gate_texts import gate_texts
from channels.cards.quota import window_end
from channels.cards.texts import texts
from channels.feishu.connection import Answer
from channels.feishu.events import CardClicked
from channels.ids import TurnId
from channels.logs import CARD_CLICKED, get_logger
from channels.rules.quota import Short
from channels.rules.turn import View
from channels.service.approvals import ACTIONS, Approvals
from channels.service.commands_archive import DELETE, ArchiveCommands
from channels.service.context import Context
from channels.service.missed_cards import STATES, MissedCards
from channels.service.permissions import PERMIT, Permissions
from channels.service.rights import press_ask_right
from channels.service.stopping import Stopping, draw
from channels.service.toasts import toast
from channels.store.transactions.accept import accept_event
from channels.store.transactions.resume import (
    UUIDS_PER_CONTINUE,
    Continued,
    ContinueRequest,
    NotContinued,
    continue_turn,
)
from channels.store.transactions.run import NothingToStop

ANSWER_LIMIT_S = 2.0

log = get_logger(__name__)


class Clicks:
    """Answers card callbacks."""

    def __init__(
        self,
        context: Context,
        stopping: Stopping,
        kick: Callable[[tuple[str, ...]], None],
        missed: MissedCards,
        approvals: Approvals,
        archive: ArchiveCommands,
        permissions: Permissions,
        *,
        limit_s: float = ANSWER_LIMIT_S,
    ) -> None:
        self._context, self._stopping, self._kick, self._missed = context, stopping, kick, missed
        self._approvals, self._archive, self._permissions = approvals, archive, permissions
        self._limit_s = limit_s

    async def handle(self, click: CardClicked) -> Answer:
        """The toast for one click, never later than the limit."""
        work = asyncio.ensure_future(self._carry_out(click))
        done, _ = await asyncio.wait({work}, timeout=self._limit_s)
        words = texts(self._context.preferences.language)
        if not done or work.exception() is not None:
            work.add_done_callback(lambda late: late.cancelled() or late.exception())
            log.warning(CARD_CLICKED, event_id=click.event_id, outcome="press_again")
            return toast("warning", words.toast_press_again)
        return work.result()

    async def _carry_out(self, click: CardClicked) -> Answer:
        context, words = self._context, texts(self._context.preferences.language)
        do, turn_id = click.value.get("do"), click.value.get("turn")
        action = do if isinstance(do, str) else ""  # a forged value may be anything
        if isinstance(action, str) and action in ACTIONS:
            return await self._approvals.press(click)
        if action == PERMIT:
            return await self._permissions.press(click)
        if action == "ask_right":
            return await press_ask_right(context, click)
        if action in ("continue", "fresh") and isinstance(turn_id, str):
            if not await self._approvals.may_chat(click.operator):
                return toast("warning", words.not_admitted_title)
            return await self._continue(click, TurnId(turn_id), fresh=action == "fresh")
        if action == DELETE:
            return await self._archive.press(click)
        if isinstance(action, str) and action in STATES:
            return await self._missed.decide(click)
        if action != "stop" or not isinstance(turn_id, str):
            await context.database.run(
                accept_event, click.event_id, "card_clicked", click.message_id, "unknown_button", context.now()
            )
            return toast("info", words.toast_unknown)
        result = await self._stopping.stop(TurnId(turn_id), click.operator.user_id)
        outcome = result.why if isinstance(result, NothingToStop) else "stopping"
        log.info(CARD_CLICKED, event_id=click.event_id, action=action, outcome=outcome)
        match outcome:
            case "stopping":
                return toast("success", words.toast_stopping)
            case "not_yours":
                return toast("warning", words.toast_not_yours)
            case _:
                return toast("info", words.toast_already_ended)

    async def _continue(self, click: CardClicked, interrupted: TurnId, *, fresh: bool) -> Answer:
        """A new turn in the card of the interrupted one, or of one whose agent could not load its session."""
        context, words = self._context, texts(self._context.preferences.language)
        turn_id = TurnId(context.ids.new("turn"))
        request = ContinueRequest(
            event_id=click.event_id,
            interrupted=interrupted,
            operator=click.operator.user_id,
            admins=context.preferences.admins,
            turn_id=turn_id,
            uuids=context.uuids(UUIDS_PER_CONTINUE),
            message_json=json.dumps(
                {"text": words.continue_request, "resources": [], "continues": True}, ensure_ascii=False
            ),
            thinking=draw(View(turn_id), context.preferences.language)[0],
            quota=context.policy.quota,
            fresh=fresh,
        )
        result = await context.database.run(continue_turn, request, context.epoch, context.now())
        outcome = result.why if isinstance(result, NotContinued) else "continued"
        log.info(CARD_CLICKED, event_id=click.event_id, action="fresh" if fresh else "continue", outcome=outcome)
        going_on = gate_texts(context.preferences.language).toast_fresh if fresh else words.toast_continuing
        match result:
            case Continued(lanes=lanes):
                self._kick(lanes)
                context.turns.ring()
                return toast("success", going_on)
            case NotContinued("already"):
                return toast("info", going_on)
            case NotContinued("not_lost"):
                return toast("info", gate_texts(context.preferences.language).toast_not_lost)
            case NotContinued("not_yours"):
                return toast("warning", words.toast_not_yours)
            case NotContinued(short=Short() as short):
                until = window_end(short, context.policy.quota.zone)
                return toast("warning", words.toast_quota.format(until=until))
            case _:
                return toast("info", words.toast_cannot_continue)
