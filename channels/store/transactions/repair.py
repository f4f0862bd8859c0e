"""Ending a turn whose owner is gone."""

from channels.ids import OwnerEpoch, StartEpoch
from channels.store import turns
from channels.store.transactions.run import Finish, Finished, Lease, finish_turn
from channels.store.tx import Tx


def repair_turn(tx: Tx, turn: turns.Turn, finish: Finish, epoch: OwnerEpoch, now: int) -> Finished | None:
    """Take an unknown turn over and end it, in one commit. None: somebody else has."""
    if not turns.adopt_unknown(tx, turn.turn_id, epoch):
        return None
    lease = Lease(turn.turn_id, turn.session_id, StartEpoch(turn.start_epoch + 1), epoch)
    return finish_turn(tx, lease, finish, now, repaired=True)
