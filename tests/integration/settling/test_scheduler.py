"""Seed 000 §5, sentence by sentence: the scheduler of one process over a real file, under a clock that tests move."""

from sqlite3 import DatabaseError, OperationalError

import pytest

from channels.errors import Broken
from channels.ids import SessionId
from channels.rules.settlement import DEADLINE_MS, PENDING_MOST, session_hash
from channels.service.life_cycles import InsideAgents, OutsideAgents
from channels.service.settling import APPLIED_AT_ONCE, SWEEP_MS
from channels.service.settling_schedule import STOP_WINDOW_MS, STOPS_KEPT
from channels.store.transactions.closing import sweep_reservations
from channels.store.transactions.settlement import Acked, apply, status
from channels.store.transactions.settlement_control import stop
from channels.store.transactions.settlement_truth import read_moment
from tests.integration.settling.office import Office
from tests.store.ledger.conftest import WRONG_EVIDENCE, Ledger
from tests.store.ledger.test_contract_2_storage import unguarded

FOR_EVER = 1_000


def full() -> OperationalError:
    error = OperationalError("database or disk is full")
    error.sqlite_errorcode = 13
    return error


async def test_what_waits_in_the_file_settles_when_the_service_is_ready(office: Office, ledger: Ledger) -> None:
    acked = [ledger.end() for _ in range(3)]
    await office.work()
    assert {office.state_of(one.key) for one in acked} == {"settled"}
    assert office.next_in_ms is None


async def test_only_the_frozen_settlement_is_replayed(office: Office, ledger: Ledger) -> None:
    """Seed: no model, tool or review is run again. What the pass calls is all there is."""
    ledger.end()
    await office.work()
    assert set(office.database.calls) <= {"read_moment", "status", "apply", "sweep_reservations", "stop"}
    assert ledger.store.rows("SELECT count(*) FROM turns") == [(1,)]


async def test_what_found_no_room_follows_as_soon_as_there_is_some(office: Office, ledger: Ledger) -> None:
    """After a long pause more may wait than the queue takes: nobody waits for the sweep of the next minute."""
    ledger.pause()
    turns = [ledger.start() for _ in range(2 * PENDING_MOST)]
    for turn_id in turns:
        ledger.finish(turn_id)
    await office.work()
    ledger.resume()
    await office.moment()
    for _ in range(3 * len(turns) // APPLIED_AT_ONCE):
        await office.work()
    assert {ledger.reservation(turn_id).settlement for turn_id in turns} == {"settled"}


class TestNoEndOfItsOwn:
    """Seed §5.1: what was acknowledged is ended by the file alone."""

    async def test_a_deadline_that_passes_here_ends_nothing(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        office.refuse(apply, FOR_EVER)
        office.refuse(sweep_reservations, FOR_EVER)
        await office.work()
        await office.work(DEADLINE_MS + 1)
        assert office.state_of(acked.key) == "pending"
        assert office.entry(acked.key).state == "unconfirmed"
        assert ledger.status().pending[0].deadline == acked.deadline

    async def test_the_file_says_expired_and_it_is_told_on(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        ledger.store.now += DEADLINE_MS + 1
        await office.work()
        assert office.state_of(acked.key) == "expired"
        assert acked.key not in office.settling_.schedule.entries

    async def test_four_failures_are_the_files_to_count(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        WRONG_EVIDENCE.spoil(ledger.store)
        await office.work()
        for wait_ms in (250, 1_000, 3_000):
            assert office.next_in_ms == wait_ms
            assert office.state_of(acked.key) == "pending"
            await office.work(wait_ms)
        assert office.state_of(acked.key) == "failed"


class TestTheLastTry:
    """Seed §5.2: a wait that would pass the deadline ends on it."""

    async def test_back_off_of_a_busy_file(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        office.refuse(apply, 5)
        await office.work()
        waits = []
        for _ in range(4):
            assert office.next_in_ms is not None
            waits.append(office.next_in_ms)
            await office.work(office.next_in_ms)
        assert waits == [250, 1_000, 3_000, 3_000]
        assert ledger.status().pending[0].attempts == 0, "a busy file is no attempt"
        await office.work(3_000)
        assert office.state_of(acked.key) == "settled"

    async def test_it_sits_on_the_deadline_itself(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        ledger.store.now = acked.deadline - 2_000
        office.refuse(apply, 3)
        for wait_ms in (250, 1_000, 750):
            await office.work()
            assert office.next_in_ms == wait_ms
            ledger.store.now += wait_ms
        assert ledger.store.now == acked.deadline
        await office.work()
        assert office.state_of(acked.key) == "settled", "a try at the deadline still counts"

    async def test_the_file_decides_by_its_own_clock(self, office: Office, ledger: Ledger) -> None:
        """The timer rings a little late: it is the file that says so."""
        acked = ledger.end()
        ledger.store.now = acked.deadline - 100
        office.refuse(apply, 1)
        await office.work()
        assert office.next_in_ms == 100
        await office.work(101)
        assert office.state_of(acked.key) == "expired"

    async def test_a_failed_trial_before_the_deadline_is_tried_once_more_on_it(
        self, office: Office, ledger: Ledger
    ) -> None:
        acked = ledger.end()
        WRONG_EVIDENCE.spoil(ledger.store)
        ledger.store.now = acked.deadline - 100
        await office.work()
        assert office.next_in_ms == 100


class TestUnconfirmed:
    """Seed §5.3: visible, kept, no timer, until the next real moment."""

    async def unconfirmed(self, office: Office, ledger: Ledger) -> Acked:
        acked = ledger.end()
        ledger.store.now = acked.deadline
        office.refuse(apply, 1)
        office.refuse(sweep_reservations, FOR_EVER)
        await office.work()
        return acked

    async def test_it_is_visible_and_has_no_timer(self, office: Office, ledger: Ledger) -> None:
        acked = await self.unconfirmed(office, ledger)
        entry = office.entry(acked.key)
        assert (entry.state, entry.deadline, entry.due_at) == ("unconfirmed", acked.deadline, None)
        assert "lock_busy" in entry.why
        assert office.next_in_ms is None

    async def test_passes_and_reads_do_not_try_it(self, office: Office, ledger: Ledger) -> None:
        await self.unconfirmed(office, ledger)
        before = office.database.calls["apply"]
        for _ in range(5):
            await office.work(SWEEP_MS)
            ledger.status()
        assert office.database.calls["apply"] == before

    @pytest.mark.parametrize("moment", ["turn", "ready", "control"])
    async def test_a_real_moment_reads_the_status_anew(self, office: Office, ledger: Ledger, moment: str) -> None:
        acked = await self.unconfirmed(office, ledger)
        ledger.store.now += 1
        if moment == "turn":
            office.settling_.turn_ended(None)
        elif moment == "control":
            ledger.pause()
            ledger.resume()
            office.settling_.wake()
        else:
            office = office.restart()
        await office.work()
        assert office.state_of(acked.key) == "expired"

    async def test_a_resume_that_nobody_told_of_is_a_real_moment_too(self, office: Office, ledger: Ledger) -> None:
        acked = await self.unconfirmed(office, ledger)
        ledger.pause()
        await office.work()
        ledger.resume()
        await office.work(1)
        assert office.state_of(acked.key) == "expired"

    async def test_a_new_settlement_does_not_wake_it(self, office: Office, ledger: Ledger) -> None:
        """One that came from elsewhere is found, and only that is tried."""
        old = await self.unconfirmed(office, ledger)
        new = ledger.end()
        await office.work()
        assert office.state_of(new.key) == "settled"
        assert office.entry(old.key).state == "unconfirmed"


async def test_what_ended_by_another_way_is_forgotten(office: Office, ledger: Ledger) -> None:
    """An operator has applied it: no moment is needed, and it is not tried again."""
    acked = ledger.end()
    office.refuse(apply, 1)
    await office.work()
    ledger.settle(acked)
    await office.work(1)
    assert office.settling_.schedule.entries == {} and office.database.calls["apply"] == 1


class TestPermission:
    """Seed §5.4: whether it may go on is asked again where it is written."""

    async def test_paused_between_the_look_and_the_write(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        await office.settling_._look_anew()
        ledger.pause()
        await office.work()
        assert office.state_of(acked.key) == "pending"
        assert ledger.status().pending[0].attempts == 0

    async def test_archived_between_the_look_and_the_write(self, office: Office, ledger: Ledger) -> None:
        turn_id = ledger.start()
        done = ledger.finish(turn_id)
        assert isinstance(done.settlement, Acked)
        await office.settling_._look_anew()
        office.archive(turn_id)
        entry = office.entry(done.settlement.key)
        await office.settling_._try(entry, ledger.generation())
        assert office.state_of(entry.key) == "pending"
        assert ledger.status().pending[0].last_error == "its session is archived"
        assert ledger.status().pending[0].attempts == 0, "a guard's refusal is no attempt"

    async def test_a_stop_that_came_between_the_look_and_the_write(self, office: Office, ledger: Ledger) -> None:
        turn_id = ledger.start()
        acked = ledger.finish(turn_id).settlement
        assert isinstance(acked, Acked)
        await office.settling_._look_anew()
        office.settling_.owe_stop(ledger.session_of(turn_id), "demo", "test")
        await office.settling_._try(office.entry(acked.key), ledger.generation())
        assert office.state_of(acked.key) == "pending"

    async def test_a_process_that_is_closing_writes_nothing_more(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        await office.settling_._look_anew()
        await office.settling_.close()
        await office.settling_._try(office.entry(acked.key), ledger.generation())
        assert office.state_of(acked.key) == "pending"

    async def test_control_that_moved_on_is_read_again(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        await office.settling_._look_anew()
        ledger.pause()
        ledger.resume()
        await office.settling_._try(office.entry(acked.key), 1)
        assert office.state_of(acked.key) == "pending"
        await office.work()
        assert office.state_of(acked.key) == "settled"

    async def test_a_deposed_owner_schedules_no_more(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        ledger.store.reboot()
        await office.work()
        assert office.state_of(acked.key) == "pending"
        assert office.settling_._closed
        await office.restart().work()
        assert office.state_of(acked.key) == "settled"


class TestStops:
    """Seed §5.5: exact, by session, three submissions in thirty seconds, and visible where nobody confirms it."""

    async def test_an_unconfirmed_stop_holds_back_its_own_session_only(self, office: Office, ledger: Ledger) -> None:
        turn_id, other = ledger.start(), ledger.start()
        mine, others = ledger.finish(turn_id).settlement, ledger.finish(other).settlement
        assert isinstance(mine, Acked) and isinstance(others, Acked)
        office.refuse(stop, FOR_EVER)
        office.settling_.owe_stop(ledger.session_of(turn_id), "demo", "test")
        await office.work()
        assert office.state_of(mine.key) == "pending"
        assert office.state_of(others.key) == "settled"
        assert office.database.calls["apply"] == 1

    async def test_three_submissions_in_thirty_seconds_then_visible(self, office: Office, ledger: Ledger) -> None:
        turn_id = ledger.start()
        office.refuse(stop, FOR_EVER)
        session_id = ledger.session_of(turn_id)
        office.settling_.owe_stop(session_id, "demo", "test")
        begin, submitted = office.now(), []
        while office.next_in_ms is not None:
            before = office.database.calls["stop"]
            await office.work(office.next_in_ms)
            submitted += [office.now() - begin] * (office.database.calls["stop"] - before)
        assert submitted == [0, 10_000, 25_000]
        task = office.settling_.schedule.stops[session_hash(session_id)]
        assert (task.state, task.submissions) == ("unconfirmed", 3)
        await office.work(60_000)
        assert office.database.calls["stop"] == 3

    @pytest.mark.parametrize("late_ms", [1, 7, 1_500])
    async def test_a_timer_that_rings_late_loses_no_submission(
        self, office: Office, ledger: Ledger, late_ms: int
    ) -> None:
        """No timer rings on the millisecond: the third one has room before the window ends."""
        office.refuse(stop, FOR_EVER)
        office.settling_.owe_stop(ledger.session_of(ledger.start()), "demo", "test")
        begin = office.now()
        while office.next_in_ms is not None:
            await office.work(office.next_in_ms + late_ms)
        assert office.database.calls["stop"] == 3
        assert office.now() - begin <= STOP_WINDOW_MS

    async def test_beyond_the_window_nothing_is_submitted(self, office: Office, ledger: Ledger) -> None:
        """The process stood still for a minute."""
        office.refuse(stop, 1)
        office.settling_.owe_stop(ledger.session_of(ledger.start()), "demo", "test")
        await office.work()
        await office.work(60_000)
        assert office.database.calls["stop"] == 1
        (task,) = office.settling_.schedule.stops.values()
        assert task.state == "unconfirmed"

    async def test_a_real_moment_gives_it_a_budget_of_its_own(self, office: Office, ledger: Ledger) -> None:
        office.refuse(stop, 3)
        office.settling_.owe_stop(ledger.session_of(ledger.start()), "demo", "test")
        for wait_ms in (0, 10_000, 20_000):
            await office.work(wait_ms)
        await office.moment()
        assert office.database.calls["stop"] == 4
        assert office.settling_.schedule.stops == {}
        assert len(ledger.status().stops) == 1

    async def test_it_converges_without_anybodys_turn(self, office: Office, ledger: Ledger) -> None:
        """A confirmed archive that meets a busy file is stopped by this process's own schedule."""
        turn_id = ledger.start()
        acked = ledger.finish(turn_id).settlement
        assert isinstance(acked, Acked)
        office.refuse(stop, 1)
        office.archive(turn_id)
        await office.moment()
        assert office.state_of(acked.key) == "pending"
        await office.work(10_000)
        assert office.state_of(acked.key) == "stopped"

    async def test_a_session_that_is_held_back_has_no_timer(self, office: Office, ledger: Ledger) -> None:
        """Its settlement is due and may not be tried: nobody turns in a circle for it."""
        turn_id = ledger.start()
        ledger.finish(turn_id)
        office.refuse(stop, FOR_EVER)
        office.settling_.owe_stop(ledger.session_of(turn_id), "demo", "test")
        for wait_ms in (0, 10_000, 15_000):
            await office.work(wait_ms)
        assert office.database.calls["stop"] == 3 and office.database.calls["apply"] == 0
        assert office.next_in_ms is None

    async def test_one_that_was_stopped_by_another_way_is_confirmed(self, office: Office, ledger: Ledger) -> None:
        session_id = ledger.session_of(ledger.start())
        office.refuse(stop, 3)
        office.settling_.owe_stop(session_id, "demo", "test")
        for wait_ms in (0, 10_000, 15_000):
            await office.work(wait_ms)
        ledger.stop(session_id=session_id)
        await office.moment()
        assert office.settling_.schedule.stops == {} and office.database.calls["stop"] == 3

    async def test_only_so_many_are_remembered_the_newest(self, office: Office, ledger: Ledger) -> None:
        for number in range(STOPS_KEPT + 10):
            office.settling_.owe_stop(SessionId(f"session {number}"), "demo", "test")
        kept = office.settling_.schedule.stops
        assert len(kept) == STOPS_KEPT
        assert session_hash(SessionId("session 9")) not in kept and session_hash(SessionId("session 10")) in kept

    async def test_no_room_for_it_is_visible(self, office: Office, ledger: Ledger) -> None:
        """`settlement_stop_capacity`: every stop that is there still binds something."""
        for _ in range(64):
            ledger.stop(session_id=ledger.session_of(ledger.start()))
        turn_id = ledger.start()
        office.settling_.owe_stop(ledger.session_of(turn_id), "demo", "test")
        await office.work()
        (task,) = office.settling_.schedule.stops.values()
        assert (task.why, task.submissions) == ("settlement_stop_capacity", 1)


class TestArchiveTruth:
    """Seed §6: what is archived or deleted is stopped by its handle; what is unknown refuses."""

    @pytest.mark.parametrize("delete", [False, True])
    async def test_put_away_is_stopped_by_key(self, office: Office, ledger: Ledger, delete: bool) -> None:
        turn_id, other = ledger.start(), ledger.start()
        mine, others = ledger.finish(turn_id).settlement, ledger.finish(other).settlement
        assert isinstance(mine, Acked) and isinstance(others, Acked)
        session_id = office.archive(turn_id, delete=delete)
        await office.moment()
        assert office.state_of(mine.key) == "stopped"
        assert office.state_of(others.key) == "settled"
        (stopped,) = ledger.status().stops
        assert stopped.session_hash == session_hash(session_id)
        assert stopped.reason == ("session deleted" if delete else "session archived")

    async def test_killed_between_archive_and_stop(self, office: Office, ledger: Ledger) -> None:
        """The next process finds it by the truth; nobody had to remember."""
        turn_id = ledger.start()
        acked = ledger.finish(turn_id).settlement
        assert isinstance(acked, Acked)
        office.archive(turn_id)
        await office.restart().work()
        assert office.state_of(acked.key) == "stopped"

    @pytest.mark.parametrize("delete", [False, True])
    async def test_put_away_before_it_was_queued(self, office: Office, ledger: Ledger, delete: bool) -> None:
        """While the user had paused: it is stopped as soon as it is found, and not refused until its deadline."""
        ledger.pause()
        await office.work()
        turn_id = ledger.start()
        ledger.finish(turn_id, tokens=77)
        session_id = office.archive(turn_id, delete=delete)
        ledger.resume()
        await office.moment()
        for _ in range(3):
            await office.work()
        assert ledger.reservation(turn_id).settlement == "stopped"
        assert ledger.store.rows("SELECT session_hash FROM settlement_stops") == [(session_hash(session_id),)]
        assert ledger.store.rows("SELECT input_tokens, late FROM usage") == [(77, 1)]

    async def test_what_was_used_is_booked_all_the_same(self, office: Office, ledger: Ledger) -> None:
        turn_id = ledger.start()
        ledger.finish(turn_id, tokens=77)
        office.archive(turn_id)
        await office.moment()
        await office.work()
        assert ledger.store.rows("SELECT input_tokens, late FROM usage") == [(77, 1)]
        assert ledger.store.rows("SELECT state FROM reservations") == [("released",)]

    async def test_unknown_refuses(self, office: Office, ledger: Ledger) -> None:
        """The chain to the session is cut: nothing is tried, nothing is stopped."""
        acked = ledger.end()
        connection = ledger.store.connection
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("UPDATE turns SET session_id = 'nowhere'")
        moment = ledger.store.run(read_moment, office.now())
        assert dict(moment.truths) == {acked.key: "unknown"}
        await office.work()
        assert office.state_of(acked.key) == "pending"
        assert ledger.status().stops == ()
        assert ledger.status().pending[0].last_error == "its session is unknown"
        assert office.next_in_ms == 250

    async def test_another_session_than_the_one_that_was_frozen_is_unknown(
        self, office: Office, ledger: Ledger
    ) -> None:
        acked, other = ledger.end(), ledger.session_of(ledger.start())
        ledger.store.connection.execute("UPDATE turns SET session_id = ? WHERE state = 'ended'", (other,))
        await office.work()
        assert office.state_of(acked.key) == "pending"

    async def test_another_turn_than_the_one_that_was_frozen_is_unknown(self, office: Office, ledger: Ledger) -> None:
        """Even one of the same session: the receipt has to lead to its own turn."""
        turn_id = ledger.start("alice")
        acked = ledger.finish(turn_id).settlement
        assert isinstance(acked, Acked)
        ledger.deliver()
        other = ledger.ask("alice", thread=f"omt_{turn_id}").turn_id
        assert other is not None and ledger.session_of(other) == ledger.session_of(turn_id)
        ledger.store.connection.execute("PRAGMA foreign_keys = OFF")
        unguarded(ledger, f"DELETE FROM reservations WHERE turn_id = '{other}'")
        unguarded(ledger, f"UPDATE reservations SET turn_id = '{other}' WHERE turn_id = '{turn_id}'")
        await office.work()
        assert office.state_of(acked.key) == "pending"
        assert ledger.status().pending[0].last_error == "its session is unknown"


class TestPause:
    """Seed §4: the user's pause is the one gate for all."""

    async def test_nothing_is_scheduled_and_everything_is_kept(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        ledger.pause()
        await office.work()
        assert office.next_in_ms is None
        await office.work(SWEEP_MS)
        assert office.state_of(acked.key) == "pending"
        assert ledger.status().pending[0].deadline == acked.deadline

    async def test_it_is_still_paused_after_a_restart(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        ledger.pause()
        office = office.restart()
        await office.work()
        assert office.state_of(acked.key) == "pending" and office.database.calls["apply"] == 0

    async def test_resumed_in_time_it_settles_resumed_too_late_it_expires(self, office: Office, ledger: Ledger) -> None:
        early = ledger.end()
        ledger.store.now += DEADLINE_MS - 1_000
        late = ledger.end()
        ledger.pause()
        await office.work()
        ledger.store.now += 2_000
        ledger.resume()
        await office.work()
        assert (office.state_of(early.key), office.state_of(late.key)) == ("expired", "settled")

    async def test_what_ended_meanwhile_is_queued_at_once(self, office: Office, ledger: Ledger) -> None:
        ledger.pause()
        await office.work()
        done = ledger.finish(ledger.start())
        assert not isinstance(done.settlement, Acked)
        ledger.resume()
        await office.moment()
        await office.work()
        assert ledger.store.rows("SELECT way FROM releases") == [("settled",)]

    async def test_stops_are_submitted_all_the_same(self, office: Office, ledger: Ledger) -> None:
        ledger.pause()
        office.settling_.owe_stop(ledger.session_of(ledger.start()), "demo", "test")
        await office.work()
        assert len(ledger.status().stops) == 1


class TestAnotherProcess:
    """Seed §4: unload, shutdown and a crash end this process's schedule, and nothing in the file."""

    @pytest.mark.parametrize("clean", [True, False])
    async def test_rows_stay_and_the_next_process_decides(self, office: Office, ledger: Ledger, clean: bool) -> None:
        kept = ledger.end()
        stopped_turn = ledger.start()
        stopped = ledger.finish(stopped_turn).settlement
        assert isinstance(stopped, Acked)
        if clean:
            await office.settling_.close()
        ledger.stop(session_id=ledger.session_of(stopped_turn))
        assert office.state_of(kept.key) == "pending"
        await office.restart().work()
        assert (office.state_of(kept.key), office.state_of(stopped.key)) == ("settled", "stopped")

    async def test_deadlines_and_attempts_are_inherited(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        WRONG_EVIDENCE.spoil(ledger.store)
        await office.work()
        before = ledger.status().pending[0]
        office = office.restart()
        after = ledger.status().pending[0]
        assert (after.deadline, after.attempts, after.queued_at) == (before.deadline, 1, acked.queued_at)
        assert before.deadline == acked.deadline
        await office.work()
        assert ledger.status().pending[0].attempts == 1, "its next attempt is not due yet"
        assert office.next_in_ms == 250


@pytest.mark.parametrize("error", [OperationalError, DatabaseError, Broken])
async def test_a_recovery_that_fails_is_tried_again(office: Office, ledger: Ledger, error: type[Exception]) -> None:
    """The status could not be read when the service was ready: the next pass reads it, whatever the reason was."""
    acked = ledger.end()
    office.refuse(read_moment, 2, lambda: error("once"))
    for _ in range(2):
        with pytest.raises(error):
            await office.work()
    assert office.state_of(acked.key) == "pending"
    await office.work()
    assert office.state_of(acked.key) == "settled"


class TestBounded:
    """Seed §5.4: the foreground never waits for the background."""

    async def test_a_pass_tries_a_few(self, office: Office, ledger: Ledger) -> None:
        for _ in range(20):
            ledger.end()
        await office.work()
        assert office.database.calls["apply"] == APPLIED_AT_ONCE
        await office.work()
        await office.work()
        assert ledger.status().counts["pending"] == 0

    async def test_what_found_no_room_is_queued_and_settled_later(self, office: Office, ledger: Ledger) -> None:
        for _ in range(PENDING_MOST):
            ledger.end()
        done = ledger.finish(ledger.start())
        assert not isinstance(done.settlement, Acked)
        office.settling_.turn_ended(done.settlement)
        for _ in range(20):
            await office.work()
        await office.work(SWEEP_MS)
        await office.work()
        assert ledger.store.rows("SELECT DISTINCT state FROM reservations") == [("released",)]
        assert ledger.store.rows("SELECT DISTINCT way FROM releases") == [("settled",)]

    async def test_what_may_not_be_queued_is_closed_at_once(self, office: Office, ledger: Ledger) -> None:
        """The turn of a session that was stopped: what it used is booked late, and nothing stays held for a minute."""
        await office.work()
        turn_id = ledger.start()
        ledger.stop(session_id=ledger.session_of(turn_id))
        office.settling_.turn_ended(ledger.finish(turn_id).settlement)
        await office.work()
        assert ledger.store.rows("SELECT way FROM releases") == [("late",)]

    async def test_a_full_disk_is_waited_out(self, office: Office, ledger: Ledger) -> None:
        acked = ledger.end()
        office.refuse(apply, 2, full)
        await office.work()
        await office.work(250)
        assert office.state_of(acked.key) == "pending"
        await office.work(1_000)
        assert office.state_of(acked.key) == "settled"

    async def test_a_file_that_nobody_can_read_is_left_alone(self, office: Office, ledger: Ledger) -> None:
        ledger.end()
        connection = ledger.store.connection
        connection.execute("DROP TRIGGER settlement_pending_frozen")
        connection.execute("UPDATE settlement_pending SET format = 99")
        before = [ledger.rows(table) for table in ("settlement_pending", "settlement_history", "reservations")]
        await office.work()
        assert office.database.calls["apply"] == 0 and office.next_in_ms is None
        assert before == [ledger.rows(table) for table in ("settlement_pending", "settlement_history", "reservations")]


async def test_reading_the_status_writes_nothing_and_wakes_nothing(office: Office, ledger: Ledger) -> None:
    ledger.end()
    ledger.pause()
    await office.work()
    changes = ledger.store.connection.total_changes
    for _ in range(10):
        await office.database.read(status, office.now())
        await office.database.read(read_moment, office.now())
    assert ledger.store.connection.total_changes == changes
    assert office.next_in_ms is None
    assert not await office.settling_signal.wait(0)


async def test_the_boundary_of_a_session_stops_exactly_the_old_id(office: Office, ledger: Ledger) -> None:
    """Agents in processes of their own."""
    turn_id, other = ledger.start(), ledger.start()
    mine, others = ledger.finish(turn_id).settlement, ledger.finish(other).settlement
    assert isinstance(mine, Acked) and isinstance(others, Acked)
    InsideAgents(office.settling_).left(ledger.session_of(other), "demo")
    OutsideAgents(office.settling_).left(ledger.session_of(turn_id), "demo")
    await office.work()
    assert (office.state_of(mine.key), office.state_of(others.key)) == ("stopped", "settled")
    (one,) = ledger.status().stops
    assert one.session_hash == session_hash(SessionId(ledger.session_of(turn_id)))
