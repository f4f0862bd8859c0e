"""A message whose preparation takes the process with it, boot after boot, is not begun a sixth time."""

import pytest

from channels.store import snapshots
from channels.store.transactions.boot import STARTS_AT_MOST
from tests.store.tables import drive
from tests.store.tables.conftest import Store


@pytest.mark.parametrize(("starts", "state"), [(STARTS_AT_MOST - 1, "queued"), (STARTS_AT_MOST, "unknown")])
def test_the_sixth_start_does_not_happen(store: Store, starts: int, state: str) -> None:
    turn_id = drive.admit(store, drive.message(1))
    for _ in range(starts):
        assert drive.runnable(store) == [turn_id]
        store.run(snapshots.count_start, turn_id)
        store.reboot()
    turn = drive.turn_of(store, turn_id)
    assert turn.state == state
    assert drive.runnable(store) == ([turn_id] if state == "queued" else [])
    assert store.run(snapshots.find_snapshot, turn_id) is not None, "the repair still has a card to end"
