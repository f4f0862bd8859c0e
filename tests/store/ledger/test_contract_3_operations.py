"""Seed 000 §3: what enqueue, status, apply, stop and pause promise. `contract.py` is the table of its sentences."""

import sqlite3
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from channels.errors import StartRefused
from channels.ids import OwnerEpoch
from channels.rules import settlement as rules
from channels.rules.settlement import ATTEMPTS_MOST, Caller, Code, Terminal, parse_stop
from channels.store.batch import Batch, Failed
from channels.store.domain_file import open_domain_file
from channels.store.migrate import load_migrations, migrate
from channels.store.transactions.run import finish_turn
from channels.store.transactions.settlement import Acked, Settled, Status, enqueue, status
from channels.store.transactions.settlement_control import Controlled
from channels.store.transactions.settlement_facts import Refused
from channels.store.tx import SqliteTx, Tx
from tests.store.ledger.conftest import HOUR_MS, WRONG_EVIDENCE, Ledger, code_of, refuse
from tests.store.ledger.test_contract_2_storage import dump, unguarded
from tests.store.tables.conftest import Store
from tests.store.tables.drive import finish_of, lease_of

PAST = rules.DEADLINE_MS + 1


class TestEnqueue:
    def test_it_is_durable_with_its_commit_and_not_before(self, ledger: Ledger) -> None:
        """3.1 Only the commit makes it durable: what dies before was never queued, and its turn has not ended."""
        turn_id = ledger.start()
        finish, lease = finish_of(), lease_of(ledger.store, turn_id)

        def hook(sql: str) -> None:
            if sql == "COMMIT":
                raise RuntimeError("the power is gone")

        def work(tx: Tx) -> object:
            return finish_turn(tx, lease, finish, ledger.store.now)

        (outcome,) = Batch(ledger.store.connection, hook).run([work])
        assert isinstance(outcome, Failed)
        assert ledger.status().pending == () and ledger.rows("evidence") == []
        assert ledger.store.rows("SELECT state FROM turns") == [("entered",)]

    def test_the_acknowledgement_is_the_whole_handle(self, ledger: Ledger) -> None:
        """3.2 It returns key, payload hash, deadline, moment of queueing, generation: enough to apply after a restart
        without reading anything."""
        ack = ledger.end()
        assert asdict(replace(ack, fact=None)) == {
            "key": ledger.of(ack).key,
            "payload_hash": ledger.of(ack).payload_hash,
            "deadline": ledger.store.now + rules.DEADLINE_MS,
            "queued_at": ledger.store.now,
            "generation": 1,
            "duplicate": False,
            "fact": None,
        }
        assert isinstance(ledger.apply(ack, generation=ack.generation), Settled)

    def test_the_same_again_is_a_duplicate(self, ledger: Ledger) -> None:
        """3.3 Same key, same payload: `duplicate`, with the first deadline; ended ones with their end; for ever."""
        ack = ledger.end()
        row = ledger.of(ack)
        ledger.store.now += 60_000
        assert ledger.enqueue(row) == replace(ack, duplicate=True)
        fact = ledger.settle(ack)
        assert ledger.enqueue(row) == replace(ack, duplicate=True, fact=fact)
        for _ in range(rules.HISTORY_MOST + 1):
            ledger.settle(ledger.end())
        assert ack.key not in {each.key for each in ledger.status().history}
        again = ledger.enqueue(row)
        assert isinstance(again, Acked) and again.duplicate and again.fact is not None
        assert (again.fact.state, again.fact.way, again.deadline) == (Terminal.SETTLED, "settled", ack.deadline)

    def test_another_payload_is_a_conflict(self, ledger: Ledger) -> None:
        """3.4 Same key, other payload: `settlement_conflict`, and what was acknowledged stays as it is."""
        ack = ledger.end()
        row, before = ledger.of(ack), dump(ledger)
        ledger.store.connection.execute("UPDATE turns SET outcome = 'failed' WHERE state = 'ended'")
        assert code_of(ledger.enqueue(row)) is Code.CONFLICT
        assert dump(ledger) == before

    def test_another_payload_after_the_end_is_an_event_conflict(self, ledger: Ledger) -> None:
        """3.4 What is booked is booked: the same with other facts is `event_conflict`, not a successful duplicate."""
        ack = ledger.end()
        row = ledger.of(ack)
        ledger.settle(ack)
        before = dump(ledger)
        ledger.store.connection.execute("UPDATE turns SET outcome = 'failed' WHERE state = 'ended'")
        assert code_of(ledger.enqueue(row)) is Code.EVENT_CONFLICT
        assert dump(ledger) == before

    def test_bad_evidence_is_refused_at_once(self, ledger: Ledger) -> None:
        """3.1 Evidence that is not there, or is another start's or executor's, freezes nothing."""
        ack = ledger.end()
        row = ledger.of(ack)
        for ref in (
            replace(row.item.evidence, kind="repaired"),
            replace(row.item.evidence, executor="boot:9"),
            replace(row.item.evidence, start_epoch=9),  # type: ignore[arg-type]
        ):
            item = replace(row.item, evidence=ref)
            assert code_of(ledger.enqueue(replace(row, item=item))) is Code.INVALID_EVIDENCE

    def test_without_a_receipt_there_is_nothing_to_settle(self, ledger: Ledger) -> None:
        """3.1 `settlement_no_receipt` for what was never reserved, `settlement_receipt_expired` later."""
        row = ledger.of(ledger.end())
        receipt = replace(row.item.receipt, reservation_id="reservation:gone")  # type: ignore[arg-type]
        gone = replace(row, item=replace(row.item, receipt=receipt))
        assert code_of(ledger.enqueue(gone)) is Code.NO_RECEIPT
        turn_id = ledger.start()
        ledger.store.now += 25 * HOUR_MS
        assert code_of(ledger.finish(turn_id).settlement) is Code.RECEIPT_EXPIRED
        assert ledger.sweep().closed == 2, "and what expired meanwhile"

    def test_it_is_refused_to_whom_it_does_not_belong(self, ledger: Ledger) -> None:
        """3.1 Another owner's, or an older boot's, request queues nothing."""
        ledger.pause()
        turn_id = ledger.start()
        ledger.finish(turn_id)
        ledger.resume()
        ((start, executor, kind),) = ledger.store.rows("SELECT start_epoch, executor, kind FROM evidence")
        ref = rules.EvidenceRef(start, executor, kind)
        reservation_id = ledger.reservation(turn_id).reservation_id
        strangers = (
            (Caller("acp", ledger.store.epoch), Code.UNKNOWN_KEY),
            (Caller(None, OwnerEpoch(0)), Code.STALE_CONTROL),
        )
        for caller, code in strangers:
            answer = ledger.store.run(enqueue, reservation_id, ref, caller, ledger.store.now)
            assert code_of(answer) is code
        assert isinstance(
            ledger.store.run(enqueue, reservation_id, ref, Caller("demo", ledger.store.epoch), ledger.store.now), Acked
        )


class TestStatus:
    def test_it_writes_nothing(self, ledger: Ledger) -> None:
        """3.5 A read-only view: it runs where SQLite refuses every write, and the file counts no change."""
        ledger.end()
        ledger.settle(ledger.end())
        ledger.stop(session_id="one")
        changes = ledger.store.connection.total_changes
        ledger.store.connection.execute("PRAGMA query_only = ON")
        ledger.store.connection.execute("BEGIN")
        try:
            shown = status(SqliteTx(ledger.store.connection), ledger.store.now)
        finally:
            ledger.store.connection.execute("ROLLBACK")
            ledger.store.connection.execute("PRAGMA query_only = OFF")
        assert isinstance(shown, Status) and shown.counts["pending"] == 1
        assert ledger.store.connection.total_changes == changes

    def test_it_shows_everything_that_may_be_known(self, ledger: Ledger) -> None:
        """3.6 Pending rows with session hash, deadline, attempts, state; history; counts; generation, pause, stops."""
        waiting, settled = ledger.end(), ledger.end()
        ledger.settle(settled)
        ledger.stop(session_id="one", reason="deleted")
        WRONG_EVIDENCE.spoil(ledger.store)
        ledger.apply(waiting)
        shown = ledger.status()
        (row,), (fact,), (stop,) = shown.pending, shown.history, shown.stops
        assert (row.key, row.session_hash, row.deadline) == (
            waiting.key,
            ledger.of(waiting).session_hash,
            waiting.deadline,
        )
        assert (row.attempts, row.state, row.next_attempt_at) == (1, "waiting", ledger.store.now + 250)
        assert row.last_error.startswith("invalid_evidence")
        assert (fact.key, fact.state, fact.way) == (settled.key, Terminal.SETTLED, "settled")
        assert shown.counts == {"pending": 1, "settled": 1, "expired": 0, "failed": 0, "stopped": 0, "conflict": 0}
        assert (shown.generation, shown.user_paused) == (2, False)
        assert (stop.session_hash, stop.reason, stop.generation) == (rules.sha256_hex("one"), "deleted", 2)
        ledger.store.now += 250
        assert ledger.status().pending[0].state == "ready"
        ledger.store.now += PAST
        assert ledger.status().pending[0].state == "overdue"
        ledger.pause()
        assert ledger.status().pending[0].state == "paused"
        assert ledger.status().user_paused

    @pytest.mark.parametrize("version", [1, 6, 8, 11])
    def test_an_older_file_is_read_and_not_touched(self, tmp_path: Path, version: int) -> None:
        """3.7 A file from before there were settlements is read as empty, and gets none of this by being read."""
        connection = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
        migrate(connection, load_migrations()[:version])
        before, changes = connection.execute("SELECT sql FROM sqlite_schema").fetchall(), connection.total_changes
        batch = Batch(connection)
        shown = batch.read(lambda tx: status(tx, 1))
        assert isinstance(shown, Status)
        assert (shown.pending, shown.history, shown.stops, shown.bytes) == ((), (), (), 0)
        assert (sum(shown.counts.values()), shown.generation, shown.user_paused) == (0, 1, False)
        assert connection.execute("SELECT sql FROM sqlite_schema").fetchall() == before
        assert connection.total_changes == changes
        connection.close()


class TestApply:
    def test_the_generation_is_the_permit(self, ledger: Ledger) -> None:
        """3.8 Without one it is refused, and so is any that is not the current; neither counts as an attempt."""
        ack = ledger.end()
        assert code_of(ledger.apply(ack, generation=None)) is Code.GENERATION_REQUIRED
        ledger.pause()
        ledger.resume()
        assert code_of(ledger.apply(ack, generation=ack.generation)) is Code.STALE_CONTROL
        assert code_of(ledger.apply(ack, generation=99)) is Code.STALE_CONTROL
        assert ledger.of(ack).attempts == 0
        assert isinstance(ledger.apply(ack, generation=3), Settled)

    def test_an_end_is_read_back_before_all_else(self, ledger: Ledger) -> None:
        """3.9 One that has retired answers with its recorded fact, whatever else is true: no generation, paused,
        stopped, a stranger, long past its deadline, a guard that refuses."""
        turn_id = ledger.start()
        ack = ledger.finish(turn_id).settlement
        assert isinstance(ack, Acked)
        fact = ledger.settle(ack)
        ledger.pause()
        ledger.stop(session_id=ledger.session_of(turn_id))
        ledger.store.now += PAST
        ledger.reopen()
        stranger = Caller("somebody", OwnerEpoch(0))
        again = ledger.apply(ack, generation=None, caller=stranger, guard=refuse("no"))
        assert again == Settled(fact, True, 3)
        assert (fact.state, fact.outcome, fact.way) == (Terminal.SETTLED, "completed", "settled")

    def test_an_end_is_read_back_when_history_has_dropped_it(self, ledger: Ledger) -> None:
        """3.9 … also an unsettled one, before and after its reservation was closed."""
        expired, failed = ledger.end(), ledger.end()
        ledger.store.now += PAST
        assert code_of(ledger.apply(expired)) is Code.EXPIRED
        assert code_of(ledger.apply(failed)) is Code.EXPIRED
        for _ in range(rules.HISTORY_MOST):
            ledger.settle(ledger.end())
        before = ledger.apply(expired)
        assert isinstance(before, Settled) and before.duplicate
        assert (before.fact.state, before.fact.way, before.fact.deadline) == (Terminal.EXPIRED, None, expired.deadline)
        ledger.sweep()
        after = ledger.apply(expired)
        assert isinstance(after, Settled) and (after.fact.state, after.fact.way) == (Terminal.EXPIRED, "late")

    def test_the_payload_must_be_the_acknowledged_one(self, ledger: Ledger) -> None:
        """3.9 A wrong payload hash is `settlement_conflict` before and after the end; a wrong key is unknown."""
        ack = ledger.end()
        other = "f" * 64
        assert code_of(ledger.apply(ack, payload_hash=other)) is Code.CONFLICT
        assert code_of(ledger.apply(replace(ack, key=other))) is Code.UNKNOWN_KEY
        assert code_of(ledger.apply(replace(ack, key="f" * 63))) is Code.INVALID_INPUT
        ledger.settle(ack)
        assert code_of(ledger.apply(ack, payload_hash=other)) is Code.CONFLICT

    def test_the_order_of_the_checks(self, ledger: Ledger) -> None:
        """3.10 generation, user pause, stop of the session, owner, deadline, attempts, host guard: everything is wrong
        at once, and each refusal gives way to the next as it is put right. (rules.test_settlement has the order in
        full; here it is the file's facts that are asked.)"""
        ack, seen = ledger.end(), []
        stranger = Caller("acp", OwnerEpoch(0))
        unguarded(ledger, "UPDATE settlement_pending SET attempts = 4")
        unguarded(ledger, f"INSERT INTO settlement_stops VALUES ('{ledger.of(ack).session_hash}', 1, '', 9, 1)")
        ledger.pause()
        ledger.store.now += PAST
        seen.append(code_of(ledger.apply(ack, generation=None, caller=stranger)))
        seen.append(code_of(ledger.apply(ack, generation=1, caller=stranger)))
        seen.append(code_of(ledger.apply(ack, caller=stranger)))
        ledger.resume()
        unguarded(ledger, "DELETE FROM settlement_stops")
        seen.append(code_of(ledger.apply(ack, caller=stranger)))
        seen.append(code_of(ledger.apply(ack, caller=replace(stranger, owner="demo"))))
        ledger.store.now -= PAST
        failed = ledger.apply(ack, caller=Caller("demo", ledger.store.epoch), guard=refuse("no"))
        seen.append(code_of(failed))
        assert seen == [
            Code.GENERATION_REQUIRED,
            Code.STALE_CONTROL,
            Code.PAUSED,
            Code.UNKNOWN_KEY,
            Code.STALE_CONTROL,
            Code.FAILED,
        ]
        assert isinstance(failed, Refused) and failed.fact is not None and failed.fact.state is Terminal.FAILED

    def test_a_pending_row_under_a_stop_retires_as_stopped(self, ledger: Ledger) -> None:
        """3.10 The stop of its session comes before owner, deadline and guard."""
        ack = ledger.end()
        unguarded(ledger, f"INSERT INTO settlement_stops VALUES ('{ledger.of(ack).session_hash}', 1, '', 9, 1)")
        ledger.store.now += PAST
        done = ledger.apply(ack, caller=Caller("acp", ledger.store.epoch))
        assert isinstance(done, Refused) and done.fact is not None
        assert (done.code, done.fact.state) == (Code.STOPPED, Terminal.STOPPED)

    def test_the_guard_is_asked_last_and_its_refusal_is_no_attempt(self, ledger: Ledger) -> None:
        """3.10 What the host knows decides inside the same commit; a refusal leaves its reason and nothing else."""
        ack, asked = ledger.end(), []
        answer = ledger.apply(ack, guard=lambda tx, item: asked.append(item.owner) or "archived")  # type: ignore[func-returns-value]
        assert isinstance(answer, Refused)
        assert (answer.code, answer.reason, asked) == (Code.GUARD_REFUSED, "archived", ["demo"])
        row = ledger.of(ack)
        assert (row.attempts, row.last_error, row.deadline) == (0, "archived", ack.deadline)
        assert isinstance(ledger.apply(ack, guard=lambda tx, item: None), Settled)

    def test_a_failed_trial_leaves_its_count_and_its_code_only(self, ledger: Ledger) -> None:
        """3.11 The trial works on a copy: a failure undoes all of it, and commits the attempt and the code."""
        ack = ledger.end()
        before = dump(ledger)
        WRONG_EVIDENCE.spoil(ledger.store)
        answer = ledger.apply(ack)
        assert isinstance(answer, Refused) and answer.fact is None
        assert (answer.code, answer.attempts, answer.next_attempt_at) == (Code.FAILED, 1, ledger.store.now + 250)
        after = dump(ledger)
        changed = {table for table in before if before[table] != after[table]}
        assert changed == {"evidence", "settlement_pending"}, "evidence is what the test spoiled"
        assert ledger.of(ack).last_error.startswith("invalid_evidence")

    def test_a_contradiction_ends_it_and_changes_no_fact(self, ledger: Ledger) -> None:
        """3.11 What is held is something else than what was frozen: `settlement_receipt_changed`, ended as conflict;
        the recorded facts are not overwritten. The sweep closes what is held by the stored evidence."""
        ack = ledger.end()
        unguarded(ledger, "UPDATE reservations SET expires_at = expires_at + 1")
        answer = ledger.apply(ack)
        assert isinstance(answer, Refused) and answer.fact is not None
        assert (answer.code, answer.fact.state) == (Code.RECEIPT_CHANGED, Terminal.CONFLICT)
        assert ledger.rows("usage") == [] and ledger.reservation_states() == ["held"]
        assert ledger.sweep().closed == 1

    def test_a_receipt_that_is_gone_is_a_contradiction_too(self, ledger: Ledger) -> None:
        """3.11 Nothing is reserved any more: `settlement_no_receipt`, ended at the first trial, as conflict."""
        ack = ledger.end()
        ledger.store.connection.execute("PRAGMA foreign_keys = OFF")
        unguarded(ledger, "DELETE FROM reservations")
        answer = ledger.apply(ack)
        assert isinstance(answer, Refused) and answer.fact is not None
        assert (answer.code, answer.fact.state, answer.attempts) == (Code.NO_RECEIPT, Terminal.CONFLICT, 1)

    def test_what_was_released_otherwise_is_a_contradiction(self, ledger: Ledger) -> None:
        """3.11 Nothing is held any more: `settlement_receipt_changed`, and nothing moves a second time."""
        ack = ledger.end()
        unguarded(ledger, "UPDATE reservations SET state = 'released', released_at = 1")
        before = ledger.rows("quotas")
        answer = ledger.apply(ack)
        assert isinstance(answer, Refused) and answer.fact is not None
        assert (answer.code, answer.fact.state) == (Code.RECEIPT_CHANGED, Terminal.CONFLICT)
        assert ledger.rows("quotas") == before and ledger.rows("usage") == []

    def test_what_the_schema_refuses_is_a_failed_trial(self, ledger: Ledger) -> None:
        """3.11 A window that lost what it held, as by a mistake elsewhere: nothing is booked, the attempt counts, and
        the fourth is the last."""
        ack, other = ledger.end(user="alice"), ledger.end(user="bob")
        unguarded(ledger, "UPDATE quotas SET tokens_held = 0 WHERE user_id = 'alice'")
        for attempt in range(1, ATTEMPTS_MOST + 1):
            answer = ledger.apply(ack)
            assert isinstance(answer, Refused) and (answer.code, answer.attempts) == (Code.FAILED, attempt)
        assert ledger.rows("usage") == ledger.rows("releases") == []
        assert isinstance(ledger.apply(other), Settled)

    def test_a_turn_that_is_booked_already_is_an_event_conflict(self, ledger: Ledger) -> None:
        """3.11 Somebody has booked this turn: `event_conflict`, ended as conflict, the booked usage untouched."""
        ack = ledger.end()
        unguarded(
            ledger,
            "INSERT INTO usage SELECT turn_id, NULL, '', session_id, '', '', 'completed', 1, 7, 0, 0, 0, 0, 0, 1, 1, 1"
            " FROM turns",
        )
        answer = ledger.apply(ack)
        assert isinstance(answer, Refused) and answer.fact is not None
        assert (answer.code, answer.fact.state) == (Code.EVENT_CONFLICT, Terminal.CONFLICT)
        assert ledger.store.rows("SELECT input_tokens FROM usage") == [(7,)]

    def test_success_books_and_retires_together(self, ledger: Ledger) -> None:
        """3.12 One commit: usage, both quotas, release, receipt, the end of the reservation and of the row."""
        ack = ledger.end(9_000)
        commits = ledger.store.rows("SELECT commits FROM meta")[0][0]
        fact = ledger.settle(ack)
        assert ledger.store.rows("SELECT commits FROM meta")[0][0] == commits + 2, "one to look, one to settle"
        assert fact.retired_at == ledger.store.now
        assert ledger.store.rows("SELECT input_tokens, late FROM usage") == [(9_000, 0)]
        assert (
            ledger.store.rows("SELECT turns_held, turns_used, tokens_held, tokens_used FROM quotas")
            == [(0, 1, 0, 9_000)] * 2
        )
        assert ledger.store.rows("SELECT way, receipt IS NOT NULL FROM releases") == [("settled", 1)]
        assert ledger.store.rows("SELECT state, op FROM outbox WHERE kind = 'receipt'") == [("done", "receipt")]
        assert ledger.reservation_states() == ["released"] and ledger.rows("settlement_pending") == []
        assert ledger.store.rows("SELECT state, code FROM settlement_history") == [("settled", "")]


class TestStop:
    def test_either_form_alone(self, ledger: Ledger) -> None:
        """3.13 A raw session id, or a key with its payload hash: each stops exactly that session."""
        one, two, three = ledger.start(), ledger.start(), ledger.start()
        acks = [ledger.finish(each).settlement for each in (one, two, three)]
        assert all(isinstance(ack, Acked) for ack in acks)
        _, second, third = (ack for ack in acks if isinstance(ack, Acked))
        assert ledger.stop(session_id=ledger.session_of(one)) == Controlled(2, False, True, 1)
        assert ledger.stop(key=second.key, payload_hash=second.payload_hash) == Controlled(3, False, True, 1)
        assert [row.key for row in ledger.status().pending] == [third.key]
        assert {stop.session_hash for stop in ledger.status().stops} == {
            rules.session_hash(ledger.session_of(each)) for each in (one, two)
        }

    @pytest.mark.parametrize(
        "request_",
        [
            {},
            {"session_id": "s", "key": "0" * 64, "payload_hash": "0" * 64},
            {"session_id": "s", "payload_hash": "0" * 64},
            {"key": "0" * 64},
            {"payload_hash": "0" * 64},
            {"key": "0" * 63, "payload_hash": "0" * 64},
            {"key": "0" * 64, "payload_hash": "G" * 64},
            {"session_id": ""},
            {"session_id": "a\0b"},
            {"session_id": 5},
            {"session_id": "s", "owner": "demo"},
        ],
    )
    def test_anything_else_is_invalid_input(self, request_: dict[str, object]) -> None:
        """3.13 Mixed, incomplete, malformed: `invalid_input`. There is no request then that could write anything."""
        assert parse_stop(request_) is None

    def test_the_key_must_be_the_callers_own(self, ledger: Ledger) -> None:
        """3.13 Another owner's settlement is unknown to the caller, a wrong payload a conflict; nothing is written."""
        ack = ledger.end()
        before = dump(ledger)
        key = {"key": ack.key, "payload_hash": ack.payload_hash}
        assert code_of(ledger.stop(caller=Caller("acp", ledger.store.epoch), **key)) is Code.UNKNOWN_KEY
        assert code_of(ledger.stop(key=ack.key, payload_hash="0" * 64)) is Code.CONFLICT
        assert code_of(ledger.stop(key="0" * 64, payload_hash="0" * 64)) is Code.UNKNOWN_KEY
        assert code_of(ledger.stop(caller=Caller("demo", OwnerEpoch(0)), **key)) is Code.STALE_CONTROL
        assert dump(ledger) == before

    def test_a_long_reason_is_cut_and_stops_all_the_same(self, ledger: Ledger) -> None:
        """3.13 Who says why at length is not refused for it."""
        assert isinstance(ledger.stop("because " * 40, session_id="s"), Controlled)
        assert ledger.status().stops[0].reason == ("because " * 40)[:64]

    def test_the_session_is_found_inside(self, ledger: Ledger) -> None:
        """3.14 By key, the session's identity comes from the stored row, also from one that has ended; the caller never
        says owner, scope or session hash."""
        turn_id = ledger.start()
        ack = ledger.finish(turn_id).settlement
        assert isinstance(ack, Acked)
        ledger.settle(ack)
        assert ledger.stop(key=ack.key, payload_hash=ack.payload_hash) == Controlled(2, False, True, 0)
        assert ledger.status().stops[0].session_hash == rules.session_hash(ledger.session_of(turn_id))


class TestPause:
    def test_nothing_settles_and_no_deadline_moves(self, ledger: Ledger) -> None:
        """3.15 An explicit pause stops settling and leaves every deadline as it was; a refusal by it is no attempt."""
        ack = ledger.end()
        ledger.pause()
        for _ in range(6):
            ledger.store.now += 1_000
            assert code_of(ledger.apply(ack)) is Code.PAUSED
        row = ledger.of(ack)
        assert (row.deadline, row.attempts, row.next_attempt_at) == (ack.deadline, 0, ack.queued_at)
        ledger.resume()
        assert isinstance(ledger.apply(ack), Settled)

    def test_nothing_new_is_queued_meanwhile(self, ledger: Ledger) -> None:
        """3.15 So that a long pause uses up no deadline: what ends meanwhile keeps evidence and reservation, and is
        queued after the pause."""
        ledger.pause()
        turn_id = ledger.start()
        assert code_of(ledger.finish(turn_id).settlement) is Code.PAUSED
        ledger.store.now += 2 * HOUR_MS
        assert ledger.sweep().queued == 0 and ledger.reservation_states() == ["held"]
        ledger.resume()
        assert ledger.sweep().queued == 1
        (row,) = ledger.status().pending
        assert row.deadline == ledger.store.now + rules.DEADLINE_MS
        assert isinstance(ledger.apply(ledger.of(Acked(row.key, "", 0, 0, 0))), Settled)


class TestDeadlines:
    def test_a_deadline_is_five_minutes_or_the_receipts_end(self, ledger: Ledger) -> None:
        """3.16 The earlier of the two, from the moment of queueing."""
        short = ledger.end()
        assert short.deadline == short.queued_at + rules.DEADLINE_MS
        turn_id = ledger.start()
        expires_at = ledger.reservation(turn_id).expires_at
        ledger.store.now = expires_at - 1_000
        late = ledger.finish(turn_id).settlement
        assert isinstance(late, Acked) and late.deadline == expires_at

    def test_neither_restart_nor_anything_else_moves_it(self, ledger: Ledger) -> None:
        """3.16 Deadline and attempts are inherited by the next process as they are."""
        ack = ledger.end()
        WRONG_EVIDENCE.spoil(ledger.store)
        ledger.apply(ack)
        before = ledger.of(ack)
        for _ in range(3):
            ledger.store.now += 10_000
            ledger.reopen()
            ledger.enqueue(before)
            ledger.sweep()
        assert ledger.of(ack) == before

    def test_past_it_it_expires_without_credit(self, ledger: Ledger) -> None:
        """3.16 One millisecond late is late: ended as expired, nothing booked, and no later attempt brings it back."""
        ack = ledger.end()
        ledger.store.now = ack.deadline + 1
        answer = ledger.apply(ack)
        assert isinstance(answer, Refused) and answer.fact is not None
        assert (answer.code, answer.fact.state, answer.fact.attempts) == (Code.EXPIRED, Terminal.EXPIRED, 0)
        assert ledger.rows("usage") == [] and ledger.reservation_states() == ["held"]
        again = ledger.apply(ack)
        assert isinstance(again, Settled) and again.duplicate and again.fact.state is Terminal.EXPIRED

    def test_the_fourth_attempt_is_the_last(self, ledger: Ledger) -> None:
        """3.17 Four trials, counted over restarts; the fourth failure ends it, a fifth only reads that back."""
        ack = ledger.end()
        WRONG_EVIDENCE.spoil(ledger.store)
        for attempt in range(1, ATTEMPTS_MOST + 1):
            ledger.reopen()
            answer = ledger.apply(ack)
            assert isinstance(answer, Refused)
            assert (answer.code, answer.attempts) == (Code.FAILED, attempt)
            assert (answer.fact is not None) == (attempt == ATTEMPTS_MOST)
        fifth = ledger.apply(ack)
        assert isinstance(fifth, Settled) and fifth.duplicate
        assert (fifth.fact.state, fifth.fact.attempts) == (Terminal.FAILED, ATTEMPTS_MOST)

    def test_a_locked_file_is_no_attempt(self, ledger: Ledger) -> None:
        """3.18 Who cannot lock the file has tried nothing: a second process cannot even open it, and counts nothing."""
        ack = ledger.end()
        with pytest.raises(StartRefused, match=r"in use|held"):
            open_domain_file(ledger.store.path, now_ms=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            sqlite3.connect(ledger.store.path, timeout=0).execute("SELECT 1 FROM meta")
        assert ledger.of(ack).attempts == 0


def test_two_stores_never_share_a_key(ledger: Ledger, tmp_path: Path) -> None:
    """2.7 A key belongs to one file: the same turn of another file has another."""
    (tmp_path / "other").mkdir()
    other = Ledger(Store(tmp_path / "other" / "channels.db"))
    other.store.connection.execute("UPDATE meta SET db_uuid = 'another'")
    assert ledger.end().key != other.end().key
    other.store.close()
