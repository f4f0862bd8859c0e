"""Seed 000 §4: which event ends what, and what the next process finds. `contract.py` is the table of its sentences."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from channels.rules import settlement as rules
from channels.rules.settlement import Code, Terminal
from channels.store import settlement_control
from channels.store.transactions.settlement import Acked, Settled, status
from channels.store.transactions.settlement_control import Controlled, pause, resume
from channels.store.transactions.settlement_facts import Refused
from tests.store.ledger.conftest import DAY_MS, HOUR_MS, WRONG_EVIDENCE, Ledger, code_of
from tests.store.ledger.test_contract_2_storage import dump, unguarded
from tests.store.tables import drive
from tests.store.tables.conftest import Store

ROOT = Path(__file__).resolve().parents[3]


class TestPause:
    def test_it_survives_every_restart(self, ledger: Ledger) -> None:
        """4.1 A user's pause keeps rows and deadlines, and is still there in the next process and the one after;
        nothing is replayed by itself; only an explicit resume ends it."""
        ack = ledger.end()
        ledger.pause()
        before = ledger.of(ack)
        for _ in range(3):
            ledger.reopen()
            assert ledger.status().user_paused
            assert ledger.sweep() == type(ledger.sweep())(), "nothing moves by itself"
            assert code_of(ledger.apply(ack)) is Code.PAUSED
        assert ledger.of(ack) == before
        assert isinstance(ledger.resume(), Controlled)
        assert isinstance(ledger.apply(ack), Settled)

    def test_only_the_process_that_owns_the_file_pauses_and_resumes(self, ledger: Ledger) -> None:
        """4.1 An older boot's word changes nothing, and moves no generation."""
        old = ledger.host
        ledger.reopen()
        before = dump(ledger)
        for change in (pause, resume):
            assert code_of(ledger.store.run(change, old, ledger.store.now)) is Code.STALE_CONTROL
        assert dump(ledger) == before
        assert isinstance(ledger.pause(), Controlled)
        before = dump(ledger)
        for change in (pause, resume):
            assert code_of(ledger.store.run(change, old, ledger.store.now)) is Code.STALE_CONTROL
        assert dump(ledger) == before

    def test_a_pause_beyond_the_deadline_ends_in_expiry(self, ledger: Ledger) -> None:
        """4.1 The deadline keeps its value through a pause: resumed too late, the core says expired."""
        ack = ledger.end()
        ledger.pause()
        ledger.store.now = ack.deadline + HOUR_MS
        assert ledger.sweep().retired == 0
        ledger.resume()
        answer = ledger.apply(ack)
        assert isinstance(answer, Refused) and answer.fact is not None and answer.fact.state is Terminal.EXPIRED


class TestStop:
    def test_it_retires_its_rows_and_stays(self, ledger: Ledger) -> None:
        """4.2 An exact stop writes the session's tombstone and retires its pending rows; both are there after a
        restart, and whatever of this session comes later is answered `settlement_stopped`."""
        first = ledger.ask("alice")
        assert first.turn_id is not None
        session_id = ledger.session_of(first.turn_id)
        drive.enter(ledger.store, first.turn_id)
        ack = ledger.finish(first.turn_id).settlement
        other = ledger.end()
        assert isinstance(ack, Acked)
        assert ledger.stop(session_id=session_id) == Controlled(2, False, True, 1)
        ledger.reopen()
        assert [row.key for row in ledger.status().pending] == [other.key]
        fact = ledger.fact(ack.key)
        assert fact is not None and (fact.state, fact.code) == (Terminal.STOPPED, "settlement_stopped")
        ledger.deliver()
        again = ledger.ask("alice", thread=f"omt_{first.turn_id}")
        assert again.turn_id is not None and ledger.session_of(again.turn_id) == session_id
        drive.enter(ledger.store, again.turn_id)
        assert code_of(ledger.finish(again.turn_id).settlement) is Code.STOPPED

    def test_it_is_said_before_all_that_could_pass(self, ledger: Ledger) -> None:
        """4.2 Enqueueing for a stopped session is answered `settlement_stopped` at once: also while the user has
        paused, while the queue is full, and when the receipt has run out."""
        one, another = ledger.start(), ledger.start()
        for turn_id in (one, another):
            ledger.stop(session_id=ledger.session_of(turn_id))
        ledger.pause()
        assert code_of(ledger.finish(one).settlement) is Code.STOPPED
        ledger.resume()
        for _ in range(rules.PENDING_MOST):
            ledger.end()
        ledger.store.now += DAY_MS
        assert code_of(ledger.finish(another).settlement) is Code.STOPPED

    def test_the_tombstone_outlives_receipts_and_rows(self, ledger: Ledger) -> None:
        """4.2 It is still there when its rows have retired and its receipts were closed long ago."""
        turn_id = ledger.start()
        ledger.finish(turn_id)
        ledger.stop(session_id=ledger.session_of(turn_id))
        ledger.sweep()
        assert ledger.reservation_states() == ["released"]
        ledger.store.now += 40 * DAY_MS
        ledger.reopen()
        assert len(ledger.status().stops) == 1

    def test_what_is_held_is_closed_late(self, ledger: Ledger) -> None:
        """4.2 Stopped is no reason to hold for ever, nor to forget what was used: the sweep closes by the stored
        evidence, marked late."""
        turn_id = ledger.start()
        ledger.finish(turn_id, tokens=5_000)
        ledger.stop(session_id=ledger.session_of(turn_id))
        assert ledger.sweep().closed == 1
        assert ledger.store.rows("SELECT input_tokens, late FROM usage") == [(5_000, 1)]
        assert ledger.store.rows("SELECT way FROM releases") == [("late",)]

    def test_the_file_itself_refuses_what_a_stop_forbids(self, ledger: Ledger) -> None:
        """4.2 S7 stands in the schema: nothing of a stopped session is queued or settled, whoever tries."""
        ack = ledger.end()
        ledger.stop(key=ack.key, payload_hash=ack.payload_hash)
        for statement in (
            "UPDATE reservations SET settlement = 'pending'",
            "INSERT INTO releases SELECT reservation_id, 'released', 'settled', settlement_key, payload_hash, 1,"
            " 'boot:1', 'ended', 1, 1, 0, 0, 'r', 1, 2 FROM reservations",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                ledger.store.connection.execute(statement)


class TestProcesses:
    def test_leaving_ends_this_process_and_no_row(self, ledger: Ledger) -> None:
        """4.3, 4.4 Unloading and a clean shutdown stop this process's schedule only: the file keeps every row as it is,
        and the next process decides."""
        acks = [ledger.end() for _ in range(3)]
        before = [ledger.of(ack) for ack in acks]
        path, now = ledger.store.path, ledger.store.now
        ledger.store.close()
        ledger.store = Store(path)
        ledger.store.now = now + 1_000
        assert [ledger.of(ack) for ack in acks] == before
        assert all(isinstance(ledger.apply(ack), Settled) for ack in acks)

    def test_an_attempt_cut_off_by_a_kill_never_was(self, tmp_path: Path) -> None:
        """4.5 SIGKILL in the middle of an apply, in a real process: the unfinished attempt is gone, the row waits as
        before, and the next process settles it once."""
        path = tmp_path / "channels.db"
        done = subprocess.run(
            [sys.executable, "-m", "tests.store.ledger.killed", str(path)],
            cwd=ROOT,
            env=os.environ,
            timeout=60,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL
        ledger = Ledger(Store(path))
        (row,) = ledger.status().pending
        assert (row.attempts, row.last_error, ledger.rows("usage")) == (0, "", [])
        ack = Acked(row.key, row.payload_hash, row.deadline, row.queued_at, 1)
        assert isinstance(ledger.apply(ack), Settled)
        assert len(ledger.rows("usage")) == 1
        ledger.store.close()

    def test_there_is_no_mark_of_a_clean_exit(self, ledger: Ledger) -> None:
        """4.6 Nothing tells a clean end from a kill: a file that was closed and one that was not hold the same rows,
        and what happens next depends on public state alone."""
        ledger.end()
        before = dump(ledger)
        path, now = ledger.store.path, ledger.store.now
        ledger.store.close()
        ledger.store = Store(path)
        ledger.store.now = now
        assert dump(ledger) == before

    def test_each_process_finds_the_truth_anew(self, ledger: Ledger) -> None:
        """4.7 The next one re-reads: paused is still paused, stopped still stopped, what is in time goes on, what has
        expired is ended by the core, in its own transaction."""
        in_time, expired, stopped = ledger.end(), ledger.end(), ledger.end()
        ledger.stop(key=stopped.key, payload_hash=stopped.payload_hash)
        unguarded(ledger, f"UPDATE settlement_pending SET deadline = {ledger.store.now} WHERE key = '{expired.key}'")
        ledger.pause()
        ledger.store.now += 1_000
        ledger.reopen()
        shown = ledger.status()
        assert shown.user_paused and {row.state for row in shown.pending} == {"paused"}
        ledger.resume()
        assert isinstance(ledger.apply(in_time), Settled)
        assert code_of(ledger.apply(expired)) is Code.EXPIRED
        again = ledger.apply(stopped)
        assert isinstance(again, Settled) and again.fact.state is Terminal.STOPPED

    def test_reading_recovers_nothing(self, ledger: Ledger) -> None:
        """4.8 A read-only status starts no recovery and fills nothing in, whatever is overdue, closed or missing."""
        ledger.end()
        ledger.pause()
        ledger.finish(ledger.start())
        ledger.resume()
        ledger.store.now += 2 * DAY_MS
        before = dump(ledger)
        for _ in range(3):
            ledger.store.run(status, ledger.store.now)
        assert dump(ledger) == before


class TestPruning:
    def fill(self, ledger: Ledger, count: int) -> None:
        for number in range(count):
            assert isinstance(ledger.stop(session_id=f"filler {number}"), Controlled)

    def test_only_what_binds_nothing_gives_way(self, ledger: Ledger) -> None:
        """4.9 A stop is dropped for another only if no row of its session waits and no valid receipt is its session's:
        the oldest such, and no more than needed."""
        turn_id = ledger.start()
        bound = rules.session_hash(ledger.session_of(turn_id))
        ledger.stop(session_id=ledger.session_of(turn_id))
        self.fill(ledger, rules.STOPS_MOST - 1)
        assert len(ledger.status().stops) == rules.STOPS_MOST
        ledger.store.now += 1
        assert isinstance(ledger.stop(session_id="one more"), Controlled)
        kept = {stop.session_hash for stop in ledger.status().stops}
        assert len(kept) == rules.STOPS_MOST and bound in kept
        assert rules.sha256_hex("one more") in kept

    def test_a_row_that_waits_binds_also_when_its_receipt_has_run_out(self, ledger: Ledger) -> None:
        """4.9 Either is enough: the next one that binds nothing gives way instead."""
        ack = ledger.end()
        bound = ledger.of(ack).session_hash
        unguarded(ledger, f"INSERT INTO settlement_stops VALUES ('{bound}', 1, '', 1, 1)")
        self.fill(ledger, rules.STOPS_MOST - 1)
        ledger.store.now += 2 * DAY_MS
        assert isinstance(ledger.stop(session_id="one more"), Controlled)
        kept = {stop.session_hash for stop in ledger.status().stops}
        assert len(kept) == rules.STOPS_MOST and {bound, rules.sha256_hex("one more")} < kept

    def test_a_stop_that_cannot_be_dropped_is_not(self, ledger: Ledger) -> None:
        """4.10 Where none can be shown to bind nothing, the new stop is refused with `settlement_stop_capacity`: no
        stopped session is quietly brought back. Once a receipt has run out there is room."""
        turns = [ledger.start() for _ in range(rules.STOPS_MOST)]
        for turn_id in turns:
            ledger.stop(session_id=ledger.session_of(turn_id))
        before = dump(ledger)
        assert code_of(ledger.stop(session_id="one more")) is Code.STOP_CAPACITY
        assert dump(ledger) == before
        ledger.store.now += DAY_MS
        assert isinstance(ledger.stop(session_id="one more"), Controlled)
        assert len(ledger.status().stops) == rules.STOPS_MOST

    def test_a_receipt_of_nobody_binds_them_all(self, ledger: Ledger) -> None:
        """4.11 A receipt that cannot be attributed to a session, as an older version wrote it, binds every stop
        until it runs out."""
        ledger.start()
        self.fill(ledger, rules.STOPS_MOST)
        unguarded(ledger, "UPDATE reservations SET session_hash = NULL")
        assert code_of(ledger.stop(session_id="one more")) is Code.STOP_CAPACITY
        ledger.store.now += DAY_MS
        assert isinstance(ledger.stop(session_id="one more"), Controlled)

    def test_a_row_that_waits_binds_its_stop(self, ledger: Ledger) -> None:
        """4.9 The file itself keeps a stop whose session has a row that waits."""
        ack = ledger.end()
        unguarded(ledger, f"INSERT INTO settlement_stops VALUES ('{ledger.of(ack).session_hash}', 1, '', 9, 1)")
        with pytest.raises(sqlite3.IntegrityError, match="binds"):
            ledger.store.connection.execute("DELETE FROM settlement_stops")
        assert ledger.store.run(settlement_control.is_stopped, ledger.of(ack).session_hash)


def test_an_expired_or_failed_one_is_not_held_for_ever(ledger: Ledger) -> None:
    """4.7 Design §9: expired, failed and stopped settlements are closed by the sweep from the stored evidence, marked
    late; where there is none, as void."""
    expired, failed = ledger.end(300), ledger.end(400)
    WRONG_EVIDENCE.spoil(ledger.store)
    for _ in range(4):
        ledger.apply(failed)
    ledger.store.now = expired.deadline + 1
    ledger.apply(expired)
    void = ledger.start()
    ledger.finish(void)
    unguarded(ledger, f"DELETE FROM evidence WHERE reservation_id = 'reservation:{void}'")
    unguarded(ledger, f"DELETE FROM settlement_pending WHERE reservation_id = 'reservation:{void}'")
    unguarded(
        ledger,
        "UPDATE reservations SET settlement = 'none', queued_at = NULL, settlement_key = NULL, payload_hash = NULL"
        f" WHERE turn_id = '{void}'",
    )
    swept = ledger.sweep()
    assert (swept.closed, swept.voided, swept.queued) == (2, 1, 0)
    assert ledger.reservation_states() == ["released"] * 3
    assert sorted(ledger.store.rows("SELECT way FROM releases")) == [("late",), ("late",), ("void",)]
    assert ledger.store.rows("SELECT turns_held, tokens_held FROM quotas") == [(0, 0)] * 6
    assert sorted(ledger.store.rows("SELECT input_tokens, late FROM usage")) == [(300, 1), (400, 1)]
