"""The lossy lane: coalesced frames of one running turn.

Full texts only, one request in flight and one latest pending. When a frame gets lost, the next one carries everything;
when all get lost, the closing update of the durable lane does. A lane that Feishu refuses for good goes quiet.
"""

import asyncio
import contextlib
from collections.abc import Sequence

from channels.cards.card import ANSWER_ELEMENT, Card
from channels.cards.patching import streaming, unstreamed
from channels.cards.reply import reply_cards
from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.logs import FRAME_DROPPED, LOOP_FAILED, get_logger
from channels.rules.intents import Drawing
from channels.rules.pace import gap_ms
from channels.rules.turn import View
from channels.service.card_book import CardBook, CardPlace
from channels.service.context import Context
from channels.service.delivery import Delivery
from channels.service.signals import Signal
from channels.store.snapshots import set_unsure
from channels.store.transactions.admit import FIRST_SEQUENCES
from channels.store.transactions.run import Lease, OpenCard, add_segment, reserve_sequences

SEQUENCE_BLOCK = 1_000
LOOK_AGAIN_S = 0.5
LAST_WORDS_S = 3.0  # how long the end of a turn waits for a frame that is on its way
REOPEN_AFTER_S = 9 * 60.0  # Feishu closes streaming after ten minutes

log = get_logger(__name__)


class LiveCard:
    """Shows the views of one turn as they come. `show` never waits; `close` returns when nothing is on its way."""

    def __init__(
        self,
        context: Context,
        book: CardBook,
        delivery: Delivery,
        lease: Lease,
        shown: Card,
        cards: Sequence[OpenCard],
    ) -> None:
        self._context, self._book, self._delivery, self._lease = context, book, delivery, lease
        self._view: View | None = None
        self._signal, self._ending = Signal(), Signal()
        self._shown: list[Card] = [shown]
        self._sequences = {card.segment: (card.first_sequence, card.last_sequence) for card in cards}
        self._answering = False
        self._frames, self._quiet, self._closing = 0, False, False
        self._opened_at = context.clock.monotonic()
        book.open(lease.turn_id, self._signal)
        for card in cards:
            book.put(lease.turn_id, card.segment, CardPlace(card.card_id, card.message_id))
        self._task = asyncio.create_task(self._run(), name=f"live-{lease.turn_id}")

    def show(self, view: View) -> None:
        """This is how the cards should look now. The first words of the answer are shown at once."""
        if view.answer and not self._answering:
            self._answering, self._frames = True, 0
        self._view = view
        self._signal.ring()

    async def close(self) -> None:
        """No frame leaves after this; one that is on its way is waited for a little."""
        self._closing = True
        self._signal.ring()
        self._ending.ring()
        done, _ = await asyncio.wait({self._task}, timeout=LAST_WORDS_S)
        if not done:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._book.close(self._lease.turn_id)

    async def _run(self) -> None:
        shown: View | None = None
        while not self._closing and not self._quiet:
            if self._view is shown:
                await self._signal.wait(1.0)
                continue
            if not await self._pause():
                continue
            view = self._view
            if view is None or self._closing:
                continue
            if self._book.get(self._lease.turn_id, 0) is None:  # drawn at every word, it would cost more than the words
                await self._signal.wait(0.2)
                continue
            try:
                sent = await self._send_frame(reply_cards(view, self._context.preferences.language))
            except Exception:  # a disk that is full for a moment must not leave the card still until the end
                log.exception(LOOP_FAILED, loop="live", turn_id=self._lease.turn_id)
                sent = await self._ending.wait(LOOK_AGAIN_S)
            if sent:
                shown = view
            else:
                await self._signal.wait(0.2)

    async def _pause(self) -> bool:
        """Keep the gap between frames; False when the lane is being closed meanwhile."""
        if self._frames == 0:
            return True
        wait_s = gap_ms(self._frames, self._context.preferences.frame_gaps_ms) / 1000
        until = self._context.clock.monotonic() + wait_s
        while self._frames and not self._closing and (left := until - self._context.clock.monotonic()) > 0:
            await self._ending.wait(min(left, LOOK_AGAIN_S))  # not the signal, which rings at every word
        return not self._closing

    async def _send_frame(self, cards: Sequence[Card]) -> bool:
        """Bring every card up to `cards`; False when something could not be sent now."""
        complete = True
        for segment, card in enumerate(cards):
            if segment >= len(self._shown):
                await self._open_segment(segment, card)
            elif not _same(card, self._shown[segment]):
                complete = await self._update(segment, card) and complete
        return complete

    async def _open_segment(self, segment: int, card: Card) -> None:
        context = self._context
        uuids = context.uuids(2)
        lane = await context.database.run(
            add_segment, self._lease, segment, Drawing(card.json, card.text), (uuids[0], uuids[1]), context.now()
        )
        if lane is None:
            self._quiet = True
            return
        self._shown.append(card)
        self._sequences[segment] = (1, FIRST_SEQUENCES)
        self._delivery.kick((lane,))

    async def _update(self, segment: int, card: Card) -> bool:
        place = self._book.get(self._lease.turn_id, segment)
        if place is None:
            return False
        try:
            sent = await self._request(segment, card, place)
        except RetryLater as error:
            await self._signal.wait(min(error.after_ms / 1000 or 1.0, 30.0))
            return False
        except OutcomeUnknown:
            await self._note_unsure(segment, place)
            return False
        except ApiRefused as error:
            return await self._refused(segment, place, error)
        if sent:
            self._shown[segment] = card
            self._frames += 1
        return sent

    async def _request(self, segment: int, card: Card, place: CardPlace) -> bool:
        api, uuid = self._context.feishu, self._context.ids.uuid()
        if place.card_id is None:
            assert place.message_id is not None
            return await api.patch_card(place.message_id, unstreamed(card.json), droppable=True)
        await self._keep_streaming(segment, place)
        sequence = await self._sequence(segment)
        if card.frame == self._shown[segment].frame:
            return await api.stream_text(place.card_id, ANSWER_ELEMENT, card.answer, sequence, uuid, droppable=True)
        return await api.update_card(place.card_id, card.json, sequence, uuid, droppable=True)

    async def _note_unsure(self, segment: int, place: CardPlace) -> None:
        """A patch has no sequence: one that got lost may still arrive after the last update, which then goes twice."""
        if place.card_id is None:
            await self._context.database.run(set_unsure, self._lease.turn_id, segment)

    async def _keep_streaming(self, segment: int, place: CardPlace) -> None:
        """Open streaming anew before Feishu closes it."""
        if self._context.clock.monotonic() - self._opened_at < REOPEN_AFTER_S:
            return
        self._opened_at = self._context.clock.monotonic()
        await self._reopen(segment, place)

    async def _reopen(self, segment: int, place: CardPlace) -> None:
        """Off, then on: asking for what is on already does not prolong it."""
        assert place.card_id is not None
        for opened in (False, True):
            sequence, uuid = await self._sequence(segment), self._context.ids.uuid()
            await self._context.feishu.set_card_settings(place.card_id, streaming(opened), sequence, uuid)

    async def _sequence(self, segment: int) -> int:
        """The next number of this card, out of a block that the domain file has set aside for this owner."""
        next_, end = self._sequences[segment]
        if next_ > end:
            context = self._context
            next_ = await context.database.run(reserve_sequences, self._lease, segment, SEQUENCE_BLOCK)
            end = next_ + SEQUENCE_BLOCK - 1
        self._sequences[segment] = (next_ + 1, end)
        return next_

    async def _refused(self, segment: int, place: CardPlace, error: ApiRefused) -> bool:
        log.info(FRAME_DROPPED, turn_id=self._lease.turn_id, code=error.code, kind=error.kind)
        match error.kind:
            case CodeKind.REPEATED_UUID | CodeKind.CARD_BUSY:
                return False
            case CodeKind.SEQUENCE:
                self._sequences[segment] = (1, 0)  # a fresh block
                return False
            case CodeKind.STREAMING_CLOSED if place.card_id is not None:
                with contextlib.suppress(ApiRefused, RetryLater, OutcomeUnknown):
                    await self._reopen(segment, place)
                return False
            case _:
                self._quiet = True
                return True


def _same(card: Card, shown: Card) -> bool:
    return card.frame == shown.frame and card.answer == shown.answer
