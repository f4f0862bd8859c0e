"""The boot of a restored file: what it does to every row, and what becomes of each once history was read."""

from dataclasses import replace

import pytest

from channels.ids import EventId, MessageId, TurnId
from channels.rules.delivery import SendAnew
from channels.rules.message import Message
from channels.rules.settlement import Caller
from channels.store import events, inbox, missed_batches, outbox, owners, quarantine, snapshots
from channels.store.settlement_control import read_control
from channels.store.transactions.accept import Accepted, accept_message
from channels.store.transactions.deliver import Spare, begin_next, record_failure
from channels.store.transactions.missed import Sorting, accept_missed
from channels.store.transactions.quarantine import (
    ANSWERED,
    SEQUENCE_LEAP,
    History,
    end_answered,
    leave_if_done,
    read_standing,
    settle_held,
    take_restored,
    unsure_turns,
)
from channels.store.transactions.settlement_control import Controlled, pause, resume
from tests.store.tables.conftest import Store
from tests.store.tables.drive import POLICY, accept, admit, begin, deliver_all, enter, finish, message, turn_of, uuids

BOOT_MS = 2_000_000
NOTHING = History(frozenset(), frozenset())
OLD, NEW = 10, BOOT_MS + 1  # create_time of messages from before and after


def restore(store: Store, *, anchor_epoch: int = 0) -> None:
    store.now = BOOT_MS
    store.epoch = store.run(take_restored, "uuid", "test", "in a test", anchor_epoch, BOOT_MS, store.now).epoch


def sorting() -> Sorting:
    return Sorting(policy=POLICY, window_ms=0, wall_ms=BOOT_MS, spare_batch_id="batch_spare", excerpt="…")


def settle(store: Store, one: Message, history: History = NOTHING) -> str:
    held = store.run(inbox.held_rows, store.now, 100)
    ((row, state),) = [(row, state) for row, state in held if row.message_id == one.envelope.message_id]
    return store.run(settle_held, row, state, one, history, sorting(), store.now).verdict


def state_of(store: Store, one: Message) -> tuple[str, str | None]:
    ((state, verdict),) = store.rows("SELECT state, verdict FROM inbox WHERE message_id = ?", one.envelope.message_id)
    return state, verdict


class TestBoot:
    def test_no_settlement_generation_comes_up_again(self, store: Store) -> None:
        """A permit from after the backup counts for nothing; the user's pause is as the backup has it, and holds."""
        restore(store)
        first = store.run(read_control)
        assert first is not None and first.generation > 1_000_000 and not first.user_paused
        store.run(pause, Caller(None, store.epoch), store.now)
        restore(store)
        second = store.run(read_control)
        assert second is not None and second.generation > first.generation + 1_000_000 and second.user_paused
        assert isinstance(store.run(resume, Caller(None, store.epoch), store.now), Controlled)

    def test_epochs_leap_over_the_anchor_and_over_boots_that_nobody_knows_of(self, store: Store) -> None:
        restore(store)
        assert store.epoch > 1000
        restore(store, anchor_epoch=50_000)
        assert store.epoch > 51_000
        assert store.run(owners.current_epoch) == store.epoch

    def test_queued_and_entered_turns_wait_for_their_comparison(self, store: Store) -> None:
        running, waiting = admit(store, message(1)), admit(store, message(2, user="bob"))
        enter(store, running)
        restore(store)
        assert [one.turn.turn_id for one in store.run(unsure_turns, 10)] == [running, waiting]
        assert not enter(store, waiting)

    def test_every_message_that_waits_is_doubted_and_what_leads_up_to_it_is_left_out(self, store: Store) -> None:
        turn_id = admit(store, message(1))
        restore(store)
        rows = {row.intent.op: row for row in store.run(outbox.intents_of_turn, turn_id)}
        assert (rows["create"].state, rows["add"].state) == ("superseded", "superseded")
        assert rows["reply"].state == "pending"
        assert (rows["reply"].reconcile, rows["reply"].unsure) == (True, True)
        attempt = begin(store, f"turn:{turn_id}")
        assert attempt.reconcile
        assert attempt.first_attempt_at == 1_000_000, "it may have been sent since it was made"
        store.now += 600_000
        store.reboot()
        again = begin(store, f"turn:{turn_id}")
        assert (again.attempts, again.first_attempt_at) == (2, 1_000_000), "killed over the first look, it looks as far"

    def test_card_sequences_leap(self, store: Store) -> None:
        turn_id = admit(store, message(1))
        enter(store, turn_id)
        (before,) = store.run(snapshots.cards_of, turn_id)
        restore(store)
        (after,) = store.run(snapshots.cards_of, turn_id)
        assert (after.sequence, after.unsure) == (before.sequence + SEQUENCE_LEAP, True)

    def test_open_rows_are_held_and_ended_ones_are_not(self, store: Store) -> None:
        done = admit(store, message(1))
        enter(store, done)
        finish(store, done)
        accept(store, message(2, user="bob"))
        restore(store)
        assert state_of(store, message(1))[0] == "done"
        assert state_of(store, message(2)) == ("held", "restored")
        assert store.run(inbox.open_rows, store.now, 10) == []


class TestGate:
    @pytest.mark.parametrize(("create_time", "held"), [(OLD, True), (BOOT_MS - 1, True), (BOOT_MS + 90_000, False)])
    def test_messages_from_before_are_held_also_after_quarantine(
        self, store: Store, create_time: int, held: bool
    ) -> None:
        restore(store)
        assert store.run(leave_if_done, store.now)
        one = message(create_time)
        assert store.run(accept_message, one.envelope, "{}", store.epoch, None, store.now) == Accepted()
        assert state_of(store, one) == (("held", "restored") if held else ("accepted", None))

    def test_what_is_dropped_at_the_door_stays_dropped(self, store: Store) -> None:
        restore(store)
        one = message(OLD)
        store.run(accept_message, one.envelope, "{}", store.epoch, "empty", store.now)
        assert state_of(store, one) == ("dropped", "empty")

    def test_found_in_history_they_are_held_too(self, store: Store) -> None:
        restore(store)
        private, topic = message(OLD), message(11, thread="omt_lost", chat_type="group")
        aside = message(12, chat_type="group")
        aside, topic = replace(aside, mentioned_bot=False), replace(topic, mentioned_bot=False)
        for one in (private, topic, aside):
            store.run(accept_missed, one, "{}", sorting(), store.epoch, store.now)
        assert state_of(store, private) == ("held", "restored")
        assert state_of(store, topic) == ("held", "restored"), "its topic may be one of ours"
        assert state_of(store, aside) == ("dropped", "not_mentioned")

    def test_a_file_that_was_never_put_back_holds_nothing(self, store: Store) -> None:
        one = message(OLD)
        accept(store, one)
        assert state_of(store, one) == ("accepted", None)
        assert store.run(read_standing) is None
        assert not store.run(leave_if_done, store.now)


class TestComparison:
    def test_answered_in_history(self, store: Store) -> None:
        one = message(OLD)
        accept(store, one)
        restore(store)
        assert settle(store, one, History({one.envelope.message_id}, frozenset())) == ANSWERED
        assert state_of(store, one) == ("done", ANSWERED)

    def test_not_answered_it_goes_onto_the_pending_card(self, store: Store) -> None:
        one = message(OLD)
        accept(store, one)
        restore(store)
        assert settle(store, one) == "asked"
        assert state_of(store, one) == ("asked", None)
        assert [each.message_id for each in store.run(missed_batches.messages_of, "batch_spare")] == ["om_10"]

    def test_one_that_came_after_the_boot_is_simply_answered(self, store: Store) -> None:
        restore(store)
        one = message(NEW)
        accept(store, one)
        assert state_of(store, one) == ("held", "restored"), "clocks differ: it might be from before"
        assert settle(store, one) == "accepted"
        assert [row.message_id for row in store.run(inbox.open_rows, store.now, 10)] == [one.envelope.message_id]

    def test_a_topic_that_the_backup_does_not_know_counts_where_we_have_spoken(self, store: Store) -> None:
        restore(store)
        ours = replace(message(11, thread="omt_ours", chat_type="group"), mentioned_bot=False)
        theirs = replace(message(12, thread="omt_theirs", chat_type="group"), mentioned_bot=False)
        for one in (ours, theirs):
            accept(store, one)
        history = History(frozenset(), {"omt_ours"})
        assert settle(store, ours, history) == "asked"
        assert settle(store, theirs, history) == "not_mentioned"

    def test_a_card_that_asks_loses_what_was_answered_and_ends_when_nothing_is_left(self, store: Store) -> None:
        first, second = message(10), message(11)
        for one in (first, second):
            store.run(accept_missed, one, "{}", sorting(), store.epoch, store.now)
        restore(store)
        assert state_of(store, first) == ("asked", "restored")
        assert settle(store, first, History({MessageId("om_10")}, frozenset())) == ANSWERED
        assert settle(store, second) == "asked"
        assert [each.message_id for each in store.run(missed_batches.messages_of, "batch_spare")] == ["om_11"]
        restore(store)
        settle(store, second, History({MessageId("om_11")}, frozenset()))
        batch = store.run(missed_batches.find_batch, "batch_spare")
        assert batch is not None and batch.state == "handled"

    def test_a_recalled_one_is_dropped(self, store: Store) -> None:
        one = message(OLD)
        accept(store, one)
        store.run(events.record, EventId("event"), "message_recalled", one.envelope.message_id, "recorded", store.now)
        restore(store)
        assert settle(store, one) == "recalled"


class TestTurns:
    def test_one_that_ended_elsewhere_says_nothing_more_and_keeps_its_conversation(self, store: Store) -> None:
        turn_id = admit(store, message(1))
        enter(store, turn_id)
        restore(store)
        (unsure,) = store.run(unsure_turns, 10)
        reply = (MessageId("om_reply"), None)
        assert store.run(end_answered, unsure.turn, reply, store.epoch, store.now)
        assert turn_of(store, turn_id).outcome == "completed"
        assert store.rows("SELECT count(*) FROM outbox WHERE state = 'pending'") == [(0,)]
        assert store.rows("SELECT count(*) FROM inflight") == [(0,)]
        assert store.rows("SELECT count(*) FROM establishing") == [(0,)]
        assert store.rows("SELECT card_message_id FROM routes") == [("om_reply",)]
        assert state_of(store, message(1))[0] == "done"
        assert not store.run(end_answered, unsure.turn, reply, store.epoch, store.now), "once"

    def test_what_was_settled_while_it_was_on_its_way_gets_no_successor(self, store: Store) -> None:
        """Delivery asks history, finds nothing new there (the answer is recorded by now), and must not say it anew."""
        turn_id = admit(store, message(1))
        restore(store)
        attempt = begin(store, f"turn:{turn_id}")
        (unsure,) = store.run(unsure_turns, 10)
        store.run(end_answered, unsure.turn, (MessageId("om_reply"), None), store.epoch, store.now)
        store.run(record_failure, attempt, SendAnew(), "absent", Spare(uuids(2)), store.now)
        assert store.run(begin_next, f"turn:{turn_id}", store.now).next is None
        assert store.rows("SELECT count(*) FROM outbox WHERE successor_of IS NOT NULL") == [(0,)]

    def test_one_that_was_stopped_ends_as_stopped(self, store: Store) -> None:
        turn_id = admit(store, message(1))
        store.connection.execute("UPDATE turns SET stop_requested = 1")
        restore(store)
        (unsure,) = store.run(unsure_turns, 10)
        store.run(end_answered, unsure.turn, None, store.epoch, store.now)
        assert turn_of(store, turn_id).outcome == "stopped"


class TestLeaving:
    def test_only_when_everything_is_compared(self, store: Store) -> None:
        one, turn_id = message(OLD), admit(store, message(1, user="bob"))
        accept(store, one)
        restore(store)
        standing = store.run(read_standing)
        assert standing is not None
        assert (standing.messages, standing.intents, standing.turns, standing.gaps) == (1, 1, 1, 0)
        assert not store.run(leave_if_done, store.now)
        settle(store, one)
        assert not store.run(leave_if_done, store.now)
        (unsure,) = store.run(unsure_turns, 10)
        store.run(end_answered, unsure.turn, None, store.epoch, store.now)
        assert store.run(leave_if_done, store.now)
        assert not store.run(leave_if_done, store.now)
        found = store.run(quarantine.find)
        assert found is not None and not found.is_open and found.since_ms == BOOT_MS
        assert turn_id == TurnId(unsure.turn.turn_id)

    def test_another_restore_begins_anew(self, store: Store) -> None:
        restore(store)
        store.run(leave_if_done, store.now)
        store.now += 1
        store.run(take_restored, "uuid", "test", "again", 0, BOOT_MS + 5, store.now)
        found = store.run(quarantine.find)
        assert found is not None and (found.why, found.since_ms, found.is_open) == ("again", BOOT_MS + 5, True)


def test_deliveries_of_ended_turns_go_on_as_they_were(store: Store) -> None:
    """Terminal updates of a card that exists are not messages: they are sent, with a leaping sequence."""
    turn_id = admit(store, message(1))
    deliver_all(store, f"turn:{turn_id}")
    enter(store, turn_id)
    finish(store, turn_id)
    restore(store)
    attempt = begin(store, f"turn:{turn_id}")
    assert (attempt.intent.op, attempt.mode) == ("close", "card")
    assert attempt.sequence > SEQUENCE_LEAP
