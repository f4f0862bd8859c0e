"""What the admin page reads and changes: logins, lists, one conversation, settings."""

from collections.abc import Sequence
from dataclasses import dataclass

from channels.ids import OpenId, SessionId, UserId
from channels.rules.access import Actor
from channels.store import access, outbox, sessions, turns, web
from channels.store.sessions import Active, LogEntry, Session, Usage
from channels.store.tx import Tx

LINK_LIFE_MS = 10 * 60_000
SESSION_LIFE_MS = 12 * 3_600_000
FRESH_LINKS_AT_MOST = 20  # links that nobody has used yet
LOGIN_RETENTION_MS = 30 * 24 * 3_600_000
NO_END = 2**62  # behind everything


@dataclass(frozen=True, slots=True)
class ListedSession:
    session: Session
    last_at: int
    began_with: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class ListedTurn:
    place: int
    turn: turns.Turn
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session and a part of its log; `earlier`: there is more before it."""

    session: Session
    entries: tuple[LogEntry, ...]
    earlier: bool


def make_link(tx: Tx, link_hash: str, user_id: UserId, actor: Actor, now: int) -> int | None:
    """A one-time link for this person; returns when it expires. None: too many wait to be used."""
    web.forget_logins(tx, now - LOGIN_RETENTION_MS)
    if web.count_fresh_links(tx, now) >= FRESH_LINKS_AT_MOST:
        return None
    web.insert_link(tx, link_hash, user_id, now + LINK_LIFE_MS, now)
    access.add_audit(tx, actor, "page.link_made", user_id, "", now)
    return now + LINK_LIFE_MS


def use_link(tx: Tx, link_hash: str, session_hash: str, now: int) -> UserId | None:
    """Open the session of this link, once."""
    user_id = web.open_session(tx, link_hash, session_hash, now + SESSION_LIFE_MS, now)
    if user_id is not None:
        access.add_audit(tx, _on_page(user_id), "page.entered", user_id, "", now)
    return user_id


def read_login(tx: Tx, session_hash: str, now: int) -> web.Login | None:
    return web.find_session(tx, session_hash, now)


def log_out(tx: Tx, session_hash: str, now: int) -> bool:
    """End this session. False when it was over already."""
    login = web.find_session(tx, session_hash, now)
    if login is None:
        return False
    access.add_audit(tx, _on_page(login.user_id), "page.left", login.user_id, "", now)
    return web.end_session(tx, session_hash, now)


def _on_page(user_id: UserId) -> Actor:
    return Actor(user_id, OpenId(""), "page")


def list_sessions(tx: Tx, before_at: int, before_id: str, limit: int) -> list[ListedSession]:
    """Sessions by last activity with what each began with and has used."""
    return [_listed(tx, active) for active in sessions.recent_sessions(tx, before_at, before_id, limit)]


def _listed(tx: Tx, active: Active) -> ListedSession:
    session_id = active.session.session_id
    usage = Usage(*sessions.sum_usage(tx, session_id))
    return ListedSession(active.session, active.last_at, sessions.first_said(tx, session_id) or "", usage)


def list_turns(tx: Tx, before: int, limit: int) -> list[ListedTurn]:
    """Turns, newest first, with their tokens."""
    found = turns.recent_turns(tx, before, limit)
    used = sessions.usage_by_turn(tx, {turn.session_id for _, turn in found}, [turn.turn_id for _, turn in found])
    return [ListedTurn(place, turn, used.get(turn.turn_id)) for place, turn in found]


def list_intents(tx: Tx, state: str, before: int, limit: int) -> Sequence[outbox.Listed]:
    """Intents, newest first."""
    return outbox.recent_intents(tx, state, before, limit)


def read_conversation(tx: Tx, session_id: SessionId, before: int, limit: int) -> Conversation | None:
    """The last `limit` entries of the log before number `before`. None: no such session."""
    session = sessions.find_session(tx, session_id)
    if session is None:
        return None
    entries = sessions.read_log_part(tx, session_id, before, limit + 1)
    return Conversation(session, tuple(entries[-limit:]), len(entries) > limit)


def read_overlay(tx: Tx) -> dict[str, str]:
    """Settings that stand over the file's."""
    return {change.key: change.value for change in web.overlay(tx) if change.value is not None}


def read_changes(tx: Tx, limit: int) -> list[web.Change]:
    return web.newest_changes(tx, limit)


def change_settings(tx: Tx, wanted: dict[str, str | None], actor: Actor, now: int) -> list[str]:
    """Put what differs from what counts now on record, and in the audit log; returns the keys that changed."""
    current = read_overlay(tx)
    changed = [key for key, value in wanted.items() if current.get(key) != value]
    for key in changed:
        web.insert_change(tx, key, wanted[key], actor.user_id, now)
        access.add_audit(tx, actor, "settings.changed", key, wanted[key] or "", now)
    return changed
