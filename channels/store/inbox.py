"""Tables `processed` and `inbox`: the messages that came in, each once."""

from dataclasses import dataclass
from typing import Any

from channels.ids import ChatId, ConversationKey, MessageId, OwnerEpoch, TurnId, UserId
from channels.rules.gathering import Waiting
from channels.rules.message import Envelope
from channels.store.tx import Tx

REGISTER = """
INSERT INTO processed (message_id, processed_at) SELECT :message_id, :now
WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE message_id = :message_id) ON CONFLICT (message_id) DO NOTHING
"""
FORGET_PROCESSED = "DELETE FROM processed WHERE processed_at < :before"
INSERT_ROW = """
INSERT INTO inbox (message_id, conversation, chat_id, chat_type, sender_user_id, create_time, received_at, owner_epoch,
                   payload, state, verdict, terminal_at, origin)
VALUES (:message_id, :conversation, :chat_id, :chat_type, :sender_user_id, :create_time, :now, :owner_epoch,
        :payload, :state, :verdict, :terminal_at, :origin)
"""
_KNOWN = "SELECT 1 FROM {} WHERE message_id = :message_id"
IS_PROCESSED = f"{_KNOWN.format('processed')} UNION ALL {_KNOWN.format('inbox')}"
SET_ACCEPTED = "UPDATE inbox SET state = 'accepted' WHERE message_id = :message_id AND state = 'asked'"
SET_ASKED_TERMINAL = """
UPDATE inbox SET state = 'dropped', verdict = :verdict, terminal_at = :now
WHERE message_id = :message_id AND state = 'asked'
"""
HOLD_OPEN = """
UPDATE inbox SET state = CASE state WHEN 'accepted' THEN 'held' ELSE state END, verdict = 'restored', due_at = 0
WHERE state IN ('accepted', 'held', 'kept', 'asked')
"""
HOLD = "UPDATE inbox SET state = 'held', verdict = 'restored' WHERE message_id = :message_id AND state = 'accepted'"
SET_COMPARED = """
UPDATE inbox SET state = :state, verdict = NULL, due_at = 0
WHERE message_id = :message_id AND verdict = 'restored' AND terminal_at IS NULL
"""
PUT_OFF = "UPDATE inbox SET due_at = :due_at WHERE message_id = :message_id AND terminal_at IS NULL"
COUNT_HELD = "SELECT count(*) FROM inbox WHERE verdict = 'restored' AND terminal_at IS NULL"
ROWS_PER_CONVERSATION = 20
_COLUMNS = (
    "message_id, conversation, chat_id, chat_type, sender_user_id, create_time, owner_epoch, payload, attempts,"
    " received_at"
)
SELECT_OPEN = f"""
WITH due AS (
  SELECT message_id, create_time,
         row_number() OVER (PARTITION BY conversation ORDER BY create_time, message_id) AS place
  FROM inbox WHERE state = 'accepted' AND due_at <= :now
  UNION ALL
  SELECT message_id, create_time, 0 FROM inbox WHERE verdict = 'gathering' AND state = 'held' AND due_at <= :now
), page AS (
  SELECT message_id, place FROM due WHERE place <= :each ORDER BY place, create_time, message_id
  LIMIT :limit OFFSET :skip
)
SELECT {_COLUMNS} FROM page JOIN inbox USING (message_id) ORDER BY place, create_time, message_id
"""
HOLD_GATHERING = """
UPDATE inbox SET state = 'held', verdict = 'gathering', due_at = :due_at
WHERE message_id = :message_id AND state = 'accepted'
"""
WAIT_ALONG = """
UPDATE inbox SET due_at = :due_at
WHERE verdict = 'gathering' AND state = 'held' AND conversation = :conversation AND sender_user_id = :sender_user_id
"""
END_GATHERING = """
UPDATE inbox SET state = 'accepted', due_at = 0
WHERE message_id = :message_id AND state = 'held' AND verdict = 'gathering'
"""
MARK_GATHERING = "UPDATE inbox SET verdict = 'gathering' WHERE message_id = :message_id AND state = 'accepted'"
SELECT_GATHERING = """
SELECT message_id, create_time, received_at FROM inbox
WHERE verdict = 'gathering' AND terminal_at IS NULL AND conversation = :conversation
AND sender_user_id = :sender_user_id ORDER BY create_time, message_id
"""
SELECT_BY_TURN = f"""
SELECT {_COLUMNS} FROM inbox WHERE turn = :turn AND terminal_at IS NULL ORDER BY create_time, message_id
"""
SELECT_HELD = f"""
SELECT {_COLUMNS}, state FROM inbox WHERE verdict = 'restored' AND terminal_at IS NULL AND due_at <= :now
ORDER BY create_time, message_id LIMIT :limit
"""
SELECT_STATE = "SELECT state, verdict FROM inbox WHERE message_id = :message_id"
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
KEEP = "UPDATE inbox SET state = 'kept' WHERE message_id = :message_id AND state IN ('accepted', 'held')"
_KEPT = "WHERE sender_user_id = :user_id AND state = 'kept'"
RELEASE_KEPT = f"UPDATE inbox SET state = CASE verdict WHEN 'restored' THEN 'held' ELSE 'accepted' END {_KEPT}"
REFUSE_KEPT = f"UPDATE inbox SET state = 'refused', verdict = :verdict, terminal_at = :now {_KEPT}"
COUNT_KEPT = f"SELECT count(*) FROM inbox {_KEPT}"
SELECT_KEPT = "SELECT sender_user_id FROM inbox WHERE message_id = :message_id AND state = 'kept'"
SELECT_KEEPERS = "SELECT DISTINCT sender_user_id FROM inbox WHERE state = 'kept'"
TURN_OF_MESSAGE = "SELECT turn FROM inbox WHERE message_id = :message_id"
COUNT_BY_STATE = "SELECT state, count(*), min(received_at) FROM inbox WHERE terminal_at IS NULL GROUP BY state"
IS_UNSETTLED = "SELECT 1 FROM inbox WHERE conversation = :conversation AND terminal_at IS NULL LIMIT 1"
COUNT_BOT_ANSWERS = """
SELECT count(*) FROM inbox WHERE chat_id = :chat_id AND sender_user_id = '' AND received_at >= :since
AND turn IS NOT NULL
"""
SELECT_NEWEST_SENDERS = """
SELECT sender_user_id FROM inbox WHERE sender_user_id <> '' ORDER BY received_at DESC LIMIT :limit
"""


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
    received_at: int = 0


def _from_row(row: tuple[Any, ...]) -> InboxRow:
    return InboxRow(*row)


def register(tx: Tx, message_id: MessageId, now: int) -> bool:
    """The gate: True for the first delivery of this message id, False for every later one, entry swept or not."""
    return tx.execute(REGISTER, {"message_id": message_id, "now": now}) == 1


def insert_row(
    tx: Tx,
    envelope: Envelope,
    payload: str,
    epoch: OwnerEpoch,
    drop_reason: str | None,
    now: int,
    *,
    asked: bool = False,
    origin: str = "live",
) -> None:
    """The accepted message, or the record that it was dropped at the door and why; `asked`: it waits for a person."""
    tx.execute(
        INSERT_ROW,
        {
            "message_id": envelope.message_id,
            "conversation": envelope.conversation,
            "chat_id": envelope.chat_id,
            "chat_type": envelope.known_chat_type,
            "sender_user_id": envelope.sender.user_id,
            "create_time": envelope.create_time_ms,
            "now": now,
            "owner_epoch": epoch,
            "payload": payload,
            "state": "dropped" if drop_reason else "asked" if asked else "accepted",
            "verdict": drop_reason,
            "terminal_at": now if drop_reason else None,
            "origin": origin,
        },
    )


def is_processed(tx: Tx, message_id: MessageId) -> bool:
    """Whether the gate has let this message through already."""
    return tx.row(IS_PROCESSED, {"message_id": message_id}) is not None


def release_asked(tx: Tx, message_id: MessageId) -> bool:
    """A person wants it answered: it takes its place in its conversation. Guarded: False when nobody asked about it."""
    return tx.execute(SET_ACCEPTED, {"message_id": message_id}) == 1


def drop_asked(tx: Tx, message_id: MessageId, verdict: str, now: int) -> bool:
    """A person does not want it answered. Guarded: False when it was not asked about."""
    return tx.execute(SET_ASKED_TERMINAL, {"message_id": message_id, "verdict": verdict, "now": now}) == 1


def keep(tx: Tx, message_id: MessageId) -> bool:
    """Nobody has let its author in yet: it waits outside its conversation's order. Guarded."""
    return tx.execute(KEEP, {"message_id": message_id}) == 1


def release_kept(tx: Tx, user_id: UserId) -> int:
    """What this person has written takes its place in its conversation."""
    return tx.execute(RELEASE_KEPT, {"user_id": user_id})


def refuse_kept(tx: Tx, user_id: UserId, verdict: str, now: int) -> int:
    """What this person has written stays unanswered."""
    return tx.execute(REFUSE_KEPT, {"user_id": user_id, "verdict": verdict, "now": now})


def count_kept(tx: Tx, user_id: UserId) -> int:
    return sum(row[0] for row in tx.rows(COUNT_KEPT, {"user_id": user_id}))


def author_of_kept(tx: Tx, message_id: MessageId) -> UserId | None:
    return next((UserId(row[0]) for row in tx.rows(SELECT_KEPT, {"message_id": message_id})), None)


def keepers(tx: Tx) -> list[UserId]:
    """Whose messages are kept."""
    return [UserId(row[0]) for row in tx.rows(SELECT_KEEPERS)]


def open_rows(tx: Tx, now: int, limit: int, skip: int = 0, each: int = ROWS_PER_CONVERSATION) -> list[InboxRow]:
    """Accepted rows that are due, and those that have waited long enough for company; at most `each` of a
    conversation. The oldest of every conversation come before the second of any, so that those that wait hide none."""
    values = {"now": now, "limit": limit, "skip": skip, "each": each}
    return [_from_row(row) for row in tx.rows(SELECT_OPEN, values)]


def is_accepted(tx: Tx, message_id: MessageId) -> bool:
    row = tx.row(SELECT_STATE, {"message_id": message_id})
    return row is not None and row[0] == "accepted"


def is_asked(tx: Tx, message_id: MessageId) -> bool:
    """Whether a pending card asks what to do with this message."""
    row = tx.row(SELECT_STATE, {"message_id": message_id})
    return row is not None and row[0] == "asked"


def take_up(tx: Tx, message_id: MessageId) -> str | None:
    """Whether this row is to be decided now: its verdict so far ("gathering" if it has waited for company), else None.

    One that still waited is accepted from here on, and has its place in the order.
    """
    row = tx.row(SELECT_STATE, {"message_id": message_id})
    if row is None:
        return None
    state, verdict = row
    if (state, verdict) == ("held", "gathering"):
        tx.execute(END_GATHERING, {"message_id": message_id})
    elif state != "accepted":
        return None
    return str(verdict or "")


def hold_for_company(tx: Tx, row: InboxRow, until: int) -> None:
    """This message waits outside the order, and what the same person has waiting here waits along."""
    tx.execute(HOLD_GATHERING, {"message_id": row.message_id, "due_at": until})
    values = {"conversation": row.conversation, "sender_user_id": row.sender_user_id}
    tx.execute(WAIT_ALONG, {**values, "due_at": until})


def keep_with_company(tx: Tx, message_id: MessageId) -> None:
    """This message cannot be decided yet, and belongs to what waited for it."""
    tx.execute(MARK_GATHERING, {"message_id": message_id})


def gathering(tx: Tx, row: InboxRow) -> list[Waiting]:
    """What the same person has waiting, or had, in this conversation, oldest first."""
    values = {"conversation": row.conversation, "sender_user_id": row.sender_user_id}
    return [
        Waiting(MessageId(message_id), create_time, received_at)
        for message_id, create_time, received_at in tx.rows(SELECT_GATHERING, values)
    ]


def rows_of_turn(tx: Tx, turn_id: TurnId) -> list[InboxRow]:
    """The messages of a turn that has not ended, oldest first; those that were taken back are not among them."""
    return [_from_row(row) for row in tx.rows(SELECT_BY_TURN, {"turn": turn_id})]


def hold_open(tx: Tx) -> int:
    """A restored file: nothing that waits is decided before it was compared with history."""
    return tx.execute(HOLD_OPEN)


def hold(tx: Tx, message_id: MessageId) -> bool:
    """The same for one message that has just been accepted."""
    return tx.execute(HOLD, {"message_id": message_id}) == 1


def held_rows(tx: Tx, now: int, limit: int) -> list[tuple[InboxRow, str]]:
    """Messages that wait for their comparison and are due, with their state, oldest first."""
    return [(_from_row(row[:-1]), row[-1]) for row in tx.rows(SELECT_HELD, {"now": now, "limit": limit})]


def count_held(tx: Tx) -> int:
    row = tx.row(COUNT_HELD)
    return int(row[0]) if row else 0


def put_off(tx: Tx, message_id: MessageId, due_at: int) -> None:
    """Not before this moment; no attempt to decide it was made."""
    tx.execute(PUT_OFF, {"message_id": message_id, "due_at": due_at})


def set_compared(tx: Tx, message_id: MessageId, state: str) -> bool:
    """History has no answer to it: it goes on as accepted or asked, or stays kept. Guarded."""
    return tx.execute(SET_COMPARED, {"message_id": message_id, "state": state}) == 1


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


def is_unsettled(tx: Tx, conversation: ConversationKey) -> bool:
    """Whether a message of this conversation still waits for its decision, its answer or a person."""
    return tx.row(IS_UNSETTLED, {"conversation": conversation}) is not None


def count_bot_answers(tx: Tx, chat_id: ChatId, since: int) -> int:
    """How many messages of other bots in this chat got a turn since then."""
    row = tx.row(COUNT_BOT_ANSWERS, {"chat_id": chat_id, "since": since})
    return int(row[0]) if row else 0


def newest_senders(tx: Tx, limit: int) -> list[UserId]:
    """Who wrote last, newest first."""
    return [UserId(row[0]) for row in tx.rows(SELECT_NEWEST_SENDERS, {"limit": limit})]


def forget(tx: Tx, processed_before: int, payloads_before: int) -> int:
    """Retention: old gate entries and payloads of rows long ended. Returns how many rows it touched."""
    touched = tx.execute(FORGET_PROCESSED, {"before": processed_before})
    return touched + tx.execute(CLEAR_PAYLOADS, {"before": payloads_before})
