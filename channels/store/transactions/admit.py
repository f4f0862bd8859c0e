"""Decide and admit: one function, so that nothing changes between the facts and what follows from them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from channels.ids import ClaimKey, ConversationKey, MessageId, OwnerEpoch, SendUuid, SessionId, TurnId
from channels.rules import gathering, intents, routing
from channels.rules.access import Outside
from channels.rules.intents import Drawing
from channels.rules.launch import launch_claims_of
from channels.rules.message import Message
from channels.rules.quota import Short
from channels.rules.workspace import topic_folder, topic_of
from channels.store import (
    access,
    chosen_agents,
    events,
    inbox,
    missed_batches,
    outbox,
    routes,
    sent_cards,
    sessions,
    snapshots,
    turns,
)
from channels.store.inbox import InboxRow
from channels.store.transactions.access import Person, read_standing
from channels.store.transactions.access_requests import keep_message
from channels.store.transactions.reserve import find_shortage, insert_reserved_turn, know_person
from channels.store.tx import Tx

CLAIM_WAIT_MS = 30_000  # after this an unknown reply closes its claim as a chat route
FIRST_SEQUENCES = 1_000  # the block that the live lane of a new card may use
UUIDS_PER_ADMISSION = 4
PLACES_AT_MOST = 500  # of those who wait for a place, so many are counted


@dataclass(frozen=True, slots=True)
class Admission:
    """Everything a new turn needs that is not in the file: fresh ids, the agent, the first drawings."""

    turn_id: TurnId
    session_id: SessionId
    uuids: tuple[SendUuid, ...]
    agent: str
    cwd: str
    thinking: Drawing
    waiting: Drawing
    expired: Drawing
    message_json: str
    queue_full: Drawing | None = None
    denied: Drawing | None = None
    agents: frozenset[str] = frozenset()  # all that are configured
    request_id: str = ""  # for an access request, should this be the first message of a stranger
    excerpt: str = ""
    draw_quota: Callable[[Short], Drawing] | None = None  # the refusal of a person whose quota is used up
    max_running: int = 0  # so many turns run at once
    draw_crowded: Callable[[int], Drawing] | None = None  # the first card where so many get a place before this turn


@dataclass(frozen=True, slots=True)
class Decided:
    """What was committed. `lanes` have new intents; `turn_id` is set when a turn was admitted; `left`: the session
    without which the conversation goes on."""

    verdict: str
    turn_id: TurnId | None = None
    lanes: tuple[str, ...] = ()
    left: SessionId | None = None


@dataclass(frozen=True, slots=True)
class NotYet:
    """Nothing was written: an earlier message of the conversation, or a session being established, goes first."""

    why: str


@dataclass(frozen=True, slots=True)
class Held:
    """It waits for company until then, outside its conversation's order."""

    until_ms: int


def decide_message(
    tx: Tx,
    row: InboxRow,
    message: Message,
    policy: routing.Policy,
    admission: Admission,
    epoch: OwnerEpoch,
    now: int,
) -> Decided | NotYet | Held:
    """The way of one accepted message, from the facts of this moment. What waited for it goes into its turn."""
    verdict = inbox.take_up(tx, row.message_id)
    if verdict is None:
        return Decided("decided_before")
    if not inbox.is_head(tx, row):
        return NotYet("order")
    waiting, waited = inbox.gathering(tx, row), verdict == "gathering"
    facts = _facts(tx, message, policy, now)
    if not waited and message.envelope.sender.kind == "user":
        until = gathering.hold_until(message.envelope.message_type, row.received_at, now, waiting, policy.windows)
        facts = replace(facts, hold_until_ms=until)
    company = gathering.together(_waiting(row), waiting, policy.windows, closes=not waited)
    decision = routing.decide(message, facts, policy)
    match decision:
        case routing.Drop(reason):
            inbox.set_terminal(tx, row.message_id, "dropped", reason, now)
            return Decided(reason)
        case routing.Refuse(reason):
            for message_id in company:  # one card for all of them
                inbox.set_terminal(tx, message_id, "refused", reason, now)
            return _refuse(tx, message, reason, _refusal(reason, facts, admission), admission.uuids[0], now)
        case routing.AwaitEstablishing():
            if company:
                inbox.keep_with_company(tx, row.message_id)
            return NotYet("establishing")
        case routing.Continue(route, in_thread):
            _count_message(tx, message, policy)
            decided = _continue(tx, message, route, in_thread, admission, policy, epoch, now)
            return _join(tx, decided, company, now)
        case routing.Start(in_thread):
            _count_message(tx, message, policy)
            decided = _start(tx, message, in_thread, admission, policy, epoch, now)
            return _join(tx, decided, company, now)
        case routing.Hold(until_ms):
            inbox.hold_for_company(tx, row, until_ms)
            return Held(until_ms)
        case routing.Keep():
            keep_message(tx, message, company, admission.request_id, admission.excerpt, policy.access, now)
            return Decided("kept")
        case _:
            assert_never(decision)


def _waiting(row: InboxRow) -> gathering.Waiting:
    return gathering.Waiting(row.message_id, row.create_time, row.received_at)


def _join(tx: Tx, decided: Decided, company: Sequence[MessageId], now: int) -> Decided:
    """What belongs to the same question goes into the turn that was admitted, unless it was taken back."""
    for message_id in company if decided.turn_id else ():
        if events.is_recalled(tx, message_id):
            inbox.set_terminal(tx, message_id, "dropped", "recalled", now)
        elif decided.turn_id is not None:
            inbox.set_queued(tx, message_id, decided.turn_id, decided.verdict)
    return decided


def refuse_poisoned(tx: Tx, message_id: MessageId, intent: Drawing, uuid: SendUuid, row: InboxRow, now: int) -> str:
    """A message that could not be decided is refused with an error card; returns the lane."""
    inbox.set_terminal(tx, message_id, "refused", "poisoned", now)
    card = intents.notice("poisoned", row.chat_id, message_id, intent, uuid, in_thread=False)
    outbox.add_intents(tx, [card], now)
    return card.lane


def claim_key(message: Message) -> ClaimKey:
    return ClaimKey(f"{message.envelope.chat_id}:{message.envelope.sender.user_id}")


def agent_of_new(tx: Tx, chat_key: ConversationKey, agents: frozenset[str], default: str) -> str:
    """Who answers a new conversation: whom this person chose in this chat, if it is configured."""
    chosen = chosen_agents.find_choice(tx, chat_key)
    return chosen if chosen in agents else default


def _facts(tx: Tx, message: Message, policy: routing.Policy, now: int) -> routing.Facts:
    envelope = message.envelope
    thread = routes.find_route(tx, envelope.conversation) if envelope.thread_id else None
    chat = routes.find_route(tx, envelope.chat_key)
    of_root = _claim_of_root(tx, message) if thread is None else None
    of_sender = routes.claim_of_key(tx, claim_key(message))
    place = thread or (chat if envelope.thread_id is None else None)
    by_bot = envelope.sender.kind != "user"
    outside = "" if by_bot else _outside(tx, message, policy, now)
    know_person(tx, envelope.sender.user_id, envelope.sender.open_id)
    return routing.Facts(
        recalled=events.is_recalled(tx, envelope.message_id),
        tombstoned=bool(envelope.thread_id) and routes.is_tombstoned(tx, envelope.conversation),
        thread_route=routing.RouteFact(thread.key, thread.session_id) if thread else None,
        chat_route=routing.RouteFact(chat.key, chat.session_id) if chat else None,
        claim_of_root=of_root.message_id if of_root else None,
        asked_for=missed_batches.was_handled(tx, envelope.message_id),
        claim_of_sender=of_sender.message_id if of_sender else None,
        waiting=turns.count_waiting(tx, place.session_id) if place else 0,
        outside=outside,
        kept=inbox.count_kept(tx, envelope.sender.user_id) if outside else 0,
        bot_answers=inbox.count_bot_answers(tx, envelope.chat_id, now - policy.bot_window_ms) if by_bot else 0,
        short=find_shortage(tx, envelope.sender.user_id, policy.quota, now),
    )


def _claim_of_root(tx: Tx, message: Message) -> routes.Claim | None:
    """The claim whose message is this one's root. A topic whose beginning nobody has seen may be that of a launch whose
    card is there and has no id yet: what is written in it waits until that is known."""
    envelope = message.envelope
    if not envelope.root_id:
        return None
    found = routes.claim_of_message(tx, envelope.root_id)
    if found is not None or envelope.thread_id is None:
        return found
    pending = routes.pending_launch(tx, launch_claims_of(envelope.chat_id))
    if (
        pending is None
        or inbox.is_processed(tx, envelope.root_id)
        or sent_cards.sent_text(tx, envelope.root_id) is not None
    ):
        return None
    return pending


def _outside(tx: Tx, message: Message, policy: routing.Policy, now: int) -> str:
    """Why the author may not chat; nothing is read where everybody may."""
    if policy.access.mode == "open":
        return ""
    sender = message.envelope.sender
    found = read_standing(tx, Person(sender.user_id, sender.open_id), policy.access, now)
    return found.why if isinstance(found, Outside) else ""


def _count_message(tx: Tx, message: Message, policy: routing.Policy) -> None:
    """A grant may be for a number of messages: a question that gets a turn is one."""
    if policy.access.mode == "approval":
        access.count_message(tx, message.envelope.sender.user_id)


def _refusal(reason: str, facts: routing.Facts, admission: Admission) -> Drawing:
    if reason == "quota" and facts.short is not None and admission.draw_quota is not None:
        return admission.draw_quota(facts.short)
    other = {"queue_full": admission.queue_full, "access_denied": admission.denied}.get(reason)
    return other or admission.expired


def _refuse(tx: Tx, message: Message, reason: str, drawing: Drawing, uuid: SendUuid, now: int) -> Decided:
    envelope = message.envelope
    inbox.set_terminal(tx, envelope.message_id, "refused", reason, now)
    card = intents.notice(
        "refused",
        envelope.chat_id,
        envelope.message_id,
        drawing,
        uuid,
        in_thread=envelope.thread_id is not None,
    )
    outbox.add_intents(tx, [card], now)
    return Decided(reason, lanes=(card.lane,))


def _start(
    tx: Tx,
    message: Message,
    in_thread: bool,
    admission: Admission,
    policy: routing.Policy,
    epoch: OwnerEpoch,
    now: int,
) -> Decided:
    """A new session, its claim, and its first turn."""
    envelope = message.envelope
    session = sessions.Session(
        admission.session_id,
        envelope.chat_id,
        envelope.chat_type,
        envelope.sender.user_id,
        agent_of_new(tx, envelope.chat_key, admission.agents, admission.agent),
        admission.cwd,
    )
    sessions.insert_session(tx, session, now)
    if in_thread and session.cwd:
        folder = sessions.Folder(topic_folder(session.cwd, topic_of(envelope)))
        sessions.set_folder(tx, session.session_id, folder, now)
    decided = _admit(tx, message, admission.session_id, None, in_thread, admission, policy, epoch, now)
    routes.open_claim(
        tx,
        routes.Claim(
            envelope.message_id,
            claim_key(message),
            admission.turn_id,
            admission.session_id,
            epoch,
            "open",
            now + CLAIM_WAIT_MS,
        ),
    )
    return decided


def _continue(
    tx: Tx,
    message: Message,
    route: routing.RouteFact,
    in_thread: bool,
    admission: Admission,
    policy: routing.Policy,
    epoch: OwnerEpoch,
    now: int,
) -> Decided:
    routes.touch_route(tx, route.key, route.session_id, None, now)
    return _admit(tx, message, route.session_id, route, in_thread, admission, policy, epoch, now)


def _admit(
    tx: Tx,
    message: Message,
    session_id: SessionId,
    route: routing.RouteFact | None,
    in_thread: bool,
    admission: Admission,
    policy: routing.Policy,
    epoch: OwnerEpoch,
    now: int,
) -> Decided:
    """Turn, reservation, snapshot, and the intents of every effect that follows."""
    envelope, turn_id, uuids = message.envelope, admission.turn_id, admission.uuids
    busy = turns.is_session_busy(tx, session_id)
    sender = envelope.sender.user_id
    insert_reserved_turn(tx, turn_id, "message", envelope.message_id, session_id, sender, policy.quota, epoch, now)
    snapshot = snapshots.Snapshot(
        turn_id=turn_id,
        session_id=session_id,
        chat_id=envelope.chat_id,
        chat_type=envelope.chat_type,
        trigger_message_id=envelope.message_id,
        in_thread=in_thread,
        reaction_id=None,
        route_key=route.key if route else None,
        message=admission.message_json,
        sender_user_id=sender,
    )
    snapshots.insert_snapshot(tx, snapshot, now)
    snapshots.insert_card(tx, turn_id, 0, "card", uuids[2], 0)
    build = intents.TurnIntents(turn_id, envelope.chat_id, envelope.message_id)
    drawing = admission.waiting if busy else _first_card(tx, admission, epoch)
    effects = [build.typing(uuids[0]), *build.card(0, drawing, (uuids[1], uuids[2]), final=False)]
    outbox.add_intents(tx, effects, now)
    inbox.set_queued(tx, envelope.message_id, turn_id, "continue" if route else "start")
    lanes = (intents.turn_lane(turn_id), intents.reaction_lane(turn_id))
    return Decided("continue" if route else "start", turn_id, lanes)


def _first_card(tx: Tx, admission: Admission, epoch: OwnerEpoch) -> Drawing:
    """Thinking; or, where all places are taken, how many others get one before this turn."""
    if admission.draw_crowded is None or turns.count_busy_sessions(tx) <= admission.max_running:
        return admission.thinking
    order = [turn.turn_id for turn in turns.runnable_turns(tx, epoch, PLACES_AT_MOST)]
    ahead = order.index(admission.turn_id) if admission.turn_id in order else len(order)
    return admission.draw_crowded(ahead)


def answer_command(
    tx: Tx,
    message: Message,
    verdict: str,
    drawing: Drawing,
    uuid: SendUuid,
    now: int,
    *,
    expired: Drawing | None = None,
) -> Decided:
    """A command was carried out: its answer is an intent, its row is done. `expired`: what it gets instead in a topic
    that has expired, where it needs a session."""
    envelope = message.envelope
    refused = expired is not None and routes.is_tombstoned(tx, envelope.conversation)
    state, verdict = ("refused", "expired") if refused else ("done", verdict)
    if not inbox.set_terminal(tx, envelope.message_id, state, verdict, now):
        return Decided("decided_before")
    in_thread, shown = envelope.thread_id is not None, expired if refused and expired is not None else drawing
    card = intents.notice("answer", envelope.chat_id, envelope.message_id, shown, uuid, in_thread=in_thread)
    outbox.add_intents(tx, [card], now)
    return Decided(verdict, lanes=(card.lane,))
