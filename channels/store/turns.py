"""Tables `turns`, `inflight`, `inflight_cards`: runs of agents, and what is needed to repair their cards."""

from dataclasses import dataclass
from typing import Any

from channels.ids import (
    CardId,
    ChatId,
    ConversationKey,
    MessageId,
    OwnerEpoch,
    ReactionId,
    SendUuid,
    SessionId,
    StartEpoch,
    TurnId,
    UserId,
)
from channels.store.tx import Tx

_TURN = (
    "turn_id, cause, cause_id, session_id, sender_user_id, state, start_epoch, owner_epoch, stop_requested, outcome,"
    " queued_at, entered_at, ended_at"
)
INSERT_TURN = """
INSERT INTO turns (turn_id, cause, cause_id, session_id, sender_user_id, state, start_epoch, owner_epoch, queued_at)
VALUES (:turn_id, :cause, :cause_id, :session_id, :sender_user_id, 'queued', 1, :owner_epoch, :now)
"""
SELECT_TURN = f"SELECT {_TURN} FROM turns WHERE turn_id = :turn_id"
SELECT_TURN_BY_CAUSE = f"SELECT {_TURN} FROM turns WHERE cause = :cause AND cause_id = :cause_id"
SELECT_UNKNOWN = f"SELECT {_TURN} FROM turns WHERE state = 'unknown' ORDER BY seq LIMIT :limit"
SELECT_OPEN_OF_SESSION = f"""
SELECT {_TURN} FROM turns WHERE session_id = :session_id AND state IN ('queued', 'entered') ORDER BY seq
"""
SELECT_RUNNABLE = f"""
SELECT {_TURN} FROM turns AS mine WHERE state = 'queued' AND owner_epoch = :owner_epoch AND NOT EXISTS (
  SELECT 1 FROM turns AS other WHERE other.session_id = mine.session_id AND other.state IN ('queued', 'entered')
  AND other.seq < mine.seq) ORDER BY seq LIMIT :limit
"""
SELECT_NEWEST_OPEN = """
SELECT turns.turn_id FROM turns JOIN inflight USING (turn_id)
WHERE inflight.chat_id = :chat_id AND turns.sender_user_id = :user_id AND turns.state IN ('queued', 'entered')
ORDER BY turns.state = 'entered' DESC, turns.seq DESC LIMIT 1
"""
HAS_WAITED = """
SELECT 1 FROM turns AS mine JOIN turns AS other ON other.session_id = mine.session_id AND other.seq < mine.seq
WHERE mine.turn_id = :turn_id AND (other.ended_at IS NULL OR other.ended_at >= mine.queued_at) LIMIT 1
"""
IS_BUSY = "SELECT 1 FROM turns WHERE session_id = :session_id AND state IN ('queued', 'entered') LIMIT 1"
ENTER = """
UPDATE turns SET state = 'entered', entered_at = :now
WHERE turn_id = :turn_id AND state = 'queued' AND start_epoch = :start_epoch AND owner_epoch = :owner_epoch
AND stop_requested = 0
"""
END = """
UPDATE turns SET state = 'ended', outcome = CASE stop_requested WHEN 1 THEN 'stopped' ELSE :outcome END, ended_at = :now
WHERE turn_id = :turn_id AND state <> 'ended' AND start_epoch = :start_epoch AND owner_epoch = :owner_epoch
"""
REQUEST_STOP = "UPDATE turns SET stop_requested = 1 WHERE turn_id = :turn_id AND state <> 'ended'"
REOWN_QUEUED = """
UPDATE turns SET owner_epoch = :epoch, start_epoch = start_epoch + 1 WHERE state = 'queued' AND owner_epoch < :epoch
"""
INTERRUPT_QUEUED = """
UPDATE turns SET state = 'unknown', start_epoch = start_epoch + 1 WHERE state = 'queued' AND owner_epoch < :epoch
"""
INTERRUPT_WORN_OUT = """
UPDATE turns SET state = 'unknown', start_epoch = start_epoch + 1 WHERE state = 'queued' AND turn_id IN (
  SELECT turn_id FROM inflight WHERE attempts >= :most)
"""
DEPOSE_ENTERED = """
UPDATE turns SET state = 'unknown', start_epoch = start_epoch + 1 WHERE state = 'entered' AND owner_epoch < :epoch
"""
ADOPT = """
UPDATE turns SET owner_epoch = :epoch, start_epoch = start_epoch + 1
WHERE turn_id = :turn_id AND state = 'unknown' AND owner_epoch < :epoch
"""
COUNT_BY_STATE = "SELECT state, count(*) FROM turns WHERE state <> 'ended' GROUP BY state"
COUNT_BY_OUTCOME = "SELECT outcome, count(*) FROM turns WHERE state = 'ended' GROUP BY outcome"

_INFLIGHT = (
    "turn_id, session_id, chat_id, chat_type, trigger_message_id, in_thread, reaction_id, route_key, message,"
    " sender_user_id, last_text, started_at, attempts"
)
INSERT_INFLIGHT = """
INSERT INTO inflight (turn_id, session_id, chat_id, chat_type, trigger_message_id, in_thread, route_key, message,
                      sender_user_id, started_at)
VALUES (:turn_id, :session_id, :chat_id, :chat_type, :trigger_message_id, :in_thread, :route_key, :message,
        :sender_user_id, :now)
"""
SELECT_INFLIGHT = f"SELECT {_INFLIGHT} FROM inflight WHERE turn_id = :turn_id"
SAVE_TEXT = "UPDATE inflight SET last_text = :text WHERE turn_id = :turn_id"
SET_REACTION = "UPDATE inflight SET reaction_id = :reaction_id WHERE turn_id = :turn_id"
SET_PLACE = "UPDATE inflight SET route_key = :route_key, in_thread = :in_thread WHERE turn_id = :turn_id"
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
TURN_OF_CARD = "SELECT turn_id FROM inflight_cards WHERE message_id = :message_id"
COUNT_INFLIGHT = "SELECT count(*) FROM inflight"

MESSAGE_LIMIT_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class Turn:
    turn_id: TurnId
    cause: str
    cause_id: str
    session_id: SessionId
    sender_user_id: UserId | None
    state: str
    start_epoch: StartEpoch
    owner_epoch: OwnerEpoch
    stop_requested: bool
    outcome: str | None
    queued_at: int
    entered_at: int | None
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The row that can repair a turn after a crash. `message` is what the agent is given, as JSON, if ≤ 256 KiB."""

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


def _turn(row: tuple[Any, ...]) -> Turn:
    values = list(row)
    values[8] = bool(values[8])
    return Turn(*values)


def _snapshot(row: tuple[Any, ...]) -> Snapshot:
    values = list(row)
    values[5] = bool(values[5])
    return Snapshot(*values)


def _card(row: tuple[Any, ...]) -> SegmentCard:
    values = list(row)
    values[7] = bool(values[7])
    return SegmentCard(*values)


def insert_turn(
    tx: Tx,
    turn_id: TurnId,
    cause: str,
    cause_id: str,
    session_id: SessionId,
    sender_user_id: UserId | None,
    epoch: OwnerEpoch,
    now: int,
) -> None:
    """A queued turn under start epoch 1. Raises sqlite3.IntegrityError for a cause that has its turn already."""
    tx.execute(
        INSERT_TURN,
        {
            "turn_id": turn_id,
            "cause": cause,
            "cause_id": cause_id,
            "session_id": session_id,
            "sender_user_id": sender_user_id,
            "owner_epoch": epoch,
            "now": now,
        },
    )


def find_turn(tx: Tx, turn_id: TurnId) -> Turn | None:
    row = tx.row(SELECT_TURN, {"turn_id": turn_id})
    return _turn(row) if row else None


def find_turn_by_cause(tx: Tx, cause: str, cause_id: str) -> Turn | None:
    row = tx.row(SELECT_TURN_BY_CAUSE, {"cause": cause, "cause_id": cause_id})
    return _turn(row) if row else None


def runnable_turns(tx: Tx, epoch: OwnerEpoch, limit: int) -> list[Turn]:
    """The first queued turn of every session that has none entered, oldest first."""
    return [_turn(row) for row in tx.rows(SELECT_RUNNABLE, {"owner_epoch": epoch, "limit": limit})]


def unknown_turns(tx: Tx, limit: int) -> list[Turn]:
    return [_turn(row) for row in tx.rows(SELECT_UNKNOWN, {"limit": limit})]


def open_turns_of_session(tx: Tx, session_id: SessionId) -> list[Turn]:
    """Queued and entered turns in order."""
    return [_turn(row) for row in tx.rows(SELECT_OPEN_OF_SESSION, {"session_id": session_id})]


def newest_open_turn(tx: Tx, chat_id: ChatId, user_id: UserId) -> TurnId | None:
    """The newest running (else waiting) turn that this person drives in this chat."""
    row = tx.row(SELECT_NEWEST_OPEN, {"chat_id": chat_id, "user_id": user_id})
    return TurnId(row[0]) if row else None


def has_waited(tx: Tx, turn_id: TurnId) -> bool:
    """Whether another turn of the session was still open when this one was queued: its card says so."""
    return tx.row(HAS_WAITED, {"turn_id": turn_id}) is not None


def is_session_busy(tx: Tx, session_id: SessionId) -> bool:
    return tx.row(IS_BUSY, {"session_id": session_id}) is not None


def enter_turn(tx: Tx, turn_id: TurnId, start_epoch: StartEpoch, epoch: OwnerEpoch, now: int) -> bool:
    """queued → entered, only for exactly this start of this owner and unless a stop was asked for."""
    values = {"turn_id": turn_id, "start_epoch": start_epoch, "owner_epoch": epoch, "now": now}
    return tx.execute(ENTER, values) == 1


def end_turn(tx: Tx, turn_id: TurnId, start_epoch: StartEpoch, epoch: OwnerEpoch, outcome: str, now: int) -> bool:
    """The turn has an outcome (stopped, if a stop was asked for). Guarded by both epochs."""
    values = {"turn_id": turn_id, "start_epoch": start_epoch, "owner_epoch": epoch, "outcome": outcome, "now": now}
    return tx.execute(END, values) == 1


def request_stop(tx: Tx, turn_id: TurnId) -> bool:
    return tx.execute(REQUEST_STOP, {"turn_id": turn_id}) == 1


def reown_queued(tx: Tx, epoch: OwnerEpoch) -> int:
    """Queued turns of older owners start again under the next start epoch."""
    return tx.execute(REOWN_QUEUED, {"epoch": epoch})


def interrupt_queued(tx: Tx, epoch: OwnerEpoch) -> int:
    """Queued turns of older owners are not started again: they will end as interrupted."""
    return tx.execute(INTERRUPT_QUEUED, {"epoch": epoch})


def interrupt_worn_out(tx: Tx, most: int) -> int:
    """Queued turns whose preparation was begun too often end as interrupted."""
    return tx.execute(INTERRUPT_WORN_OUT, {"most": most})


def depose_entered(tx: Tx, epoch: OwnerEpoch) -> int:
    """Turns that an older owner had entered are unknown from now on: its lease holds no more, and their sessions take
    new turns at once."""
    return tx.execute(DEPOSE_ENTERED, {"epoch": epoch})


def adopt_unknown(tx: Tx, turn_id: TurnId, epoch: OwnerEpoch) -> bool:
    """Take an unknown turn of an older owner over, so that this owner may end it."""
    return tx.execute(ADOPT, {"turn_id": turn_id, "epoch": epoch}) == 1


def count_turns(tx: Tx) -> dict[str, int]:
    """How many turns per open state, and per outcome."""
    counts = dict(tx.rows(COUNT_BY_STATE))
    return counts | dict(tx.rows(COUNT_BY_OUTCOME))


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
            "now": now,
        },
    )


def find_snapshot(tx: Tx, turn_id: TurnId) -> Snapshot | None:
    row = tx.row(SELECT_INFLIGHT, {"turn_id": turn_id})
    return _snapshot(row) if row else None


def save_text(tx: Tx, turn_id: TurnId, text: str) -> None:
    """What the person has read so far."""
    tx.execute(SAVE_TEXT, {"turn_id": turn_id, "text": text})


def set_reaction(tx: Tx, turn_id: TurnId, reaction_id: ReactionId) -> None:
    tx.execute(SET_REACTION, {"turn_id": turn_id, "reaction_id": reaction_id})


def set_place(tx: Tx, turn_id: TurnId, route_key: ConversationKey | None, in_thread: bool) -> None:
    """Where this turn's messages go, once it is known."""
    tx.execute(SET_PLACE, {"turn_id": turn_id, "route_key": route_key, "in_thread": int(in_thread)})


def count_start(tx: Tx, turn_id: TurnId) -> None:
    """One more preparation of this turn has begun."""
    tx.execute(COUNT_START, {"turn_id": turn_id})


def delete_snapshot(tx: Tx, turn_id: TurnId) -> None:
    tx.execute(DELETE_INFLIGHT, {"turn_id": turn_id})


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


def turn_of_card(tx: Tx, message_id: MessageId) -> TurnId | None:
    row = tx.row(TURN_OF_CARD, {"message_id": message_id})
    return TurnId(row[0]) if row else None
