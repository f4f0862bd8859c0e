"""A person took a message back."""

from dataclasses import dataclass

from channels.ids import EventId, MessageId, OwnerEpoch, TurnId, UserId
from channels.store import events, inbox, missed_batches, turns
from channels.store.transactions.access_requests import withdraw_if_empty
from channels.store.transactions.run import Finish, NothingToStop, StoppedAtOnce, Stopping, stop_turn
from channels.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Recalled:
    """The message had a turn that ends for it."""

    turn_id: TurnId
    result: Stopping | StoppedAtOnce | NothingToStop


def recall_message(
    tx: Tx,
    event_id: EventId,
    message_id: MessageId,
    finish: Finish,
    epoch: OwnerEpoch,
    now: int,
    *,
    stop_running: bool,
) -> Recalled | None:
    """Remember the recall (it may come before its message), and end its turn: one that waits ends as stopped, one that
    runs does too with `stop_running`. Of several messages that are one question, the others are still answered."""
    if not events.record(tx, event_id, "message_recalled", message_id, "recorded", now):
        return None
    if inbox.is_asked(tx, message_id):  # nobody has to decide about it any more
        missed_batches.remove_message(tx, message_id)
        inbox.set_terminal(tx, message_id, "dropped", "recalled", now)
        return None
    if (author := inbox.author_of_kept(tx, message_id)) is not None:
        inbox.set_terminal(tx, message_id, "dropped", "recalled", now)
        withdraw_if_empty(tx, author, now)
        return None
    turn_id = inbox.turn_of(tx, message_id)
    turn = turns.find_turn(tx, turn_id) if turn_id else None
    if turn is None or turn.state == "ended":
        return None
    if turn.cause == "message" and turn.cause_id != message_id:
        inbox.set_terminal(tx, message_id, "dropped", "recalled", now)
        return None
    if turn.state != "queued" and not stop_running:
        return None
    driver = turn.sender_user_id or UserId("")
    result = stop_turn(tx, turn.turn_id, driver, frozenset({driver}), finish, epoch, now)
    return Recalled(turn.turn_id, result)
