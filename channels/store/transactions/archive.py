"""Putting sessions away, and deleting them.

An archived session keeps its log and loses its place: its routes go (a topic gets its tombstone first, so that it never
becomes a new conversation by accident), and nothing brings one back before it is taken out again. A deleted session
loses its log for good; its number, its ids and what it has used stay, so that numbers and books do not change.

Neither is done while the session has something to do: a turn that waits, runs or is to be repaired, or a first reply
that may still make a route. Folders are never touched: what lies in them is the person's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from channels.ids import EventId, SendUuid, SessionId, UserId
from channels.rules.access import Actor
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.store import access, events, inbox, permission_requests, routes, sent_cards, sessions, snapshots, turns
from channels.store.sessions import Session
from channels.store.transactions.admit import Decided, answer_command
from channels.store.tx import Tx

BEYOND_DOUBT = ("cli", "page")  # ways that only admins have


@dataclass(frozen=True, slots=True)
class Moved:
    """What was asked for is so. `changed`: it was not before."""

    session: Session
    changed: bool


@dataclass(frozen=True, slots=True)
class NotMoved:
    """Nothing was changed: unknown_session, not_yours, session_busy, session_deleted."""

    why: str


Move = Callable[[Tx, SessionId, Actor, frozenset[UserId], int], Moved | NotMoved]


def archive_session(
    tx: Tx, session_id: SessionId, actor: Actor, admins: frozenset[UserId], now: int
) -> Moved | NotMoved:
    """Its log stays, its routes go. Once more changes nothing."""
    session = _movable(tx, session_id, actor, admins)
    if isinstance(session, NotMoved) or session.archived_at is not None:
        return session if isinstance(session, NotMoved) else Moved(session, changed=False)
    if _is_busy(tx, session_id):
        return NotMoved("session_busy")
    _archive(tx, session_id, actor, now)
    return _moved(tx, session_id)


def unarchive_session(
    tx: Tx, session_id: SessionId, actor: Actor, admins: frozenset[UserId], now: int
) -> Moved | NotMoved:
    """It may be gone on with: /resume finds it again. Tombstones of topics stay."""
    session = _movable(tx, session_id, actor, admins)
    if isinstance(session, NotMoved) or session.archived_at is None:
        return session if isinstance(session, NotMoved) else Moved(session, changed=False)
    sessions.set_archived(tx, session_id, None)
    access.add_audit(tx, actor, "session.unarchived", session_id, "", now)
    return _moved(tx, session_id)


def delete_session(
    tx: Tx, session_id: SessionId, actor: Actor, admins: frozenset[UserId], now: int
) -> Moved | NotMoved:
    """Everything that was said in it goes. Also refused while a card of it is still on its way."""
    session = _movable(tx, session_id, actor, admins)
    if isinstance(session, NotMoved):
        return session
    if _is_busy(tx, session_id) or snapshots.has_of_session(tx, session_id):
        return NotMoved("session_busy")
    if session.archived_at is None:
        _archive(tx, session_id, actor, now)
    turn_ids = turns.turns_of_session(tx, session_id)
    sent_cards.forget_sent_texts(tx, turn_ids)
    permission_requests.forget_turns(tx, turn_ids)
    sessions.delete_log(tx, session_id, now)
    access.add_audit(tx, actor, "session.deleted", session_id, "", now)
    return _moved(tx, session_id)


def _movable(tx: Tx, session_id: SessionId, actor: Actor, admins: frozenset[UserId]) -> Session | NotMoved:
    session = sessions.find_session(tx, session_id)
    if session is None:
        return NotMoved("unknown_session")
    if actor.via not in BEYOND_DOUBT and not actor.ids & (admins | {session.user_id}):
        return NotMoved("not_yours")
    return session if session.deleted_at is None else NotMoved("session_deleted")


def _is_busy(tx: Tx, session_id: SessionId) -> bool:
    return turns.is_session_open(tx, session_id) or routes.claim_of_session(tx, session_id) is not None


def _archive(tx: Tx, session_id: SessionId, actor: Actor, now: int) -> None:
    for route in routes.routes_of_session(tx, session_id):
        if route.is_thread:
            routes.put_tombstone(tx, route.key, now)
        routes.delete_route(tx, route.key)
    sessions.set_archived(tx, session_id, now)
    access.add_audit(tx, actor, "session.archived", session_id, "", now)


def _moved(tx: Tx, session_id: SessionId) -> Moved:
    session = sessions.find_session(tx, session_id)
    assert session is not None
    return Moved(session, changed=True)


def delete_by_click(
    tx: Tx, event_id: EventId, session_id: SessionId, actor: Actor, admins: frozenset[UserId], now: int
) -> Moved | NotMoved:
    """The *Delete* button: pressed twice, it says that it was done."""
    events.record(tx, event_id, "card_clicked", session_id, "session_delete", now)
    return delete_session(tx, session_id, actor, admins, now)


def move_by_command(
    tx: Tx,
    message: Message,
    move: Move,
    session_id: SessionId,
    actor: Actor,
    admins: frozenset[UserId],
    answers: Mapping[str, Drawing],
    expired: Drawing,
    uuid: SendUuid,
    now: int,
) -> tuple[Decided, Moved | None]:
    """A command and its answer, by what became of it: done, unchanged, or why not. A topic that had expired before gets
    `expired` and nothing is moved."""
    if not inbox.is_accepted(tx, message.envelope.message_id):
        return Decided("decided_before"), None
    if routes.is_tombstoned(tx, message.envelope.conversation):
        return answer_command(tx, message, "command:expired", expired, uuid, now, expired=expired), None
    result = move(tx, session_id, actor, admins, now)
    outcome = result.why if isinstance(result, NotMoved) else "done" if result.changed else "unchanged"
    decided = answer_command(tx, message, f"command:{outcome}", answers[outcome], uuid, now)
    return decided, result if isinstance(result, Moved) and result.changed else None
