"""Tables `processed`, `inbox`, `events`, `cursors`: what came in, each thing once."""

from dataclasses import dataclass
from typing import Any

from channels.ids import ChatId, ConversationKey, EventId, MessageId, OwnerEpoch, TurnId, UserId
from channels.rules.message import Envelope
from channels.store.tx import Tx

REGISTER = """
INSERT INTO processed (message_id, processed_at) VALUES (:message_id, :now) ON CONFLICT (message_id) DO NOTHING
"""
FORGET_PROCESSED = "DELETE FROM processed WHERE processed_at < :before"
INSERT_ROW = """
INSERT INTO inbox (message_id, conversation, chat_id, chat_type, sender_user_id, create_time, received_at, owner_epoch,
                   payload, state, verdict, terminal_at)
VALUES (:message_id, :conversation, :chat_id, :chat_type, :sender_user_id, :create_time, :now, :owner_epoch,
        :payload, :state, :verdict, :terminal_at)
"""
MOVE_CURSOR = """
INSERT INTO cursors (container, kind, create_time, message_id) VALUES (:container, :kind, :create_time, :message_id)
ON CONFLICT (container) DO UPDATE SET create_time = excluded.create_time, message_id = excluded.message_id
WHERE (excluded.create_time, excluded.message_id) > (cursors.create_time, cursors.message_id)
"""
_COLUMNS = "message_id, conversation, chat_id, chat_type, sender_user_id, create_time, owner_epoch, payload, attempts"
SELECT_OPEN = f"""
SELECT {_COLUMNS} FROM inbox WHERE state = 'accepted' AND due_at <= :now
ORDER BY create_time, message_id LIMIT :limit
"""
SELECT_STATE = "SELECT state FROM inbox WHERE message_id = :message_id"
COUNT_EARLIER = """
SELECT count(*) FROM inbox WHERE state = 'accepted' AND conversation = :conversation
AND (create_time, message_id) < (:create_time, :message_id)
"""
SET_QUEUED = """
UPDATE inbox SET state = 'queued', turn = :turn, verdict = :verdict
WHERE message_id = :message_id AND state IN ('accepted', 'held', 'kept', 'asked')
"""
SET_TERMINAL = """
UPDATE inbox SET state = :state, verdict = :verdict, terminal_at = :now
WHERE message_id = :message_id AND terminal_at IS NULL
"""
SET_TERMINAL_BY_TURN = """
UPDATE inbox SET state = 'done', terminal_at = :now WHERE turn = :turn AND terminal_at IS NULL
"""
COUNT_ATTEMPT = """
UPDATE inbox SET attempts = attempts + 1, due_at = :due_at WHERE message_id = :message_id AND terminal_at IS NULL
"""
CLEAR_PAYLOADS = "UPDATE inbox SET payload = NULL WHERE terminal_at < :before AND payload IS NOT NULL"
TURN_OF_MESSAGE = "SELECT turn FROM inbox WHERE message_id = :message_id"
COUNT_BY_STATE = "SELECT state, count(*), min(received_at) FROM inbox WHERE terminal_at IS NULL GROUP BY state"
INSERT_EVENT = """
INSERT INTO events (event_id, kind, subject, outcome, at) VALUES (:event_id, :kind, :subject, :outcome, :now)
ON CONFLICT (event_id) DO NOTHING
"""
SET_OUTCOME = "UPDATE events SET outcome = :outcome WHERE event_id = :event_id"
SELECT_BY_SUBJECT = "SELECT 1 FROM events WHERE kind = :kind AND subject = :subject LIMIT 1"
FORGET_EVENTS = "DELETE FROM events WHERE at < :before"


@dataclass(frozen=True, slots=True)
class InboxRow:
    """An accepted message that waits for its decision. `payload` is the event's JSON as it came."""

    message_id: MessageId
    conversation: ConversationKey
    chat_id: ChatId
    chat_type: str
    sender_user_id: UserId
    create_time: int
    owner_epoch: OwnerEpoch
    payload: str
    attempts: int


def _from_row(row: tuple[Any, ...]) -> InboxRow:
    return InboxRow(*row)


def register(tx: Tx, message_id: MessageId, now: int) -> bool:
    """The gate: True for the first delivery of this message id, False for every later one."""
    return tx.execute(REGISTER, {"message_id": message_id, "now": now}) == 1


def insert_row(tx: Tx, envelope: Envelope, payload: str, epoch: OwnerEpoch, drop_reason: str | None, now: int) -> None:
    """The accepted message, or the record that it was dropped at the door and why."""
    tx.execute(
        INSERT_ROW,
        {
            "message_id": envelope.message_id,
            "conversation": envelope.conversation,
            "chat_id": envelope.chat_id,
            "chat_type": envelope.chat_type if envelope.chat_type in ("p2p", "group") else "group",
            "sender_user_id": envelope.sender.user_id,
            "create_time": envelope.create_time_ms,
            "now": now,
            "owner_epoch": epoch,
            "payload": payload,
            "state": "dropped" if drop_reason else "accepted",
            "verdict": drop_reason,
            "terminal_at": now if drop_reason else None,
        },
    )


def move_cursor(tx: Tx, envelope: Envelope) -> None:
    """The chat's (and thread's) newest seen message; it never moves back."""
    places = [("chat", str(envelope.chat_id))]
    if envelope.thread_id:
        places.append(("thread", str(envelope.thread_id)))
    for kind, container in places:
        tx.execute(
            MOVE_CURSOR,
            {
                "container": container,
                "kind": kind,
                "create_time": envelope.create_time_ms,
                "message_id": envelope.message_id,
            },
        )


def open_rows(tx: Tx, now: int, limit: int) -> list[InboxRow]:
    """Accepted rows that are due, oldest first."""
    return [_from_row(row) for row in tx.rows(SELECT_OPEN, {"now": now, "limit": limit})]


def is_accepted(tx: Tx, message_id: MessageId) -> bool:
    row = tx.row(SELECT_STATE, {"message_id": message_id})
    return row is not None and row[0] == "accepted"


def is_head(tx: Tx, row: InboxRow) -> bool:
    """Whether no earlier message of the same conversation waits for its decision."""
    found = tx.row(
        COUNT_EARLIER,
        {"conversation": row.conversation, "create_time": row.create_time, "message_id": row.message_id},
    )
    return found is not None and found[0] == 0


def set_queued(tx: Tx, message_id: MessageId, turn_id: TurnId, verdict: str) -> bool:
    """The message has its turn. Guarded: False when somebody else has decided it."""
    return tx.execute(SET_QUEUED, {"message_id": message_id, "turn": turn_id, "verdict": verdict}) == 1


def set_terminal(tx: Tx, message_id: MessageId, state: str, verdict: str, now: int) -> bool:
    """done, dropped or refused, with the reason. Guarded: False when it already has a last state."""
    return tx.execute(SET_TERMINAL, {"message_id": message_id, "state": state, "verdict": verdict, "now": now}) == 1


def finish_rows_of_turn(tx: Tx, turn_id: TurnId, now: int) -> None:
    """Every message of an ended turn is done."""
    tx.execute(SET_TERMINAL_BY_TURN, {"turn": turn_id, "now": now})


def count_attempt(tx: Tx, message_id: MessageId, due_at: int) -> None:
    """One more attempt to decide this message has begun or failed; not before `due_at` again."""
    tx.execute(COUNT_ATTEMPT, {"message_id": message_id, "due_at": due_at})


def turn_of(tx: Tx, message_id: MessageId) -> TurnId | None:
    row = tx.row(TURN_OF_MESSAGE, {"message_id": message_id})
    return TurnId(row[0]) if row and row[0] else None


def waiting(tx: Tx) -> dict[str, tuple[int, int]]:
    """Open rows by state: (how many, received when at the earliest)."""
    return {state: (count, oldest) for state, count, oldest in tx.rows(COUNT_BY_STATE)}


def record_event(tx: Tx, event_id: EventId, kind: str, subject: str, outcome: str, now: int) -> bool:
    """One other event or click. True the first time, False for a repeat."""
    values = {"event_id": event_id, "kind": kind, "subject": subject, "outcome": outcome, "now": now}
    return tx.execute(INSERT_EVENT, values) == 1


def set_event_outcome(tx: Tx, event_id: EventId, outcome: str) -> None:
    tx.execute(SET_OUTCOME, {"event_id": event_id, "outcome": outcome})


def is_recalled(tx: Tx, message_id: MessageId) -> bool:
    """Whether a recall of this message has been seen (it may come before the message)."""
    return tx.row(SELECT_BY_SUBJECT, {"kind": "message_recalled", "subject": message_id}) is not None


def forget(tx: Tx, processed_before: int, payloads_before: int, events_before: int) -> int:
    """Retention: old gate entries, payloads of rows long ended, old events. Returns how many rows it touched."""
    touched = tx.execute(FORGET_PROCESSED, {"before": processed_before})
    touched += tx.execute(CLEAR_PAYLOADS, {"before": payloads_before})
    return touched + tx.execute(FORGET_EVENTS, {"before": events_before})
