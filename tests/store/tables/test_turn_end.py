"""The end of a turn in the store: stops, finishes, snapshots, reboots, and what the schema refuses."""

import json
import sqlite3
from dataclasses import replace

import pytest

from channels.errors import ApiRefused, CodeKind
from channels.ids import EventId, MessageId, StartEpoch, TurnId, UserId
from channels.rules.delivery import Last, LeaveThread, PatchLane, TextLane, Wait, settle_failure
from channels.rules.intents import reaction_lane, turn_lane
from channels.store import snapshots
from channels.store.transactions.boot import sweep
from channels.store.transactions.deliver import Recorded, Spare, begin_next, record_failure, record_success
from channels.store.transactions.repair import repair_turn
from channels.store.transactions.resume import Continued, ContinueRequest, NotContinued, continue_turn
from channels.store.transactions.run import (
    NothingToStop,
    StoppedAtOnce,
    Stopping,
    add_segment,
    finish_if_stopped,
    finish_turn,
    save_progress,
    stop_turn,
)
from tests.store.tables.conftest import Store
from tests.store.tables.drive import (
    DRAWING,
    admit,
    begin,
    deliver_all,
    effect_of,
    enter,
    finish,
    finish_of,
    lease_of,
    message,
    turn_of,
    uuids,
)

ALICE, BOB = UserId("alice"), UserId("bob")


def entered(store: Store, number: int = 1) -> TurnId:
    turn_id = admit(store, message(number))
    deliver_all(store, turn_lane(turn_id), thread=f"omt_{number}")
    deliver_all(store, reaction_lane(turn_id))
    assert enter(store, turn_id)
    return turn_id


def states(store: Store, turn_id: TurnId) -> dict[str, str]:
    return dict(store.rows("SELECT op || '/' || segment, state FROM outbox WHERE turn_id = ? ORDER BY seq", turn_id))


def test_the_snapshot_goes_with_the_last_terminal_intent(store: Store) -> None:
    turn_id = entered(store)
    finish(store, turn_id)
    assert deliver_all(store, turn_lane(turn_id)) == ["close"]
    assert store.run(snapshots.find_snapshot, turn_id) is not None, "the reactions are still to come"
    assert deliver_all(store, reaction_lane(turn_id)) == ["remove", "add"]
    assert store.run(snapshots.find_snapshot, turn_id) is None
    assert store.rows("SELECT state FROM inbox") == [("done",)]


def test_typing_that_was_never_sent_is_taken_back(store: Store) -> None:
    turn_id = admit(store, message(1))
    enter(store, turn_id)
    finish(store, turn_id)
    assert deliver_all(store, reaction_lane(turn_id)) == ["add"]
    assert store.rows("SELECT state FROM outbox WHERE intent_id LIKE '%/typing'") == [("superseded",)]


@pytest.mark.parametrize("outcome", ["stopped", "failed", "interrupted"])
def test_only_a_good_end_gets_a_done(store: Store, outcome: str) -> None:
    turn_id = entered(store)
    finish(store, turn_id, outcome)
    assert deliver_all(store, reaction_lane(turn_id)) == ["remove"]


def test_pages_without_a_card_get_one_and_the_others_are_closed(store: Store) -> None:
    turn_id = entered(store)
    assert store.run(add_segment, lease_of(store, turn_id), 1, DRAWING, uuids(2), store.now) is not None  # type: ignore[arg-type]
    finish(store, turn_id, pages=3)
    assert deliver_all(store, turn_lane(turn_id)) == ["create", "reply", "close", "close", "create", "reply"]


def test_a_stop_wins_over_a_good_end(store: Store) -> None:
    turn_id = entered(store)
    assert isinstance(store.run(stop_turn, turn_id, ALICE, frozenset(), finish_of(), store.epoch, store.now), Stopping)
    done = finish(store, turn_id, "completed")
    assert done is not None and done.outcome == "stopped"
    assert json.loads(begin(store, turn_lane(turn_id)).intent.payload)["text"] == "stopped"


def test_a_stop_of_a_waiting_turn_ends_it_at_once(store: Store) -> None:
    turn_id = admit(store, message(1))
    result = store.run(stop_turn, turn_id, ALICE, frozenset(), finish_of("stopped"), store.epoch, store.now)
    assert isinstance(result, StoppedAtOnce)
    assert not enter(store, turn_id)


@pytest.mark.parametrize(
    ("operator", "admins", "why"),
    [(BOB, frozenset[UserId](), "not_yours"), (BOB, frozenset({BOB}), None), (ALICE, frozenset[UserId](), None)],
)
def test_who_may_stop(store: Store, operator: UserId, admins: frozenset[UserId], why: str | None) -> None:
    turn_id = entered(store)
    result = store.run(stop_turn, turn_id, operator, admins, finish_of(), store.epoch, store.now)
    assert (result.why if isinstance(result, NothingToStop) else None) == why


def test_a_stop_after_the_end_stops_nothing(store: Store) -> None:
    turn_id = entered(store)
    finish(store, turn_id)
    result = store.run(stop_turn, turn_id, ALICE, frozenset(), finish_of(), store.epoch, store.now)
    assert result == NothingToStop("ended")


def test_an_older_start_neither_saves_nor_finishes(store: Store) -> None:
    turn_id = entered(store)
    old = lease_of(store, turn_id)
    store.reboot()
    assert turn_of(store, turn_id).state == "unknown"
    assert store.run(save_progress, old, "late", (), store.now) is False
    assert store.run(finish_turn, old, finish_of(), store.now) is None


def test_a_turn_of_an_older_boot_is_ended_once_and_its_session_is_free_at_once(store: Store) -> None:
    turn_id = entered(store)
    store.reboot()
    second = admit(store, message(2, thread="omt_1"))
    assert enter(store, second), "a new message does not wait for the repair"
    unknown = turn_of(store, turn_id)
    done = store.run(repair_turn, unknown, finish_of("interrupted"), store.epoch, store.now)
    assert done is not None and done.outcome == "interrupted"
    assert store.run(repair_turn, unknown, finish_of("interrupted"), store.epoch, store.now) is None


def test_a_repaired_card_is_closed_above_every_number_of_its_earlier_owner(store: Store) -> None:
    """Field report 13."""
    turn_id = entered(store)
    reserved = store.rows("SELECT sequence FROM inflight_cards")[0][0]
    store.reboot()
    store.run(repair_turn, turn_of(store, turn_id), finish_of("interrupted"), store.epoch, store.now)
    assert begin(store, turn_lane(turn_id)).sequence > reserved


def test_text_segments_are_skipped(store: Store) -> None:
    """Text is complete when it is sent: repair closes the cards around it and leaves it alone."""
    turn_id = admit(store, message(1))
    enter(store, turn_id)
    deliver_all(store, turn_lane(turn_id))
    for segment, mode in ((1, "text"), (2, "text"), (3, "card")):
        assert store.run(add_segment, lease_of(store, turn_id), segment, DRAWING, (uuids(2)[0], uuids(2)[1]), store.now)
        store.run(snapshots.set_mode, turn_id, segment, mode)
    store.run(snapshots.set_card_message, turn_id, 1, MessageId("om_text"))
    store.reboot()
    ending = finish_of("interrupted", pages=4)
    assert store.run(repair_turn, turn_of(store, turn_id), ending, store.epoch, store.now) is not None
    closes = {name for name in states(store, turn_id) if name.startswith("close/")}
    assert closes == {"close/0", "close/2", "close/3"}  # nothing of segment 2 has been sent yet: it is said now


def test_a_failed_attempt_waits_with_the_same_uuid(store: Store) -> None:
    turn_id = admit(store, message(1))
    first = begin(store, turn_lane(turn_id))
    store.run(record_failure, first, Wait(500, unsure=True), "time-out", Spare(()), store.now)
    assert store.run(begin_next, turn_lane(turn_id), store.now) == Recorded(due_at=store.now + 500)
    store.now += 500
    again = begin(store, turn_lane(turn_id))
    assert (again.intent.uuid, again.attempts, again.unsure) == (first.intent.uuid, 2, True)
    assert again.first_attempt_at == first.first_attempt_at


def fail(store: Store, lane: str, kind: CodeKind) -> Recorded:
    attempt = begin(store, lane)
    step = settle_failure(attempt, ApiRefused(kind, 1), store.now, 0.5)
    spare = Spare(uuids(2), neutral_card='{"neutral":1}', text="the answer")
    return store.run(record_failure, attempt, step, "refused", spare, store.now)


def test_a_successor_takes_the_place_of_the_reply_that_could_not_open_a_topic(store: Store) -> None:
    turn_id = admit(store, message(1))
    enter(store, turn_id)
    finish(store, turn_id)
    lane = turn_lane(turn_id)
    create = begin(store, lane)
    reply = store.run(record_success, create, effect_of(create), store.now).next
    assert reply is not None and reply.in_thread
    recorded = store.run(record_failure, reply, LeaveThread(), "230071", Spare(uuids(2)), store.now)
    successor = recorded.next
    assert successor is not None and successor.intent.op == "reply" and not successor.in_thread, "before the close"
    assert successor.intent.uuid != reply.intent.uuid
    after = store.run(record_success, successor, effect_of(successor), store.now)
    assert after.claim_closed and after.next is not None and after.next.intent.op == "close"
    assert store.rows("SELECT key FROM routes") == [("chat:p2p:oc_1:alice",)]


def test_without_an_entity_the_reply_carries_the_card(store: Store) -> None:
    turn_id = admit(store, message(1))
    create = begin(store, turn_lane(turn_id))
    recorded = store.run(record_failure, create, PatchLane(), "scope", Spare(uuids(2)), store.now)
    assert recorded.next is not None and recorded.next.intent.op == "reply" and recorded.next.card_id is None


def test_a_refused_last_update_leaves_a_neutral_card_and_says_the_answer(store: Store) -> None:
    turn_id = entered(store)
    finish(store, turn_id)
    recorded = fail(store, turn_lane(turn_id), CodeKind.CARD_CONTENT)
    neutral = recorded.next
    assert neutral is not None and json.loads(neutral.intent.payload)["card"] == '{"neutral":1}'
    said = store.run(record_success, neutral, effect_of(neutral), store.now).next
    assert said is not None and said.intent.op == "text"
    assert json.loads(said.intent.payload)["text"] == "the answer"


def test_a_refused_card_becomes_text_when_the_turn_ends(store: Store) -> None:
    turn_id = admit(store, message(1))
    deliver = begin(store, turn_lane(turn_id))
    reply = store.run(record_success, deliver, effect_of(deliver), store.now).next
    assert reply is not None
    store.run(record_failure, reply, TextLane(), "refused", Spare(uuids(2)), store.now)
    enter(store, turn_id)
    finish(store, turn_id)
    close = begin(store, turn_lane(turn_id))
    assert (close.intent.op, close.mode) == ("close", "text")


def test_a_chat_that_is_gone_takes_the_whole_lane_along(store: Store) -> None:
    turn_id = admit(store, message(1))
    enter(store, turn_id)
    finish(store, turn_id)
    lane = turn_lane(turn_id)
    create = begin(store, lane)
    store.run(record_success, create, effect_of(create), store.now)
    attempt = store.run(begin_next, lane, store.now).next
    assert attempt is not None
    step = settle_failure(attempt, ApiRefused(CodeKind.CHAT_GONE, 230002), store.now, 0.5)
    recorded = store.run(record_failure, attempt, step, "230002", Spare(uuids(2)), store.now)
    assert recorded == Recorded(claim_closed=True)
    assert states(store, turn_id)["close/0"] == "gone"


def test_what_was_said_is_kept_in_one_place_only(store: Store) -> None:
    """The outbox holds a card until it is settled; of an unknown outcome it is kept, for whoever looks into it."""
    turn_id = admit(store, message(1))
    enter(store, turn_id)
    finish(store, turn_id)
    assert store.rows("SELECT count(*) FROM outbox WHERE state = 'pending' AND payload = ''") == [(0,)]
    unsure = begin(store, reaction_lane(turn_id))
    with pytest.raises(sqlite3.IntegrityError, match="keeps its content"):
        store.connection.execute("UPDATE outbox SET payload = '' WHERE attempts > 0")
    store.run(record_failure, unsure, Last("unknown"), "lost", Spare(uuids(2)), store.now)
    deliver_all(store, turn_lane(turn_id))
    deliver_all(store, reaction_lane(turn_id))
    kept = store.rows("SELECT state, payload FROM outbox WHERE payload <> ''")
    assert kept == [("unknown", unsure.intent.payload)]
    assert store.rows("SELECT count(*) FROM outbox WHERE state IN ('done', 'superseded')") > [(2,)]


GUARDS = [
    ("UPDATE outbox SET uuid = 'other'", "keeps its uuid"),
    ("UPDATE outbox SET payload = 'other' WHERE attempts > 0", "keeps its content"),
    ("UPDATE outbox SET attempts = 0", "never forgotten"),
    ("UPDATE outbox SET first_attempt_at = first_attempt_at + 1 WHERE attempts > 0", "never forgotten"),
    ("UPDATE outbox SET state = 'pending', ended_at = NULL WHERE state = 'done'", "last state stays"),
    ("UPDATE turns SET stop_requested = 0 WHERE stop_requested = 1", "never taken back"),
    ("UPDATE turns SET start_epoch = 0", "never fall"),
    ("UPDATE inflight_cards SET sequence = sequence - 1", "never falls"),
    ("UPDATE session_events SET body = '{}'", "only appended"),
    ("UPDATE inbox SET state = 'accepted' WHERE terminal_at IS NOT NULL", "never moves"),
    ("INSERT INTO owners VALUES (1, 0, 'x')", "must rise"),
]


@pytest.mark.parametrize(("sql", "words"), GUARDS, ids=[row[0] for row in GUARDS])
def test_the_schema_refuses_what_would_break_an_invariant(store: Store, sql: str, words: str) -> None:
    first = entered(store)
    finish(store, first)
    entered_one = entered(store, 2)
    store.run(stop_turn, entered_one, ALICE, frozenset(), finish_of(), store.epoch, store.now)
    with pytest.raises(sqlite3.IntegrityError, match=words):
        store.connection.execute(sql)


def test_two_intents_never_share_a_uuid(store: Store) -> None:
    admit(store, message(1))
    with pytest.raises(sqlite3.IntegrityError):
        store.connection.execute(
            "INSERT INTO outbox (intent_id, kind, op, lane, place, chat_id, target, payload, uuid, terminal, state,"
            " next_attempt_at, created_at) SELECT 'x', kind, op, lane, 9, chat_id, target, payload, uuid, 0, 'pending',"
            " 0, 0 FROM outbox LIMIT 1"
        )


def test_retention_keeps_what_is_open_and_what_is_unknown(store: Store) -> None:
    turn_id = entered(store)
    admit(store, message(2))
    finish(store, turn_id)
    deliver_all(store, turn_lane(turn_id))
    deliver_all(store, reaction_lane(turn_id))
    before = store.rows("SELECT count(*) FROM outbox WHERE state = 'pending'")
    store.now += 40 * 24 * 3_600_000
    store.run(sweep, store.now)
    assert store.rows("SELECT count(*) FROM outbox WHERE state = 'pending'") == before
    assert store.rows("SELECT count(*) FROM outbox WHERE state <> 'pending'") == [(0,)]
    assert store.rows("SELECT message_id, payload IS NULL FROM inbox ORDER BY 1") == [("om_1", 1), ("om_2", 0)]
    assert store.rows("SELECT count(*) FROM processed") == [(0,)]


def test_a_stop_that_found_a_waiting_turn_of_an_older_boot_ends_it_when_it_would_run(store: Store) -> None:
    turn_id = admit(store, message(1))
    store.connection.execute("UPDATE turns SET stop_requested = 1")
    store.reboot()
    assert not enter(store, turn_id)
    lease = lease_of(store, turn_id)
    assert store.run(finish_if_stopped, replace(lease, start_epoch=StartEpoch(1)), finish_of(), store.now) is None
    done = store.run(finish_if_stopped, lease, finish_of(), store.now)
    assert done is not None and done.outcome == "stopped"


def press_continue(store: Store, turn_id: TurnId, event: str = "click") -> Continued | NotContinued:
    request = ContinueRequest(
        EventId(event), turn_id, ALICE, frozenset(), TurnId(f"again-{event}"), uuids(3), '{"text":"go on"}', DRAWING
    )
    return store.run(continue_turn, request, store.epoch, store.now)


def interrupted(store: Store, pages: int = 1) -> TurnId:
    turn_id = entered(store)
    for segment in range(1, pages):
        store.run(add_segment, lease_of(store, turn_id), segment, DRAWING, uuids(2), store.now)  # type: ignore[arg-type]
    text: dict[str, object] = {"text": "half an answer"}
    said = (("assistant/message", text),)
    finish = replace(finish_of("interrupted", pages), log=said)
    assert store.run(finish_turn, lease_of(store, turn_id), finish, store.now) is not None
    deliver_all(store, turn_lane(turn_id))
    deliver_all(store, reaction_lane(turn_id))
    return turn_id


def test_continue_goes_on_in_the_same_card_after_what_was_read(store: Store) -> None:
    old = interrupted(store)
    result = press_continue(store, old)
    assert isinstance(result, Continued)
    snapshot = store.run(snapshots.find_snapshot, result.turn_id)
    (card,) = store.run(snapshots.cards_of, result.turn_id)
    assert snapshot is not None and json.loads(snapshot.message or "")["prefix"] == "half an answer"
    assert (card.message_id, card.card_id) == (f"sent-{old}/reply/0", f"card-{old}/create/0")
    assert enter(store, result.turn_id)
    finish(store, result.turn_id)
    assert deliver_all(store, turn_lane(result.turn_id)) == ["close"]


def test_an_answer_of_several_cards_goes_on_in_a_new_one(store: Store) -> None:
    """The main card alone cannot hold what stands in three."""
    result = press_continue(store, interrupted(store, pages=3))
    assert isinstance(result, Continued)
    assert deliver_all(store, turn_lane(result.turn_id)) == ["create", "reply"]


def test_a_double_click_continues_once(store: Store) -> None:
    """Field report 29."""
    old = interrupted(store)
    assert isinstance(press_continue(store, old, "first"), Continued)
    assert press_continue(store, old, "second") == NotContinued("already")
    assert press_continue(store, old, "first") == NotContinued("already")


def test_a_second_interruption_gets_its_own_button(store: Store) -> None:
    first = press_continue(store, interrupted(store), "first")
    assert isinstance(first, Continued) and enter(store, first.turn_id)
    finish(store, first.turn_id, "interrupted")
    second = press_continue(store, first.turn_id, "second")
    assert isinstance(second, Continued)


def test_nothing_is_continued_where_it_makes_no_sense(store: Store) -> None:
    done = entered(store)
    finish(store, done)
    assert press_continue(store, done) == NotContinued("not_interrupted")
    assert press_continue(store, TurnId("nobody"), "other") == NotContinued("unknown_turn")
