"""Tables `inflight`, `inflight_cards`: snapshots, enough to repair a turn's cards without memory."""

from dataclasses import dataclass
from typing import Any

from channels.ids import (
    CardId,
    ChatId,
    ConversationKey,
    MessageId,
    ReactionId,
    SendUuid,
    SessionId,
    TurnId,
    UserId,
)
from channels.store.tx import Tx

_INFLIGHT = (
    "turn_id, session_id, chat_id, chat_type, trigger_message_id, in_thread, reaction_id, route_key, message,"
    " sender_user_id, last_text, started_at, attempts, anchor_message_id, opening"
)
INSERT_INFLIGHT = """
INSERT INTO inflight (turn_id, session_id, chat_id, chat_type, trigger_message_id, in_thread, route_key, message,
                      sender_user_id, started_at, anchor_message_id, opening)
VALUES (:turn_id, :session_id, :chat_id, :chat_type, :trigger_message_id, :in_thread, :route_key, :message,
        :sender_user_id, :now, :anchor_message_id, :opening)
"""
SELECT_INFLIGHT = f"SELECT {_INFLIGHT} FROM inflight WHERE turn_id = :turn_id"
HAS_OF_SESSION = "SELECT 1 FROM inflight WHERE session_id = :session_id LIMIT 1"
SAVE_TEXT = "UPDATE inflight SET last_text = :text WHERE turn_id = :turn_id"
SAVE_MESSAGE = "UPDATE inflight SET message = :message WHERE turn_id = :turn_id"
SET_REACTION = "UPDATE inflight SET reaction_id = :reaction_id WHERE turn_id = :turn_id"
SET_PLACE = "UPDATE inflight SET route_key = :route_key, in_thread = :in_thread WHERE turn_id = :turn_id"
SET_ANCHOR = """
UPDATE inflight SET anchor_message_id = :message_id, chat_id = :chat_id, opening = NULL WHERE turn_id = :turn_id
"""
COUNT_START = "UPDATE inflight SET attempts = attempts + 1 WHERE turn_id = :turn_id"
DELETE_INFLIGHT = "DELETE FROM inflight WHERE turn_id = :turn_id"
SELECT_CARDS = """
SELECT turn_id, segment, mode, uuid, card_id, message_id, sequence, unsure FROM inflight_cards
WHERE turn_id = :turn_id ORDER BY segment
"""
INSERT_CARD = """
INSERT INTO inflight_cards (turn_id, segment, mode, uuid, sequence)
VALUES (:turn_id, :segment, :mode, :uuid, :sequence) ON CONFLICT (turn_id, segment) DO NOTHING
"""
SET_CARD_ID = "UPDATE inflight_cards SET card_id = :card_id WHERE turn_id = :turn_id AND segment = :segment"
SET_MESSAGE_ID = "UPDATE inflight_cards SET message_id = :message_id WHERE turn_id = :turn_id AND segment = :segment"
SET_UNSURE = "UPDATE inflight_cards SET unsure = 1 WHERE turn_id = :turn_id AND segment = :segment"
ADOPT_CARD = """
INSERT INTO inflight_cards (turn_id, segment, mode, uuid, card_id, message_id, sequence, unsure)
VALUES (:turn_id, 0, 'card', :uuid, :card_id, :message_id, :sequence, 1)
"""
SET_MODE = "UPDATE inflight_cards SET mode = :mode WHERE turn_id = :turn_id AND segment = :segment"
RESERVE_SEQUENCE = """
UPDATE inflight_cards SET sequence = sequence + :count WHERE turn_id = :turn_id AND segment = :segment
"""
SELECT_SEQUENCE = "SELECT sequence FROM inflight_cards WHERE turn_id = :turn_id AND segment = :segment"
LEAP_SEQUENCES = "UPDATE inflight_cards SET sequence = sequence + :count, unsure = 1"
TURN_OF_CARD = "SELECT turn_id FROM inflight_cards WHERE message_id = :message_id"
SELECT_STALE = "SELECT turn_id FROM inflight WHERE started_at < :before ORDER BY started_at LIMIT :limit"
COUNT_INFLIGHT = "SELECT count(*) FROM inflight"

MESSAGE_LIMIT_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The row that can repair a turn after a crash. `message` is what the agent is given, as JSON, if ≤ 256 KiB.

    `anchor_message_id` is what its messages hang under where nobody's message caused it; `opening` the payload of what
    will open its topic."""

    turn_id: TurnId
    session_id: SessionId
    chat_id: ChatId
    chat_type: str
    trigger_message_id: MessageId | None
    in_thread: bool
    reaction_id: ReactionId | None
    route_key: ConversationKey | None
    message: str | None
    sender_user_id: UserId | None
    last_text: str = ""
    started_at: int = 0
    attempts: int = 0
    anchor_message_id: MessageId | None = None
    opening: str | None = None

    @property
    def anchor(self) -> MessageId | None:
        """What the turn's messages answer: the message that caused it, else whatever stands in for it."""
        return self.trigger_message_id or self.anchor_message_id


@dataclass(frozen=True, slots=True)
class SegmentCard:
    """One card of a turn; segment 0 is the main card. `mode` card without `card_id` is the patch lane."""

    turn_id: TurnId
    segment: int
    mode: str
    uuid: SendUuid
    card_id: CardId | None
    message_id: MessageId | None
    sequence: int
    unsure: bool


def _snapshot(row: tuple[Any, ...]) -> Snapshot:
    values = list(row)
    values[5] = bool(values[5])
    return Snapshot(*values)


def _card(row: tuple[Any, ...]) -> SegmentCard:
    values = list(row)
    values[7] = bool(values[7])
    return SegmentCard(*values)


def insert_snapshot(tx: Tx, snapshot: Snapshot, now: int) -> None:
    message = snapshot.message
    if message is not None and len(message.encode()) > MESSAGE_LIMIT_BYTES:
        message = None
    tx.execute(
        INSERT_INFLIGHT,
        {
            "turn_id": snapshot.turn_id,
            "session_id": snapshot.session_id,
            "chat_id": snapshot.chat_id,
            "chat_type": snapshot.chat_type,
            "trigger_message_id": snapshot.trigger_message_id,
            "in_thread": int(snapshot.in_thread),
            "route_key": snapshot.route_key,
            "message": message,
            "sender_user_id": snapshot.sender_user_id,
            "anchor_message_id": snapshot.anchor_message_id,
            "opening": snapshot.opening,
            "now": now,
        },
    )


def find_snapshot(tx: Tx, turn_id: TurnId) -> Snapshot | None:
    row = tx.row(SELECT_INFLIGHT, {"turn_id": turn_id})
    return _snapshot(row) if row else None


def has_of_session(tx: Tx, session_id: SessionId) -> bool:
    """Whether anything of this session's turns is still to be shown."""
    return tx.row(HAS_OF_SESSION, {"session_id": session_id}) is not None


def save_text(tx: Tx, turn_id: TurnId, text: str) -> None:
    """What the person has read so far."""
    tx.execute(SAVE_TEXT, {"turn_id": turn_id, "text": text})


def save_message(tx: Tx, turn_id: TurnId, message: str) -> bool:
    """What the agent is given. False, and nothing changed, when it is larger than a snapshot holds."""
    if len(message.encode()) > MESSAGE_LIMIT_BYTES:
        return False
    return tx.execute(SAVE_MESSAGE, {"turn_id": turn_id, "message": message}) == 1


def set_reaction(tx: Tx, turn_id: TurnId, reaction_id: ReactionId) -> None:
    tx.execute(SET_REACTION, {"turn_id": turn_id, "reaction_id": reaction_id})


def set_place(tx: Tx, turn_id: TurnId, route_key: ConversationKey | None, in_thread: bool) -> None:
    """Where this turn's messages go, once it is known."""
    tx.execute(SET_PLACE, {"turn_id": turn_id, "route_key": route_key, "in_thread": int(in_thread)})


def set_anchor(tx: Tx, turn_id: TurnId, message_id: MessageId, chat_id: ChatId) -> None:
    """The main card of a turn without a message is there, in this chat: what follows hangs under it. What opens its
    topic has become an intent."""
    tx.execute(SET_ANCHOR, {"turn_id": turn_id, "message_id": message_id, "chat_id": chat_id})


def count_start(tx: Tx, turn_id: TurnId) -> None:
    """One more preparation of this turn has begun."""
    tx.execute(COUNT_START, {"turn_id": turn_id})


def delete_snapshot(tx: Tx, turn_id: TurnId) -> None:
    tx.execute(DELETE_INFLIGHT, {"turn_id": turn_id})


def stale_snapshots(tx: Tx, before: int, limit: int) -> list[TurnId]:
    """Turns whose snapshot was begun before that moment, the oldest first."""
    return [TurnId(row[0]) for row in tx.rows(SELECT_STALE, {"before": before, "limit": limit})]


def count_snapshots(tx: Tx) -> int:
    row = tx.row(COUNT_INFLIGHT)
    return int(row[0]) if row else 0


def cards_of(tx: Tx, turn_id: TurnId) -> list[SegmentCard]:
    return [_card(row) for row in tx.rows(SELECT_CARDS, {"turn_id": turn_id})]


def insert_card(tx: Tx, turn_id: TurnId, segment: int, mode: str, uuid: SendUuid, sequence: int) -> bool:
    """One more segment; `sequence` is the block that the live lane may use. False when it exists already."""
    values = {"turn_id": turn_id, "segment": segment, "mode": mode, "uuid": uuid, "sequence": sequence}
    return tx.execute(INSERT_CARD, values) == 1


def set_card_id(tx: Tx, turn_id: TurnId, segment: int, card_id: CardId) -> None:
    tx.execute(SET_CARD_ID, {"turn_id": turn_id, "segment": segment, "card_id": card_id})


def set_card_message(tx: Tx, turn_id: TurnId, segment: int, message_id: MessageId) -> None:
    tx.execute(SET_MESSAGE_ID, {"turn_id": turn_id, "segment": segment, "message_id": message_id})


def set_unsure(tx: Tx, turn_id: TurnId, segment: int) -> None:
    """An update of this card may still arrive late."""
    tx.execute(SET_UNSURE, {"turn_id": turn_id, "segment": segment})


def adopt_card(
    tx: Tx, turn_id: TurnId, uuid: SendUuid, card_id: CardId | None, message_id: MessageId, sequence: int
) -> None:
    """A turn that goes on in a card that is there already."""
    values = {"turn_id": turn_id, "uuid": uuid, "card_id": card_id, "message_id": message_id, "sequence": sequence}
    tx.execute(ADOPT_CARD, values)


def set_mode(tx: Tx, turn_id: TurnId, segment: int, mode: str) -> None:
    tx.execute(SET_MODE, {"turn_id": turn_id, "segment": segment, "mode": mode})


def reserve_sequences(tx: Tx, turn_id: TurnId, segment: int, count: int) -> int:
    """The first of `count` sequence numbers that nobody has used; 0 when the card is unknown."""
    values = {"turn_id": turn_id, "segment": segment}
    if tx.execute(RESERVE_SEQUENCE, {**values, "count": count}) == 0:
        return 0
    row = tx.row(SELECT_SEQUENCE, values)
    assert row is not None
    return int(row[0]) - count + 1


def leap_sequences(tx: Tx, count: int) -> int:
    """Skip so many sequence numbers of every card: somebody whom this file does not know may have used some."""
    return tx.execute(LEAP_SEQUENCES, {"count": count})


def turn_of_card(tx: Tx, message_id: MessageId) -> TurnId | None:
    row = tx.row(TURN_OF_CARD, {"message_id": message_id})
    return TurnId(row[0]) if row else None
