"""Tables `missed_batches`, `missed_batch_messages`: older messages that a person decides about, one card per chat."""

from dataclasses import dataclass
from typing import Any

from channels.ids import ChatId, MessageId, UserId
from channels.rules.message import Envelope
from channels.store.tx import Tx

ADD_BATCH = """
INSERT INTO missed_batches (batch_id, chat_id, chat_type, state, created_at)
VALUES (:batch_id, :chat_id, :chat_type, 'open', :now)
ON CONFLICT (chat_id) WHERE state = 'open' DO NOTHING
"""
_BATCH = (
    "batch_id, chat_id, chat_type, state, decided_by, created_at, decided_at, version, drawn, card_number, card_at,"
    " card_message_id"
)
SELECT_OPEN_OF_CHAT = f"SELECT {_BATCH} FROM missed_batches WHERE chat_id = :chat_id AND state = 'open'"
SELECT_BATCH = f"SELECT {_BATCH} FROM missed_batches WHERE batch_id = :batch_id"
SELECT_TO_DRAW = "SELECT batch_id FROM missed_batches WHERE drawn < version ORDER BY created_at LIMIT :limit"
TOUCH_OLD_CARDS = """
UPDATE missed_batches SET version = version + 1
WHERE state = 'open' AND drawn = version AND card_at < :before
"""
CHANGE = "UPDATE missed_batches SET version = version + 1 WHERE batch_id = :batch_id"
DECIDE = """
UPDATE missed_batches SET state = :state, decided_by = :decided_by, decided_at = :now, version = version + 1
WHERE batch_id = :batch_id AND state = 'open'
"""
SET_DRAWN = "UPDATE missed_batches SET drawn = :version WHERE batch_id = :batch_id AND drawn < :version"
SET_CARD = """
UPDATE missed_batches SET card_number = card_number + 1, card_at = :now, card_message_id = NULL
WHERE batch_id = :batch_id
"""
SET_CARD_MESSAGE = "UPDATE missed_batches SET card_message_id = :message_id WHERE batch_id = :batch_id"
COUNT_OPEN = "SELECT count(*) FROM missed_batches WHERE state = 'open'"
SELECT_OPEN_COUNTS = """
SELECT chat_id, count(*), min(create_time) FROM missed_batches JOIN missed_batch_messages USING (batch_id)
WHERE state = 'open' GROUP BY batch_id ORDER BY min(create_time) LIMIT :limit
"""
ADD_MESSAGE = """
INSERT INTO missed_batch_messages (message_id, batch_id, sender_user_id, sender_open_id, create_time, excerpt)
VALUES (:message_id, :batch_id, :sender_user_id, :sender_open_id, :create_time, :excerpt)
"""
WAS_HANDLED = """
SELECT 1 FROM missed_batch_messages JOIN missed_batches USING (batch_id)
WHERE message_id = :message_id AND state = 'handled'
"""
REMOVE_MESSAGE = "DELETE FROM missed_batch_messages WHERE message_id = :message_id RETURNING batch_id"
SELECT_MESSAGES = """
SELECT message_id, sender_user_id, sender_open_id, create_time, excerpt FROM missed_batch_messages
WHERE batch_id = :batch_id ORDER BY create_time, message_id
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """`drawn` < `version`: the card does not show the batch as it is."""

    batch_id: str
    chat_id: ChatId
    chat_type: str
    state: str  # open | handled | ignored
    decided_by: str | None
    created_at: int
    decided_at: int | None
    version: int
    drawn: int
    card_number: int
    card_at: int | None
    card_message_id: MessageId | None


@dataclass(frozen=True, slots=True)
class BatchMessage:
    message_id: MessageId
    sender_user_id: UserId
    sender_open_id: str
    create_time: int
    excerpt: str


def _batch(row: tuple[Any, ...] | None) -> Batch | None:
    return Batch(*row) if row else None


def open_batch(tx: Tx, chat_id: ChatId, chat_type: str, spare_id: str, now: int) -> Batch:
    """The chat's open batch; where there is none, a new one under `spare_id`."""
    values = {"batch_id": spare_id, "chat_id": chat_id, "chat_type": chat_type, "now": now}
    tx.execute(ADD_BATCH, values)
    found = _batch(tx.row(SELECT_OPEN_OF_CHAT, {"chat_id": chat_id}))
    assert found is not None
    return found


def find_batch(tx: Tx, batch_id: str) -> Batch | None:
    return _batch(tx.row(SELECT_BATCH, {"batch_id": batch_id}))


def add_message(tx: Tx, batch_id: str, envelope: Envelope, excerpt: str) -> None:
    """One more message to decide about; the card has to show it."""
    values = {
        "message_id": envelope.message_id,
        "batch_id": batch_id,
        "sender_user_id": envelope.sender.user_id,
        "sender_open_id": envelope.sender.open_id,
        "create_time": envelope.create_time_ms,
        "excerpt": excerpt,
    }
    tx.execute(ADD_MESSAGE, values)
    change(tx, batch_id)


def was_handled(tx: Tx, message_id: MessageId) -> bool:
    """Whether somebody has asked for this message to be answered."""
    return tx.row(WAS_HANDLED, {"message_id": message_id}) is not None


def remove_message(tx: Tx, message_id: MessageId) -> str | None:
    """Nothing is left to decide about this message. Returns its batch, whose card has to show that."""
    row = tx.row(REMOVE_MESSAGE, {"message_id": message_id})
    if row is None:
        return None
    change(tx, row[0])
    return str(row[0])


def messages_of(tx: Tx, batch_id: str) -> list[BatchMessage]:
    """The batch's messages, oldest first."""
    return [BatchMessage(*row) for row in tx.rows(SELECT_MESSAGES, {"batch_id": batch_id})]


def change(tx: Tx, batch_id: str) -> None:
    """The card must be drawn again."""
    tx.execute(CHANGE, {"batch_id": batch_id})


def decide(tx: Tx, batch_id: str, state: str, decided_by: str, now: int) -> bool:
    """handled or ignored. Guarded: False when somebody else has decided."""
    return tx.execute(DECIDE, {"batch_id": batch_id, "state": state, "decided_by": decided_by, "now": now}) == 1


def batches_to_draw(tx: Tx, limit: int) -> list[str]:
    """Batches whose card does not show them as they are."""
    return [row[0] for row in tx.rows(SELECT_TO_DRAW, {"limit": limit})]


def renew_old_cards(tx: Tx, before: int) -> int:
    """Undecided batches whose card was sent before this moment get another one."""
    return tx.execute(TOUCH_OLD_CARDS, {"before": before})


def set_drawn(tx: Tx, batch_id: str, version: int) -> None:
    tx.execute(SET_DRAWN, {"batch_id": batch_id, "version": version})


def set_card(tx: Tx, batch_id: str, now: int) -> None:
    """A new message will show this batch from now on."""
    tx.execute(SET_CARD, {"batch_id": batch_id, "now": now})


def set_card_message(tx: Tx, batch_id: str, message_id: MessageId) -> None:
    """The message that shows this batch."""
    tx.execute(SET_CARD_MESSAGE, {"batch_id": batch_id, "message_id": message_id})


def count_open(tx: Tx) -> int:
    row = tx.row(COUNT_OPEN)
    return int(row[0]) if row else 0


def open_counts(tx: Tx, limit: int) -> list[tuple[ChatId, int, int]]:
    """Undecided batches: chat, how many messages, when the oldest was written."""
    return [(chat_id, count, oldest) for chat_id, count, oldest in tx.rows(SELECT_OPEN_COUNTS, {"limit": limit})]
