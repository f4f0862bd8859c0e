"""Tables `routes`, `expired_routes`, `establishing`: which session a conversation belongs to."""

from dataclasses import dataclass
from typing import Any

from channels.ids import ChatId, ClaimKey, ConversationKey, MessageId, OwnerEpoch, SessionId, TurnId, UserId
from channels.store.tx import Tx

_ROUTE = (
    "key, session_id, chat_id, chat_type, sender_user_id, workspace_path, card_message_id, last_activity_at,"
    " session_dir, worktree_branch"
)
SELECT_ROUTE = f"SELECT {_ROUTE} FROM routes WHERE key = :key"
SELECT_ROUTE_OF_SESSION = f"""
SELECT {_ROUTE} FROM routes WHERE session_id = :session_id ORDER BY key LIKE 'chat:%', last_activity_at DESC LIMIT 1
"""
SELECT_ALL_OF_SESSION = f"SELECT {_ROUTE} FROM routes WHERE session_id = :session_id ORDER BY key"
PUT_ROUTE = """
INSERT INTO routes (key, session_id, chat_id, chat_type, sender_user_id, workspace_path, session_dir, worktree_branch,
                    card_message_id, created_at, last_activity_at)
VALUES (:key, :session_id, :chat_id, :chat_type, :sender_user_id, :workspace_path, :session_dir, :worktree_branch,
        :card_message_id, :now, :now)
ON CONFLICT (key) DO UPDATE SET session_id = excluded.session_id, sender_user_id = excluded.sender_user_id,
                                workspace_path = excluded.workspace_path, session_dir = excluded.session_dir,
                                worktree_branch = excluded.worktree_branch, card_message_id = excluded.card_message_id,
                                last_activity_at = excluded.last_activity_at
"""
SET_FOLDER = """
UPDATE routes SET session_dir = :session_dir, worktree_branch = :worktree_branch WHERE session_id = :session_id
"""
SELECT_STALE = (
    f"SELECT {_ROUTE} FROM routes WHERE last_activity_at < :before ORDER BY last_activity_at, key LIMIT :limit"
)
DELETE_STALE = "DELETE FROM routes WHERE key = :key AND last_activity_at < :before"
PUT_TOMBSTONE = """
INSERT INTO expired_routes (thread_id, expired_at) VALUES (:key, :now) ON CONFLICT (thread_id) DO NOTHING
"""
TOUCH_ROUTE = """
UPDATE routes SET last_activity_at = :now, card_message_id = coalesce(:card_message_id, card_message_id)
WHERE key = :key AND session_id = :session_id
"""
SELECT_THREADS = """
SELECT key, chat_id, chat_type FROM routes WHERE last_activity_at >= :since AND key NOT LIKE 'chat:%'
ORDER BY last_activity_at DESC, key LIMIT :limit
"""
SELECT_CHATS = "SELECT chat_id, chat_type FROM routes GROUP BY chat_id ORDER BY max(last_activity_at) DESC, chat_id"
DELETE_ROUTE = "DELETE FROM routes WHERE key = :key"
COUNT_ROUTES = "SELECT count(*) FROM routes"
SELECT_TOMBSTONE = "SELECT 1 FROM expired_routes WHERE thread_id = :key"
_CLAIM = "message_id, key, turn_id, session_id, owner_epoch, state, due_at"
OPEN_CLAIM = """
INSERT INTO establishing (message_id, key, turn_id, session_id, owner_epoch, state, due_at)
VALUES (:message_id, :key, :turn_id, :session_id, :owner_epoch, 'open', :due_at)
"""
SELECT_CLAIM_BY_KEY = f"SELECT {_CLAIM} FROM establishing WHERE key = :key AND state = 'open'"
SELECT_CLAIM_BY_MESSAGE = f"SELECT {_CLAIM} FROM establishing WHERE message_id = :message_id"
SELECT_CLAIM_BY_TURN = f"SELECT {_CLAIM} FROM establishing WHERE turn_id = :turn_id"
SELECT_CLAIM_OF_SESSION = f"SELECT {_CLAIM} FROM establishing WHERE session_id = :session_id LIMIT 1"
SELECT_PENDING_LAUNCH = f"""
SELECT {_CLAIM} FROM establishing WHERE message_id LIKE 'launch:%' AND substr(key, 1, length(:keys)) = :keys
ORDER BY due_at LIMIT 1
"""
HANG_CLAIM = "UPDATE establishing SET message_id = :message_id WHERE turn_id = :turn_id"
SELECT_OVERDUE = f"SELECT {_CLAIM} FROM establishing WHERE state = 'open' AND due_at <= :now"
SET_UNSURE = "UPDATE establishing SET state = 'unsure' WHERE message_id = :message_id AND state = 'open'"
DELETE_CLAIM = "DELETE FROM establishing WHERE message_id = :message_id"
REOWN_CLAIMS = "UPDATE establishing SET owner_epoch = :epoch, due_at = :due_at WHERE owner_epoch < :epoch"


CHAT_KEYS = "chat:"


@dataclass(frozen=True, slots=True)
class Route:
    key: ConversationKey
    session_id: SessionId
    chat_id: ChatId
    chat_type: str
    sender_user_id: UserId
    workspace_path: str
    card_message_id: MessageId | None
    last_activity_at: int
    session_dir: str | None = None  # where the session works; None: in its workspace
    worktree_branch: str | None = None

    @property
    def is_thread(self) -> bool:
        """Whether this is a topic, which gets a tombstone; a chat outside topics has none."""
        return not self.key.startswith(CHAT_KEYS)


@dataclass(frozen=True, slots=True)
class Claim:
    """A session being established for (chat, user) by the message whose reply will make the route."""

    message_id: MessageId
    key: ClaimKey
    turn_id: TurnId
    session_id: SessionId
    owner_epoch: OwnerEpoch
    state: str
    due_at: int


def _route(row: tuple[Any, ...] | None) -> Route | None:
    return Route(*row) if row else None


def _claim(row: tuple[Any, ...] | None) -> Claim | None:
    return Claim(*row) if row else None


def find_route(tx: Tx, key: ConversationKey) -> Route | None:
    return _route(tx.row(SELECT_ROUTE, {"key": key}))


def find_route_of_session(tx: Tx, session_id: SessionId) -> Route | None:
    """The conversation that belongs to a session: its thread, else its chat route."""
    return _route(tx.row(SELECT_ROUTE_OF_SESSION, {"session_id": session_id}))


def routes_of_session(tx: Tx, session_id: SessionId) -> list[Route]:
    """Every conversation that goes on in this session."""
    return [Route(*row) for row in tx.rows(SELECT_ALL_OF_SESSION, {"session_id": session_id})]


def put_route(tx: Tx, route: Route, now: int) -> None:
    """The conversation's route; one that exists is pointed at this session. Raises sqlite3.IntegrityError under a
    tombstone."""
    tx.execute(
        PUT_ROUTE,
        {
            "key": route.key,
            "session_id": route.session_id,
            "chat_id": route.chat_id,
            "chat_type": route.chat_type,
            "sender_user_id": route.sender_user_id,
            "workspace_path": route.workspace_path,
            "session_dir": route.session_dir or route.workspace_path,
            "worktree_branch": route.worktree_branch,
            "card_message_id": route.card_message_id,
            "now": now,
        },
    )


def touch_route(
    tx: Tx, key: ConversationKey, session_id: SessionId, card_message_id: MessageId | None, now: int
) -> bool:
    """Activity on a route that still points at this session."""
    values = {"key": key, "session_id": session_id, "card_message_id": card_message_id, "now": now}
    return tx.execute(TOUCH_ROUTE, values) == 1


def set_folder(tx: Tx, session_id: SessionId, path: str, branch: str | None) -> int:
    """Every conversation of this session works there."""
    return tx.execute(SET_FOLDER, {"session_id": session_id, "session_dir": path, "worktree_branch": branch})


def stale_routes(tx: Tx, before: int, limit: int) -> list[Route]:
    """Routes without activity since then, the oldest first."""
    return [Route(*row) for row in tx.rows(SELECT_STALE, {"before": before, "limit": limit})]


def delete_stale(tx: Tx, key: ConversationKey, before: int) -> bool:
    """Guarded: False when there was activity after all."""
    return tx.execute(DELETE_STALE, {"key": key, "before": before}) == 1


def put_tombstone(tx: Tx, key: ConversationKey, now: int) -> None:
    """This topic never gets a session again."""
    tx.execute(PUT_TOMBSTONE, {"key": key, "now": now})


def delete_route(tx: Tx, key: ConversationKey) -> bool:
    """`/new`: the next message of this conversation starts another session."""
    return tx.execute(DELETE_ROUTE, {"key": key}) == 1


def routed_threads(tx: Tx, since: int, limit: int) -> list[tuple[str, ChatId, str]]:
    """Topics with a session and activity since then, newest first: (thread_id, chat_id, chat_type)."""
    return [
        (key, ChatId(chat_id), chat_type)
        for key, chat_id, chat_type in tx.rows(SELECT_THREADS, {"since": since, "limit": limit})
    ]


def routed_chats(tx: Tx) -> list[tuple[ChatId, str]]:
    """Chats with a session, newest activity first: (chat_id, chat_type)."""
    return [(ChatId(chat_id), chat_type) for chat_id, chat_type in tx.rows(SELECT_CHATS)]


def count_routes(tx: Tx) -> int:
    row = tx.row(COUNT_ROUTES)
    return int(row[0]) if row else 0


def is_tombstoned(tx: Tx, key: ConversationKey) -> bool:
    return tx.row(SELECT_TOMBSTONE, {"key": key}) is not None


def open_claim(tx: Tx, claim: Claim) -> None:
    """Raises sqlite3.IntegrityError when this (chat, user) is being established already."""
    tx.execute(
        OPEN_CLAIM,
        {
            "message_id": claim.message_id,
            "key": claim.key,
            "turn_id": claim.turn_id,
            "session_id": claim.session_id,
            "owner_epoch": claim.owner_epoch,
            "due_at": claim.due_at,
        },
    )


def claim_of_key(tx: Tx, key: ClaimKey) -> Claim | None:
    """The open claim of this person in this chat."""
    return _claim(tx.row(SELECT_CLAIM_BY_KEY, {"key": key}))


def claim_of_message(tx: Tx, message_id: MessageId) -> Claim | None:
    """The claim (open or unsure) that this message made."""
    return _claim(tx.row(SELECT_CLAIM_BY_MESSAGE, {"message_id": message_id}))


def claim_of_turn(tx: Tx, turn_id: TurnId) -> Claim | None:
    return _claim(tx.row(SELECT_CLAIM_BY_TURN, {"turn_id": turn_id}))


def claim_of_session(tx: Tx, session_id: SessionId) -> Claim | None:
    """The claim (open or unsure) whose reply will make this session's route."""
    return _claim(tx.row(SELECT_CLAIM_OF_SESSION, {"session_id": session_id}))


def pending_launch(tx: Tx, keys: str) -> Claim | None:
    """A launch whose card has no message id yet, among the claims whose keys begin so."""
    return _claim(tx.row(SELECT_PENDING_LAUNCH, {"keys": keys}))


def hang_claim(tx: Tx, turn_id: TurnId, message_id: MessageId) -> bool:
    """The message under which this turn's topic will hang is there: what is written under it waits for the topic."""
    return tx.execute(HANG_CLAIM, {"turn_id": turn_id, "message_id": message_id}) == 1


def overdue_claims(tx: Tx, now: int) -> list[Claim]:
    return [Claim(*row) for row in tx.rows(SELECT_OVERDUE, {"now": now})]


def set_unsure(tx: Tx, message_id: MessageId) -> bool:
    """Close an open claim as a chat route while the reply's outcome stays unknown."""
    return tx.execute(SET_UNSURE, {"message_id": message_id}) == 1


def close_claim(tx: Tx, message_id: MessageId) -> bool:
    return tx.execute(DELETE_CLAIM, {"message_id": message_id}) == 1


def reown_claims(tx: Tx, epoch: OwnerEpoch, due_at: int) -> int:
    return tx.execute(REOWN_CLAIMS, {"epoch": epoch, "due_at": due_at})
