"""The middle of a turn: enter, save what was read, add a segment, stop, finish. Each is fenced by both epochs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from channels.ids import CardId, MessageId, OwnerEpoch, SendUuid, SessionId, StartEpoch, TurnId, UserId
from channels.rules import intents
from channels.rules.access import AccessPolicy, Outside
from channels.rules.delivery import Intent
from channels.rules.intents import Drawing
from channels.rules.settlement import Caller
from channels.store import inbox, outbox, permission_requests, sessions, snapshots, turns
from channels.store.transactions.access import Person, look_up_standing
from channels.store.transactions.admit import FIRST_SEQUENCES
from channels.store.transactions.settle import Kept, Spent, keep_evidence
from channels.store.transactions.settlement import Acked, enqueue
from channels.store.transactions.settlement_facts import Refused
from channels.store.tx import ConstraintFailed, Tx

TOLD = frozenset({"completed", "max_tokens", "failed"})  # outcomes that a long turn tells its person about
ASKED = frozenset({"message", "continue"})  # causes that a person brought about
LOST = frozenset({"revoked", "expired"})  # why somebody is outside who was let in before
CROWDED_MS = 1_000  # who waited for longer may have been told that others come first
HISTORY_LIMIT = 200  # messages handed to the agent at most; it cuts further to its own budget


@dataclass(frozen=True, slots=True)
class Lease:
    """This start of this turn under this owner; every later commit of the turn is guarded by it."""

    turn_id: TurnId
    session_id: SessionId
    start_epoch: StartEpoch
    owner_epoch: OwnerEpoch


@dataclass(frozen=True, slots=True)
class OpenCard:
    """A card that this start of the turn may update, with sequence numbers that nobody else will ever use."""

    segment: int
    card_id: CardId | None
    message_id: MessageId | None
    first_sequence: int
    last_sequence: int


@dataclass(frozen=True, slots=True)
class Entered:
    """The turn is ours and in the log. `history`: what was said before; `waited`: its card does not say thinking."""

    lease: Lease
    snapshot: snapshots.Snapshot
    session: sessions.Session
    history: tuple[tuple[str, str], ...]
    waited: bool
    cards: tuple[OpenCard, ...]


@dataclass(frozen=True, slots=True)
class ShutOut:
    """It stays queued, and must end unanswered: who asked may not chat any more."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What is said to the person once the answer is there."""

    text: str
    uuid: SendUuid


@dataclass(frozen=True, slots=True)
class Finish:
    """How a turn ends. `stopped` are the drawings in case a stop was asked for meanwhile."""

    outcome: str
    log: tuple[tuple[str, dict[str, object]], ...]
    drawings: tuple[Drawing, ...]
    stopped: tuple[Drawing, ...]
    uuids: tuple[SendUuid, ...]
    notice: Notice | None = None
    spent: Spent = field(default_factory=Spent)
    lost_session: bool = False  # the agent could not load its old session
    output: tuple[SendUuid, SendUuid] | None = None  # the whole output of its commands comes as a file


@dataclass(frozen=True, slots=True)
class Finished:
    """`settlement`: it is queued, or why it is not yet (the sweep will see to it); None: nothing was reserved."""

    outcome: str
    lanes: tuple[str, ...]
    settlement: Acked | Refused | None = None


def uuids_for(cards: int) -> int:
    """How many uuids a finish needs at most: a new card takes two, an existing one one, reactions two."""
    return 2 * cards + 2


def enter_turn(
    tx: Tx,
    lease: Lease,
    text: str,
    now: int,
    files: Sequence[Mapping[str, object]] = (),
    policy: AccessPolicy | None = None,
) -> Entered | ShutOut | None:
    """queued → entered and `user/message` in the log, or None: someone newer owns it, or a stop was asked for.

    With a `policy`, whoever lost the right to chat while the question waited is shut out; nothing is written then.
    """
    snapshot = snapshots.find_snapshot(tx, lease.turn_id)
    session = sessions.find_session(tx, lease.session_id)
    if snapshot is None or session is None:
        return None
    if policy is not None and _is_shut_out(tx, lease.turn_id, policy, now):
        return ShutOut()
    if not turns.enter_turn(tx, lease.turn_id, lease.start_epoch, lease.owner_epoch, now):
        return None
    history = tuple(sessions.read_said(tx, lease.session_id, HISTORY_LIMIT))
    body: dict[str, object] = {"text": text, "sender_user_id": snapshot.sender_user_id}
    body |= {"files": list(files)} if files else {}
    sessions.append(tx, lease.session_id, "user/message", lease.turn_id, body, now)
    turn = turns.find_turn(tx, lease.turn_id)
    late = turn is not None and (turn.cause == "continue" or now - turn.queued_at > CROWDED_MS)
    waited = late or turns.has_waited(tx, lease.turn_id)
    return Entered(lease, snapshot, session, history, waited, _open_cards(tx, lease.turn_id))


def _is_shut_out(tx: Tx, turn_id: TurnId, policy: AccessPolicy, now: int) -> bool:
    """Whether this person was let in, asked, and has lost it again. Whom an admin has launched a topic for need not
    have been let in; and the last message of a grant was counted when it was asked."""
    turn = turns.find_turn(tx, turn_id)
    if turn is None or not turn.sender_user_id or turn.cause not in ASKED:
        return False
    found = look_up_standing(tx, Person(turn.sender_user_id), policy, now)
    return isinstance(found, Outside) and found.why in LOST


def save_progress(tx: Tx, lease: Lease, text: str, log: Sequence[tuple[str, dict[str, object]]], now: int) -> bool:
    """What the person has read so far, and the log entries since the last save. False: stop, it is not ours."""
    turn = turns.find_turn(tx, lease.turn_id)
    if turn is None or turn.state != "entered" or not _holds(turn, lease):
        return False
    snapshots.save_text(tx, lease.turn_id, text)
    for kind, body in log:
        sessions.append(tx, lease.session_id, kind, lease.turn_id, body, now)
    return not turn.stop_requested


def add_segment(
    tx: Tx, lease: Lease, segment: int, drawing: Drawing, uuids: tuple[SendUuid, SendUuid], now: int
) -> str | None:
    """The next card of a long answer. Returns its lane, or None when it is not ours or exists already."""
    turn, snapshot = turns.find_turn(tx, lease.turn_id), snapshots.find_snapshot(tx, lease.turn_id)
    if turn is None or snapshot is None or turn.state != "entered" or not _holds(turn, lease):
        return None
    if not snapshots.insert_card(tx, lease.turn_id, segment, "card", uuids[1], FIRST_SEQUENCES):
        return None
    build = _build(snapshot)
    outbox.add_intents(tx, build.card(segment, drawing, uuids, final=False), now)
    return intents.turn_lane(lease.turn_id)


def reserve_sequences(tx: Tx, lease: Lease, segment: int, count: int) -> int:
    """The first of `count` fresh sequence numbers for the live lane of a card; 0 when it is gone."""
    return snapshots.reserve_sequences(tx, lease.turn_id, segment, count)


def finish_turn(tx: Tx, lease: Lease, finish: Finish, now: int, *, repaired: bool = False) -> Finished | None:
    """Evidence first; then outcome, log, inbox rows, terminal intents and the settlement in the same commit. None: not
    ours any more, and only the evidence stays."""
    before = turns.find_turn(tx, lease.turn_id)
    if before is None:
        return None
    kind = "repaired" if repaired else "unstarted" if before.state == "queued" else "ended"
    evidence = keep_evidence(tx, before, lease.start_epoch, lease.owner_epoch, kind, finish.outcome, finish.spent, now)
    if not turns.end_turn(tx, lease.turn_id, lease.start_epoch, lease.owner_epoch, finish.outcome, now):
        return None
    turn, snapshot = turns.find_turn(tx, lease.turn_id), snapshots.find_snapshot(tx, lease.turn_id)
    assert turn is not None and turn.outcome is not None
    end: tuple[str, dict[str, object]] = ("turn/end", {"outcome": turn.outcome, **_lost(tx, lease, finish)})
    ends = () if sessions.has_ended(tx, lease.turn_id) else (end,)
    for kind, body in (*finish.log, *ends):
        sessions.append(tx, lease.session_id, kind, lease.turn_id, body, now)
    inbox.finish_rows_of_turn(tx, lease.turn_id, now)
    permission_requests.end_of_turn(tx, lease.turn_id, "turn", now)
    settlement = None
    if evidence is not None:
        settlement = _queue_settlement(tx, evidence, lease, now)
    if snapshot is None:
        return Finished(turn.outcome, (), settlement)
    drawings = finish.stopped if turn.outcome == "stopped" else finish.drawings
    outbox.add_intents(tx, _closing(tx, snapshot, drawings, finish.uuids, now), now)
    outbox.add_intents(tx, _reactions(tx, snapshot, turn.outcome, finish.uuids[-2:], now), now)
    outbox.add_intents(tx, _notifications(snapshot, turn.outcome, finish.notice), now)
    files = _output_file(snapshot, finish)
    outbox.add_intents(tx, files, now)
    lanes = (intents.turn_lane(lease.turn_id), intents.reaction_lane(lease.turn_id))
    return Finished(turn.outcome, (*lanes, *(one.lane for one in files[:1])), settlement)


def _output_file(snapshot: snapshots.Snapshot, finish: Finish) -> list[Intent]:
    if finish.output is None or snapshot.anchor is None:
        return []
    turn_id, session_id, chat_id = snapshot.turn_id, snapshot.session_id, snapshot.chat_id
    return intents.output_file(
        turn_id, session_id, chat_id, snapshot.anchor, finish.output, in_thread=snapshot.in_thread
    )


def _queue_settlement(tx: Tx, evidence: Kept, lease: Lease, now: int) -> Acked | Refused | None:
    """No settlement holds up a turn's end: what the schema refuses here is left to the sweep."""
    try:
        with tx.savepoint():
            return enqueue(tx, evidence.reservation_id, evidence.ref, Caller(None, lease.owner_epoch), now)
    except ConstraintFailed:
        return None


def _lost(tx: Tx, lease: Lease, finish: Finish) -> dict[str, object]:
    """What `resume` looks for: only such a turn offers a fresh session."""
    session = sessions.find_session(tx, lease.session_id) if finish.lost_session else None
    return {"lost_session": session.agent_reference} if session is not None else {}


def keep_reference(tx: Tx, lease: Lease, agent: str, reference: str, now: int) -> bool:
    """The agent's own id of this session: kept with it, and in its log. False: not ours, another agent's, or known."""
    turn, session = turns.find_turn(tx, lease.turn_id), sessions.find_session(tx, lease.session_id)
    if turn is None or session is None or turn.state != "entered" or not _holds(turn, lease):
        return False
    if session.agent != agent or session.agent_reference == reference:
        return False
    sessions.set_reference(tx, lease.session_id, reference)
    body: dict[str, object] = {"agent": agent, "reference": reference}
    sessions.append(tx, lease.session_id, "subagent/descriptor", lease.turn_id, body, now)
    return True


def finish_if_stopped(tx: Tx, lease: Lease, finish: Finish, now: int) -> Finished | None:
    """End a turn that was never entered because a stop was asked for. None: it is not that."""
    turn = turns.find_turn(tx, lease.turn_id)
    if turn is None or turn.state != "queued" or not turn.stop_requested or not _holds(turn, lease):
        return None
    return finish_turn(tx, lease, finish, now)


def _open_cards(tx: Tx, turn_id: TurnId) -> tuple[OpenCard, ...]:
    opened = []
    for card in snapshots.cards_of(tx, turn_id):
        first = snapshots.reserve_sequences(tx, turn_id, card.segment, FIRST_SEQUENCES)
        last = first + FIRST_SEQUENCES - 1
        opened.append(OpenCard(card.segment, card.card_id, card.message_id, first, last))
    return tuple(opened)


def _holds(turn: turns.Turn, lease: Lease) -> bool:
    return turn.start_epoch == lease.start_epoch and turn.owner_epoch == lease.owner_epoch


def _build(snapshot: snapshots.Snapshot) -> intents.TurnIntents:
    return intents.TurnIntents(snapshot.turn_id, snapshot.chat_id, snapshot.anchor)


def _closing(
    tx: Tx, snapshot: snapshots.Snapshot, drawings: Sequence[Drawing], uuids: Sequence[SendUuid], now: int
) -> list[Intent]:
    """A close for every card that exists, a whole new card for every page beyond. Text that was sent is complete."""
    build, cards = _build(snapshot), snapshots.cards_of(tx, snapshot.turn_id)
    existing = {card.segment for card in cards}
    said = {card.segment for card in cards if card.mode == "text" and card.message_id is not None}
    effects: list[Intent] = []
    for segment in range(max(len(drawings), len(existing))):
        drawing = drawings[min(segment, len(drawings) - 1)]
        pair = (uuids[2 * segment], uuids[2 * segment + 1])
        if segment in said:
            continue
        if segment in existing:
            effects.append(build.close(segment, drawing, pair[0]))
        else:
            snapshots.insert_card(tx, snapshot.turn_id, segment, "card", pair[1], FIRST_SEQUENCES)
            effects += build.card(segment, drawing, pair, final=True)
    return effects


def _reactions(tx: Tx, snapshot: snapshots.Snapshot, outcome: str, uuids: Sequence[SendUuid], now: int) -> list[Intent]:
    """Typing goes (unless it was never sent), DONE comes after a good end; both stand on a person's message."""
    if snapshot.trigger_message_id is None:
        return []
    build = _build(snapshot)
    typing = build.typing(uuids[0]).intent_id
    effects = [] if outbox.supersede_unsent(tx, typing, now) else [build.untyping(uuids[0])]
    return [*effects, build.done(uuids[1])] if outcome in ("completed", "max_tokens") else effects


def _notifications(snapshot: snapshots.Snapshot, outcome: str, notice: Notice | None) -> list[Intent]:
    """Who stopped it, or saw it interrupted, needs no word; nor does another bot."""
    person, target = snapshot.sender_user_id, snapshot.anchor
    if notice is None or not person or target is None or outcome not in TOLD:
        return []
    mention = person.removeprefix("open:")
    build, in_thread = intents.notification, snapshot.in_thread
    return [build(snapshot.turn_id, snapshot.chat_id, target, notice.text, mention, notice.uuid, in_thread=in_thread)]


@dataclass(frozen=True, slots=True)
class Stopping:
    """The stop is committed; the running agent must be told. `lease` says which start."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class StoppedAtOnce:
    """It was queued and has ended as stopped."""

    lanes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NothingToStop:
    """unknown_turn, ended, not_yours."""

    why: str


def stop_turn(
    tx: Tx, turn_id: TurnId, operator: UserId, admins: frozenset[UserId], finish: Finish, epoch: OwnerEpoch, now: int
) -> Stopping | StoppedAtOnce | NothingToStop:
    """Commit a stop before anything acts on it. Only the person who drives the turn and admins may."""
    turn = turns.find_turn(tx, turn_id)
    if turn is None:
        return NothingToStop("unknown_turn")
    if operator not in admins and operator != driver_of(tx, turn):
        return NothingToStop("not_yours")
    if turn.state == "ended":
        return NothingToStop("ended")
    turns.request_stop(tx, turn_id)
    lease = Lease(turn_id, turn.session_id, turn.start_epoch, turn.owner_epoch)
    if turn.state != "queued" or turn.owner_epoch != epoch:
        return Stopping(lease)
    finished = finish_turn(tx, lease, finish, now)
    return StoppedAtOnce(finished.lanes) if finished else Stopping(lease)


def driver_of(tx: Tx, turn: turns.Turn) -> UserId | None:
    """Who may stop a turn or go on with it: whom it stands for; where that is nobody, the person of its session."""
    if turn.sender_user_id is not None:
        return turn.sender_user_id
    session = sessions.find_session(tx, turn.session_id)
    return session.user_id if session else None
