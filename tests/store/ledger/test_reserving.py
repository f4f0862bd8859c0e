"""Quotas: what a turn may cost is held before it exists, given back to the windows it came from, and never lost."""

import json
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from channels.ids import EventId, OpenId, TurnId, UserId
from channels.rules.access import Actor
from channels.rules.quota import Limits, QuotaPolicy
from channels.rules.settlement import PENDING_MOST
from channels.store import sessions
from channels.store.header import APPLICATION_ID
from channels.store.migrate import load_migrations, migrate
from channels.store.transactions.admit import Decided
from channels.store.transactions.boot import sweep, take_ownership
from channels.store.transactions.closing import BEGINNING, LOOKED_AT_MOST, Place, sweep_reservations
from channels.store.transactions.quarantine import end_answered
from channels.store.transactions.repair import repair_turn
from channels.store.transactions.reserve import LimitChange, find_shortage, list_limits, read_standing, set_limits
from channels.store.transactions.resume import (
    UUIDS_PER_CONTINUE,
    ContinueRequest,
    NotContinued,
    continue_turn,
)
from channels.store.transactions.retire import drop_stale_turn
from channels.store.transactions.run import StoppedAtOnce, finish_if_stopped, finish_turn, stop_turn
from channels.store.transactions.settle import Spent
from channels.store.transactions.settlement import Acked, Settled, apply
from channels.store.tx import SqliteTx
from tests.store.ledger.conftest import DAY_MS, HOUR_MS, Ledger
from tests.store.ledger.test_contract_2_storage import dump, unguarded
from tests.store.tables import drive
from tests.store.tables.conftest import Store
from tests.store.tables.drive import DRAWING, finish_of, lease_of, turn_of, uuids

ADMIN = Actor(UserId("u_admin"), OpenId("ou_admin"), "chat")
TOKENS = 8_000


def settle_all(ledger: Ledger) -> None:
    for row in ledger.status().pending:
        done = ledger.apply(Acked(row.key, row.payload_hash, 0, 0, 0))
        assert isinstance(done, Settled)


def said_on_card(ledger: Ledger) -> str:
    """What the newest refusal says."""
    ((payload,),) = ledger.store.rows(
        "SELECT payload FROM outbox WHERE intent_id LIKE '%/refused' ORDER BY seq DESC LIMIT 1"
    )
    return str(json.loads(payload)["text"])


def window(ledger: Ledger, user: str, period: str = "day") -> tuple[object, ...]:
    """(turns limit, free, held, used, tokens limit, free, held, used)"""
    ((*found,),) = ledger.store.rows(
        "SELECT turns_limit, turns_free, turns_held, turns_used, tokens_limit, tokens_free, tokens_held, tokens_used"
        " FROM quotas WHERE user_id = ? AND period = ? ORDER BY starts_at DESC LIMIT 1",
        user,
        period,
    )
    return tuple(found)


class TestRefusal:
    def test_one_turn_too_many_is_refused_with_the_end_of_the_window(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=2)
        for _ in range(2):
            assert ledger.ask("alice").verdict in ("start", "continue")
            settle_all(ledger)
            end_open_turns(ledger)
        refused = ledger.ask("alice")
        assert (refused.verdict, refused.turn_id) == ("quota", None)
        assert said_on_card(ledger) == f"turns day {DAY_MS}"
        assert ledger.ask("bob").turn_id is not None, "another person has a quota of his own"

    def test_a_refused_message_leaves_no_half_turn(self, ledger: Ledger) -> None:
        ledger.limit(tokens_per_month=TOKENS)
        ledger.end(user="alice")
        settle_all(ledger)
        ledger.deliver()
        before = {
            table: ledger.rows(table) for table in ("turns", "sessions", "inflight", "routes", "reservations", "quotas")
        }
        assert ledger.ask("alice").verdict == "quota"
        assert {table: ledger.rows(table) for table in before} == before
        assert ledger.store.rows(
            "SELECT state, verdict FROM inbox ORDER BY received_at DESC, create_time DESC LIMIT 1"
        ) == [("refused", "quota")]

    def test_what_is_held_counts_until_it_is_given_back(self, ledger: Ledger) -> None:
        ledger.limit(tokens_per_day=2 * TOKENS - 1)
        turn_id = ledger.start("alice")
        assert ledger.ask("alice").verdict == "quota"
        ledger.finish(turn_id, tokens=10)
        settle_all(ledger)
        assert ledger.ask("alice").turn_id is not None

    def test_the_next_message_after_the_window_works(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=1)
        ledger.end(user="alice")
        assert ledger.ask("alice").verdict == "quota"
        ledger.store.now = DAY_MS - 1
        assert ledger.ask("alice").verdict == "quota"
        ledger.store.now = DAY_MS
        assert ledger.ask("alice").turn_id is not None

    def test_of_two_reasons_the_longer_one_is_said(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=1, tokens_per_month=TOKENS)
        ledger.end(tokens=TOKENS, user="alice")
        settle_all(ledger)
        assert ledger.ask("alice").verdict == "quota"
        assert said_on_card(ledger) == f"tokens month {31 * DAY_MS}"

    def test_windows_go_by_the_configured_zone(self, ledger: Ledger) -> None:
        zone = ZoneInfo("Asia/Shanghai")
        ledger.quota = QuotaPolicy(Limits(turns_per_day=1), zone=zone)
        ledger.store.now = int(datetime(2026, 11, 30, 23, 0, tzinfo=zone).timestamp() * 1000)
        ledger.end(user="alice")
        assert ledger.ask("alice").verdict == "quota"
        midnight = int(datetime(2026, 12, 1, tzinfo=zone).timestamp() * 1000)
        assert said_on_card(ledger) == f"turns day {midnight}"
        assert datetime.fromtimestamp(midnight / 1000, UTC).hour == 16

    def test_what_came_together_is_refused_together(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=1)
        ledger.end(user="alice")
        picture = drive.message(20_001, user="alice")
        picture = replace(picture, envelope=replace(picture.envelope, message_type="image"))
        drive.accept(ledger.store, picture)
        held = drive.decide(ledger.store, picture)
        assert type(held).__name__ == "Held"
        ledger.asked = 10_001  # om_20002 follows at once
        assert ledger.ask("alice").verdict == "quota"
        assert ledger.store.rows(
            "SELECT message_id, verdict FROM inbox WHERE state = 'refused' ORDER BY create_time"
        ) == [
            ("om_20001", "quota"),
            ("om_20002", "quota"),
        ]
        assert ledger.store.rows("SELECT count(*) FROM outbox WHERE intent_id LIKE '%/refused'") == [(1,)]

    def test_continue_asks_too(self, ledger: Ledger) -> None:
        turn_id = ledger.start("alice")
        drive.deliver_all(ledger.store, f"turn:{turn_id}")
        ledger.finish(turn_id, outcome="interrupted")
        policy = QuotaPolicy(Limits(turns_per_day=1))
        request = ContinueRequest(
            EventId("click"),
            turn_id,
            UserId("alice"),
            frozenset(),
            TurnId("turn_next"),
            uuids(UUIDS_PER_CONTINUE),
            "{}",
            DRAWING,
            policy,
        )
        answer = ledger.store.run(continue_turn, request, ledger.store.epoch, ledger.store.now)
        assert isinstance(answer, NotContinued) and answer.why == "quota"
        assert answer.short is not None and answer.short.ends_at == DAY_MS
        again = replace(request, event_id=EventId("click 2"), quota=QuotaPolicy())
        ledger.store.run(continue_turn, again, ledger.store.epoch, ledger.store.now)
        assert ledger.reservation(TurnId("turn_next")).user_id == "alice"


def end_open_turns(ledger: Ledger) -> None:
    """Whatever is queued runs and ends, so that nothing waits behind it."""
    for turn_id in drive.runnable(ledger.store):
        drive.enter(ledger.store, turn_id)
        drive.deliver_all(ledger.store, f"turn:{turn_id}")
        ledger.finish(turn_id)
    settle_all(ledger)


class TestLimits:
    def set(self, ledger: Ledger, user: str = "alice", **change: int | None) -> Limits:
        change_of = LimitChange(**change)
        return ledger.store.run(set_limits, UserId(user), change_of, ADMIN, ledger.quota, ledger.store.now)

    def test_a_person_may_have_other_limits_than_the_settings_say(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=1, tokens_per_day=50_000)
        assert self.set(ledger, turns_per_day=3) == Limits(turns_per_day=3, tokens_per_day=50_000)
        assert self.set(ledger, tokens_per_day=0) == Limits(turns_per_day=3)
        assert self.set(ledger, turns_per_day=None) == Limits(turns_per_day=1)
        (row,) = ledger.store.run(list_limits)
        assert (row.user_id, row.turns_per_day, row.tokens_per_day, row.changed_by) == ("alice", None, 0, "u_admin")

    def test_what_was_set_under_the_open_id_holds_for_the_person(self, ledger: Ledger) -> None:
        """The app is allowed to see user ids from some day on: nobody escapes a limit by that."""
        self.set(ledger, "open:ou_alice", turns_per_day=1)
        self.set(ledger, "open:ou_bob", turns_per_day=1)
        self.set(ledger, "bob", turns_per_day=2)
        assert [ledger.ask("alice").turn_id is not None for _ in range(2)] == [True, False]
        assert [ledger.ask("bob").turn_id is not None for _ in range(3)] == [True, True, False], "his own stands"
        assert {row.user_id for row in ledger.store.run(list_limits)} == {"alice", "bob", "open:ou_bob"}

    def test_every_change_is_in_the_audit_log(self, ledger: Ledger) -> None:
        self.set(ledger, turns_per_day=3)
        self.set(ledger, tokens_per_month=0)
        lines = ledger.store.rows("SELECT actor, via, action, subject, detail FROM audit ORDER BY seq")
        assert lines == [
            ("u_admin", "chat", "quota.set", "alice", "3 default default default"),
            ("u_admin", "chat", "quota.set", "alice", "3 default default 0"),
        ]

    def test_a_lowered_limit_stops_at_held_and_used(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=10, tokens_per_day=100_000)
        ledger.end(tokens=20_000, user="alice")
        settle_all(ledger)
        ledger.start("alice")
        self.set(ledger, turns_per_day=1, tokens_per_day=1_000)
        assert window(ledger, "alice") == (2, 0, 1, 1, 28_000, 0, 8_000, 20_000)
        assert ledger.ask("alice").verdict == "quota"
        end_open_turns(ledger)

    def test_a_raised_limit_holds_at_once(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=1)
        ledger.end(user="alice")
        assert ledger.ask("alice").verdict == "quota"
        self.set(ledger, turns_per_day=2)
        assert window(ledger, "alice")[:4] == (2, 1, 1, 0)
        assert ledger.ask("alice").turn_id is not None

    def test_new_settings_hold_with_the_next_turn(self, ledger: Ledger) -> None:
        ledger.end(user="alice")
        assert window(ledger, "alice")[:2] == (None, None)
        ledger.limit(turns_per_day=5)
        ledger.ask("alice")
        assert window(ledger, "alice")[:4] == (5, 3, 2, 0)
        ledger.quota = QuotaPolicy()
        end_open_turns(ledger)
        ledger.ask("alice")
        assert window(ledger, "alice")[:2] == (None, None)

    def test_what_people_are_shown_writes_nothing(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=2, tokens_per_month=100_000)
        ledger.start("alice")
        before = dump(ledger)
        shown = ledger.store.run(read_standing, UserId("alice"), ledger.quota, ledger.store.now)
        ledger.store.run(find_shortage, UserId("zoe"), ledger.quota, ledger.store.now)
        day, month = shown.windows
        assert (day.turns.limit, day.turns.held, day.turns.free) == (2, 1, 1)
        assert (month.tokens.limit, month.tokens.held, month.tokens.free) == (100_000, TOKENS, 92_000)
        assert dump(ledger) == before

    def test_a_limit_below_the_estimate_allows_one_turn_at_a_time(self, ledger: Ledger) -> None:
        ledger.limit(tokens_per_day=500)
        turn_id = ledger.start("alice")
        assert ledger.reservation(turn_id).tokens == 500
        assert ledger.ask("alice").verdict == "quota"
        ledger.finish(turn_id, tokens=499)
        settle_all(ledger)
        assert window(ledger, "alice")[4:] == (500, 1, 0, 499)


class TestGivingBack:
    def test_what_was_not_used_comes_back(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=9, tokens_per_day=100_000)
        ack = ledger.end(tokens=1_234, user="alice")
        assert window(ledger, "alice") == (9, 8, 1, 0, 100_000, 92_000, TOKENS, 0)
        ledger.settle(ack)
        assert window(ledger, "alice") == (9, 8, 0, 1, 100_000, 98_766, 0, 1_234)

    def test_it_comes_back_to_the_windows_that_it_came_from(self, ledger: Ledger) -> None:
        ledger.store.now = 31 * DAY_MS - 1_000  # one second before the day and the month end
        turn_id = ledger.start("alice")
        ledger.store.now += 60_000
        done = ledger.finish(turn_id, tokens=300)
        other = ledger.start("alice")
        assert isinstance(done.settlement, Acked)
        ledger.settle(done.settlement)
        rows = ledger.store.rows(
            "SELECT period, starts_at, turns_held, turns_used, tokens_held, tokens_used FROM quotas ORDER BY 1, 2"
        )
        assert rows == [
            ("day", 30 * DAY_MS, 0, 1, 0, 300),
            ("day", 31 * DAY_MS, 1, 0, TOKENS, 0),
            ("month", 0, 0, 1, 0, 300),
            ("month", 31 * DAY_MS, 1, 0, TOKENS, 0),
        ]
        assert ledger.reservation(other).day_starts_at == 31 * DAY_MS

    @pytest.mark.parametrize(
        ("tokens", "day", "month", "overrun"),
        [
            (TOKENS, (12_000, 8_000), (42_000, 8_000), (0, 0)),
            (15_000, (5_000, 15_000), (35_000, 15_000), (0, 0)),
            (20_000, (0, 20_000), (30_000, 20_000), (0, 0)),
            (30_000, (0, 20_000), (20_000, 30_000), (10_000, 0)),
            (60_000, (0, 20_000), (0, 50_000), (40_000, 10_000)),
        ],
    )
    def test_use_beyond_what_was_reserved_takes_what_is_free_and_no_more(
        self, ledger: Ledger, tokens: int, day: tuple[int, int], month: tuple[int, int], overrun: tuple[int, int]
    ) -> None:
        """The rest stands in `usage` alone."""
        ledger.limit(tokens_per_day=20_000, tokens_per_month=50_000)
        ledger.settle(ledger.end(tokens=tokens, user="alice"))
        assert window(ledger, "alice", "day")[5:] == (day[0], 0, day[1])
        assert window(ledger, "alice", "month")[5:] == (month[0], 0, month[1])
        assert ledger.store.rows("SELECT input_tokens, day_overrun, month_overrun FROM usage") == [(tokens, *overrun)]

    def test_without_any_limit_everything_is_booked(self, ledger: Ledger) -> None:
        for outcome in ("completed", "failed", "max_tokens", "interrupted"):
            ledger.settle(ledger.end(tokens=1_000_000, user="alice", outcome=outcome))
            ledger.store.now += 1
        assert window(ledger, "alice") == (None, None, 0, 4, None, None, 0, 4_000_000)
        rows = ledger.store.rows(
            "SELECT user_id, agent, model, outcome, turns, input_tokens FROM usage ORDER BY queued_at"
        )
        assert [row[3] for row in rows] == ["completed", "failed", "max_tokens", "interrupted"]
        assert {row[:3] + row[4:] for row in rows} == {("alice", "demo", "model", 1, 1_000_000)}

    def test_a_name_that_an_agent_makes_up_is_cut(self, ledger: Ledger) -> None:
        turn_id = ledger.start()
        finish = replace(finish_of(), spent=Spent(1, model="m" * 5_000))
        done = ledger.store.run(finish_turn, lease_of(ledger.store, turn_id), finish, ledger.store.now)
        assert done is not None and isinstance(done.settlement, Acked)
        ledger.settle(done.settlement)
        assert ledger.store.rows("SELECT length(model) FROM usage") == [(200,)]

    def test_what_an_agent_makes_up_is_no_count(self, ledger: Ledger) -> None:
        ack = ledger.end(tokens=-5)
        ledger.settle(ack)
        ledger.settle(ledger.end(tokens=2**80))
        assert ledger.store.rows("SELECT input_tokens FROM usage ORDER BY 1") == [(0,), (1_000_000_000_000,)]


class TestEnds:
    """However a turn ends, what was held for it is given back."""

    def queued(self, ledger: Ledger) -> TurnId:
        decided = ledger.ask("alice")
        assert decided.turn_id is not None
        return decided.turn_id

    def check(self, ledger: Ledger, kind: str, outcome: str, turns: int) -> None:
        ledger.sweep()
        settle_all(ledger)
        assert ledger.store.rows("SELECT kind, turns FROM evidence") == [(kind, turns)]
        assert ledger.store.rows("SELECT outcome, turns, late FROM usage") == [(outcome, turns, 0)]
        assert window(ledger, "alice")[2:4] == (0, turns) and window(ledger, "alice")[6] == 0
        assert ledger.reservation_states() == ["released"]

    def test_stopped_while_it_waits(self, ledger: Ledger) -> None:
        turn_id = self.queued(ledger)
        finish, alice = finish_of("stopped"), UserId("alice")
        done = ledger.store.run(
            stop_turn, turn_id, alice, frozenset[UserId](), finish, ledger.store.epoch, ledger.store.now
        )
        assert isinstance(done, StoppedAtOnce)
        self.check(ledger, "unstarted", "stopped", 0)

    def test_stopped_before_it_was_entered(self, ledger: Ledger) -> None:
        turn_id = self.queued(ledger)
        ledger.store.connection.execute("UPDATE turns SET stop_requested = 1")
        finish, lease = finish_of("stopped"), lease_of(ledger.store, turn_id)
        assert ledger.store.run(finish_if_stopped, lease, finish, ledger.store.now) is not None
        self.check(ledger, "unstarted", "stopped", 0)

    @pytest.mark.parametrize("outcome", ["completed", "max_tokens", "failed", "stopped", "interrupted"])
    def test_ended_by_itself(self, ledger: Ledger, outcome: str) -> None:
        ledger.finish(ledger.start("alice"), outcome=outcome)
        self.check(ledger, "ended", outcome, 1)

    def test_interrupted_by_a_dead_process(self, ledger: Ledger) -> None:
        turn_id = ledger.start("alice")
        ledger.reopen()
        turn = turn_of(ledger.store, turn_id)
        finish = finish_of("interrupted")
        assert ledger.store.run(repair_turn, turn, finish, ledger.store.epoch, ledger.store.now) is not None
        self.check(ledger, "repaired", "interrupted", 1)

    def test_never_started_again_after_a_dead_process(self, ledger: Ledger) -> None:
        turn_id = self.queued(ledger)
        ledger.store.epoch = ledger.store.run(
            take_ownership, "uuid", "test", ledger.store.now, replay_pending=False
        ).epoch
        turn = turn_of(ledger.store, turn_id)
        finish = finish_of("interrupted")
        assert ledger.store.run(repair_turn, turn, finish, ledger.store.epoch, ledger.store.now) is not None
        self.check(ledger, "repaired", "interrupted", 0)

    def test_too_old_to_be_answered(self, ledger: Ledger) -> None:
        turn_id = self.queued(ledger)
        ledger.reopen()
        assert ledger.store.run(drop_stale_turn, turn_id, ledger.store.epoch, ledger.store.now)
        self.check(ledger, "stale", "interrupted", 0)

    def test_ended_in_a_life_that_this_file_does_not_know(self, ledger: Ledger) -> None:
        turn_id = ledger.start("alice")
        ledger.reopen()
        turn = turn_of(ledger.store, turn_id)
        assert ledger.store.run(end_answered, turn, None, ledger.store.epoch, ledger.store.now)
        self.check(ledger, "elsewhere", "completed", 1)

    def test_started_again_by_another_boot_it_keeps_its_reservation(self, ledger: Ledger) -> None:
        turn_id = self.queued(ledger)
        before = ledger.reservation(turn_id)
        for _ in range(3):
            ledger.reopen()
        assert drive.enter(ledger.store, turn_id)
        ledger.finish(turn_id)
        assert replace(ledger.reservation(turn_id), settlement="none", settlement_key=None) == replace(
            before, payload_hash=ledger.reservation(turn_id).payload_hash, queued_at=ledger.store.now
        )
        self.check(ledger, "ended", "completed", 1)


class TestSweep:
    def test_it_finds_what_lingers_behind_many_that_run(self, ledger: Ledger) -> None:
        ledger.pause()
        for _ in range(250):
            ledger.ask(f"user_{ledger.asked}")
        ledger.store.now += 1
        turn_id = ledger.start("alice")
        ledger.finish(turn_id)
        ledger.resume()
        assert ledger.sweep().queued == 1

    def test_it_goes_on_where_it_stopped(self, ledger: Ledger) -> None:
        ledger.pause()
        ended = []
        for _ in range(70):
            ended.append(ledger.start())
            ledger.finish(ended[-1])
            ledger.store.now += 1
        ledger.resume()
        first = ledger.sweep()
        assert (first.queued, first.more) == (64, True)
        waiting = {row.reservation_id for row in ledger.status().pending}
        assert waiting == {f"reservation:{turn_id}" for turn_id in ended[:64]}, "the oldest first"
        second = ledger.sweep()
        assert (second.queued, second.more) == (0, False), "the queue is full"
        settle_all(ledger)
        assert ledger.sweep().queued == 6

    def test_one_that_the_schema_refuses_holds_up_no_other(self, ledger: Ledger) -> None:
        """A window that lost what it held, as by a mistake elsewhere: what is held in it stays, the others end."""
        acks = {user: ledger.end(user=user) for user in ("alice", "bob", "carol")}
        unguarded(ledger, "UPDATE quotas SET tokens_held = 0, tokens_free = NULL WHERE user_id = 'bob'")
        ledger.store.now = max(ack.deadline for ack in acks.values()) + 1
        swept = ledger.sweep()
        assert (swept.retired, swept.closed, swept.stuck, swept.more) == (3, 2, 1, False)
        held = ledger.store.rows("SELECT user_id FROM reservations WHERE state = 'held'")
        assert held == [("bob",)]
        again = ledger.sweep()
        assert (again.retired, again.closed, again.stuck) == (0, 0, 1), "and it is told each time"

    def test_whoever_waits_for_room_is_only_looked_at(self, ledger: Ledger) -> None:
        """Thousands may wait after a long pause, and everybody else waits for the commit of the sweep."""
        for _ in range(PENDING_MOST + 20):
            ledger.finish(ledger.start())
        few = self.statements(ledger, 20)
        for _ in range(40):
            ledger.finish(ledger.start())
        assert self.statements(ledger, 60) - few <= 3 * 40

    def statements(self, ledger: Ledger, waiting: int) -> int:
        """How many a sweep makes while so many wait."""
        made: list[str] = []
        ledger.store.connection.set_trace_callback(made.append)
        assert ledger.sweep().waiting == waiting
        ledger.store.connection.set_trace_callback(None)
        return len(made)

    def test_a_crowd_does_not_keep_waiting_what_may_not_be_queued(self, ledger: Ledger) -> None:
        """Of a stopped session, or with a receipt that has run out: closed by the first sweep, room or not."""
        for _ in range(PENDING_MOST + 1):
            ledger.finish(ledger.start())
        ledger.store.now += 1
        stopped = ledger.start()
        ledger.finish(stopped)
        ledger.stop(session_id=ledger.session_of(stopped))
        ledger.quota = replace(ledger.quota, ttl_ms=1_000)
        expired = ledger.start()
        ledger.finish(expired)
        ledger.store.now += 1_000
        swept = ledger.sweep()
        assert (swept.waiting, swept.closed) == (1, 2)
        assert {ledger.reservation(turn_id).state for turn_id in (stopped, expired)} == {"released"}

    def test_one_sweep_ends_and_closes_a_few_and_says_that_there_are_more(self, ledger: Ledger) -> None:
        for _ in range(5):
            ack = ledger.end()
        ledger.store.now = ack.deadline + 1
        after: Place | None = BEGINNING
        sweeps: list[tuple[int, int]] = []
        while after is not None and len(sweeps) < 9:
            swept = ledger.store.run(sweep_reservations, ledger.store.epoch, ledger.store.now, 2, after)
            after = swept.after
            sweeps.append((swept.retired, swept.closed))
        assert tuple(map(sum, zip(*sweeps, strict=True))) == (5, 5), sweeps
        assert max(map(max, sweeps)) == 2 and len(sweeps) <= 6
        assert set(ledger.reservation_states()) == {"released"}

    def test_what_expires_before_the_place_to_go_on_from_is_gone_back_for(self, ledger: Ledger) -> None:
        ack = ledger.end()
        ledger.store.now = ack.deadline + 1
        end = (ledger.store.now, "the last")
        swept = ledger.store.run(sweep_reservations, ledger.store.epoch, ledger.store.now, after=end)
        assert (swept.retired, swept.closed, swept.after) == (1, 0, BEGINNING)

    def test_it_looks_at_a_bounded_number_and_goes_on_behind_them(self, ledger: Ledger) -> None:
        ledger.pause()
        for _ in range(LOOKED_AT_MOST):
            ledger.ask(f"user_{ledger.asked}")
        ledger.store.now += 1
        ledger.finish(ledger.start("alice"))
        ledger.resume()
        first = ledger.sweep()
        assert (first.queued, first.more) == (0, True)
        assert first.after is not None
        second = ledger.store.run(sweep_reservations, ledger.store.epoch, ledger.store.now, after=first.after)
        assert (second.queued, second.more) == (1, False)

    def test_windows_are_forgotten_unless_something_is_held_in_them(self, ledger: Ledger) -> None:
        ledger.settle(ledger.end(user="alice"))
        ledger.start("bob")
        ledger.store.now += 500 * DAY_MS
        ledger.store.run(sweep, ledger.store.now)
        assert {row[0] for row in ledger.store.rows("SELECT user_id FROM quotas")} == {"bob"}
        assert ledger.store.rows("SELECT count(*) FROM usage") == [(1,)]

    def test_receipts_are_forgotten_and_releases_are_not(self, ledger: Ledger) -> None:
        ack = ledger.end()
        ledger.settle(ack)
        ledger.store.now += 15 * DAY_MS
        ledger.store.run(sweep, ledger.store.now)
        assert ledger.store.rows("SELECT receipt FROM releases") == [(None,)]
        assert ledger.store.rows("SELECT count(*) FROM outbox WHERE kind = 'receipt'") == [(0,)]
        again = ledger.apply(ack)
        assert isinstance(again, Settled) and again.duplicate


class TestSchema:
    """The file itself refuses what no program of ours may do."""

    def refused(self, ledger: Ledger, why: str, *statements: str) -> None:
        connection = ledger.store.connection
        connection.execute("BEGIN")
        try:
            with pytest.raises(sqlite3.IntegrityError, match=why):
                for statement in statements:
                    connection.execute(statement)
                connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    HOLD = (
        "UPDATE quotas SET turns_held = turns_held + 1, turns_free = turns_free - 1, move = 'reserve', moved_turns = 1,"
        " moved_tokens = 0, moved_by = 'reservation:other' WHERE user_id = 'alice'"
    )
    RESERVE = (
        "INSERT INTO reservations (reservation_id, turn_id, user_id, day_starts_at, month_starts_at, turns, tokens,"
        " state, settlement, reserved_at, expires_at) SELECT 'reservation:other', turn_id || 'x', 'alice', 0, 0, 1, 0,"
        " 'held', 'none', 1, 2 FROM turns LIMIT 1"
    )

    def test_no_window_moves_by_itself(self, ledger: Ledger) -> None:
        ledger.limit(turns_per_day=5, tokens_per_day=50_000)
        ledger.start("alice")
        for columns in (
            "turns_used = 1, turns_free = turns_free - 1",
            "turns_held = 0, turns_free = 5, move = 'release'",
            "tokens_held = tokens_held - 1, tokens_free = tokens_free + 1, move = 'release'",
            "tokens_used = 5, tokens_free = tokens_free - 5, move = 'reserve'",
            "turns_held = 0, turns_used = 1, move = 'limit'",
        ):
            self.refused(ledger, "moves with a reservation", f"UPDATE quotas SET {columns}")
        self.refused(ledger, "CHECK", "UPDATE quotas SET turns_free = 9, move = 'limit'")
        self.refused(ledger, "CHECK", "UPDATE quotas SET turns_limit = NULL, move = 'limit'")
        self.refused(ledger, "begins empty", "INSERT INTO quotas SELECT 'x', period, 9, 10, 5, 4, 1, 0, 5, 5, 0, 0,"
                     " 'limit', NULL, 0, 0 FROM quotas LIMIT 1")  # fmt: skip
        self.refused(ledger, "is kept", "DELETE FROM quotas")

    def test_no_hold_without_its_reservation(self, ledger: Ledger) -> None:
        ledger.start("alice")
        self.refused(ledger, "FOREIGN KEY", self.HOLD)

    def test_no_reservation_without_its_hold(self, ledger: Ledger) -> None:
        ledger.start("alice")
        self.refused(ledger, "its day and its month", self.RESERVE)
        self.refused(ledger, "its day and its month", f"{self.HOLD} AND period = 'day'", self.RESERVE)

    def test_nothing_is_released_in_part(self, ledger: Ledger) -> None:
        """Every statement of a settlement left out once: what is left does not commit."""
        ack = ledger.end(user="alice")
        recorded: list[tuple[str, object]] = []
        connection = ledger.store.connection
        connection.execute("BEGIN")

        class Recording(SqliteTx):
            def execute(self, sql: str, parameters: object = ()) -> int:
                recorded.append((sql, parameters))
                return super().execute(sql, parameters)  # type: ignore[arg-type]

        apply(Recording(connection), ack.key, ack.payload_hash, 1, ledger.host, None, ledger.store.now)
        connection.execute("ROLLBACK")
        words = [sql.split() for sql, _ in recorded]
        names = [f"{each[0]} {each[1 if each[0] == 'UPDATE' else 2]}" for each in words]
        assert names == [
            *("INSERT releases", "INSERT outbox", "UPDATE quotas", "UPDATE quotas", "INSERT usage"),
            *("UPDATE reservations", "DELETE settlement_pending", "DELETE settlement_history"),
            "INSERT settlement_history",
        ]
        for left_out in range(6):
            connection.execute("BEGIN")
            with pytest.raises(sqlite3.IntegrityError):
                for number, (sql, parameters) in enumerate(recorded):
                    if number != left_out:
                        connection.execute(sql, parameters)  # type: ignore[arg-type]
                connection.execute("COMMIT")
            connection.execute("ROLLBACK")
        ledger.settle(ack)

    def test_a_release_is_once_and_for_ever(self, ledger: Ledger) -> None:
        ledger.settle(ledger.end(user="alice"))
        again = "INSERT INTO releases SELECT * FROM releases"
        self.refused(ledger, "released once|nothing settles", again)
        self.refused(ledger, "stays", "UPDATE releases SET turns_used = 0")
        self.refused(ledger, "kept", "DELETE FROM releases")
        self.refused(ledger, "stays", "UPDATE usage SET input_tokens = 0")
        self.refused(ledger, "stays", "DELETE FROM usage")
        self.refused(ledger, "stays as it was said", "UPDATE evidence SET input_tokens = 0")
        self.refused(ledger, "kept", "DELETE FROM evidence")
        self.refused(
            ledger, "ends once", "UPDATE reservations SET state = 'held', released_at = NULL, settlement = 'settled'"
        )
        self.refused(ledger, "stays what it was", "UPDATE reservations SET tokens = 1")

    def test_only_the_current_owner_releases(self, ledger: Ledger) -> None:
        ack = ledger.end(user="alice")
        unguarded(ledger, "INSERT INTO owners VALUES (9, 9, 'another')")
        done = ledger.apply(ack)
        assert type(done).__name__ == "Refused" and ledger.rows("releases") == []


def test_the_migration_books_what_ended_before(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Turns from before there were reservations: their usage is what their logs say, nothing is lost to `/usage`."""
    path = tmp_path_factory.mktemp("old") / "channels.db"
    steps = load_migrations()
    number = next(each.number for each in steps if each.name.endswith("_ledger.sql"))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrate(connection, steps[: number - 1])
    connection.executescript("""
        INSERT INTO meta VALUES (1, 'uuid', 1, NULL, 1, 0);
        INSERT INTO owners VALUES (1, 1, 'test');
        INSERT INTO sessions VALUES ('s1', 'oc', 'p2p', 'alice', 'demo', '', 1);
        INSERT INTO turns (turn_id, cause, cause_id, session_id, sender_user_id, state, start_epoch, owner_epoch,
                           outcome, queued_at, entered_at, ended_at)
        VALUES ('t1', 'message', 'm1', 's1', 'alice', 'ended', 1, 1, 'completed', 5, 6, 7),
               ('t2', 'message', 'm2', 's1', NULL, 'ended', 1, 1, 'stopped', 8, NULL, 9);
        INSERT INTO session_events VALUES ('s1', 1, 'usage', 't1', 7,
          '{"input_tokens":10,"output_tokens":3,"cached_tokens":2}');
    """)
    connection.close()
    store = Store(path)
    assert store.rows("SELECT turn_id, user_id, agent, input_tokens, output_tokens, cached_tokens FROM usage") == [
        ("t1", "alice", "demo", 10, 3, 2)
    ]
    assert store.run(sessions.count_sessions) == 1 and store.rows("SELECT * FROM quotas") == []
    store.close()


def test_a_person_without_a_question_has_no_window(ledger: Ledger) -> None:
    """Reading about somebody makes no row."""
    shown = ledger.store.run(read_standing, UserId("zoe"), QuotaPolicy(Limits(turns_per_day=3)), ledger.store.now)
    assert shown.windows[0].turns.free == 3 and ledger.rows("quotas") == []
    assert HOUR_MS and isinstance(shown.windows[0].tokens.free, type(None))


def test_verdicts(ledger: Ledger) -> None:
    """A decided message that is refused has its card's lane to be delivered."""
    ledger.limit(turns_per_day=1)
    ledger.end(user="alice")
    refused = ledger.ask("alice")
    assert isinstance(refused, Decided) and refused.lanes == (f"notice:om_{10_000 + ledger.asked}",)
