"""Tables `sessions` and `session_events`: the numbered, append-only log of each session. Stats are folded from it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.ids import ChatId, SessionId, TurnId, UserId
from channels.store.tx import Tx

INSERT_SESSION = """
INSERT INTO sessions (session_id, chat_id, chat_type, user_id, agent, cwd, created_at)
VALUES (:session_id, :chat_id, :chat_type, :user_id, :agent, :cwd, :now)
"""
_SESSION = "session_id, chat_id, chat_type, user_id, agent, cwd, created_at, archived_at, deleted_at"
SELECT_SESSION = f"SELECT {_SESSION}, agent_reference FROM sessions WHERE session_id = :session_id"
SET_ARCHIVED = "UPDATE sessions SET archived_at = :at WHERE session_id = :session_id AND deleted_at IS NULL"
SET_DELETED = "UPDATE sessions SET deleted_at = :now WHERE session_id = :session_id AND deleted_at IS NULL"
DELETE_LOG = "DELETE FROM session_events WHERE session_id = :session_id"
SET_REFERENCE = "UPDATE sessions SET agent_reference = :reference WHERE session_id = :session_id"
APPEND_EVENT = """
INSERT INTO session_events (session_id, number, kind, turn_id, at, body)
VALUES (:session_id, (SELECT coalesce(max(number), 0) + 1 FROM session_events WHERE session_id = :session_id),
        :kind, :turn_id, :now, :body)
"""
SELECT_LOG = """
SELECT number, kind, turn_id, at, body FROM session_events WHERE session_id = :session_id ORDER BY number
"""
SELECT_SAID = """
SELECT kind, body FROM session_events WHERE session_id = :session_id
AND kind IN ('user/message', 'assistant/message') ORDER BY number DESC LIMIT :limit
"""
SELECT_ANSWER_OF = """
SELECT body FROM session_events WHERE session_id = :session_id AND turn_id = :turn_id AND kind = 'assistant/message'
ORDER BY number DESC LIMIT 1
"""
SELECT_END_OF = "SELECT body FROM session_events WHERE turn_id = :turn_id AND kind = 'turn/end'"
SELECT_ASKED = """
SELECT body FROM session_events WHERE turn_id = :turn_id AND kind = 'user/message' ORDER BY number LIMIT 1
"""
SELECT_TOOLS = """
SELECT kind, body FROM session_events
WHERE session_id = :session_id AND turn_id = :turn_id AND kind IN ('tool/call', 'tool/result') ORDER BY number
"""
HAS_ENDED = "SELECT 1 FROM session_events WHERE turn_id = :turn_id AND kind = 'turn/end'"
SELECT_USAGE = "SELECT body FROM session_events WHERE session_id = :session_id AND kind = 'usage' ORDER BY number"
SELECT_FOLDER = """
SELECT body FROM session_events WHERE session_id = :session_id AND kind = 'working-directory/change'
ORDER BY number DESC LIMIT 1
"""
SELECT_OF_PLACE = f"""
SELECT {_SESSION} FROM sessions
WHERE chat_id = :chat_id AND user_id = :user_id ORDER BY created_at, session_id
"""
SELECT_FIRST_SAID = """
SELECT body FROM session_events WHERE session_id = :session_id AND kind = 'user/message' ORDER BY number LIMIT 1
"""
SELECT_PRIVATE_CHAT = """
SELECT chat_id FROM sessions WHERE user_id = :user_id AND chat_type = 'p2p' AND chat_id <> :user_id
ORDER BY created_at DESC LIMIT 1
"""
SET_CHAT = "UPDATE sessions SET chat_id = :chat_id WHERE session_id = :session_id"
COUNT_SESSIONS = "SELECT count(*) FROM sessions"
SELECT_RECENT = f"""
WITH listed AS (
  SELECT sessions.*, (SELECT at FROM session_events WHERE session_events.session_id = sessions.session_id
                      ORDER BY number DESC LIMIT 1) AS last_at FROM sessions)
SELECT {_SESSION}, last_at FROM listed
WHERE (last_at, session_id) < (:before_at, :before_id) ORDER BY last_at DESC, session_id DESC LIMIT :limit
"""
SELECT_LOG_PART = """
SELECT number, kind, turn_id, at, body FROM session_events
WHERE session_id = :session_id AND number < :before ORDER BY number DESC LIMIT :limit
"""
SUM_BY_TURN = """
SELECT turn_id, sum(json_extract(body, '$.input_tokens')), sum(json_extract(body, '$.output_tokens')),
       sum(json_extract(body, '$.cached_tokens'))
FROM session_events WHERE kind = 'usage' AND session_id IN (SELECT value FROM json_each(:session_ids))
AND turn_id IN (SELECT value FROM json_each(:turn_ids)) GROUP BY turn_id
"""


@dataclass(frozen=True, slots=True)
class Session:
    session_id: SessionId
    chat_id: ChatId
    chat_type: str
    user_id: UserId
    agent: str
    cwd: str
    created_at: int = 0
    archived_at: int | None = None
    deleted_at: int | None = None
    agent_reference: str = ""  # the agent's own id of this session; only `find_session` reads it


@dataclass(frozen=True, slots=True)
class Active:
    """A session in a list; `last_at`: when its log last grew."""

    session: Session
    last_at: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    number: int
    kind: str
    turn_id: TurnId | None
    at: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Folder:
    """Where a session works: a path, and the branch where it is a Git worktree."""

    path: str
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used: answers, tokens, and in how many sessions."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    sessions: int = 0


def _entry(row: tuple[Any, ...]) -> LogEntry:
    number, kind, turn_id, at, body = row
    return LogEntry(number, kind, TurnId(turn_id) if turn_id else None, at, json.loads(body))


def insert_session(tx: Tx, session: Session, now: int) -> None:
    """A new session with its first log entry."""
    tx.execute(
        INSERT_SESSION,
        {
            "session_id": session.session_id,
            "chat_id": session.chat_id,
            "chat_type": session.chat_type,
            "user_id": session.user_id,
            "agent": session.agent,
            "cwd": session.cwd,
            "now": now,
        },
    )
    append(tx, session.session_id, "session/start", None, {"agent": session.agent, "cwd": session.cwd}, now)


def find_session(tx: Tx, session_id: SessionId) -> Session | None:
    row = tx.row(SELECT_SESSION, {"session_id": session_id})
    return Session(*row) if row else None


def set_archived(tx: Tx, session_id: SessionId, at: int | None) -> bool:
    """Put it away, or (None) take it out again. Guarded: a deleted session stays what it is."""
    return tx.execute(SET_ARCHIVED, {"session_id": session_id, "at": at}) == 1


def delete_log(tx: Tx, session_id: SessionId, now: int) -> bool:
    """The session is deleted, and everything that was said in it goes. Guarded: once."""
    if tx.execute(SET_DELETED, {"session_id": session_id, "now": now}) != 1:
        return False
    tx.execute(DELETE_LOG, {"session_id": session_id})
    return True


def set_reference(tx: Tx, session_id: SessionId, reference: str) -> None:
    """The agent's own id of this session; "" where it is to begin a new one."""
    tx.execute(SET_REFERENCE, {"session_id": session_id, "reference": reference})


def lost_session_of(tx: Tx, turn_id: TurnId) -> str | None:
    """The agent's own session that it could not load, where this turn ended because of that."""
    row = tx.row(SELECT_END_OF, {"turn_id": turn_id})
    lost = json.loads(row[0]).get("lost_session") if row else None
    return str(lost) if lost is not None else None


def tools_in(tx: Tx, session_id: SessionId, turn_id: TurnId) -> list[tuple[str, dict[str, Any]]]:
    """What a turn's log says of its tools, as (kind, body), in order."""
    rows = tx.rows(SELECT_TOOLS, {"session_id": session_id, "turn_id": turn_id})
    return [(kind, dict(json.loads(body))) for kind, body in rows]


def asked_in(tx: Tx, turn_id: TurnId) -> dict[str, Any] | None:
    """What the agent was given in this turn, as the log has it: text, files. None while it was not entered."""
    row = tx.row(SELECT_ASKED, {"turn_id": turn_id})
    return dict(json.loads(row[0])) if row else None


def private_chat_of(tx: Tx, user_id: UserId) -> ChatId | None:
    """The private chat in which this person has had a conversation."""
    row = tx.row(SELECT_PRIVATE_CHAT, {"user_id": user_id})
    return ChatId(row[0]) if row else None


def set_chat(tx: Tx, session_id: SessionId, chat_id: ChatId) -> None:
    """A session that was begun with a person whose private chat was not known yet."""
    tx.execute(SET_CHAT, {"session_id": session_id, "chat_id": chat_id})


def find_folder(tx: Tx, session: Session) -> Folder:
    """Where this session works: the last change in its log, else its workspace."""
    row = tx.row(SELECT_FOLDER, {"session_id": session.session_id})
    if row is None:
        return Folder(session.cwd)
    body = json.loads(row[0])
    return Folder(body["folder"], body.get("branch"))


def set_folder(tx: Tx, session_id: SessionId, folder: Folder, now: int) -> None:
    """From here on this session works there."""
    body = {"folder": folder.path, "branch": folder.branch}
    append(tx, session_id, "working-directory/change", None, body, now)


def sessions_of_place(tx: Tx, chat_id: ChatId, user_id: UserId) -> list[Session]:
    """All sessions that a person has begun in a chat, the oldest first: their numbers never change."""
    return [Session(*row) for row in tx.rows(SELECT_OF_PLACE, {"chat_id": chat_id, "user_id": user_id})]


def first_said(tx: Tx, session_id: SessionId) -> str | None:
    """What a session began with; None while nothing was said."""
    row = tx.row(SELECT_FIRST_SAID, {"session_id": session_id})
    return str(json.loads(row[0])["text"]) if row else None


def append(
    tx: Tx, session_id: SessionId, kind: str, turn_id: TurnId | None, body: Mapping[str, object], now: int
) -> None:
    """One more entry. `kind` is one of the log kinds of design §10; `body` is small JSON."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    tx.execute(APPEND_EVENT, {"session_id": session_id, "kind": kind, "turn_id": turn_id, "now": now, "body": text})


def last_answer_of(tx: Tx, session_id: SessionId, turn_id: TurnId) -> str:
    """What a turn has said, as far as the log has it; "" for nothing."""
    row = tx.row(SELECT_ANSWER_OF, {"session_id": session_id, "turn_id": turn_id})
    return str(json.loads(row[0]).get("text", "")) if row else ""


def has_ended(tx: Tx, turn_id: TurnId) -> bool:
    """Whether the log holds this turn's end."""
    return tx.row(HAS_ENDED, {"turn_id": turn_id}) is not None


def read_log(tx: Tx, session_id: SessionId) -> list[LogEntry]:
    return [_entry(row) for row in tx.rows(SELECT_LOG, {"session_id": session_id})]


def read_log_part(tx: Tx, session_id: SessionId, before: int, limit: int) -> list[LogEntry]:
    """Up to `limit` entries with numbers below `before`, in order: what stands at the end of that part of the log."""
    rows = tx.rows(SELECT_LOG_PART, {"session_id": session_id, "before": before, "limit": limit})
    return [_entry(row) for row in rows[::-1]]


def recent_sessions(tx: Tx, before_at: int, before_id: str, limit: int) -> list[Active]:
    """Sessions by last activity, newest first, from behind (before_at, before_id) on."""
    rows = tx.rows(SELECT_RECENT, {"before_at": before_at, "before_id": before_id, "limit": limit})
    return [Active(Session(*row[:-1]), row[-1]) for row in rows]


def usage_by_turn(tx: Tx, session_ids: Iterable[SessionId], turn_ids: Iterable[TurnId]) -> dict[TurnId, Usage]:
    """What each of these turns (of these sessions) has used; turns without a word about it are left out."""
    values = {"session_ids": json.dumps(list(session_ids)), "turn_ids": json.dumps(list(turn_ids))}
    return {TurnId(turn_id): Usage(1, *tokens) for turn_id, *tokens in tx.rows(SUM_BY_TURN, values)}


def read_said(tx: Tx, session_id: SessionId, limit: int) -> list[tuple[str, str]]:
    """The last `limit` messages as (role, text), oldest first."""
    rows = tx.rows(SELECT_SAID, {"session_id": session_id, "limit": limit})
    return [("user" if kind == "user/message" else "assistant", json.loads(body)["text"]) for kind, body in rows[::-1]]


def sum_usage(tx: Tx, session_id: SessionId) -> tuple[int, int, int, int]:
    """(turns with usage, input, output, cached tokens) of a session, folded from its log."""
    bodies = [json.loads(row[0]) for row in tx.rows(SELECT_USAGE, {"session_id": session_id})]
    totals = [sum(int(body[name]) for body in bodies) for name in ("input_tokens", "output_tokens", "cached_tokens")]
    return len(bodies), totals[0], totals[1], totals[2]


def count_sessions(tx: Tx) -> int:
    row = tx.row(COUNT_SESSIONS)
    return int(row[0]) if row else 0
