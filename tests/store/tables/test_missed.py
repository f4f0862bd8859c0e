"""Gaps, the gate for what history has, batches and their cards: each transaction on a real file."""

import sqlite3
from dataclasses import replace

import pytest

from channels.ids import ChatId, EventId, MessageId, SendUuid, UserId
from channels.rules.intents import Drawing, read_payload
from channels.rules.message import Message
from channels.rules.missed import GATE_MEMORY_MS
from channels.rules.retry import CARD_LIFE_MS
from channels.rules.routing import Policy
from channels.store import missed, missed_batches, outbox, owners
from channels.store.missed import GROUPS_AT_MOST, Gap, Place
from channels.store.transactions.accept import Accepted, Duplicate, accept_message
from channels.store.transactions.boot import sweep
from channels.store.transactions.missed import (
    Asked,
    Sorting,
    accept_missed,
    add_bot,
    add_threads,
    beat_last,
    enter_private_chat,
    lose_chat,
    open_gap,
    sweep_places,
    sweep_start,
    tidy,
    unprocessed,
)
from channels.store.transactions.missed_cards import (
    BatchDecided,
    NotDecided,
    Operator,
    batches_to_draw,
    decide_batch,
    put_card,
    renew_cards,
)
from channels.store.transactions.recall import recall_message
from tests.store.tables.conftest import Store
from tests.store.tables.drive import admit, begin, deliver_all, finish_of, message

BEAT, HOUR = 5_000, 3_600_000
BOB = Operator(frozenset({"u_bob", "open:ou_bob"}), "ou_bob")
CARD = Drawing('{"card":1}', "card")


def gap_of(store: Store, alive_ms: int | None, reason: str = "boot", *, sweeping: bool = True) -> Gap | None:
    return store.run(open_gap, alive_ms, reason, BEAT, store.now, store.now, sweeping=sweeping)


def opened(store: Store, alive_ms: int, reason: str = "boot") -> Gap:
    gap = gap_of(store, alive_ms, reason)
    assert gap is not None
    return gap


def old(number: int, *, user: str = "u_bob", chat: str = "oc_1", chat_type: str = "p2p") -> Message:
    one = message(number, chat_type=chat_type)
    sender = replace(one.envelope.sender, user_id=UserId(user))
    return replace(one, envelope=replace(one.envelope, sender=sender, chat_id=ChatId(chat)))


def find(store: Store, one: Message, *, window_ms: int = 0, batch: str = "batch_1") -> object:
    """History has this message."""
    sorting = Sorting(Policy(bot_open_id="ou_bot"), window_ms, store.now, batch, f"excerpt {one.text}")
    return store.run(accept_missed, one, "{}", sorting, store.epoch, store.now)


def draw(store: Store, uuid: str, card: Drawing = CARD) -> str | None:
    """Draw the one batch that has changed."""
    (view,) = store.run(batches_to_draw, 10)
    return store.run(put_card, view.batch.batch_id, view.batch.version, card, SendUuid(uuid), store.now)


def decide(store: Store, state: str = "handled", who: Operator = BOB, event: str = "e1") -> BatchDecided | NotDecided:
    admins = frozenset({UserId("u_admin")})
    return store.run(decide_batch, EventId(event), "batch_1", state, who, admins, MessageId("om_card"), store.now)


class TestGaps:
    def test_none_on_the_very_first_boot_but_somebody_is_alive_from_then_on(self, store: Store) -> None:
        """Killed before the first heartbeat, the next boot must know that somebody was listening."""
        assert gap_of(store, None) is None
        meta = store.run(owners.read_meta)
        assert meta is not None
        assert meta.last_alive_at == store.now

    def test_the_earlier_of_alive_and_swept_counts(self, store: Store) -> None:
        store.run(missed.record_sweep, 0, 700_000, store.now)
        gap = opened(store, 900_000)
        assert gap.from_ms == 700_000 - BEAT
        store.run(missed.close_if_read, gap.gap_id, store.now)
        store.run(missed.record_sweep, 0, 950_000, store.now)
        assert opened(store, 900_000).from_ms == 900_000 - BEAT

    def test_without_sweeps_only_alive_counts(self, store: Store) -> None:
        store.run(missed.record_sweep, 0, 700_000, store.now)
        gap = gap_of(store, 900_000, sweeping=False)
        assert gap is not None
        assert gap.from_ms == 900_000 - BEAT

    def test_never_older_than_the_gate_remembers(self, store: Store) -> None:
        store.now = 2 * GATE_MEMORY_MS
        assert opened(store, 5).from_ms == store.now - GATE_MEMORY_MS

    def test_a_gap_that_lay_open_for_a_month_is_read_as_far_as_the_gate_remembers(self, store: Store) -> None:
        find(store, old(1))
        first = opened(store, store.now)
        store.now += 2 * GATE_MEMORY_MS
        last = opened(store, store.now)
        assert first.from_ms < last.from_ms == store.now - GATE_MEMORY_MS
        assert [one.read_to_ms for one in store.run(missed.open_containers, last.gap_id)] == [last.from_ms]

    def test_a_clock_that_was_set_back(self, store: Store) -> None:
        gap = opened(store, store.now + HOUR)
        assert gap.from_ms == gap.to_ms == store.now + HOUR - BEAT

    def test_it_holds_every_place_once_chats_first(self, store: Store) -> None:
        admit(store, message(1))
        thread = deliver_first_turn(store)
        store.run(add_bot, EventId("e1"), ChatId("oc_silent"), "silent", store.now)
        store.run(add_bot, EventId("e2"), ChatId("oc_1"), "known already", store.now)
        store.run(enter_private_chat, EventId("e3"), ChatId("oc_opened"), UserId("u"), store.now)
        gap = opened(store, store.now)
        places = [one.place for one in store.run(missed.open_containers, gap.gap_id)]
        assert [place.container for place in places] == ["oc_1", "oc_silent", "oc_opened", thread]
        assert [place.kind for place in places] == ["chat", "chat", "chat", "thread"]
        assert [place.chat_type for place in places] == ["p2p", "group", "p2p", "p2p"]

    def test_it_is_closed_when_nothing_is_open(self, store: Store) -> None:
        find(store, old(1))
        gap = opened(store, store.now)
        assert not store.run(missed.close_if_read, gap.gap_id, store.now)
        assert store.run(missed.end_container, gap.gap_id, "oc_1", "no right")
        assert not store.run(missed.end_container, gap.gap_id, "oc_1")
        assert store.run(missed.close_if_read, gap.gap_id, store.now)
        assert store.run(missed.read_until) == gap.to_ms
        (trouble,) = store.run(missed.troubles, 10)
        assert (trouble.container, trouble.state, trouble.error) == ("oc_1", "refused", "no right")

    def test_a_place_that_was_read_later_is_no_trouble(self, store: Store) -> None:
        find(store, old(1))
        for error in ("no right", None):
            store.run(missed.end_container, opened(store, store.now).gap_id, "oc_1", error)
        assert store.run(missed.troubles, 10) == []

    def test_progress_only_goes_forward(self, store: Store) -> None:
        find(store, old(1))
        gap = opened(store, store.now)
        for read_to in (store.now + 50, store.now + 20):
            store.run(missed.set_read_to, gap.gap_id, "oc_1", read_to)
        assert [one.read_to_ms for one in store.run(missed.open_containers, gap.gap_id)] == [store.now + 50]
        with pytest.raises(sqlite3.IntegrityError, match="backwards"):
            store.connection.execute("UPDATE missed_containers SET read_to_ms = 0")

    def test_gaps_inside_a_new_one_are_not_read_twice(self, store: Store) -> None:
        inner = opened(store, store.now)
        store.now += 1
        outer = opened(store, inner.from_ms)
        assert [gap.gap_id for gap in store.run(missed.open_gaps)] == [outer.gap_id]

    def test_what_older_gaps_have_left_is_taken_over(self, store: Store) -> None:
        """A process that dies at every boot leaves one gap, each place once, from where its reading stands."""
        places = [Place(f"oc_{name}", "chat", ChatId(f"oc_{name}"), "group") for name in ("read", "begun", "fresh")]
        first = opened(store, store.now - HOUR)
        store.run(add_threads, first, places)
        store.run(missed.end_container, first.gap_id, "oc_read")
        store.run(missed.set_read_to, first.gap_id, "oc_begun", first.from_ms + 50)
        opened_at, store.now = store.now, store.now + 1
        for _ in range(3):
            last = opened(store, store.now)
        assert [gap.gap_id for gap in store.run(missed.open_gaps)] == [last.gap_id]
        assert last.from_ms == first.from_ms
        assert store.run(missed.oldest_open) == (first.from_ms, opened_at)
        left = [(one.place.container, one.read_to_ms) for one in store.run(missed.open_containers, last.gap_id)]
        assert left == [("oc_begun", first.from_ms + 50), ("oc_fresh", first.from_ms)]
        assert store.rows("SELECT count(*) FROM missed_containers") == [(2,)]

    def test_a_place_is_never_read_from_later_than_the_new_gap_begins(self, store: Store) -> None:
        find(store, old(1))
        opened(store, store.now)
        wide = opened(store, store.now - HOUR)
        assert [one.read_to_ms for one in store.run(missed.open_containers, wide.gap_id)] == [wide.from_ms]

    def test_a_closed_gap_remembers_only_what_could_not_be_read(self, store: Store) -> None:
        for error in ("no right", "still no right", None):
            gap = opened(store, store.now)
            for name in ("oc_a", "oc_b"):
                store.run(add_threads, gap, [Place(name, "chat", ChatId(name), "group")])
            store.run(missed.end_container, gap.gap_id, "oc_a", error)
            store.run(missed.end_container, gap.gap_id, "oc_b")
            assert store.run(missed.close_if_read, gap.gap_id, store.now)
            held = store.rows("SELECT container, error FROM missed_containers")
            assert held == ([("oc_a", error)] if error else [])

    def test_a_clean_stop_does_not_claim_what_was_not_read(self, store: Store) -> None:
        gap = opened(store, store.now - HOUR)
        store.run(beat_last, store.now, store.now)
        assert store.rows("SELECT last_alive_at FROM meta") == [(gap.from_ms,)]
        store.run(missed.close_if_read, gap.gap_id, store.now)
        store.run(beat_last, store.now, store.now)
        assert store.rows("SELECT last_alive_at FROM meta") == [(store.now,)]

    def test_topics_that_a_chat_showed_are_added_once(self, store: Store) -> None:
        gap = opened(store, store.now)
        place = Place("omt_9", "thread", ChatId("oc_1"), "group")
        assert [store.run(add_threads, gap, [place]) for _ in range(2)] == [1, 0]

    def test_retention_keeps_the_last_end(self, store: Store) -> None:
        for alive in (store.now - 3 * HOUR, store.now - 2 * HOUR):
            gap = opened(store, alive)
            store.run(missed.close_if_read, gap.gap_id, store.now)
            store.now += HOUR
        until = store.run(missed.read_until)
        store.run(tidy, store.now + 15 * 24 * HOUR)
        assert store.rows("SELECT count(*) FROM missed_gaps") == [(1,)]
        assert store.run(missed.read_until) == until

    def test_one_sweep_is_kept(self, store: Store) -> None:
        for end in (10, 20, 30):
            store.run(missed.record_sweep, 0, end, store.now)
        assert store.rows("SELECT to_ms FROM missed_gaps") == [(30,)]
        assert store.run(sweep_start, HOUR) == 30

    def test_a_sweep_looks_where_somebody_spoke_within_a_day(self, store: Store) -> None:
        store.now = 100 * HOUR
        for number, age in enumerate((1, 23, 25)):
            one = old(number, chat=f"oc_{age}")
            moved = replace(one.envelope, create_time_ms=store.now - age * HOUR)
            find(store, replace(one, envelope=moved), batch=f"batch_{age}")
        assert [place.container for place in store.run(sweep_places, store.now)] == ["oc_1", "oc_23"]


def deliver_first_turn(store: Store) -> str:
    """Its reply makes the topic."""
    ((lane,),) = store.rows("SELECT DISTINCT lane FROM outbox WHERE lane LIKE 'turn:%'")
    deliver_all(store, lane, thread="omt_made")
    return "omt_made"


class TestPlaces:
    def test_known_groups_are_bounded_the_oldest_goes(self, store: Store) -> None:
        for number in range(GROUPS_AT_MOST + 2):
            store.run(add_bot, EventId(f"e{number}"), ChatId(f"oc_{number}"), "", store.now + number)
        assert store.rows("SELECT count(*) FROM known_groups") == [(GROUPS_AT_MOST,)]
        assert store.rows("SELECT chat_id FROM known_groups WHERE chat_id IN ('oc_0', 'oc_1', 'oc_2')") == [("oc_2",)]

    def test_a_chat_that_is_lost_is_forgotten(self, store: Store) -> None:
        find(store, old(1, chat="oc_g", chat_type="group"))
        store.run(add_bot, EventId("e1"), ChatId("oc_g"), "", store.now)
        assert store.run(lose_chat, EventId("e2"), "BotRemoved", ChatId("oc_g"), store.now)
        assert not store.run(lose_chat, EventId("e2"), "BotRemoved", ChatId("oc_g"), store.now)
        assert opened(store, store.now) is not None
        assert store.rows("SELECT count(*) FROM missed_containers") == [(0,)]


class TestGate:
    def test_young_goes_its_way_old_is_asked_about(self, store: Store) -> None:
        assert find(store, message(1), window_ms=store.now) == Accepted()
        assert find(store, old(2)) == Asked("batch_1")
        assert find(store, replace(old(3, chat_type="group"), mentioned_bot=False)) == Accepted("not_mentioned")
        assert store.rows("SELECT message_id, state, verdict, origin FROM inbox ORDER BY 1") == [
            ("om_1", "accepted", None, "history"),
            ("om_2", "asked", None, "history"),
            ("om_3", "dropped", "not_mentioned", "history"),
        ]

    def test_live_and_history_share_one_gate(self, store: Store) -> None:
        store.run(accept_message, message(1).envelope, "{}", store.epoch, None, store.now)
        assert find(store, message(1)) == Duplicate()
        assert find(store, old(2)) == Asked("batch_1")
        assert store.run(accept_message, old(2).envelope, "{}", store.epoch, None, store.now) == Duplicate()

    def test_what_the_gate_has_forgotten_is_known_by_its_row(self, store: Store) -> None:
        """A gap lay open for a month: history brings back what was answered then (crash campaign: `a deaf socket`)."""
        store.run(accept_message, message(1).envelope, "{}", store.epoch, None, store.now)
        store.now += 31 * 24 * HOUR
        store.run(sweep, store.now)
        assert store.rows("SELECT count(*) FROM processed") == [(0,)]
        assert store.run(unprocessed, [message(1).envelope.message_id]) == frozenset()
        assert find(store, message(1)) == Duplicate()

    def test_one_open_batch_a_chat(self, store: Store) -> None:
        assert find(store, old(1)) == Asked("batch_1")
        assert find(store, old(2), batch="batch_2") == Asked("batch_1")
        assert find(store, old(3, chat="oc_2"), batch="batch_3") == Asked("batch_3")
        decide(store)
        assert find(store, old(4), batch="batch_4") == Asked("batch_4")

    def test_a_restored_file_holds_what_is_found(self, store: Store) -> None:
        from channels.store import quarantine

        store.run(quarantine.enter, "restored", store.now, store.now)
        assert find(store, old(1)) == Accepted()
        assert store.rows("SELECT state, verdict FROM inbox") == [("held", "restored")]


class TestDeciding:
    def test_handled_in_one_commit(self, store: Store) -> None:
        for number in (2, 1):
            find(store, old(number))
        assert decide(store) == BatchDecided("handled", 2)
        assert store.rows("SELECT state, count(*) FROM inbox GROUP BY 1") == [("accepted", 2)]
        assert store.rows("SELECT state, decided_by, decided_at FROM missed_batches") == [
            ("handled", "ou_bob", store.now)
        ]

    def test_ignored(self, store: Store) -> None:
        find(store, old(1))
        assert decide(store, "ignored") == BatchDecided("ignored", 1)
        assert store.rows("SELECT state, verdict FROM inbox") == [("dropped", "ignored")]

    @pytest.mark.parametrize("first", ["handled", "ignored"])
    @pytest.mark.parametrize("second", ["handled", "ignored"])
    def test_the_first_decides(self, store: Store, first: str, second: str) -> None:
        find(store, old(1))
        decide(store, first)
        before = store.rows("SELECT state, verdict, terminal_at FROM inbox")
        assert decide(store, second, event="e2") == NotDecided(first)
        assert store.rows("SELECT state, verdict, terminal_at FROM inbox") == before

    def test_strangers_change_nothing(self, store: Store) -> None:
        find(store, old(1))
        stranger = Operator(frozenset({"u_carol", "open:ou_carol"}), "ou_carol")
        assert decide(store, who=stranger) == NotDecided("not_yours")
        assert store.rows("SELECT state FROM inbox") == [("asked",)]
        admin = Operator(frozenset({"u_admin", "open:ou_admin"}), "ou_admin")
        assert decide(store, who=admin, event="e2") == BatchDecided("handled", 1)

    def test_unknown(self, store: Store) -> None:
        assert decide(store) == NotDecided("unknown")

    def test_the_file_itself_refuses_a_second_decision(self, store: Store) -> None:
        find(store, old(1))
        decide(store)
        with pytest.raises(sqlite3.IntegrityError, match="decided once"):
            store.connection.execute("UPDATE missed_batches SET state = 'ignored'")


class TestCard:
    def test_sent_once_then_rewritten(self, store: Store) -> None:
        find(store, old(1))
        lane = draw(store, "u1")
        assert lane is not None
        assert store.run(batches_to_draw, 10) == []
        assert deliver_all(store, lane) == ["send"]
        find(store, old(2))
        assert draw(store, "u2", Drawing('{"card":2}', "two")) == lane
        rewrite = begin(store, lane)
        assert (rewrite.intent.op, rewrite.intent.target) == ("rewrite", "sent-batch_1/card/1")
        assert read_payload(rewrite.intent)["card"] == '{"card":2}'

    def test_a_card_that_was_not_sent_yet_is_drawn_anew(self, store: Store) -> None:
        find(store, old(1))
        lane = draw(store, "u1")
        find(store, old(2))
        assert draw(store, "u2", Drawing('{"card":2}', "two")) == lane
        assert lane is not None
        attempt = begin(store, lane)
        assert (attempt.intent.op, read_payload(attempt.intent)["text"]) == ("send", "two")
        assert store.rows("SELECT count(*) FROM outbox WHERE kind = 'send'") == [(1,)]

    def test_a_card_on_its_way_arrives_first(self, store: Store) -> None:
        find(store, old(1))
        lane = draw(store, "u1")
        assert lane is not None
        begin(store, lane)
        find(store, old(2))
        assert draw(store, "u2") is None
        assert len(store.run(batches_to_draw, 10)) == 1

    def test_a_drawing_of_an_older_version_is_not_shown(self, store: Store) -> None:
        find(store, old(1))
        (view,) = store.run(batches_to_draw, 10)
        find(store, old(2))
        put = store.run(put_card, view.batch.batch_id, view.batch.version, CARD, SendUuid("u1"), store.now)
        assert put is None
        assert store.rows("SELECT count(*) FROM outbox WHERE kind = 'send'") == [(0,)]

    def test_the_pressed_card_shows_the_outcome(self, store: Store) -> None:
        """Also where the answer to sending it never came, so that its message was not known."""
        find(store, old(1))
        lane = draw(store, "u1")
        assert lane is not None
        store.run(outbox.set_last, begin(store, lane).intent.intent_id, "unknown", None, "lost", store.now)
        decide(store)
        assert draw(store, "u2") == lane
        assert begin(store, lane).intent.target == "om_card"

    def test_renewed_before_it_can_no_longer_be_changed(self, store: Store) -> None:
        find(store, old(1))
        lane = draw(store, "u1")
        assert lane is not None
        deliver_all(store, lane)
        store.now += CARD_LIFE_MS - 25 * HOUR
        assert store.run(renew_cards, store.now) == 0
        store.now += 2 * HOUR
        assert store.run(renew_cards, store.now) == 1
        assert draw(store, "u2") == lane
        assert deliver_all(store, lane) == ["send"]
        decide(store)
        store.run(missed_batches.set_card_message, "batch_1", MessageId("sent-batch_1/card/2"))
        draw(store, "u3")
        assert begin(store, lane).intent.op == "rewrite"
        store.now += 2 * CARD_LIFE_MS
        assert store.run(renew_cards, store.now) == 0


def test_a_message_that_is_taken_back_leaves_its_pending_card(store: Store) -> None:
    for number in (1, 2):
        find(store, old(number))
    draw(store, "u1")
    finish = finish_of("stopped")
    store.run(recall_message, EventId("r"), MessageId("om_1"), finish, store.epoch, store.now, stop_running=True)
    (view,) = store.run(batches_to_draw, 10)
    assert [one.message_id for one in view.messages] == ["om_2"]
    assert store.rows("SELECT state, verdict FROM inbox WHERE message_id = 'om_1'") == [("dropped", "recalled")]
