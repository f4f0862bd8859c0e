"""Table `cursors`: where people write, and the newest message that was seen there."""

from channels.ids import ChatId, MessageId
from channels.rules.message import Envelope
from channels.store.tx import Tx

MOVE_CURSOR = """
INSERT INTO cursors (container, kind, create_time, message_id, chat_id, chat_type)
VALUES (:container, :kind, :create_time, :message_id, :chat_id, :chat_type)
ON CONFLICT (container) DO UPDATE SET create_time = excluded.create_time, message_id = excluded.message_id
WHERE (excluded.create_time, excluded.message_id) > (cursors.create_time, cursors.message_id)
"""
SELECT_PLACES = """
SELECT container, kind, chat_id, chat_type FROM cursors
WHERE kind = :kind AND create_time >= :since ORDER BY create_time DESC, container LIMIT :limit
"""
SELECT_NEWEST = "SELECT message_id FROM cursors WHERE container = :container"
SELECT_CHAT_TYPE = "SELECT chat_type FROM cursors WHERE container = :container AND kind = 'chat'"
FORGET_PLACES = "DELETE FROM cursors WHERE chat_id = :chat_id"


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
                "chat_id": envelope.chat_id,
                "chat_type": envelope.known_chat_type,
            },
        )


def recent_places(tx: Tx, kind: str, since_ms: int, limit: int) -> list[tuple[str, str, ChatId, str]]:
    """Chats or threads that somebody wrote in since then, newest first: (container, kind, chat_id, chat_type)."""
    return [
        (container, kind, ChatId(chat_id), chat_type)
        for container, kind, chat_id, chat_type in tx.rows(
            SELECT_PLACES, {"kind": kind, "since": since_ms, "limit": limit}
        )
    ]


def newest_message(tx: Tx, container: str) -> MessageId | None:
    """The newest message that was seen in this chat or thread."""
    row = tx.row(SELECT_NEWEST, {"container": container})
    return MessageId(row[0]) if row else None


def chat_type_of(tx: Tx, chat_id: ChatId) -> str | None:
    """p2p or group, of a chat in which somebody wrote and in which we still are."""
    row = tx.row(SELECT_CHAT_TYPE, {"container": chat_id})
    return str(row[0]) if row else None


def forget_places(tx: Tx, chat_id: ChatId) -> None:
    """We are no longer in this chat: neither it nor its threads can be read."""
    tx.execute(FORGET_PLACES, {"chat_id": chat_id})
