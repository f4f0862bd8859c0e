"""What the host knows about the session of a settlement, read in the very commit that would book it.

Whose session cannot be told is unknown, and unknown refuses: a settlement goes on only where the whole chain from its
receipt to a session that is there and not put away can be followed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from channels.ids import ReservationId
from channels.rules.settlement import Item, session_hash, turn_hash
from channels.store import reservations, sessions, turns
from channels.store.sessions import Session
from channels.store.transactions.settlement import Status, status
from channels.store.transactions.settlement_facts import Refused
from channels.store.tx import Tx

OPEN, ARCHIVED, DELETED, UNKNOWN = "open", "archived", "deleted", "unknown"


@dataclass(frozen=True, slots=True)
class Moment:
    """The public status and the truth about the session of each settlement that waits, by key; from one moment."""

    status: Status | Refused
    truths: Mapping[str, str]


def read_moment(tx: Tx, now: int) -> Moment:
    """What every real moment of a life cycle looks at. Writes nothing."""
    found = status(tx, now)
    if isinstance(found, Refused):
        return Moment(found, {})
    truths = {one.key: truth_of(_session_of(tx, one.reservation_id), one.session_hash) for one in found.pending}
    return Moment(found, truths)


def why_not(tx: Tx, item: Item) -> str | None:
    """The host's own check, inside the commit that settles: None where the session is there and open."""
    truth = truth_of(_session_of(tx, item.receipt.reservation_id, item.turn_hash), item.session_hash)
    return None if truth == OPEN else f"its session is {truth}"


def truth_of(session: Session | None, hashed: str) -> str:
    """open, archived, deleted; unknown where there is no such session, or another than the settlement is about."""
    if session is None or session_hash(session.session_id) != hashed:
        return UNKNOWN
    if session.deleted_at is not None:
        return DELETED
    return OPEN if session.archived_at is None else ARCHIVED


def _session_of(tx: Tx, reservation_id: ReservationId, hashed_turn: str | None = None) -> Session | None:
    reservation = reservations.find_reservation(tx, reservation_id)
    turn = turns.find_turn(tx, reservation.turn_id) if reservation is not None else None
    if turn is None or (hashed_turn is not None and turn_hash(turn.turn_id) != hashed_turn):
        return None
    return sessions.find_session(tx, turn.session_id)
