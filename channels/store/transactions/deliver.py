"""The durable lane: every attempt is committed before it is made, every result in the commit that follows from it."""

from dataclasses import dataclass, replace

from channels.ids import CardId, ChatId, IntentId, MessageId, ReactionId, SendUuid, SessionId, ThreadId, TurnId
from channels.rules import delivery, intents, tool_output
from channels.rules.delivery import Attempt, Intent
from channels.rules.intents import payload, read_payload
from channels.store import cursors, outbox, routes, sent_cards, sessions, snapshots, turns
from channels.store.transactions.establish import lose_place, settle_opening, settle_place
from channels.store.tx import Tx

SEQUENCE_JUMP = 10_000
SPARE_UUIDS = 2
AGAIN = "+again"
ONCE_MORE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Effect:
    """What a successful attempt brought."""

    message_id: MessageId | None = None
    chat_id: ChatId | None = None  # where it stands, when that was not known before
    thread_id: ThreadId | None = None
    card_id: CardId | None = None
    reaction_id: ReactionId | None = None
    file_key: str | None = None
    text: str = ""  # what a card of ours now shows


@dataclass(frozen=True, slots=True)
class Spare:
    """What a failed attempt may need: fresh uuids, a neutral card, the answer's text with and without masking."""

    uuids: tuple[SendUuid, ...]
    neutral_card: str = ""
    text: str = ""
    masked_card: str = ""
    masked_text: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was committed: the lane's next attempt (already begun) or when to look again; whether a claim closed."""

    next: Attempt | None = None
    due_at: int | None = None
    claim_closed: bool = False
    abandoned: TurnId | None = None  # this running turn must be stopped


def begin_next(tx: Tx, lane: str, now: int, *, unrecorded: bool = False) -> Recorded:
    """Commit the next attempt of a lane, if its first pending intent is due. `unrecorded`: the result of the lane's
    last attempt could not be written."""
    head = outbox.head_of_lane(tx, lane)
    if head is None:
        return Recorded()
    if head.next_attempt_at > now:
        return Recorded(due_at=head.next_attempt_at)
    since, unsure = _first_attempt_at(head, now), head.unsure or (unrecorded and head.attempts > 0)
    outbox.begin_attempt(tx, head.intent.intent_id, since, unsure)
    attempt = Attempt(
        intent=head.intent,
        attempts=head.attempts + 1,
        first_attempt_at=since,
        unsure=unsure,
        created_at=head.created_at,
        reconcile=head.reconcile,
    )
    if not attempt.reconcile and delivery.must_ask_history(attempt, now):
        outbox.ask_history(tx, head.intent.intent_id, "the uuid window is over", now)
        attempt = replace(attempt, reconcile=True)
    return Recorded(next=_with_surroundings(tx, attempt))


def _first_attempt_at(head: outbox.OutboxRow, now: int) -> int:
    """Since when the effect may be there. In a restored file also an intent that nobody sent may have been sent."""
    if head.first_attempt_at is not None:
        return head.first_attempt_at
    return head.created_at if head.reconcile else now


def record_success(tx: Tx, attempt: Attempt, effect: Effect, now: int) -> Recorded:
    """The effect is there: remember what it brought, and begin the lane's next."""
    result = payload(
        message_id=effect.message_id,
        thread_id=effect.thread_id,
        card_id=effect.card_id,
        reaction_id=effect.reaction_id,
        file_key=effect.file_key,
    )
    if not outbox.set_last(tx, attempt.intent.intent_id, "done", result, None, now):
        return Recorded()
    closed = _remember(tx, attempt.intent, effect, now)
    _once_more(tx, attempt, now)
    return _go_on(tx, attempt.intent, closed, now)


def record_failure(tx: Tx, attempt: Attempt, step: delivery.Step, error: str, spare: Spare, now: int) -> Recorded:
    """What the answer asks for, in one commit with its successor, and the lane's next attempt."""
    intent = attempt.intent
    closed = False
    match step:
        case delivery.Wait(after_ms, unsure):
            outbox.set_wait(tx, intent.intent_id, now + after_ms, error, unsure)
        case delivery.Jump():
            if intent.turn_id is not None:
                snapshots.reserve_sequences(tx, intent.turn_id, intent.segment, SEQUENCE_JUMP)
            outbox.set_wait(tx, intent.intent_id, now, error, False)
        case delivery.Last(state):
            outbox.set_last(tx, intent.intent_id, state, None, error, now)
            if intent.op == "upload":  # then there is nothing to show
                outbox.dissolve_lane(tx, intent.lane, error, now)
            closed = lose_place(tx, intent, state, now)
        case delivery.Dissolve():
            return _dissolve(tx, intent, error, now)
        case delivery.AskHistory():
            outbox.ask_history(tx, intent.intent_id, error, now)
        case delivery.SendAnew():
            outbox.supersede(tx, intent, delivery.successor(intent, spare.uuids[0]), error, now)
        case delivery.Abandon():
            return _abandon(tx, intent, error, now)
        case delivery.LeaveThread():
            _leave_thread(tx, intent, spare, error, now)
        case delivery.ToChat():
            outbox.supersede(tx, intent, _elsewhere(tx, attempt, spare), error, now)
        case delivery.PatchLane():
            outbox.set_last(tx, intent.intent_id, "superseded", None, error, now)
        case delivery.TextLane():
            _to_text(tx, attempt, spare, error, now)
        case delivery.MaskMail():
            body = payload(card=spare.masked_card, text=spare.masked_text, masked=True)
            outbox.supersede(tx, intent, delivery.successor(intent, spare.uuids[0], payload=body), error, now)
    return _go_on(tx, intent, closed, now)


def _with_file(tx: Tx, attempt: Attempt) -> Attempt:
    """The attempt with what it uploads, or with what its upload has brought."""
    body = read_payload(attempt.intent) if attempt.intent.op in ("upload", "file") else {}
    match attempt.intent.op:
        case "upload":
            entries = sessions.tools_in(tx, SessionId(body["session"]), TurnId(body["turn"]))
            return replace(attempt, content=tool_output.gather(entries))
        case "file":
            return replace(attempt, file_key=outbox.uploaded(tx, IntentId(body["upload"])))
        case _:
            return attempt


def _with_surroundings(tx: Tx, attempt: Attempt) -> Attempt:
    """The attempt with what its turn's card and reaction have become, and a fresh sequence for a closing update."""
    intent = attempt.intent
    if intent.turn_id is None:
        return _with_file(tx, replace(attempt, in_thread=bool(read_payload(intent).get("in_thread"))))
    snapshot = snapshots.find_snapshot(tx, intent.turn_id)
    if snapshot is None:
        return attempt
    caused = snapshot.trigger_message_id is not None
    attempt = replace(attempt, reaction_id=snapshot.reaction_id, in_thread=snapshot.in_thread, answers_person=caused)
    card = next((card for card in snapshots.cards_of(tx, intent.turn_id) if card.segment == intent.segment), None)
    if card is None or intent.kind == "reaction":
        return attempt
    sequence = 0
    if intent.op == "close" and card.card_id:
        sequence = snapshots.reserve_sequences(tx, intent.turn_id, intent.segment, 1)
    return replace(attempt, mode=card.mode, card_id=card.card_id, message_id=card.message_id, sequence=sequence)


def _go_on(tx: Tx, intent: Intent, closed: bool, now: int) -> Recorded:
    """Delete the snapshot when the turn's last terminal intent is settled; begin the lane's next attempt."""
    if intent.turn_id is not None and outbox.terminals_settled(tx, intent.turn_id) and _has_ended(tx, intent.turn_id):
        closed = forget_snapshot(tx, intent.turn_id) or closed
    return replace(begin_next(tx, intent.lane, now), claim_closed=closed)


def _has_ended(tx: Tx, turn_id: TurnId) -> bool:
    """What opens a topic is settled while its turn still runs."""
    turn = turns.find_turn(tx, turn_id)
    return turn is None or turn.state == "ended"


def forget_snapshot(tx: Tx, turn_id: TurnId) -> bool:
    """Nothing is left to do for this turn. Returns whether a claim closed."""
    claim = routes.claim_of_turn(tx, turn_id)
    closed = claim is not None and routes.close_claim(tx, claim.message_id)
    _keep_entities(tx, turn_id)
    snapshots.delete_snapshot(tx, turn_id)
    return closed


def _keep_entities(tx: Tx, turn_id: TurnId) -> None:
    for card in snapshots.cards_of(tx, turn_id):
        if card.message_id is not None:
            sent_cards.keep_entity(tx, card.message_id, card.card_id, card.sequence)


def _once_more(tx: Tx, attempt: Attempt, now: int) -> None:
    """What may be overtaken by an earlier request whose outcome was unknown is done once more, a minute later."""
    intent = attempt.intent
    if intent.turn_id is None or intent.intent_id.endswith(AGAIN):
        return
    again = replace(intent, intent_id=IntentId(intent.intent_id + AGAIN), uuid=SendUuid(intent.uuid + AGAIN))
    if intent.op == "close" and attempt.mode == "card" and attempt.card_id is None and _may_be_overtaken(tx, intent):
        outbox.add_intents(tx, [again], now, delay_ms=ONCE_MORE_MS)
    if intent.op == "remove" and _was_unsure(tx, intent.turn_id):
        look = replace(again, payload=payload(**read_payload(intent), look=True))
        outbox.add_intents(tx, [look], now, delay_ms=ONCE_MORE_MS)


def _may_be_overtaken(tx: Tx, intent: Intent) -> bool:
    """A patch has no sequence: an earlier one of unknown outcome, or of another owner, may still arrive."""
    assert intent.turn_id is not None
    turn = turns.find_turn(tx, intent.turn_id)
    cards = [card for card in snapshots.cards_of(tx, intent.turn_id) if card.segment == intent.segment]
    return any(card.unsure for card in cards) or (turn is not None and turn.start_epoch > 1)


def _was_unsure(tx: Tx, turn_id: TurnId) -> bool:
    """Whether adding the Typing reaction had an unknown outcome at any time."""
    typing = outbox.find_intent(tx, IntentId(f"{turn_id}/typing"))
    return typing is not None and typing.unsure


def _remember(tx: Tx, intent: Intent, effect: Effect, now: int) -> bool:
    """Facts that later intents and repairs need. Returns whether a claim closed."""
    apart = intent.turn_id is None or not intents.shows_card(intent)
    if effect.message_id is not None:
        owner, chat_id = None if apart else intent.turn_id, effect.chat_id or intent.chat_id
        text = "" if apart and intent.turn_id is not None else effect.text  # what was asked stands in the log alone
        sent_cards.put_sent(tx, effect.message_id, owner, intent.segment, chat_id, text, now)
    if intent.turn_id is None:
        return False
    if apart:
        return intents.is_opening(intent) and settle_opening(tx, intent.turn_id, effect.thread_id, now)
    if effect.card_id is not None:
        snapshots.set_card_id(tx, intent.turn_id, intent.segment, effect.card_id)
    if effect.reaction_id is not None and intent.intent_id.endswith("/typing"):
        snapshots.set_reaction(tx, intent.turn_id, effect.reaction_id)
    if effect.message_id is not None and intent.op != "close":
        snapshots.set_card_message(tx, intent.turn_id, intent.segment, effect.message_id)
    if effect.message_id is not None and intent.segment == 0:
        return settle_place(tx, intent.turn_id, effect.thread_id, effect.message_id, now, chat_id=effect.chat_id)
    return False


def _elsewhere(tx: Tx, attempt: Attempt, spare: Spare) -> Intent:
    """The message to answer is gone: a new message to the chat. One that only shows the place of a wake-up gives way to
    another one of its topic."""
    intent = attempt.intent
    snapshot = snapshots.find_snapshot(tx, intent.turn_id) if intent.turn_id and not attempt.answers_person else None
    other = cursors.newest_message(tx, snapshot.route_key) if snapshot and snapshot.route_key else None
    if other is not None and attempt.in_thread and other != intent.target:
        return delivery.successor(intent, spare.uuids[0], target=other)
    op = "send" if intent.op in ("reply", "notice") else "send_text"
    return delivery.successor(intent, spare.uuids[0], op=op)


def _leave_thread(tx: Tx, intent: Intent, spare: Spare, error: str, now: int) -> None:
    if intent.turn_id is not None:
        snapshot = snapshots.find_snapshot(tx, intent.turn_id)
        snapshots.set_place(tx, intent.turn_id, snapshot.route_key if snapshot else None, False)
    body = payload(**{**read_payload(intent), "in_thread": False})
    outbox.supersede(tx, intent, delivery.successor(intent, spare.uuids[0], payload=body), error, now)


def _dissolve(tx: Tx, intent: Intent, error: str, now: int) -> Recorded:
    """The chat is gone. A turn that nobody waits for there, and whose card will never be seen, stops."""
    outbox.dissolve_lane(tx, intent.lane, error, now)
    closed, stopped = lose_place(tx, intent, "gone", now), None
    snapshot = snapshots.find_snapshot(tx, intent.turn_id) if intent.turn_id else None
    if snapshot is not None and snapshot.anchor is None and turns.request_stop(tx, snapshot.turn_id):
        stopped = snapshot.turn_id
    return replace(_go_on(tx, intent, closed, now), abandoned=stopped)


def _abandon(tx: Tx, intent: Intent, error: str, now: int) -> Recorded:
    """The question was taken back before it was answered: its card will not come, its turn stops."""
    outbox.set_last(tx, intent.intent_id, "gone", None, error, now)
    closed = lose_place(tx, intent, "gone", now)
    if intent.turn_id is not None:
        turns.request_stop(tx, intent.turn_id)
    return replace(_go_on(tx, intent, closed, now), abandoned=intent.turn_id)


def _to_text(tx: Tx, attempt: Attempt, spare: Spare, error: str, now: int) -> None:
    """The card is refused for certain. A refused close leaves a neutral card and says the answer as text."""
    intent = attempt.intent
    if intent.op != "close":
        if intent.turn_id is not None:
            snapshots.set_mode(tx, intent.turn_id, intent.segment, "text")
        if intent.terminal or intent.turn_id is None:
            op = "send_text" if intent.op == "send" else "text"
            outbox.supersede(tx, intent, delivery.successor(intent, spare.uuids[0], op=op), error, now)
        else:
            outbox.set_last(tx, intent.intent_id, "superseded", None, error, now)
        return
    neutral = delivery.successor(
        intent, spare.uuids[0], payload=payload(card=spare.neutral_card, text="", neutral=True)
    )
    if not outbox.supersede(tx, intent, neutral, error, now):
        return
    said = delivery.successor(
        neutral, spare.uuids[1], kind="segment", op="text", payload=payload(card="", text=spare.text)
    )
    outbox.add_intents(tx, [said], now)
