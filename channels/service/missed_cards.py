"""Pending cards: drawn from the file whenever a batch has changed, and decided by a press of a button."""

from collections.abc import Callable

from channels.cards.excerpt import one_line
from channels.cards.markdown import plain
from channels.cards.missed import Line, missed_card
from channels.cards.texts import texts
from channels.feishu.connection import Answer
from channels.feishu.events import CardClicked
from channels.logs import CARD_CLICKED, MISSED_ASKED, MISSED_DECIDED, get_logger
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.service.context import Context
from channels.service.toasts import toast
from channels.store.transactions.missed_cards import (
    BatchDecided,
    BatchView,
    NotDecided,
    Operator,
    batches_to_draw,
    decide_batch,
    put_card,
    renew_cards,
)

DRAWN_AT_ONCE = 100
EXCERPT_CHARACTERS = 120
STATES = {"missed_handle": "handled", "missed_ignore": "ignored"}  # what a button does → the state it makes

log = get_logger(__name__)


class MissedCards:
    """Keeps every pending card as its batch is."""

    def __init__(self, context: Context, kick: Callable[[tuple[str, ...]], None]) -> None:
        self._context, self._kick = context, kick

    async def draw(self) -> bool:
        """Make every change of a batch visible. True when some card is still on its way and must wait."""
        context, waiting = self._context, False
        for view in await context.database.read(batches_to_draw, DRAWN_AT_ONCE):
            batch = view.batch
            lane = await context.database.run(
                put_card, batch.batch_id, batch.version, self._drawing(view), context.uuids(1)[0], context.now()
            )
            if lane is None:
                waiting = True
                continue
            log.info(MISSED_ASKED, batch_id=batch.batch_id, chat_id=batch.chat_id, messages=len(view.messages))
            self._kick((lane,))
        return waiting

    async def renew(self) -> None:
        """Cards that can soon no longer be changed get successors."""
        await self._context.database.run(renew_cards, self._context.now())

    async def decide(self, click: CardClicked) -> Answer:
        """*Handle all* or *Ignore*: committed, shown on the card, answered with a toast."""
        context, words = self._context, texts(self._context.preferences.language)
        action, batch_id = str(click.value.get("do")), str(click.value.get("batch", ""))
        operator = click.operator
        who = Operator(frozenset({operator.user_id, f"open:{operator.open_id}"}), operator.open_id)
        result = await context.database.run(
            decide_batch,
            click.event_id,
            batch_id,
            STATES[action],
            who,
            context.preferences.admins,
            click.message_id,
            context.now(),
        )
        outcome = result.why if isinstance(result, NotDecided) else result.state
        log.info(CARD_CLICKED, event_id=click.event_id, action=action, outcome=outcome)
        if outcome == "not_yours":
            return toast("warning", words.toast_not_yours)
        if outcome == "unknown":
            return toast("info", words.toast_unknown)
        await self.draw()
        if not isinstance(result, BatchDecided):
            already = words.toast_missed_handled if outcome == "handled" else words.toast_missed_ignored
            return toast("info", already)
        context.inbox.ring()
        log.info(MISSED_DECIDED, batch_id=batch_id, state=result.state, messages=result.count)
        if result.state == "handled":
            return toast("success", words.toast_missed_handling.format(count=result.count))
        return toast("success", words.toast_missed_ignoring)

    def excerpt_of(self, message: Message) -> str:
        """The message's beginning on one line, as the card shows it."""
        words = texts(self._context.preferences.language)
        kinds = {
            "image": words.kind_image,
            "file": words.kind_file,
            "audio": words.kind_audio,
            "media": words.kind_video,
            "sticker": words.kind_sticker,
            "location": words.kind_location,
            "interactive": words.kind_card,
            "share_chat": words.kind_share,
            "share_user": words.kind_share,
            "merge_forward": words.kind_forward,
        }
        kind = kinds.get(message.envelope.message_type)
        if kind is None:
            return one_line(plain(message.text, words.image), EXCERPT_CHARACTERS)
        names = ", ".join(resource.name for resource in message.resources if resource.name)
        return one_line(f"[{kind}] {names}".strip(), EXCERPT_CHARACTERS)

    def _drawing(self, view: BatchView) -> Drawing:
        batch, among_others = view.batch, view.batch.chat_type == "group"
        lines = [
            Line(one.sender_open_id if among_others else "", one.create_time, one.excerpt) for one in view.messages
        ]
        card = missed_card(
            self._context.preferences.language,
            batch.batch_id,
            lines,
            state=batch.state,
            decided_by=(batch.decided_by or "") if among_others else "",
        )
        return Drawing(card.json, card.text)
