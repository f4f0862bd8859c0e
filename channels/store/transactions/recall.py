"""A person took a message back."""

from channels.ids import EventId, MessageId, OwnerEpoch, UserId
from channels.store import inbox, turns
from channels.store.transactions.run import Finish, StoppedAtOnce, stop_turn
from channels.store.tx import Tx


def recall_message(
    tx: Tx, event_id: EventId, message_id: MessageId, finish: Finish, epoch: OwnerEpoch, now: int
) -> StoppedAtOnce | None:
    """Remember the recall (it may come before its message); a turn that is still queued ends as stopped."""
    if not inbox.record_event(tx, event_id, "message_recalled", message_id, "recorded", now):
        return None
    turn_id = inbox.turn_of(tx, message_id)
    turn = turns.find_turn(tx, turn_id) if turn_id else None
    if turn is None or turn.state != "queued":
        return None
    driver = turn.sender_user_id or UserId("")
    result = stop_turn(tx, turn.turn_id, driver, frozenset({driver}), finish, epoch, now)
    return result if isinstance(result, StoppedAtOnce) else None
