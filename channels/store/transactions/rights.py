"""Asking for the right to have code changed: an access request of somebody who may chat already."""

from channels.ids import EventId, MessageId, TurnId
from channels.rules.access import AccessPolicy, Actor, Admitted, is_cooling, standing
from channels.rules.gate import CODE_WRITE
from channels.store import access, access_requests, events, routes, sessions, turns
from channels.store.access_requests import APPLICANT, AccessRequest
from channels.store.transactions.access import Person
from channels.store.transactions.access_requests import show_to_admins
from channels.store.tx import Tx

EXCERPT_CHARACTERS = 200


def ask_right(
    tx: Tx,
    event_id: EventId,
    turn_id: TurnId,
    actor: Actor,
    card: MessageId,
    request_id: str,
    policy: AccessPolicy,
    now: int,
) -> str:
    """One press of the button that asks. `card` is what was pressed: the answer stands below it.

    Returns asked, already (somebody is deciding), has_right, cooling (declined a moment ago), not_yours, unknown.
    """
    outcome = _ask(tx, turn_id, actor, card, request_id, policy, now)
    events.record(tx, event_id, "card_clicked", card, f"right:{outcome}", now)
    return outcome


def _ask(
    tx: Tx, turn_id: TurnId, actor: Actor, card: MessageId, request_id: str, policy: AccessPolicy, now: int
) -> str:
    turn = turns.find_turn(tx, turn_id)
    session = sessions.find_session(tx, turn.session_id) if turn is not None else None
    if turn is None or session is None or not card:
        return "unknown"
    if turn.sender_user_id not in actor.ids:
        return "not_yours"
    user = access.find_user(tx, actor.ids)
    found = standing(actor.ids, user.grant if user else None, policy, now)
    switches = found.switches if isinstance(found, Admitted) else frozenset()
    if CODE_WRITE in switches:
        return "has_right"
    person = Person(turn.sender_user_id, actor.open_id, user.name if user else "")
    waiting = access_requests.open_request_of(tx, person.ids)
    if waiting is not None:
        return _ask_besides(tx, waiting)
    if is_cooling(access_requests.denied_at(tx, person.ids, CODE_WRITE), policy, now):
        return "cooling"
    route = routes.find_route_of_session(tx, turn.session_id)
    request = AccessRequest(
        request_id=request_id,
        user_id=person.user_id,
        open_id=person.open_id,
        name=person.name,
        chat_id=session.chat_id,
        chat_type=session.chat_type,
        message_id=card,
        in_thread=route is not None and not route.key.startswith("chat:"),
        excerpt=_excerpt(tx, turn_id),
        state="open",
        switches=switches | {"chat", CODE_WRITE},
        created_at=now,
        expires_at=now + policy.request_ms,
        wants=CODE_WRITE,
    )
    access_requests.add_request(tx, request)
    access_requests.add_card(tx, request.request_id, APPLICANT)
    show_to_admins(tx, request, policy, now)
    return "asked"


def _ask_besides(tx: Tx, waiting: AccessRequest) -> str:
    """Admins are deciding about this person already: they see what is wanted besides."""
    added = access_requests.set_switches(tx, waiting.request_id, waiting.switches | {CODE_WRITE})
    return "asked" if added else "already"


def _excerpt(tx: Tx, turn_id: TurnId) -> str:
    """The question on which the agent works, on one line."""
    asked = sessions.asked_in(tx, turn_id) or {}
    line = " ".join(str(asked.get("text", "")).split())
    return line if len(line) <= EXCERPT_CHARACTERS else line[: EXCERPT_CHARACTERS - 1] + "…"
