"""The boot of a restored file, and what becomes of each thing that it cannot be sure of."""

from collections.abc import Set
from dataclasses import dataclass, replace
from typing import assert_never

from channels.ids import MessageId, OwnerEpoch, StartEpoch, ThreadId
from channels.rules import missed as missed_rules
from channels.rules.anchor import Anchor, Beside, suspicion
from channels.rules.message import Message
from channels.rules.missed import Leave
from channels.rules.quarantine import Answer, Ask, Done, Question, sort_held
from channels.store import (
    events,
    inbox,
    missed,
    missed_batches,
    outbox,
    owners,
    quarantine,
    sent_cards,
    sessions,
    settlement_control,
    snapshots,
    turns,
)
from channels.store.inbox import InboxRow
from channels.store.transactions.boot import Ownership, take_ownership
from channels.store.transactions.deliver import forget_snapshot
from channels.store.transactions.establish import settle_place
from channels.store.transactions.missed import Sorting, surroundings
from channels.store.transactions.settle import Spent, keep_evidence
from channels.store.tx import Tx

EPOCH_LEAP = 1_000  # boots that may have come after the backup, where no anchor tells
SEQUENCE_LEAP = 2**20
GENERATION_LEAP = 2**20  # changes of control that may have come after the backup
ANSWERED = "answered_before_restore"
RESTORED_BY = "restore"


def read_anchor(tx: Tx) -> Anchor | None:
    """How far the file has come; None for a file that has not had its first boot."""
    meta = owners.read_meta(tx)
    return Anchor(meta.db_uuid, owners.current_epoch(tx), meta.commits) if meta else None


def mark_as_copy(tx: Tx, now: int) -> None:
    """Said inside a copy: whoever starts on it starts on a restored file, whatever lies beside it."""
    quarantine.enter(tx, "this is a backup", 0, now)


def read_suspicion(tx: Tx, beside: Beside) -> str | None:
    """Why this file is not the one that ran here last, in words; None when it is."""
    found = quarantine.find(tx)
    marked = found is not None and found.is_open and found.since_ms == 0
    return suspicion(read_anchor(tx), beside) or ("a backup was put in its place" if marked else None)


def take_restored(tx: Tx, db_uuid: str, version: str, why: str, anchor_epoch: int, wall_ms: int, now: int) -> Ownership:
    """The boot commit of a file that was put back: no epoch, sequence number or settlement generation is used again, no
    turn goes on by itself, and nothing that waits is said or decided before history was asked."""
    above = max(anchor_epoch, owners.current_epoch(tx)) + EPOCH_LEAP
    ownership = take_ownership(tx, db_uuid, version, now, replay_pending=False, above=above)
    quarantine.enter(tx, why, wall_ms, now)
    snapshots.leap_sequences(tx, SEQUENCE_LEAP)
    sent_cards.leap_sequences(tx, SEQUENCE_LEAP)
    settlement_control.leap_generation(tx, GENERATION_LEAP, now)
    outbox.doubt_pending(tx, now)
    inbox.hold_open(tx)
    return ownership


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the comparison with history has come."""

    quarantine: quarantine.Quarantine
    messages: int
    intents: int
    turns: int
    gaps: int

    @property
    def is_done(self) -> bool:
        return not (self.messages or self.intents or self.turns or self.gaps)


def read_standing(tx: Tx) -> Standing | None:
    """None: this file was never put back."""
    found = quarantine.find(tx)
    if found is None:
        return None
    return Standing(
        quarantine=found,
        messages=inbox.count_held(tx),
        intents=outbox.count_doubtful(tx),
        turns=turns.count_turns(tx).get("unknown", 0),
        gaps=len(missed.open_gaps(tx)),
    )


def leave_if_done(tx: Tx, now: int) -> bool:
    """Leave quarantine once everything is compared. True when it was left now."""
    standing = read_standing(tx)
    return standing is not None and standing.is_done and quarantine.leave(tx, now)


@dataclass(frozen=True, slots=True)
class UnsureTurn:
    """A turn that the backup holds as running or waiting."""

    turn: turns.Turn
    snapshot: snapshots.Snapshot | None


def unsure_turns(tx: Tx, limit: int) -> list[UnsureTurn]:
    return [UnsureTurn(turn, snapshots.find_snapshot(tx, turn.turn_id)) for turn in turns.unknown_turns(tx, limit)]


def end_answered(
    tx: Tx, turn: turns.Turn, reply: tuple[MessageId, ThreadId | None] | None, epoch: OwnerEpoch, now: int
) -> bool:
    """This turn came to a good end after the backup: its cards stay as they are, its conversation gets its route.

    `reply`: the message of ours that shows its main card, where history has it. False: not ours any more.
    """
    if not turns.adopt_unknown(tx, turn.turn_id, epoch):
        return False
    outcome = "stopped" if turn.stop_requested else "completed"
    start_epoch = StartEpoch(turn.start_epoch + 1)
    keep_evidence(tx, turn, start_epoch, epoch, "elsewhere", outcome, Spent(), now)
    turns.end_turn(tx, turn.turn_id, start_epoch, epoch, outcome, now)
    if not sessions.has_ended(tx, turn.turn_id):
        body = {"outcome": outcome, "elsewhere": True}
        sessions.append(tx, turn.session_id, "turn/end", turn.turn_id, body, now)
    inbox.finish_rows_of_turn(tx, turn.turn_id, now)
    outbox.supersede_turn(tx, turn.turn_id, ANSWERED, now)
    snapshot = snapshots.find_snapshot(tx, turn.turn_id)
    if snapshot is not None and reply is not None:
        sent_cards.put_sent(tx, reply[0], turn.turn_id, 0, snapshot.chat_id, "", now)
        settle_place(tx, turn.turn_id, reply[1], reply[0], now)
    forget_snapshot(tx, turn.turn_id)
    return True


@dataclass(frozen=True, slots=True)
class History:
    """What a reading showed: which messages have an answer of ours, and in which topics we have spoken."""

    answered: Set[MessageId]
    topics: Set[str]


@dataclass(frozen=True, slots=True)
class Compared:
    """What was decided about a held message: done, accepted, asked, kept, or the reason to drop it."""

    verdict: str
    batch_id: str | None = None


def settle_held(
    tx: Tx, row: InboxRow, state: str, message: Message, history: History, sorting: Sorting, now: int
) -> Compared:
    """Decide about one message after history was read. A row that moved meanwhile is left alone."""
    found = quarantine.find(tx)
    assert found is not None
    if events.is_recalled(tx, row.message_id):
        inbox.set_terminal(tx, row.message_id, "dropped", "recalled", now)
        return Compared("recalled", _take_off(tx, row.message_id, now))
    fate = sort_held(Question(row.message_id, row.create_time), history.answered, found.since_ms)
    match fate:
        case Done():
            inbox.set_terminal(tx, row.message_id, "done", ANSWERED, now)
            return Compared(ANSWERED, _take_off(tx, row.message_id, now))
        case _ if state != "held":
            inbox.set_compared(tx, row.message_id, state)
            return Compared(state)
        case Answer():
            inbox.set_compared(tx, row.message_id, "accepted")
            return Compared("accepted")
        case Ask():
            return _ask(tx, row, message, row.conversation in history.topics, sorting, now)
        case _:
            assert_never(fate)


def _ask(tx: Tx, row: InboxRow, message: Message, ours: bool, sorting: Sorting, now: int) -> Compared:
    """Onto the chat's pending card, if it would have woken the bot. `ours`: its topic had a session once, which the
    backup may know nothing of."""
    around = surroundings(tx, message)
    around = replace(around, routed=around.routed or ours)
    fate = missed_rules.sort_missed(message, around, sorting.policy, 1, 0)
    if isinstance(fate, Leave):
        inbox.set_terminal(tx, row.message_id, "dropped", fate.reason, now)
        return Compared(fate.reason)
    if not inbox.set_compared(tx, row.message_id, "asked"):
        return Compared("moved")
    batch = missed_batches.open_batch(tx, row.chat_id, row.chat_type, sorting.spare_batch_id, now)
    missed_batches.add_message(tx, batch.batch_id, message.envelope, sorting.excerpt)
    return Compared("asked", batch.batch_id)


def _take_off(tx: Tx, message_id: MessageId, now: int) -> str | None:
    """Off the pending card that asks about it; a card without messages is over."""
    batch_id = missed_batches.remove_message(tx, message_id)
    if batch_id is not None and not missed_batches.messages_of(tx, batch_id):
        missed_batches.decide(tx, batch_id, "handled", RESTORED_BY, now)
    return batch_id
