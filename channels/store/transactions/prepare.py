"""Between admit and enter: what a turn is made of, and what became of it."""

from dataclasses import dataclass

from channels.ids import MessageId
from channels.store import inbox, sent_cards, sessions, snapshots, turns
from channels.store.inbox import InboxRow
from channels.store.transactions.run import Lease
from channels.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Material:
    """The messages of a turn, oldest first, and its session. `first`: nothing was said in the session before."""

    rows: tuple[InboxRow, ...]
    session: sessions.Session
    first: bool


def read_material(tx: Tx, lease: Lease) -> Material | None:
    """What this turn is made of; None when there is no such session."""
    session = sessions.find_session(tx, lease.session_id)
    if session is None:
        return None
    first = not sessions.read_said(tx, lease.session_id, 1)
    return Material(tuple(inbox.rows_of_turn(tx, lease.turn_id)), session, first)


def begin_preparing(tx: Tx, lease: Lease) -> bool:
    """One more preparation begins; later starts of a turn are counted before they touch it. False: not ours."""
    if not _is_ours(tx, lease):
        return False
    if lease.start_epoch == 1:
        snapshots.count_start(tx, lease.turn_id)
    return True


def save_prepared(tx: Tx, lease: Lease, message: str) -> bool:
    """What the agent will be given, so that a restart does not prepare again. False: not ours, or too large."""
    return _is_ours(tx, lease) and snapshots.save_message(tx, lease.turn_id, message)


def own_words(tx: Tx, message_id: MessageId) -> str | None:
    """What a card of ours says or said; None for a message that is not ours. Feishu gives no card back."""
    sent = sent_cards.sent_text(tx, message_id)
    if sent:
        return sent
    turn_id = snapshots.turn_of_card(tx, message_id)
    snapshot = snapshots.find_snapshot(tx, turn_id) if turn_id else None
    return snapshot.last_text if snapshot else sent


def _is_ours(tx: Tx, lease: Lease) -> bool:
    turn = turns.find_turn(tx, lease.turn_id)
    return (
        turn is not None
        and turn.state == "queued"
        and (turn.start_epoch, turn.owner_epoch) == (lease.start_epoch, lease.owner_epoch)
    )
