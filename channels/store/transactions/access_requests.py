"""A request on its way: kept message, cards, one decision, expiry. Cards are registered before anything is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from channels.ids import ChatId, EventId, IntentId, MessageId, OpenId, SendUuid, UserId
from channels.rules import intents
from channels.rules.access import AccessPolicy, Actor, Grant, is_over
from channels.rules.delivery import Intent
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.store import access, access_requests, events, inbox, outbox
from channels.store.access_requests import APPLICANT, AccessCard, AccessRequest
from channels.store.transactions.access import (
    Changed,
    NotChanged,
    Person,
    admins_of,
    change_access,
    is_admin,
    release,
    request_person,
)
from channels.store.tx import Tx

AT_ONCE, NAMED_AT_ONCE = 200, 20
SERVICE = "service"


@dataclass(frozen=True, slots=True)
class CardView:
    """A card that must be drawn: of which request, for whom, and how many messages wait."""

    card: AccessCard
    request: AccessRequest
    kept: int


@dataclass(frozen=True, slots=True)
class Decided:
    """This decision was the first; `released` kept messages are answered now."""

    request: AccessRequest
    released: int = 0


@dataclass(frozen=True, slots=True)
class NotDecided:
    """Nothing changed: not_admin, unknown, or the state that the request has already (`request` shows it)."""

    why: str
    request: AccessRequest | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an admin says to a request: approve (for so long), or deny."""

    approve: bool
    for_ms: int | None = None
    messages: int | None = None
    switches: frozenset[str] | None = None  # None: what the request has


def keep_message(
    tx: Tx,
    message: Message,
    company: Sequence[MessageId],
    spare_id: str,
    excerpt: str,
    policy: AccessPolicy,
    now: int,
) -> str:
    """The stranger's message waits for an admin, under this person's open request or a new one. Returns its id."""
    envelope = message.envelope
    person = Person(envelope.sender.user_id, envelope.sender.open_id, envelope.sender.name)
    request = access_requests.open_request_of(tx, person.ids)
    if request is None:
        request = AccessRequest(
            request_id=spare_id,
            user_id=person.user_id,
            open_id=person.open_id,
            name=person.name,
            chat_id=envelope.chat_id,
            chat_type=envelope.known_chat_type,
            message_id=envelope.message_id,
            in_thread=envelope.thread_id is not None,
            excerpt=excerpt,
            state="open",
            switches=frozenset({"chat"}),
            created_at=now,
            expires_at=now + policy.request_ms,
        )
        access_requests.add_request(tx, request)
        access_requests.add_card(tx, request.request_id, APPLICANT)
        show_to_admins(tx, request, policy, now)
    elif request.user_id != person.user_id and request.user_id.startswith("open:"):
        access_requests.move_to_user_id(tx, request.request_id, person.user_id)
    for message_id in {envelope.message_id, *company}:
        inbox.keep(tx, message_id)
    return request.request_id


def show_to_admins(tx: Tx, request: AccessRequest, policy: AccessPolicy, now: int) -> int:
    """Register a card for every admin of this moment that has none. Returns how many."""
    return sum(access_requests.add_card(tx, request.request_id, admin) for admin in admins_of(tx, policy, now))


def decide_request(
    tx: Tx, request_id: str, verdict: Verdict, actor: Actor, policy: AccessPolicy, now: int
) -> Decided | NotDecided:
    """The first admin who decides, decides: request, record, kept messages and audit line in one commit."""
    request = access_requests.find_request(tx, request_id)
    if not is_admin(tx, actor, policy, now):
        access.add_audit(tx, actor, "request.refused", request_id, "not_admin", now)
        return NotDecided("not_admin", request)
    if request is None:
        return NotDecided("unknown")
    if request.state == "open" and request.expires_at <= now:
        request = _expire(tx, request, now)
    if request.state != "open":
        return NotDecided(request.state, request)
    if not verdict.approve:
        return _deny(tx, request, actor, now)
    grant = Grant(
        (verdict.switches or request.switches) | {"chat", request.wants},
        now + verdict.for_ms if verdict.for_ms is not None else None,
        verdict.messages,
    )

    def given(so_far: Grant | None) -> Grant:
        return grant if request.wants == "chat" else _with_right(so_far, grant, now)

    changed = change_access(tx, actor, request_person(request), given, "request.approved", policy, now)
    assert isinstance(changed, Changed), changed
    return Decided(_now(tx, request), changed.released)


def press_request(
    tx: Tx,
    event_id: EventId,
    request_id: str,
    verdict: Verdict,
    actor: Actor,
    card: MessageId,
    policy: AccessPolicy,
    now: int,
) -> Decided | NotDecided:
    """One press of *Allow* or *Deny*. `card` is what was pressed: it shows the outcome, also where the answer to the
    call that sent it has not come yet."""
    outcome = decide_request(tx, request_id, verdict, actor, policy, now)
    said = outcome.why if isinstance(outcome, NotDecided) else outcome.request.state
    events.record(tx, event_id, "card_clicked", card, f"access:{said}", now)
    _note_card(tx, request_id, actor, card, said)
    return outcome


def press_switch(
    tx: Tx,
    event_id: EventId,
    request_id: str,
    switch: str,
    on: bool,
    actor: Actor,
    card: MessageId,
    policy: AccessPolicy,
    now: int,
) -> Decided | NotDecided:
    """One press of a switch: of what *Allow* would give, or, after it, of what the person has."""
    request = access_requests.find_request(tx, request_id)
    outcome = _set_switch(tx, request, switch, on, actor, policy, now)
    said = outcome.why if isinstance(outcome, NotDecided) else "switched"
    events.record(tx, event_id, "card_clicked", card, f"access:{said}", now)
    _note_card(tx, request_id, actor, card, said)
    return outcome


def expire_requests(tx: Tx, policy: AccessPolicy, now: int) -> int:
    """Requests whose time is over say so; what they kept stays unanswered. Where the door was opened meanwhile,
    everybody's kept messages are answered."""
    opened = sum(_open_door(tx, request, now) for request in _outdated(tx, policy))
    due = access_requests.due_requests(tx, now, AT_ONCE)
    for request in due:
        _expire(tx, request, now)
    return opened + len(due)


def tend_requests(tx: Tx, policy: AccessPolicy, now: int) -> None:
    """New admins see what is open; kept messages that no request speaks for are decided again."""
    for request in access_requests.open_requests(tx, AT_ONCE):
        show_to_admins(tx, request, policy, now)
    for user_id in inbox.keepers(tx):
        if access_requests.open_request_of(tx, [user_id]) is None:
            inbox.release_kept(tx, user_id)


def withdraw_if_empty(tx: Tx, user_id: UserId, now: int) -> bool:
    """A kept message was taken back; where it was the last one, nobody has to decide any more."""
    request = access_requests.open_request_of(tx, [user_id])
    if (
        request is None
        or request.wants != "chat"
        or any(inbox.count_kept(tx, one) for one in request_person(request).ids)
    ):
        return False
    return access_requests.decide(tx, request.request_id, "withdrawn", request.switches, SERVICE, now)


def cards_to_draw(tx: Tx, limit: int) -> list[CardView]:
    """Cards that do not show their request as it is."""
    views = []
    for card in access_requests.cards_to_draw(tx, limit):
        request = access_requests.find_request(tx, card.request_id)
        assert request is not None
        kept = sum(inbox.count_kept(tx, user_id) for user_id in request_person(request).ids)
        views.append(CardView(card, request, kept))
    return views


def put_access_card(tx: Tx, view: CardView, drawing: Drawing, uuid: SendUuid, now: int) -> str | None:
    """Make this drawing visible; returns the lane. None while the card is on its way, or where none ever arrived."""
    request, holder = view.request, view.card.holder
    card, fresh = access_requests.find_card(tx, request.request_id, holder), _now(tx, request)
    if card is None or fresh.version != request.version or card.drawn >= request.version:
        return None
    lane, body = lane_of(request.request_id, holder), _body(request, holder, drawing)
    head = outbox.head_of_lane(tx, lane)
    if head is not None and head.attempts > 0:
        return None
    if head is not None:
        outbox.redraw_unsent(tx, head.intent.intent_id, body)
    elif not card.sent:
        outbox.add_intents(tx, [_first(request, holder, lane, body, uuid)], now)
    else:
        message_id = card.message_id or outbox.sent_in_lane(tx, lane)
        if message_id is not None:
            access_requests.set_card_message(tx, request.request_id, holder, message_id)
            name = IntentId(f"{request.request_id}/{holder}/{request.version}/{uuid[:8]}")
            outbox.add_intents(tx, [intents.rewrite(name, lane, request.chat_id, message_id, body, uuid)], now)
    access_requests.set_drawn(tx, request.request_id, holder, request.version)
    return lane


def lane_of(request_id: str, holder: str) -> str:
    return f"access:{request_id}:{holder}"


def _first(request: AccessRequest, holder: str, lane: str, body: str, uuid: SendUuid) -> Intent:
    """The card's first showing: an answer to who asks, a message in an admin's private chat."""
    name = IntentId(f"{request.request_id}/{holder}")
    if holder == APPLICANT:
        answer = intents.notice("kept", request.chat_id, request.message_id, Drawing("", ""), uuid, in_thread=False)
        return replace(answer, intent_id=name, lane=lane, payload=body)
    return intents.send(name, lane, ChatId(holder.removeprefix("open:")), body, uuid)


def _body(request: AccessRequest, holder: str, drawing: Drawing) -> str:
    if holder == APPLICANT:
        return intents.payload(card=drawing.card, text=drawing.text, in_thread=request.in_thread)
    receive = "open_id" if holder.startswith("open:") else "user_id"
    return intents.payload(card=drawing.card, text=drawing.text, receive=receive)


def _note_card(tx: Tx, request_id: str, actor: Actor, message_id: MessageId, said: str) -> None:
    """An admin pressed this card: it is the one that shows the request to them, and has to show it as it is."""
    if said == "not_admin":
        return
    request = access_requests.find_request(tx, request_id)
    for holder in actor.ids if request is not None and message_id else ():
        if access_requests.find_card(tx, request_id, holder) is not None:
            access_requests.set_card_message(tx, request_id, holder, message_id)
            if said not in ("approved", "denied", "switched") and request is not None:
                access_requests.draw_again(tx, request_id, holder, request.version)


def _set_switch(
    tx: Tx, request: AccessRequest | None, switch: str, on: bool, actor: Actor, policy: AccessPolicy, now: int
) -> Decided | NotDecided:
    if not is_admin(tx, actor, policy, now):
        access.add_audit(tx, actor, "switch.refused", request.request_id if request else "", "not_admin", now)
        return NotDecided("not_admin", request)
    if request is None:
        return NotDecided("unknown")
    if request.state == "open":
        wanted = request.switches | {switch} if on else request.switches - {switch}
        access_requests.set_switches(tx, request.request_id, wanted)
        return Decided(_now(tx, request))
    if request.state != "approved":
        return NotDecided(request.state, request)

    def turned(so_far: Grant | None) -> Grant:
        before = so_far or Grant(frozenset())
        return replace(before, switches=before.switches | {switch} if on else before.switches - {switch})

    changed = change_access(tx, actor, request_person(request), turned, "switch.set", policy, now)
    if isinstance(changed, NotChanged):
        return NotDecided(changed.why, request)
    access_requests.set_switches(tx, request.request_id, changed.grant.switches)
    return Decided(_now(tx, request))


def _deny(tx: Tx, request: AccessRequest, actor: Actor, now: int) -> Decided:
    access_requests.decide(tx, request.request_id, "denied", request.switches, actor.user_id, now)
    for user_id in request_person(request).ids:
        inbox.refuse_kept(tx, user_id, "access_denied", now)
    access.add_audit(tx, actor, "request.denied", request.user_id, request.request_id, now)
    return Decided(_now(tx, request))


def _expire(tx: Tx, request: AccessRequest, now: int) -> AccessRequest:
    access_requests.decide(tx, request.request_id, "expired", request.switches, SERVICE, now)
    for user_id in request_person(request).ids:
        inbox.refuse_kept(tx, user_id, "access_expired", now)
    service = Actor(request.user_id, request.open_id, SERVICE)
    access.add_audit(tx, service, "request.expired", request.user_id, request.request_id, now)
    return _now(tx, request)


def _with_right(so_far: Grant | None, more: Grant, now: int) -> Grant:
    """A right besides what the person has; how long that holds stays, unless something else was said."""
    before = so_far if so_far is not None and not is_over(so_far, now) else Grant(frozenset())
    until = before.until_ms if more.until_ms is None else more.until_ms
    left = before.messages_left if more.messages_left is None else more.messages_left
    return Grant(before.switches | more.switches, until, left)


def _outdated(tx: Tx, policy: AccessPolicy) -> list[AccessRequest]:
    """Where everybody may chat, nobody has to ask for that."""
    if policy.mode != "open":
        return []
    return [one for one in access_requests.open_requests(tx, AT_ONCE) if one.wants == "chat"]


def _open_door(tx: Tx, request: AccessRequest, now: int) -> bool:
    release(tx, request_person(request).ids)
    return access_requests.decide(tx, request.request_id, "approved", request.switches, SERVICE, now)


def _now(tx: Tx, request: AccessRequest) -> AccessRequest:
    found = access_requests.find_request(tx, request.request_id)
    assert found is not None
    return found


# Looking


def waiting_requests(tx: Tx, limit: int) -> list[tuple[AccessRequest, int]]:
    """Undecided requests with the number of messages that wait for them, oldest first."""
    return [
        (request, sum(inbox.count_kept(tx, user_id) for user_id in request_person(request).ids))
        for request in access_requests.open_requests(tx, limit)
    ]


def has_due(tx: Tx, policy: AccessPolicy, now: int) -> bool:
    """Whether `expire_requests` has something to do."""
    return bool(_outdated(tx, policy)) or bool(access_requests.due_requests(tx, now, 1))


def nameless_people(tx: Tx) -> list[OpenId]:
    """Some of those whose names are not known."""
    return list({*access.nameless(tx, NAMED_AT_ONCE), *access_requests.nameless(tx, NAMED_AT_ONCE)})


def name_people(tx: Tx, names: Mapping[str, str]) -> None:
    """Remember these names (open_id → name)."""
    for open_id, name in names.items():
        access.set_name(tx, OpenId(open_id), name)
        access_requests.set_name(tx, OpenId(open_id), name)
