"""*Continue*: a new turn for one that was interrupted, in the same session and the same card. *Fresh session*: the same
question once more for one whose agent could not load its old session."""

import json
from dataclasses import dataclass, field

from channels.ids import EventId, MessageId, OwnerEpoch, SendUuid, TurnId, UserId
from channels.rules import intents
from channels.rules.intents import Drawing
from channels.rules.quota import QuotaPolicy, Short
from channels.store import events, outbox, routes, sent_cards, sessions, snapshots, turns
from channels.store.transactions.deliver import forget_snapshot
from channels.store.transactions.reserve import find_shortage, insert_reserved_turn
from channels.store.transactions.run import driver_of
from channels.store.tx import Tx

UUIDS_PER_CONTINUE = 3
CHAIN_AT_MOST = 100


@dataclass(frozen=True, slots=True)
class Continued:
    """The new turn is queued; it runs in the old one's card."""

    turn_id: TurnId
    lanes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotContinued:
    """unknown_turn, not_yours, not_interrupted, not_lost, already (a second click), no_route, no_card, quota (see
    `short`)."""

    why: str
    short: Short | None = None


@dataclass(frozen=True, slots=True)
class ContinueRequest:
    """Who pressed, and what the new turn needs."""

    event_id: EventId
    interrupted: TurnId
    operator: UserId
    admins: frozenset[UserId]
    turn_id: TurnId
    uuids: tuple[SendUuid, ...]
    message_json: str
    thinking: Drawing
    quota: QuotaPolicy = field(default_factory=QuotaPolicy)
    fresh: bool = False  # the agent begins a session of its own anew, and is asked the same


def continue_turn(tx: Tx, request: ContinueRequest, epoch: OwnerEpoch, now: int) -> Continued | NotContinued:
    """Queue a turn whose cause is the interrupted one: a double click finds it there, another interruption of the new
    turn gets a button of its own."""
    if not events.record(tx, request.event_id, "card_clicked", request.interrupted, _verb(request), now):
        return NotContinued("already")
    result = _continue(tx, request, epoch, now)
    if isinstance(result, NotContinued):
        events.set_outcome(tx, request.event_id, result.why)
    return result


def can_continue(tx: Tx, turn: turns.Turn) -> bool:
    """Whether a *Continue* button makes sense: the conversation belongs to the turn's session, or will as soon as the
    card that carries the button has arrived."""
    route = routes.find_route_of_session(tx, turn.session_id)
    return route is not None or routes.claim_of_turn(tx, turn.turn_id) is not None


def _continue(tx: Tx, request: ContinueRequest, epoch: OwnerEpoch, now: int) -> Continued | NotContinued:
    old = turns.find_turn(tx, request.interrupted)
    if old is None:
        return NotContinued("unknown_turn")
    if request.operator not in request.admins and request.operator != driver_of(tx, old):
        return NotContinued("not_yours")
    lost = sessions.lost_session_of(tx, old.turn_id) if request.fresh else None
    if request.fresh and (lost is None or old.outcome != "failed"):
        return NotContinued("not_lost")
    if not request.fresh and old.outcome != "interrupted":
        return NotContinued("not_interrupted")
    if turns.find_turn_by_cause(tx, "continue", old.turn_id) is not None:
        return NotContinued("already")
    route = routes.find_route_of_session(tx, old.session_id)
    session = sessions.find_session(tx, old.session_id)
    if route is None or session is None:
        return NotContinued("no_route")
    card = _card_of(tx, old.turn_id)
    trigger = _trigger_of(tx, old)
    if card is None:
        return NotContinued("no_card")
    short = find_shortage(tx, request.operator, request.quota, now)
    if short is not None:
        return NotContinued("quota", short)
    if lost:
        _begin_fresh(tx, session, lost, now)
    _queue(tx, request, old, route, card, trigger, epoch, now)
    return Continued(request.turn_id, (intents.turn_lane(request.turn_id), intents.reaction_lane(request.turn_id)))


def _queue(
    tx: Tx,
    request: ContinueRequest,
    old: turns.Turn,
    route: routes.Route,
    card: sent_cards.SentCard,
    trigger: MessageId | None,
    epoch: OwnerEpoch,
    now: int,
) -> None:
    alone = _has_one_card(tx, old.turn_id)
    if alone:
        outbox.supersede_card(tx, old.turn_id, 0, now)
    if outbox.terminals_settled(tx, old.turn_id):  # its reactions are done: nobody else would forget it
        forget_snapshot(tx, old.turn_id)
    insert_reserved_turn(
        tx,
        request.turn_id,
        "continue",
        old.turn_id,
        old.session_id,
        request.operator,
        request.quota,
        epoch,
        now,
    )
    snapshot = snapshots.Snapshot(
        turn_id=request.turn_id,
        session_id=old.session_id,
        chat_id=route.chat_id,
        chat_type=route.chat_type,
        trigger_message_id=trigger,
        in_thread=not route.key.startswith("chat:"),
        reaction_id=None,
        route_key=route.key,
        message=_message(tx, request, old, alone),
        sender_user_id=request.operator,
        anchor_message_id=card.message_id if trigger is None else None,
    )
    snapshots.insert_snapshot(tx, snapshot, now)
    build = intents.TurnIntents(request.turn_id, route.chat_id, snapshot.anchor)
    effects = [build.typing(request.uuids[0])] if trigger is not None else []
    if alone:
        snapshots.adopt_card(tx, request.turn_id, request.uuids[1], card.card_id, card.message_id, card.sequence)
    else:  # nobody can go on in the middle of several cards: they stay as they are
        snapshots.insert_card(tx, request.turn_id, 0, "card", request.uuids[2], 0)
        effects += build.card(0, request.thinking, (request.uuids[1], request.uuids[2]), final=False)
    routes.touch_route(tx, route.key, old.session_id, card.message_id, now)
    outbox.add_intents(tx, effects, now)


def _has_one_card(tx: Tx, turn_id: TurnId) -> bool:
    return max(sent_cards.count_sent_of_turn(tx, turn_id), len(snapshots.cards_of(tx, turn_id))) <= 1


def _verb(request: ContinueRequest) -> str:
    return "fresh" if request.fresh else "continue"


def _begin_fresh(tx: Tx, session: sessions.Session, lost: str, now: int) -> None:
    """The agent's old session is given up; its id stays in the log. Not where somebody has done so before."""
    if session.agent_reference != lost:
        return
    sessions.set_reference(tx, session.session_id, "")
    body: dict[str, object] = {"agent": session.agent, "reference": lost, "lost": True}
    sessions.append(tx, session.session_id, "subagent/descriptor", None, body, now)


def _message(tx: Tx, request: ContinueRequest, old: turns.Turn, alone: bool) -> str:
    """What the new turn's agent is given."""
    if request.fresh:
        return _asked_again(tx, old) or request.message_json
    return _with_prefix(tx, request.message_json, old) if alone else request.message_json


def _asked_again(tx: Tx, old: turns.Turn) -> str | None:
    """The question at the beginning of the chain, as it was prepared then."""
    asked = sessions.asked_in(tx, _first_of(tx, old).turn_id) or sessions.asked_in(tx, old.turn_id)
    if asked is None:
        return None
    files = [{**one, "path": one.get("path") or None} for one in asked.get("files", [])]
    kept = {"prepared": True, "text": asked["text"], "unread": [], "recalled": False, "attachments": files}
    return json.dumps(kept, ensure_ascii=False)


def _with_prefix(tx: Tx, message_json: str, old: turns.Turn) -> str:
    """What was read already stays in front of what comes."""
    message = json.loads(message_json)
    message["prefix"] = sessions.last_answer_of(tx, old.session_id, old.turn_id)
    return json.dumps(message, ensure_ascii=False)


def _card_of(tx: Tx, turn_id: TurnId) -> sent_cards.SentCard | None:
    """The main card of a turn: from its snapshot while that is there, else from what was kept of it."""
    sent = sent_cards.sent_card_of_turn(tx, turn_id, 0)
    open_card = next((card for card in snapshots.cards_of(tx, turn_id) if card.segment == 0), None)
    if open_card is None or open_card.message_id is None:
        return sent
    text = sent.text if sent else ""
    return sent_cards.SentCard(open_card.message_id, turn_id, 0, text, open_card.card_id, open_card.sequence)


def _trigger_of(tx: Tx, turn: turns.Turn) -> MessageId | None:
    """The person's message at the beginning of a chain of continued turns; None: nobody's message caused it."""
    first = _first_of(tx, turn)
    return MessageId(first.cause_id) if first.cause == "message" else None


def _first_of(tx: Tx, turn: turns.Turn) -> turns.Turn:
    """The turn at the beginning of a chain of continued ones, as far as it is known."""
    for _ in range(CHAIN_AT_MOST):
        earlier = turns.find_turn(tx, TurnId(turn.cause_id)) if turn.cause == "continue" else None
        if earlier is None:
            break
        turn = earlier
    return turn
