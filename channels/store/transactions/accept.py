"""What comes in: one commit each, before the ack."""

from dataclasses import dataclass

from channels.ids import EventId, MessageId, OwnerEpoch
from channels.rules import quarantine as rules
from channels.rules.message import Envelope
from channels.store import cursors, events, inbox, quarantine
from channels.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Accepted:
    """First delivery: the row is there. `dropped` is the reason when it was dropped at the door."""

    dropped: str | None = None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """This message id was accepted before."""


def accept_message(
    tx: Tx, envelope: Envelope, payload: str, epoch: OwnerEpoch, drop_reason: str | None, now: int
) -> Accepted | Duplicate:
    """Gate, inbox row and cursor in one commit; the ack may leave once it is done."""
    if not inbox.register(tx, envelope.message_id, now):
        return Duplicate()
    inbox.insert_row(tx, envelope, payload, epoch, drop_reason, now)
    cursors.move_cursor(tx, envelope)
    if drop_reason is None and is_from_before(tx, envelope):
        inbox.hold(tx, envelope.message_id)
    return Accepted(drop_reason)


def is_from_before(tx: Tx, envelope: Envelope) -> bool:
    """Whether this file was restored and the message is older: somebody may have answered it meanwhile."""
    found = quarantine.find(tx)
    return found is not None and rules.is_from_before(envelope.create_time_ms, found.since_ms)


def accept_event(tx: Tx, event_id: EventId, kind: str, subject: str, outcome: str, now: int) -> bool:
    """Any other known event, each once. True the first time."""
    return events.record(tx, event_id, kind, subject, outcome, now)


def count_decision_attempt(tx: Tx, message_id: MessageId, due_at: int) -> None:
    """Deciding this message has failed, or is tried again after a boot."""
    inbox.count_attempt(tx, message_id, due_at)
