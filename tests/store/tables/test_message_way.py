"""The way of a message through the store: gate, decision, admission, order, claims, routes."""

import sqlite3

import pytest

from channels.ids import ConversationKey, EventId, MessageId, OwnerEpoch
from channels.rules.intents import reaction_lane, turn_lane
from channels.store import routes
from channels.store.routes import Route
from channels.store.transactions.accept import Accepted, Duplicate, accept_message
from channels.store.transactions.admit import CLAIM_WAIT_MS, Decided, NotYet
from channels.store.transactions.establish import close_overdue_claims
from channels.store.transactions.recall import recall_message
from tests.store.tables.conftest import Store
from tests.store.tables.drive import (
    accept,
    admit,
    decide,
    deliver_all,
    enter,
    finish,
    finish_of,
    message,
    runnable,
    turn_of,
)


def test_a_message_id_is_accepted_once(store: Store) -> None:
    one = message(1).envelope
    assert store.run(accept_message, one, "{}", store.epoch, None, store.now) == Accepted()
    assert store.run(accept_message, one, "{}", store.epoch, None, store.now) == Duplicate()
    assert store.rows("SELECT count(*) FROM inbox") == [(1,)]


def test_what_is_dropped_at_the_door_is_recorded_with_its_reason(store: Store) -> None:
    store.run(accept_message, message(1).envelope, "{}", store.epoch, "bot_sender", store.now)
    assert store.rows("SELECT state, verdict FROM inbox") == [("dropped", "bot_sender")]


def test_the_cursor_never_moves_back(store: Store) -> None:
    for number in (5, 3):
        accept(store, message(number, thread="omt_1"))
    assert store.rows("SELECT container, create_time FROM cursors ORDER BY 1") == [("oc_1", 5), ("omt_1", 5)]


def test_a_conversation_is_decided_in_order(store: Store) -> None:
    accept(store, message(2, thread="omt_1"))
    accept(store, message(1, thread="omt_1"))
    assert decide(store, message(2, thread="omt_1")) == NotYet("order")
    assert isinstance(decide(store, message(1, thread="omt_1")), Decided)


def test_admission_makes_every_effect_an_intent_before_it_happens(store: Store) -> None:
    turn_id = admit(store, message(1))
    intents = store.rows("SELECT kind, op, state, attempts, lane FROM outbox ORDER BY seq")
    assert intents == [
        ("reaction", "add", "pending", 0, reaction_lane(turn_id)),
        ("card", "create", "pending", 0, turn_lane(turn_id)),
        ("reply", "reply", "pending", 0, turn_lane(turn_id)),
    ]
    assert store.rows("SELECT count(DISTINCT uuid) FROM outbox") == [(3,)]
    assert store.rows("SELECT state, turn FROM inbox") == [("queued", turn_id)]


def test_the_route_comes_with_the_reply_and_closes_the_claim(store: Store) -> None:
    turn_id = admit(store, message(1))
    assert store.run(routes.count_routes) == 0
    deliver_all(store, turn_lane(turn_id), thread="omt_7")
    assert store.rows("SELECT key, card_message_id FROM routes") == [("omt_7", f"sent-{turn_id}/reply/0")]
    assert store.rows("SELECT count(*) FROM establishing") == [(0,)]


def test_where_topics_are_impossible_the_chat_is_the_route(store: Store) -> None:
    turn_id = admit(store, message(1))
    deliver_all(store, turn_lane(turn_id), thread=None)
    assert store.rows("SELECT key FROM routes") == [("chat:p2p:oc_1:alice",)]


def test_a_second_first_message_waits_for_the_first_and_then_starts_its_own(store: Store) -> None:
    first = admit(store, message(1))
    accept(store, message(2))
    assert decide(store, message(2)) == NotYet("establishing")
    deliver_all(store, turn_lane(first), thread="omt_7")
    assert decide(store, message(2)).verdict == "start"  # type: ignore[union-attr]
    assert store.rows("SELECT count(*) FROM sessions") == [(2,)]


def test_a_second_first_message_goes_on_in_a_chat_route(store: Store) -> None:
    first = admit(store, message(1))
    accept(store, message(2))
    deliver_all(store, turn_lane(first), thread=None)
    assert decide(store, message(2)).verdict == "continue"  # type: ignore[union-attr]
    assert store.rows("SELECT count(*) FROM sessions") == [(1,)]


def test_a_topic_reply_that_overtakes_the_route_waits_and_goes_on_there(store: Store) -> None:
    first = admit(store, message(1))
    early = message(2, thread="omt_7", root="om_1", user="bob")
    accept(store, early)
    assert decide(store, early) == NotYet("establishing")
    deliver_all(store, turn_lane(first), thread="omt_7")
    assert decide(store, early).verdict == "continue"  # type: ignore[union-attr]


def test_other_people_do_not_wait_for_a_claim(store: Store) -> None:
    admit(store, message(1))
    admit(store, message(2, user="bob"))
    assert store.rows("SELECT count(*) FROM establishing WHERE state = 'open'") == [(2,)]


def test_a_reply_unknown_for_too_long_closes_the_claim_as_a_chat_route(store: Store) -> None:
    first = admit(store, message(1))
    early = message(2, thread="omt_7", root="om_1")
    accept(store, message(3))
    accept(store, early)
    store.now += CLAIM_WAIT_MS
    assert store.run(close_overdue_claims, store.now) == 1
    assert decide(store, message(3)).verdict == "continue"  # type: ignore[union-attr]
    assert decide(store, early) == NotYet("establishing"), "whoever hangs under the message goes on waiting"
    deliver_all(store, turn_lane(first), thread="omt_7")
    assert decide(store, early).verdict == "continue"  # type: ignore[union-attr]
    assert store.rows("SELECT key FROM routes ORDER BY key") == [("chat:p2p:oc_1:alice",), ("omt_7",)]


def test_a_tombstone_refuses_a_message_and_a_route(store: Store) -> None:
    turn_id = admit(store, message(1))
    deliver_all(store, turn_lane(turn_id), thread="omt_7")
    store.connection.execute("INSERT INTO expired_routes VALUES ('omt_9', 0)")
    accept(store, message(2, thread="omt_9"))
    assert decide(store, message(2, thread="omt_9")).verdict == "expired"  # type: ignore[union-attr]
    session = store.rows("SELECT session_id FROM sessions")[0][0]
    envelope = message(1).envelope
    route = Route(ConversationKey("omt_9"), session, envelope.chat_id, "p2p", envelope.sender.user_id, "", None, 0)
    with pytest.raises(sqlite3.IntegrityError, match="tombstoned"):
        store.run(routes.put_route, route, store.now)
    with pytest.raises(sqlite3.IntegrityError, match="never taken away"):
        store.connection.execute("DELETE FROM expired_routes")


def test_a_recall_that_comes_first_is_remembered(store: Store) -> None:
    store.run(recall_message, EventId("e1"), MessageId("om_1"), finish_of(), store.epoch, store.now, stop_running=True)
    accept(store, message(1))
    assert decide(store, message(1)).verdict == "recalled"  # type: ignore[union-attr]
    assert runnable(store) == []


def test_a_recalled_question_that_waits_is_not_run(store: Store) -> None:
    turn_id = admit(store, message(1))
    result = store.run(
        recall_message, EventId("e1"), MessageId("om_1"), finish_of(), store.epoch, store.now, stop_running=True
    )
    assert result is not None
    assert turn_of(store, turn_id).outcome == "stopped"
    assert not enter(store, turn_id)


def test_a_session_runs_one_turn_at_a_time_in_order(store: Store) -> None:
    first = admit(store, message(1))
    deliver_all(store, turn_lane(first), thread="omt_7")
    second, third = (admit(store, message(number, thread="omt_7")) for number in (2, 3))
    assert runnable(store) == [first]
    assert enter(store, first)
    assert runnable(store) == []
    with pytest.raises(sqlite3.IntegrityError):
        enter(store, second)
    finish(store, first)
    assert runnable(store) == [second]
    enter(store, second)
    finish(store, second)
    assert runnable(store) == [third]


def test_an_older_owner_enters_nothing(store: Store) -> None:
    turn_id = admit(store, message(1))
    old = turn_of(store, turn_id)
    store.reboot()
    assert store.epoch > old.owner_epoch
    assert turn_of(store, turn_id).start_epoch == old.start_epoch + 1
    with pytest.raises(sqlite3.IntegrityError, match="current owner"):
        store.connection.execute(
            "UPDATE turns SET state = 'entered', owner_epoch = ? WHERE turn_id = ?",
            (OwnerEpoch(store.epoch + 1), turn_id),
        )
