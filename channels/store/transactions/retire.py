"""What has been silent for too long: topics get a tombstone, chats forget their session, old snapshots go.

A topic whose route was simply deleted would be taken for a new conversation by the next message in it. So the tombstone
is written first, and with it there is never a route again: `rules.routing` refuses, every function that writes a route
asks, and the schema has a trigger.
"""

from enum import Enum

from channels.ids import ConversationKey, OwnerEpoch, TurnId
from channels.store import inbox, missed, outbox, owners, routes, sessions, snapshots, turns
from channels.store.routes import Route
from channels.store.transactions.deliver import forget_snapshot
from channels.store.transactions.settle import Spent, keep_evidence
from channels.store.tx import Tx

CARD_LIFE_MS = 14 * 24 * 3_600_000  # a younger snapshot can still be shown on its card
STALE = "too old to be shown"


class Retired(Enum):
    EXPIRED = "expired"  # a topic: it has a tombstone now
    FORGOTTEN = "forgotten"  # a chat: its next message begins a new conversation
    KEPT = "kept"  # there was activity, or something there still waits


def stale_routes(tx: Tx, before: int, limit: int) -> list[Route] | None:
    """What the sweep has to look at. None while history is still being read: somebody may have written there while
    nobody was connected."""
    return None if missed.oldest_open(tx) is not None else routes.stale_routes(tx, before, limit)


def retire_route(tx: Tx, key: ConversationKey, before: int, now: int) -> Retired:
    """Retire one conversation, if it has been silent since `before` and nothing in it waits any more."""
    route = routes.find_route(tx, key)
    if route is None or route.last_activity_at >= before:
        return Retired.KEPT
    if inbox.is_unsettled(tx, key) or turns.is_session_busy(tx, route.session_id):
        return Retired.KEPT
    if route.is_thread:
        routes.put_tombstone(tx, key, now)
    routes.delete_stale(tx, key, before)
    return Retired.EXPIRED if route.is_thread else Retired.FORGOTTEN


def stale_turns(tx: Tx, ttl_ms: int, now: int, limit: int) -> list[TurnId]:
    """Turns of older boots whose snapshot is older than a card lives, and than a topic."""
    before = min(now - max(ttl_ms, CARD_LIFE_MS), owners.booted_at(tx))
    return snapshots.stale_snapshots(tx, before, limit)


def drop_stale_turn(tx: Tx, turn_id: TurnId, epoch: OwnerEpoch, now: int) -> bool:
    """End an old turn without a word: no card is touched, nothing is sent. False: it is running now, and stays."""
    turn = turns.find_turn(tx, turn_id)
    if turn is None or turn.state == "entered":
        return False
    if turn.state != "ended":
        _end_silently(tx, turn, epoch, now)
    outbox.supersede_turn(tx, turn_id, STALE, now)
    forget_snapshot(tx, turn_id)
    return True


def _end_silently(tx: Tx, turn: turns.Turn, epoch: OwnerEpoch, now: int) -> None:
    if turn.state == "queued":
        turns.interrupt(tx, turn.turn_id)
    turns.adopt_unknown(tx, turn.turn_id, epoch)
    current = turns.find_turn(tx, turn.turn_id)
    assert current is not None
    keep_evidence(tx, current, current.start_epoch, current.owner_epoch, "stale", "interrupted", Spent(), now)
    turns.end_turn(tx, turn.turn_id, current.start_epoch, current.owner_epoch, "interrupted", now)
    if not sessions.has_ended(tx, turn.turn_id):
        sessions.append(tx, turn.session_id, "turn/end", turn.turn_id, {"outcome": "interrupted", "stale": True}, now)
    inbox.finish_rows_of_turn(tx, turn.turn_id, now)
