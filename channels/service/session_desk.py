"""Archiving and deleting sessions, once: chat, command line, cards and page call these.

Faults are `Refused(code, text)`: unknown_session, not_yours, session_busy, session_deleted. Whoever has to know that a
session is over (its agent, the settlement scheduler) is told after the commit, and finds out by itself where the
process dies in between.
"""

from collections.abc import Callable
from typing import Protocol

from channels.cards.texts import texts
from channels.errors import Refused
from channels.ids import EventId, SessionId
from channels.logs import SESSION_MOVED, get_logger
from channels.rules.access import Actor
from channels.service.context import Preferences
from channels.store.database import Database
from channels.store.sessions import Session
from channels.store.transactions.archive import (
    Move,
    Moved,
    NotMoved,
    archive_session,
    delete_by_click,
    delete_session,
    unarchive_session,
)
from channels.store.transactions.web import (
    NO_END,
    Conversation,
    ListedSession,
    list_sessions,
    read_conversation,
)

LISTED = 50
LOG_ENTRIES = 200

log = get_logger(__name__)


class Surroundings(Protocol):
    """What the desk needs of a boot. A `Context` is one; so is the file of a service that does not run."""

    database: Database
    preferences: Preferences

    def now(self) -> int: ...

    def leave(self, session_id: SessionId | None) -> None: ...


class SessionDesk:
    """Looks at sessions, puts them away, takes them out again, deletes them."""

    def __init__(self, context: Surroundings) -> None:
        self._context = context
        self.tell_over: Callable[[Session], None] = lambda session: None

    async def list(self, limit: int = LISTED) -> list[ListedSession]:
        """The latest active first; archived ones among them, deleted ones not."""
        return await self._context.database.read(list_sessions, NO_END, "", limit)

    async def show(self, session_id: SessionId, limit: int = LOG_ENTRIES) -> Conversation:
        """A session and the end of its log."""
        found = await self._context.database.read(read_conversation, session_id, NO_END, limit)
        if found is None:
            raise self.refusal("unknown_session")
        return found

    async def archive(self, actor: Actor, session_id: SessionId) -> Moved:
        """The log stays, the conversation is over."""
        return await self._move(archive_session, "archived", actor, session_id)

    async def unarchive(self, actor: Actor, session_id: SessionId) -> Moved:
        """It may be gone on with."""
        return await self._move(unarchive_session, "unarchived", actor, session_id)

    async def delete(self, actor: Actor, session_id: SessionId) -> Moved:
        """What was said in it goes, for good."""
        return await self._move(delete_session, "deleted", actor, session_id)

    async def delete_by_click(self, event_id: EventId, actor: Actor, session_id: SessionId) -> Moved:
        """The same by a button."""
        context = self._context
        result = await context.database.run(
            delete_by_click, event_id, session_id, actor, context.preferences.admins, context.now()
        )
        return self._followed(result, "deleted", actor)

    def follow(self, moved: Moved, how: str, actor: Actor) -> None:
        """After a commit that has moved a session: whoever goes on with it hears of it."""
        log.info(SESSION_MOVED, session_id=moved.session.session_id, how=how, via=actor.via)
        if how == "unarchived":
            return
        self._context.leave(moved.session.session_id)
        self.tell_over(moved.session)

    def refusal(self, why: str) -> Refused:
        """Why nothing was changed, for a person."""
        words = texts(self._context.preferences.language)
        said = {
            "not_yours": words.toast_not_yours,
            "session_busy": words.archive_busy,
            "session_deleted": words.archive_deleted,
        }
        return Refused(why, said.get(why, words.archive_unknown))

    async def _move(self, move: Move, how: str, actor: Actor, session_id: SessionId) -> Moved:
        context = self._context
        result = await context.database.run(move, session_id, actor, context.preferences.admins, context.now())
        return self._followed(result, how, actor)

    def _followed(self, result: Moved | NotMoved, how: str, actor: Actor) -> Moved:
        if isinstance(result, NotMoved):
            raise self.refusal(result.why)
        if result.changed:
            self.follow(result, how, actor)
        return result
