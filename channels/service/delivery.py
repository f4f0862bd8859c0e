"""The durable lane: outbox rows to Feishu, one after another in each lane, lanes beside each other.

Each attempt is committed before it is made; its result and the next attempt of the lane share the commit that follows.
What the answer means is decided in `rules.delivery`.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from weakref import WeakValueDictionary

from channels.cards.masks import mask_emails
from channels.cards.notice import neutral_card
from channels.errors import ApiRefused, OutcomeUnknown, RetryLater
from channels.ids import CardId, ChatId, TurnId
from channels.logs import (
    DELIVERY_DELAYED,
    DELIVERY_OUTCOME_UNKNOWN,
    DELIVERY_RECONCILED,
    DELIVERY_REFUSED,
    DELIVERY_SENT,
    LOOP_FAILED,
    get_logger,
)
from channels.rules import delivery
from channels.rules.delivery import Attempt
from channels.rules.intents import read_payload, topic_lane
from channels.rules.reconcile import Absent, Ambiguous
from channels.rules.retry import backoff_ms
from channels.service.card_book import CardBook, CardPlace
from channels.service.context import Context
from channels.service.reconcile import look_into_history
from channels.service.sending import send
from channels.store import outbox
from channels.store.transactions.deliver import (
    SPARE_UUIDS,
    Effect,
    Recorded,
    Spare,
    begin_next,
    record_failure,
    record_success,
)

POLL_S = 1.0
LANES_AT_ONCE = 256

log = get_logger(__name__)


class Delivery:
    """Sends what the outbox holds. `kick` is the hint that a lane has something new."""

    def __init__(self, context: Context, book: CardBook) -> None:
        self._context, self._book = context, book
        self._active: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._looking: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()
        self._resting: dict[str, tuple[int, float]] = {}  # lane → (failures in a row, not before this moment)
        self._crowded = False  # somebody found no room: look again when there is some
        self._stopping = False
        self.tell_running: Callable[[TurnId], None] = lambda turn_id: None

    def kick(self, lanes: Iterable[str]) -> None:
        """Look at these lanes now."""
        for lane in lanes:
            if self._stopping:
                return
            if lane in self._active:
                self._again.add(lane)
            elif len(self._active) < LANES_AT_ONCE:
                task = asyncio.create_task(self._work(lane), name=f"deliver-{lane}")
                self._active[lane] = task
                task.add_done_callback(partial(self._left, lane))
            else:
                self._crowded = True

    async def run(self) -> None:
        """Look for due lanes, on a ring and once a second, for ever."""
        while True:
            context = self._context
            try:
                # lanes at work are due as well, and must not hide the others
                lanes = await context.database.read(outbox.due_lanes, context.now(), 2 * LANES_AT_ONCE)
                self.kick(lane for lane in lanes if lane not in self._active and not self._rests(lane))
            except Exception:
                log.exception(LOOP_FAILED, loop="delivery")
            await context.outbox.wait(POLL_S)

    def _rests(self, lane: str) -> bool:
        """Whether this lane failed a moment ago for a reason of ours."""
        return self._resting.get(lane, (0, 0.0))[1] > self._context.clock.monotonic()

    async def stop(self, limit_s: float) -> None:
        """No new attempts; those on their way get `limit_s` to be recorded."""
        self._stopping = True
        if self._active:
            _, late = await asyncio.wait(set(self._active.values()), timeout=limit_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _left(self, lane: str, _done: asyncio.Task[None]) -> None:
        self._active.pop(lane, None)
        if self._crowded and len(self._active) < LANES_AT_ONCE // 2:
            self._crowded = False
            self._context.outbox.ring()
        if lane in self._again:
            self._again.discard(lane)
            self.kick((lane,))

    async def _work(self, lane: str) -> None:
        context = self._context
        try:
            unrecorded = lane in self._resting
            recorded = await context.database.run(begin_next, lane, context.now(), unrecorded=unrecorded)
            while recorded.next is not None:
                recorded = await self._attempt(recorded.next)
        except Exception:  # recording failed: the request goes again under its uuid, but not in a tight loop
            log.exception(LOOP_FAILED, loop="delivery.lane", lane=lane)
            failures = self._resting.get(lane, (0, 0.0))[0] + 1
            wait_s = backoff_ms(failures, context.rng.random()) / 1000
            self._resting[lane] = (failures, context.clock.monotonic() + wait_s)
            return
        self._resting.pop(lane, None)
        if recorded.due_at is not None:
            self._wake_at(recorded.due_at)

    def _wake_at(self, due_at: int) -> None:
        wait_s = max(0, due_at - self._context.now()) / 1000
        if wait_s < POLL_S:
            asyncio.get_running_loop().call_later(wait_s, self._context.outbox.ring)

    async def _attempt(self, attempt: Attempt) -> Recorded:
        context = self._context
        try:
            if attempt.reconcile and delivery.says(attempt):
                return await self._reconcile(attempt)
            effect = await send(context.feishu, attempt, context.policy.app_id)
        except (RetryLater, ApiRefused, OutcomeUnknown) as error:
            recorded = await self._failed(attempt, error)
        except Exception as error:  # a defect of ours must wait its turn like any other failure, not spin
            log.exception(LOOP_FAILED, loop="delivery.attempt", intent_id=attempt.intent.intent_id)
            recorded = await self._failed(attempt, OutcomeUnknown(f"our own fault: {type(error).__name__}"))
        else:
            recorded = await context.database.run(record_success, attempt, effect, context.now())
            self._note(attempt, effect)
        self._pass_on(recorded)
        return recorded

    async def _reconcile(self, attempt: Attempt) -> Recorded:
        """An earlier attempt may have worked: adopt its message, or send anew once history shows that it did not."""
        context, chat_id = self._context, attempt.intent.chat_id
        async with self._looking.setdefault(chat_id, asyncio.Lock()):  # two lanes must not adopt one message
            found = await look_into_history(context, attempt)
            match found:
                case Absent():
                    recorded = await self._settle(attempt, delivery.SendAnew(), "history shows no such message")
                case Ambiguous():
                    recorded = await self._settle(attempt, delivery.Last("unknown"), "history shows look-alikes")
                case _:
                    recorded = await context.database.run(record_success, attempt, found, context.now())
                    self._note(attempt, found)
        log.info(DELIVERY_RECONCILED, intent_id=attempt.intent.intent_id, outcome=type(found).__name__)
        self._pass_on(recorded)
        return recorded

    def _pass_on(self, recorded: Recorded) -> None:
        if recorded.claim_closed:
            self._context.inbox.ring()
        if recorded.abandoned is not None:
            self.tell_running(recorded.abandoned)

    def _note(self, attempt: Attempt, effect: Effect) -> None:
        intent = attempt.intent
        log.info(DELIVERY_SENT, intent_id=intent.intent_id, op=intent.op, attempts=attempt.attempts, uuid=intent.uuid)
        if intent.turn_id is not None and not intent.target:  # under it a topic may be opened
            self.kick((topic_lane(intent.turn_id),))
        if intent.turn_id is None or intent.op not in ("create", "reply", "send"):
            return
        card_id = effect.card_id or (CardId(attempt.card_id) if attempt.card_id else None)
        self._book.put(intent.turn_id, intent.segment, CardPlace(card_id, effect.message_id))

    async def _failed(self, attempt: Attempt, error: RetryLater | ApiRefused | OutcomeUnknown) -> Recorded:
        context = self._context
        step = delivery.settle_failure(
            attempt, error, context.now(), context.rng.random(), recalled=context.preferences.recalled
        )
        unknown = isinstance(error, OutcomeUnknown) or step == delivery.Last("unknown")
        passing = isinstance(step, delivery.Wait)
        name = DELIVERY_OUTCOME_UNKNOWN if unknown else DELIVERY_DELAYED if passing else DELIVERY_REFUSED
        log.warning(
            name, intent_id=attempt.intent.intent_id, attempts=attempt.attempts, error=str(error), step=repr(step)
        )
        return await self._settle(attempt, step, str(error))

    async def _settle(self, attempt: Attempt, step: delivery.Step, error: str) -> Recorded:
        context = self._context
        return await context.database.run(record_failure, attempt, step, error, self._spare(attempt), context.now())

    def _spare(self, attempt: Attempt) -> Spare:
        """What another way may need."""
        context = self._context
        body = read_payload(attempt.intent)
        card, text = body.get("card", ""), body.get("text", "")
        return Spare(
            uuids=context.uuids(SPARE_UUIDS),
            neutral_card=neutral_card(context.preferences.language).json,
            text=text,
            masked_card=mask_emails(card),
            masked_text=mask_emails(text),
        )
