"""Sessions on the control socket: each operation is one call of `service.session_desk`, and gives JSON values.

Whoever may open the socket acts as the console. Arguments: `session` is a session's id.
"""

from collections.abc import Callable
from typing import Any

from channels.app.access_operations import AT_CONSOLE
from channels.ids import SessionId
from channels.service.session_desk import SessionDesk
from channels.store.sessions import Session, Usage
from channels.store.transactions.archive import Moved
from channels.web.control import Operation

LISTED_AT_MOST = 1000
READING = frozenset({"session_list", "session_show"})  # operations that change nothing

Json = dict[str, Any]


class SessionOperations:
    """`desk` gives the desk of the running boot, or refuses while there is none."""

    def __init__(self, desk: Callable[[], SessionDesk]) -> None:
        self._desk = desk

    def table(self) -> dict[str, Operation]:
        """Name → operation."""
        return {
            "session_list": self.list_sessions,
            "session_show": self.show,
            "session_archive": self.archive,
            "session_unarchive": self.unarchive,
            "session_delete": self.delete,
        }

    async def list_sessions(self, arguments: Json) -> Json:
        """{"limit"} → {"sessions"}, the latest active first."""
        limit = arguments.get("limit", 50)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LISTED_AT_MOST:
            raise ValueError(f"limit must be a whole number from 1 to {LISTED_AT_MOST}")
        found = await self._desk().list(limit)
        listed = [
            session_json(one.session) | {"last_at": one.last_at, "began_with": one.began_with} | usage_json(one.usage)
            for one in found
        ]
        return {"sessions": listed}

    async def show(self, arguments: Json) -> Json:
        """{"session"} → the session and the end of its log; `earlier` says that there is more before it."""
        found = await self._desk().show(_session(arguments))
        log = [
            {"number": one.number, "kind": one.kind, "turn_id": one.turn_id, "at": one.at, "body": one.body}
            for one in found.entries
        ]
        return session_json(found.session) | {"log": log, "earlier": found.earlier}

    async def archive(self, arguments: Json) -> Json:
        return _moved(await self._desk().archive(AT_CONSOLE, _session(arguments)))

    async def unarchive(self, arguments: Json) -> Json:
        return _moved(await self._desk().unarchive(AT_CONSOLE, _session(arguments)))

    async def delete(self, arguments: Json) -> Json:
        return _moved(await self._desk().delete(AT_CONSOLE, _session(arguments)))


def session_json(session: Session) -> Json:
    return {
        "session_id": session.session_id,
        "chat_id": session.chat_id,
        "chat_type": session.chat_type,
        "user_id": session.user_id,
        "agent": session.agent,
        "folder": session.cwd,
        "created_at": session.created_at,
        "archived_at": session.archived_at,
        "deleted_at": session.deleted_at,
    }


def usage_json(usage: Usage) -> Json:
    return {"turns": usage.turns, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}


def _moved(moved: Moved) -> Json:
    return session_json(moved.session) | {"changed": moved.changed}


def _session(arguments: Json) -> SessionId:
    value = arguments.get("session")
    if not isinstance(value, str) or not value.strip():
        raise ValueError("session must be the id of a session")
    return SessionId(value.strip())
