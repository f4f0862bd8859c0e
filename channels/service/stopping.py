"""Ending turns on request: *Stop*, /stop, a recalled question. The stop is committed before anything acts on it."""

from collections.abc import Callable

from channels.cards.card import Button
from channels.cards.gate_texts import gate_texts
from channels.cards.reply import reply_cards
from channels.cards.texts import texts
from channels.ids import EventId, MessageId, TurnId, UserId
from channels.rules.agent_event import Outcome
from channels.rules.intents import Drawing
from channels.rules.turn import View, finished
from channels.service.context import Context
from channels.store.transactions.recall import recall_message
from channels.store.transactions.run import (
    Finish,
    NothingToStop,
    StoppedAtOnce,
    stop_turn,
    uuids_for,
)
from channels.store.transactions.run import (
    Stopping as StopCommitted,
)


def draw(view: View, language: str, *, offer: bool = False) -> tuple[Drawing, ...]:
    """The cards of a view, as transactions take them. `offer`: the main card gets a *Continue* button. One whose agent
    could not load its session gets *Fresh session*."""
    buttons = []
    if offer:
        buttons = [Button(texts(language).button_continue, {"do": "continue", "turn": view.turn_id}, "primary")]
    elif view.lost_session and view.outcome is Outcome.FAILED:
        buttons = [Button(gate_texts(language).fresh_button, {"do": "fresh", "turn": view.turn_id}, "primary")]
    return tuple(Drawing(card.json, card.text) for card in reply_cards(view, language, buttons=buttons))


class Stopping:
    """Commits stops and passes them on: to delivery when the turn has ended at once, else to the running agent."""

    def __init__(self, context: Context, kick: Callable[[tuple[str, ...]], None]) -> None:
        self._context, self._kick = context, kick
        self.tell_running: Callable[[TurnId], None] = lambda turn_id: None

    async def stop(self, turn_id: TurnId, operator: UserId) -> StopCommitted | StoppedAtOnce | NothingToStop:
        """Stop one turn for somebody; only who drives it and admins may."""
        context = self._context
        result = await context.database.run(
            stop_turn,
            turn_id,
            operator,
            context.preferences.admins,
            self._finish(turn_id),
            context.epoch,
            context.now(),
        )
        self._pass_on(turn_id, result)
        return result

    async def recall(self, event_id: EventId, message_id: MessageId) -> None:
        """A message was recalled: remember it, and end its turn if it waits, or (as configured) runs."""
        context = self._context
        recalled = await context.database.run(
            recall_message,
            event_id,
            message_id,
            self._finish(TurnId(context.ids.new("turn"))),
            context.epoch,
            context.now(),
            stop_running=context.preferences.recalled == "stop",
        )
        context.missed.ring()  # a pending card may ask about it
        if recalled is not None:
            self._pass_on(recalled.turn_id, recalled.result)

    def _pass_on(self, turn_id: TurnId, result: StopCommitted | StoppedAtOnce | NothingToStop) -> None:
        match result:
            case StoppedAtOnce(lanes):
                self._kick(lanes)
                self.tell_running(turn_id)  # it may be in preparation
                self._context.turns.ring()
                self._context.settling.ring()
            case StopCommitted():
                self.tell_running(turn_id)
            case NothingToStop():
                pass

    def _finish(self, turn_id: TurnId) -> Finish:
        """How a turn that never ran ends."""
        view = finished(View(turn_id), Outcome.STOPPED)
        cards = draw(view, self._context.preferences.language)
        return Finish("stopped", (), cards, cards, self._context.uuids(uuids_for(len(cards))))
