"""*Continue* in the store: what becomes of the turn that is continued."""

import pytest

from channels.ids import EventId, TurnId, UserId
from channels.rules.intents import reaction_lane, turn_lane
from channels.store import routes, snapshots
from channels.store.transactions.resume import (
    UUIDS_PER_CONTINUE,
    Continued,
    ContinueRequest,
    can_continue,
    continue_turn,
)
from channels.store.transactions.retire import Retired, retire_route
from tests.store.tables.conftest import Store
from tests.store.tables.drive import DRAWING, admit, deliver_all, enter, finish, message, turn_of, uuids


def interrupted(store: Store) -> TurnId:
    """A turn that has ended as interrupted; nothing of its end is delivered yet."""
    turn_id = admit(store, message(1))
    deliver_all(store, turn_lane(turn_id))
    deliver_all(store, reaction_lane(turn_id))
    assert enter(store, turn_id)
    finish(store, turn_id, "interrupted")
    return turn_id


def press(store: Store, turn_id: TurnId) -> TurnId:
    """The person presses *Continue*; returns the new turn."""
    request = ContinueRequest(
        EventId("click"),
        turn_id,
        UserId("alice"),
        frozenset(),
        TurnId("turn_next"),
        uuids(UUIDS_PER_CONTINUE),
        '{"text":"go on"}',
        DRAWING,
    )
    result = store.run(continue_turn, request, store.epoch, store.now)
    assert isinstance(result, Continued)
    return result.turn_id


@pytest.mark.parametrize("first", ["reactions", "press"])
def test_a_press_before_the_last_update_leaves_no_snapshot_behind(store: Store, first: str) -> None:
    """The closing update of the old turn is superseded by the press, so that no delivery comes after it."""
    turn_id = interrupted(store)
    if first == "reactions":
        deliver_all(store, reaction_lane(turn_id))
    next_turn = press(store, turn_id)
    deliver_all(store, reaction_lane(turn_id))
    assert store.run(snapshots.find_snapshot, turn_id) is None
    (card,) = store.run(snapshots.cards_of, next_turn)
    assert card.card_id is not None
    assert card.message_id is not None


def test_without_its_route_no_button_is_offered(store: Store) -> None:
    turn_id = interrupted(store)
    turn = turn_of(store, turn_id)
    assert store.run(can_continue, turn)
    route = store.run(routes.find_route_of_session, turn.session_id)
    assert route is not None
    deliver_all(store, turn_lane(turn_id))
    assert store.run(retire_route, route.key, store.now + 1, store.now) is not Retired.KEPT
    assert not store.run(can_continue, turn)
