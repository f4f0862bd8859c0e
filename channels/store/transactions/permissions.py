"""What an agent asks a person for: registered with its card before that is sent, decided once, drawn as it is."""

from collections.abc import Set
from dataclasses import dataclass, replace

from channels.ids import EventId, IntentId, MessageId, SendUuid
from channels.rules import intents
from channels.rules.access import AccessPolicy, Actor, Standing, standing
from channels.rules.delivery import Intent
from channels.rules.gate import Allow, Ask, Refuse, ToolPolicy, askable, decide, may_ask
from channels.rules.intents import Drawing
from channels.rules.permission import PermissionOption, PermissionQuestion
from channels.store import access, events, outbox, permission_requests, snapshots, turns
from channels.store.permission_requests import PermissionRequest
from channels.store.transactions.access import is_admin
from channels.store.transactions.run import Lease
from channels.store.tx import Tx

SERVICE = ""  # decided by nobody


@dataclass(frozen=True, slots=True)
class Offer:
    """A person is to be asked, in these words."""

    question: PermissionQuestion


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with everything that its request needs and the file does not have. `question` as it was offered."""

    token: str
    question: PermissionQuestion
    agent: str
    drawing: Drawing
    uuid: SendUuid
    due_at: int


@dataclass(frozen=True, slots=True)
class Registered:
    """A person is being asked; the card is the first intent of `lane`."""

    lane: str


@dataclass(frozen=True, slots=True)
class TurnOver:
    """The turn is not ours, has ended, or is to be stopped: nobody is asked any more."""


@dataclass(frozen=True, slots=True)
class Pressed:
    """This press was the first and has decided."""

    request: PermissionRequest


@dataclass(frozen=True, slots=True)
class NotPressed:
    """Nothing was decided by this press: unknown, not_yours, or how the request stands: allowed, denied, no_code_write,
    expired, turn, restart."""

    why: str
    request: PermissionRequest | None = None


def judge(
    tx: Tx, lease: Lease, question: PermissionQuestion, policy: ToolPolicy, access_policy: AccessPolicy, now: int
) -> Offer | Allow | Refuse | TurnOver:
    """What becomes of a question, by what the turn's person may do at this moment."""
    turn, snapshot = turns.find_turn(tx, lease.turn_id), snapshots.find_snapshot(tx, lease.turn_id)
    if turn is None or snapshot is None or not _runs(turn, lease):
        return TurnOver()
    decision = decide(question, policy, _standing(tx, turn, access_policy, now), turn.sender_user_id)
    match decision:
        case Ask():
            return Offer(askable(question, shared=snapshot.chat_type != "p2p"))
        case _:
            return decision


def register(
    tx: Tx, lease: Lease, asked: Asked, policy: ToolPolicy, access_policy: AccessPolicy, now: int
) -> Registered | Allow | Refuse | TurnOver:
    """Judge once more, and where a person is to be asked, write the request and the intent of its card."""
    decision = judge(tx, lease, asked.question, policy, access_policy, now)
    if not isinstance(decision, Offer):
        return decision
    snapshot = snapshots.find_snapshot(tx, lease.turn_id)
    assert snapshot is not None
    request = PermissionRequest(
        token=asked.token,
        turn_id=lease.turn_id,
        start_epoch=lease.start_epoch,
        owner_epoch=lease.owner_epoch,
        chat_id=snapshot.chat_id,
        agent=asked.agent,
        question=decision.question,
        state="pending",
        why="",
        choice=None,
        decided_by="",
        created_at=now,
        due_at=asked.due_at,
    )
    permission_requests.add_request(tx, request)
    card = _first_card(tx, request, snapshot, asked.drawing, asked.uuid)
    outbox.add_intents(tx, [card], now)
    return Registered(card.lane)


def press_permission(
    tx: Tx,
    event_id: EventId,
    token: str,
    choice: int,
    actor: Actor,
    card: MessageId,
    access_policy: AccessPolicy,
    now: int,
) -> Pressed | NotPressed:
    """One press of a button. `card` is what was pressed: it shows the outcome, also where it is not known yet that this
    message is the request's card."""
    request = permission_requests.find_request(tx, token)
    outcome = _press(tx, request, choice, actor, access_policy, now)
    said = outcome.why if isinstance(outcome, NotPressed) else outcome.request.state
    events.record(tx, event_id, "card_clicked", card, f"permission:{said}", now)
    if request is not None and said not in ("not_yours", "unknown") and card:
        permission_requests.set_message(tx, token, card)
        if isinstance(outcome, NotPressed):
            permission_requests.draw_again(tx, token)
    return outcome


def settle_open(tx: Tx, live: Set[str], now: int) -> list[str]:
    """Requests whose time is over are refused; those that nobody waits for (`live` has all that somebody does) end.
    Returns the tokens."""
    settled = []
    for request in permission_requests.pending_requests(tx):
        if request.token not in live:
            permission_requests.decide(tx, request.token, "ended", "turn", None, SERVICE, now)
        elif request.due_at <= now:
            permission_requests.decide(tx, request.token, "expired", "", None, SERVICE, now)
        else:
            continue
        settled.append(request.token)
    return settled


def has_unsettled(tx: Tx, live: Set[str], now: int) -> bool:
    """Whether `settle_open` has something to do."""
    return any(one.token not in live or one.due_at <= now for one in permission_requests.pending_requests(tx))


def put_permission_card(tx: Tx, request: PermissionRequest, drawing: Drawing, uuid: SendUuid, now: int) -> str | None:
    """Make this drawing visible; returns the lane. None while the card is on its way, where none ever arrived, or where
    nobody has seen the question and nobody has to hear that it is over."""
    fresh = permission_requests.find_request(tx, request.token)
    if fresh is None or fresh.version != request.version or fresh.drawn >= request.version:
        return None
    lane = lane_of(request.token)
    head = outbox.head_of_lane(tx, lane)
    if head is not None and head.attempts > 0:
        return None
    permission_requests.set_drawn(tx, request.token, request.version)
    if head is not None:
        if (
            head.intent.op != "rewrite"
            and request.state == "ended"
            and outbox.supersede_unsent(tx, head.intent.intent_id, now)
        ):
            return None
        before = intents.read_payload(head.intent)
        body = intents.payload(**{**before, "card": drawing.card, "text": drawing.text})
        outbox.redraw_unsent(tx, head.intent.intent_id, body)
        return lane
    message_id = fresh.message_id or outbox.sent_in_lane(tx, lane)
    if message_id is None:
        return None
    permission_requests.set_message(tx, request.token, message_id)
    body = intents.payload(card=drawing.card, text=drawing.text)
    name = IntentId(f"{request.token}/{request.version}")
    outbox.add_intents(tx, [intents.rewrite(name, lane, request.chat_id, message_id, body, uuid)], now)
    return lane


def lane_of(token: str) -> str:
    return f"permit:{token}"


def _first_card(
    tx: Tx, request: PermissionRequest, snapshot: snapshots.Snapshot, drawing: Drawing, uuid: SendUuid
) -> Intent:
    """An answer to what the turn answers; where that is nothing, to the turn's own card, else a message to the chat."""
    main = next((card.message_id for card in snapshots.cards_of(tx, request.turn_id) if card.segment == 0), None)
    target = snapshot.anchor or main
    name, lane = IntentId(f"{request.token}/card"), lane_of(request.token)
    body = intents.payload(card=drawing.card, text=drawing.text, in_thread=snapshot.in_thread)
    if target is None:
        return intents.send(name, lane, request.chat_id, body, uuid)
    return Intent(name, "reply", "notice", lane, request.chat_id, target, body, uuid)


def _press(
    tx: Tx, request: PermissionRequest | None, choice: int, actor: Actor, access_policy: AccessPolicy, now: int
) -> Pressed | NotPressed:
    turn = turns.find_turn(tx, request.turn_id) if request is not None else None
    if request is None or turn is None:
        return NotPressed("unknown")
    if turn.sender_user_id not in actor.ids and not is_admin(tx, actor, access_policy, now):
        return NotPressed("not_yours", request)
    if not 0 <= choice < len(request.question.options):
        return NotPressed("unknown")
    if request.state == "pending" and not _waits(turn, request):
        permission_requests.decide(tx, request.token, "ended", "turn", None, SERVICE, now)
    elif request.state == "pending" and request.due_at <= now:
        permission_requests.decide(tx, request.token, "expired", "", None, SERVICE, now)
    elif request.state == "pending":
        return _take(tx, request, turn, request.question.options[choice], choice, actor, access_policy, now)
    settled = _now(tx, request)
    return NotPressed(settled.why or settled.state, settled)


def _take(
    tx: Tx,
    request: PermissionRequest,
    turn: turns.Turn,
    option: PermissionOption,
    choice: int,
    actor: Actor,
    access_policy: AccessPolicy,
    now: int,
) -> Pressed | NotPressed:
    """The first press. A yes counts only while the turn's person has the right to what is asked."""
    if option.allows and not may_ask(
        request.question.kind, _standing(tx, turn, access_policy, now), turn.sender_user_id
    ):
        permission_requests.decide(tx, request.token, "denied", "no_code_write", None, SERVICE, now)
        return NotPressed("no_code_write", _now(tx, request))
    state = "allowed" if option.allows else "denied"
    permission_requests.decide(tx, request.token, state, "", choice, actor.open_id, now)
    return Pressed(_now(tx, request))


def _standing(tx: Tx, turn: turns.Turn, access_policy: AccessPolicy, now: int) -> Standing:
    """What the turn's person may do. The turn itself was counted when it was admitted, also as the last one of a grant
    for a number of messages."""
    who = [turn.sender_user_id] if turn.sender_user_id else []
    user = access.find_user(tx, who)
    return standing(who, replace(user.grant, messages_left=None) if user else None, access_policy, now)


def _runs(turn: turns.Turn, lease: Lease) -> bool:
    ours = turn.start_epoch == lease.start_epoch and turn.owner_epoch == lease.owner_epoch
    return ours and turn.state == "entered" and not turn.stop_requested


def _waits(turn: turns.Turn, request: PermissionRequest) -> bool:
    return _runs(turn, Lease(turn.turn_id, turn.session_id, request.start_epoch, request.owner_epoch))


def _now(tx: Tx, request: PermissionRequest) -> PermissionRequest:
    found = permission_requests.find_request(tx, request.token)
    assert found is not None
    return found
