"""The pending card of a chat: sent once, rewritten as it changes, decided once."""

from collections.abc import Set
from dataclasses import dataclass

from channels.ids import EventId, IntentId, MessageId, SendUuid, UserId
from channels.rules import intents
from channels.rules.intents import Drawing
from channels.rules.missed import may_decide
from channels.rules.retry import CARD_LIFE_MS
from channels.store import events, inbox, missed_batches, outbox
from channels.store.missed_batches import Batch, BatchMessage
from channels.store.tx import Tx

RENEWED_BEFORE_MS = 24 * 3_600_000  # a card is renewed this long before it can no longer be changed
IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch with its messages, to be drawn."""

    batch: Batch
    messages: tuple[BatchMessage, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """Who pressed a button: every id under which the file may know this person, and the one to show."""

    ids: frozenset[str]
    open_id: str


@dataclass(frozen=True, slots=True)
class BatchDecided:
    """This click decided: so many messages go their way, or go nowhere."""

    state: str
    count: int


@dataclass(frozen=True, slots=True)
class NotDecided:
    """Nothing changed: unknown, not_yours, or the state in which it was decided before."""

    why: str


def batches_to_draw(tx: Tx, limit: int) -> list[BatchView]:
    """Batches whose card does not show them as they are."""
    found = (read_batch(tx, batch_id) for batch_id in missed_batches.batches_to_draw(tx, limit))
    return [view for view in found if view is not None]


def read_batch(tx: Tx, batch_id: str) -> BatchView | None:
    batch = missed_batches.find_batch(tx, batch_id)
    return BatchView(batch, tuple(missed_batches.messages_of(tx, batch_id))) if batch else None


def renew_cards(tx: Tx, now: int) -> int:
    """A card that can soon no longer be changed gets a successor, so that the rows stay decidable."""
    return missed_batches.renew_old_cards(tx, now - CARD_LIFE_MS + RENEWED_BEFORE_MS)


def put_card(tx: Tx, batch_id: str, version: int, drawing: Drawing, uuid: SendUuid, now: int) -> str | None:
    """Make this drawing of this version visible; returns the lane. None when nothing is to be sent (yet): the batch has
    changed since it was drawn, its card is on its way and has to arrive first, or it has none and needs none."""
    batch = missed_batches.find_batch(tx, batch_id)
    if batch is None or batch.version != version or batch.drawn >= version:
        return None
    lane, body = f"missed:{batch_id}", intents.payload(card=drawing.card, text=drawing.text)
    head = outbox.head_of_lane(tx, lane)
    if head is not None and head.attempts > 0:
        return None
    missed_batches.set_drawn(tx, batch_id, version)
    if head is not None:
        outbox.redraw_unsent(tx, head.intent.intent_id, body)
        return lane
    if batch.card_number == 0 or _is_old(batch, now):
        return _send_card(tx, batch, lane, body, uuid, now)
    message_id = batch.card_message_id or outbox.sent_in_lane(tx, lane)
    if message_id is None:
        return None  # it never arrived, and the chat is gone or has refused it
    name = IntentId(f"{batch_id}/rewrite/{version}")
    outbox.add_intents(tx, [intents.rewrite(name, lane, batch.chat_id, message_id, body, uuid)], now)
    return lane


def decide_batch(
    tx: Tx,
    event_id: EventId,
    batch_id: str,
    state: str,
    who: Operator,
    admins: Set[UserId],
    message_id: MessageId,
    now: int,
) -> BatchDecided | NotDecided:
    """One press of *Handle all* (`handled`) or *Ignore* (`ignored`): the first that may decide, decides.

    `message_id` is the card that was pressed: it shows the outcome,
    also where an older card of the same batch was used.
    """
    batch = missed_batches.find_batch(tx, batch_id)
    outcome = _decide(tx, batch, state, who, admins, now)
    said = outcome.state if isinstance(outcome, BatchDecided) else outcome.why
    events.record(tx, event_id, "card_clicked", message_id, f"missed:{said}", now)
    if batch is not None and said != "not_yours":
        missed_batches.set_card_message(tx, batch_id, message_id)
        missed_batches.change(tx, batch_id)
    return outcome


def _decide(
    tx: Tx, batch: Batch | None, state: str, who: Operator, admins: Set[UserId], now: int
) -> BatchDecided | NotDecided:
    if batch is None:
        return NotDecided("unknown")
    messages = missed_batches.messages_of(tx, batch.batch_id)
    if not may_decide(who.ids, (one.sender_user_id for one in messages), admins):
        return NotDecided("not_yours")
    if not missed_batches.decide(tx, batch.batch_id, state, who.open_id, now):
        return NotDecided(batch.state)
    if state == "handled":
        count = sum(inbox.release_asked(tx, one.message_id) for one in messages)
    else:
        count = sum(inbox.drop_asked(tx, one.message_id, IGNORED, now) for one in messages)
    return BatchDecided(state, count)


def _send_card(tx: Tx, batch: Batch, lane: str, body: str, uuid: SendUuid, now: int) -> str | None:
    if batch.state != "open" and batch.card_message_id is None:
        return None
    name = IntentId(f"{batch.batch_id}/card/{batch.card_number + 1}")
    outbox.add_intents(tx, [intents.send(name, lane, batch.chat_id, body, uuid)], now)
    missed_batches.set_card(tx, batch.batch_id, now)
    return lane


def _is_old(batch: Batch, now: int) -> bool:
    """Whether the card can no longer be changed, or soon cannot."""
    age_ms = now - (batch.card_at if batch.card_at is not None else now)
    return batch.state == "open" and age_ms > CARD_LIFE_MS - RENEWED_BEFORE_MS
