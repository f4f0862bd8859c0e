"""Table `sent_cards`: what people were shown, and what is needed to go on in it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from channels.ids import CardId, ChatId, MessageId, TurnId
from channels.store.tx import Tx

PUT_SENT = """
INSERT INTO sent_cards (message_id, turn_id, segment, chat_id, text, at)
VALUES (:message_id, :turn_id, :segment, :chat_id, :text, :now)
ON CONFLICT (message_id) DO UPDATE SET text = excluded.text, at = excluded.at
"""
SELECT_SENT = "SELECT text FROM sent_cards WHERE message_id = :message_id"
KEEP_ENTITY = "UPDATE sent_cards SET card_id = :card_id, sequence = :sequence WHERE message_id = :message_id"
SELECT_SENT_OF_TURN = """
SELECT message_id, turn_id, segment, text, card_id, sequence FROM sent_cards
WHERE turn_id = :turn_id AND segment = :segment ORDER BY at LIMIT 1
"""
COUNT_SENT_OF_TURN = "SELECT count(*) FROM sent_cards WHERE turn_id = :turn_id"
SELECT_RECORDED = "SELECT message_id FROM sent_cards WHERE chat_id = :chat_id AND at >= :since"
FORGET_SENT_TEXTS = """
UPDATE sent_cards SET text = '' WHERE turn_id IN (SELECT value FROM json_each(:turn_ids))
"""
LEAP_SEQUENCES = "UPDATE sent_cards SET sequence = sequence + :count WHERE card_id IS NOT NULL"


@dataclass(frozen=True, slots=True)
class SentCard:
    """A message of ours that showed a card of a turn; `sequence` is the highest that may have been used."""

    message_id: MessageId
    turn_id: TurnId
    segment: int
    text: str
    card_id: CardId | None
    sequence: int


def put_sent(
    tx: Tx, message_id: MessageId, turn_id: TurnId | None, segment: int, chat_id: ChatId, text: str, now: int
) -> None:
    """What a card of ours shows, in text form: Feishu never returns it."""
    values = {"message_id": message_id, "turn_id": turn_id, "segment": segment, "chat_id": chat_id, "text": text}
    tx.execute(PUT_SENT, {**values, "now": now})


def keep_entity(tx: Tx, message_id: MessageId, card_id: CardId | None, sequence: int) -> None:
    """What is needed to go on in this card after its snapshot has gone."""
    tx.execute(KEEP_ENTITY, {"message_id": message_id, "card_id": card_id, "sequence": sequence})


def sent_card_of_turn(tx: Tx, turn_id: TurnId, segment: int) -> SentCard | None:
    row = tx.row(SELECT_SENT_OF_TURN, {"turn_id": turn_id, "segment": segment})
    return SentCard(*row) if row else None


def count_sent_of_turn(tx: Tx, turn_id: TurnId) -> int:
    """How many messages of ours showed a card of this turn."""
    row = tx.row(COUNT_SENT_OF_TURN, {"turn_id": turn_id})
    return int(row[0]) if row else 0


def recorded_messages(tx: Tx, chat_id: ChatId, since: int) -> frozenset[MessageId]:
    """Messages of ours in a chat that are known as the result of some intent."""
    return frozenset(MessageId(row[0]) for row in tx.rows(SELECT_RECORDED, {"chat_id": chat_id, "since": since}))


def sent_text(tx: Tx, message_id: MessageId) -> str | None:
    row = tx.row(SELECT_SENT, {"message_id": message_id})
    return row[0] if row else None


def leap_sequences(tx: Tx, count: int) -> int:
    """As `snapshots.leap_sequences`, for cards that have no snapshot any more."""
    return tx.execute(LEAP_SEQUENCES, {"count": count})


def forget_sent_texts(tx: Tx, turn_ids: Iterable[TurnId]) -> None:
    """What the cards of these turns said; that they are ours stays known."""
    tx.execute(FORGET_SENT_TEXTS, {"turn_ids": json.dumps(list(turn_ids))})
