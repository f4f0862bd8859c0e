"""Table `events`: recalls, clicks and whatever else is not a message, each once."""

from channels.ids import EventId, MessageId
from channels.store.tx import Tx

INSERT_ROW = """
INSERT INTO events (event_id, kind, subject, outcome, at) VALUES (:event_id, :kind, :subject, :outcome, :now)
ON CONFLICT (event_id) DO NOTHING
"""
SET_OUTCOME = "UPDATE events SET outcome = :outcome WHERE event_id = :event_id"
SELECT_BY_SUBJECT = "SELECT 1 FROM events WHERE kind = :kind AND subject = :subject LIMIT 1"
COUNT_KIND = "SELECT count(*) FROM events WHERE kind = :kind"
FORGET = "DELETE FROM events WHERE at < :before"


def record(tx: Tx, event_id: EventId, kind: str, subject: str, outcome: str, now: int) -> bool:
    """One other event or click. True the first time, False for a repeat."""
    values = {"event_id": event_id, "kind": kind, "subject": subject, "outcome": outcome, "now": now}
    return tx.execute(INSERT_ROW, values) == 1


def set_outcome(tx: Tx, event_id: EventId, outcome: str) -> None:
    tx.execute(SET_OUTCOME, {"event_id": event_id, "outcome": outcome})


def is_recalled(tx: Tx, message_id: MessageId) -> bool:
    """Whether a recall of this message has been seen (it may come before the message)."""
    return tx.row(SELECT_BY_SUBJECT, {"kind": "message_recalled", "subject": message_id}) is not None


def count(tx: Tx, kind: str) -> int:
    """How many events of a kind came in since retention."""
    row = tx.row(COUNT_KIND, {"kind": kind})
    return int(row[0]) if row else 0


def forget(tx: Tx, before: int) -> int:
    """Retention. Returns how many rows went."""
    return tx.execute(FORGET, {"before": before})
