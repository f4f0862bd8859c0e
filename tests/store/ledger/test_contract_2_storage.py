"""Seed 000 §2: where settlements are kept, how many, and what of them. `contract.py` is the table of its sentences."""

import json
import sqlite3

import pytest

from channels.ids import ReservationId
from channels.rules import settlement as rules
from channels.rules.settlement import Code
from channels.store import owners, settlements
from channels.store.batch import Batch, Done, Failed
from channels.store.transactions.settlement import Acked, Settled, apply, status
from channels.store.tx import Tx
from tests.store.ledger.conftest import DAY_MS, Ledger, code_of

TABLES = (
    "quotas",
    "reservations",
    "releases",
    "usage",
    "evidence",
    "outbox",
    "settlement_pending",
    "settlement_history",
)


def test_settlements_stand_in_the_one_domain_file(ledger: Ledger) -> None:
    """2.1 They are an additive part of the file that holds everything else: no file of their own appears, and the
    file's version is the newest migration's."""
    folder = ledger.store.path.parent
    before = sorted(each.name for each in folder.iterdir())
    ledger.settle(ledger.end())
    assert sorted(each.name for each in folder.iterdir()) == before
    (version,) = ledger.store.rows("PRAGMA user_version")
    assert version[0] == ledger.store.version


class TestBounds:
    """2.2 At most 64 wait, at most 32 ends are kept, one takes at most 4096 bytes, all together at most 256 KiB."""

    def test_the_numbers_are_these(self) -> None:
        """2.2, 2.3, 3.16, 3.17 In figures, whatever the other tests call them."""
        bounds = (rules.PENDING_MOST, rules.HISTORY_MOST, rules.STOPS_MOST, rules.ITEM_BYTES, rules.TOTAL_BYTES)
        assert bounds == (64, 32, 64, 4096, 262_144)
        assert (rules.DEADLINE_MS, rules.ATTEMPTS_MOST) == (300_000, 4)

    def test_the_65th_finds_no_room_and_puts_nobody_out(self, ledger: Ledger) -> None:
        """2.2 pending ≤ 64: a full queue takes nothing new and drops nothing that was acknowledged."""
        acks = [ledger.end() for _ in range(rules.PENDING_MOST)]
        done = ledger.finish(ledger.start())
        assert code_of(done.settlement) is Code.OUTBOX_FULL
        assert done.outcome == "completed", "and the turn has ended all the same"
        assert {row.key for row in ledger.status().pending} == {ack.key for ack in acks}
        ledger.settle(acks[0])
        assert ledger.sweep().queued == 1, "there is room now"
        assert ledger.status().counts["pending"] == rules.PENDING_MOST

    def test_the_33rd_end_puts_the_oldest_out(self, ledger: Ledger) -> None:
        """2.2 history ≤ 32: only the newest ends are kept."""
        acks = [ledger.end() for _ in range(rules.HISTORY_MOST + 3)]
        for ack in acks:
            ledger.settle(ack)
        kept = [fact.key for fact in ledger.status().history]
        assert kept == [ack.key for ack in acks[3:]]

    def test_one_that_is_too_large_is_not_queued(self, ledger: Ledger) -> None:
        """2.2 item ≤ 4096 bytes: refused before anything is written."""
        turn_id = ledger.start()
        long = "x" * rules.ITEM_BYTES
        ledger.store.connection.execute("UPDATE sessions SET agent = ?", (long,))
        done = ledger.finish(turn_id)
        assert code_of(done.settlement) is Code.ITEM_TOO_LARGE
        assert ledger.rows("settlement_pending") == []
        assert ledger.sweep().closed == 1, "what was held for it is not held for ever"

    def test_one_that_just_fits_is_queued(self, ledger: Ledger) -> None:
        """2.2 4096 bytes are still an item, 4097 are not; bytes, and not letters, are counted."""
        row = ledger.of(ledger.end())
        rest = rules.ITEM_BYTES - len(rules.payload(row.item)) + len("demo") + len(row.reservation_id)
        answers = []
        for beyond in (0, 1):
            turn_id = ledger.start()
            size = rest - len(ledger.reservation(turn_id).reservation_id) + beyond
            ledger.store.connection.execute("UPDATE sessions SET agent = ?", ("é" + "x" * (size - 2),))
            answers.append(ledger.finish(turn_id).settlement)
        fits, too_large = answers
        assert isinstance(fits, Acked) and len(rules.payload(ledger.of(fits).item).encode()) == rules.ITEM_BYTES
        assert code_of(too_large) is Code.ITEM_TOO_LARGE

    def test_all_together_are_bounded(self, ledger: Ledger) -> None:
        """2.2 total ≤ 256 KiB: what would not fit is not queued, though there are fewer than 64."""
        agent = "a" * 3_300
        for _ in range(62):
            turn_id = ledger.start()
            ledger.store.connection.execute("UPDATE sessions SET agent = ?", (agent,))
            assert isinstance(ledger.finish(turn_id).settlement, Acked)
        settled = [ledger.apply(row) for row in ledger.store.run(settlements.all_pending)[:30]]
        assert all(isinstance(each, Settled) for each in settled)
        answers = []
        for _ in range(33):
            turn_id = ledger.start()
            ledger.store.connection.execute("UPDATE sessions SET agent = ?", (agent,))
            answers.append(ledger.finish(turn_id).settlement)
        shown = ledger.status()
        assert shown.bytes <= rules.TOTAL_BYTES and shown.counts["pending"] < rules.PENDING_MOST
        assert code_of(answers[-1]) is Code.OUTBOX_FULL

    @pytest.mark.parametrize(
        "spoil",
        [
            "UPDATE settlement_pending SET item = item || hex(zeroblob(2048))",
            "UPDATE settlement_pending SET format = 99",
            "UPDATE settlement_history SET format = 99",
            "UPDATE settlement_history SET state = 'superseded'",
            "UPDATE settlement_stops SET format = 99",
            "UPDATE settlement_control SET format = 99",
            "UPDATE settlement_pending SET item = '{}'",
            "UPDATE settlement_pending SET item = 'no JSON'",
            "UPDATE settlement_pending SET item = replace(item, 'completed', 'failed')",
            "WITH RECURSIVE more (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM more WHERE n < 70) INSERT INTO"
            " settlement_stops SELECT substr(hex(zeroblob(32)) || n, -64), 1, '', 1, 1 FROM more",
            "WITH RECURSIVE more (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM more WHERE n < 64) INSERT INTO"
            " settlement_pending SELECT substr(hex(zeroblob(32)) || n, -64), format, payload_hash, owner, session_hash,"
            " reservation_id || n, item, queued_at, deadline, attempts, next_attempt_at, last_error"
            " FROM settlement_pending, more",
            "WITH RECURSIVE more (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM more WHERE n < 32) INSERT INTO"
            " settlement_history SELECT place + n, substr(hex(zeroblob(32)) || n, -64), format, payload_hash, owner,"
            " session_hash, state, code, outcome, attempts, queued_at, deadline, retired_at"
            " FROM settlement_history, more",
            "UPDATE settlement_history SET outcome = hex(zeroblob(131072))",
        ],
    )
    def test_what_is_stored_is_bounded_and_known_also_when_it_is_read(self, ledger: Ledger, spoil: str) -> None:
        """2.2, 3.5 A row that is too large, in an unknown format, one too many, or too much of them all: refused by
        every operation as `invalid_settlement_outbox`, and still there afterwards: nothing is reset."""
        ack, other = ledger.end(), ledger.end()
        ledger.settle(other)
        ledger.stop(session_id="somebody else's")
        ledger.store.connection.execute("PRAGMA foreign_keys = OFF")
        unguarded(ledger, spoil)
        ledger.store.connection.execute("PRAGMA foreign_keys = ON")
        before = dump(ledger)
        row_answers = [
            ledger.store.run(status, ledger.store.now),
            ledger.apply(ack, generation=2),
            ledger.stop(key=ack.key, payload_hash=ack.payload_hash),
        ]
        if "SET item" not in spoil:
            row_answers += [ledger.pause(), ledger.resume()]
        assert {code_of(each) for each in row_answers} == {Code.INVALID_OUTBOX}
        ledger.sweep()
        assert dump(ledger) == before
        done = ledger.finish(ledger.start())
        assert done.outcome == "completed", "and no turn is held up by it"


class TestControl:
    """2.3 Control is a generation that only rises, the user's pause, and at most 64 exact stops."""

    def test_the_generation_only_rises(self, ledger: Ledger) -> None:
        """2.3 Every change moves it by one; what changes nothing does not; the file itself refuses less."""
        seen = [ledger.generation()]
        for change in (
            ledger.pause,
            ledger.resume,
            ledger.pause,
            ledger.resume,
            lambda: ledger.stop(session_id="one"),
            lambda: ledger.stop(session_id="two"),
        ):
            change()
            seen.append(ledger.generation())
        assert seen == [1, 2, 3, 4, 5, 6, 7]
        before = dump(ledger)
        ledger.resume()
        ledger.stop(session_id="one")
        assert dump(ledger) == before
        with pytest.raises(sqlite3.IntegrityError, match="generation"):
            ledger.store.connection.execute("UPDATE settlement_control SET generation = 7")

    def test_the_65th_stop_needs_room(self, ledger: Ledger) -> None:
        """2.3 stops ≤ 64: the file itself refuses a 65th."""
        for number in range(rules.STOPS_MOST):
            ledger.stop(session_id=f"session {number}")
        with pytest.raises(sqlite3.IntegrityError, match="settlement_stop_capacity"):
            ledger.store.connection.execute(
                "INSERT INTO settlement_stops VALUES (?, 1, '', 99, 1)", (rules.sha256_hex("another"),)
            )


def test_booking_and_retiring_are_one_commit(ledger: Ledger) -> None:
    """2.4 All of it is read and written in one transaction under one lock: whichever statement fails, the file is as it
    was; there is no moment in which something is booked and still waits, or the reverse."""
    ack, generation = ledger.end(), ledger.generation()
    before, statements = dump(ledger), 0
    while True:
        broken = _run_broken_at(ledger, statements, ack, generation)
        if broken is None:
            break
        assert dump(ledger) == before, f"after the failure at statement {statements}"
        statements += 1
    assert statements >= 12, "the sweep over the statements went through all of a settlement"
    assert ledger.status().counts == {
        "pending": 0,
        "settled": 1,
        "expired": 0,
        "failed": 0,
        "stopped": 0,
        "conflict": 0,
    }
    assert len(ledger.rows("releases")) == len(ledger.rows("usage")) == 1


def _run_broken_at(ledger: Ledger, nth: int, ack: Acked, generation: int) -> Failed | None:
    seen = 0

    def hook(sql: str) -> None:
        nonlocal seen
        if sql in ("BEGIN IMMEDIATE", "COMMIT", "COMMITTED"):
            return
        if seen == nth:
            raise RuntimeError("the power is gone")
        seen += 1

    def work(tx: Tx) -> object:
        return apply(tx, ack.key, ack.payload_hash, generation, ledger.host, None, ledger.store.now)

    (outcome,) = Batch(ledger.store.connection, hook).run([work])
    if isinstance(outcome, Done):
        assert isinstance(outcome.value, Settled)
        return None
    return outcome


def test_completing_is_one_function_for_every_way(ledger: Ledger) -> None:
    """2.5 What completes a settlement takes no lock and begins no transaction of its own, so that `apply` and the sweep
    share it: both book the same."""
    in_time, late = ledger.end(700), ledger.end(700)
    ledger.settle(in_time)
    ledger.store.now += rules.DEADLINE_MS + 1
    assert ledger.sweep().closed == 1
    rows = ledger.store.rows(
        "SELECT turns_used, day_tokens_used, month_tokens_used FROM releases ORDER BY reservation_id"
    )
    assert rows == [(1, 700, 700), (1, 700, 700)]
    assert ledger.store.rows("SELECT late FROM usage ORDER BY late") == [(0,), (1,)]
    assert ledger.fact(late.key) is not None


def test_an_item_holds_coordinates_and_no_words(ledger: Ledger) -> None:
    """2.6 Only what is needed to settle again is frozen: no text of a message, no summary, nothing a model has said."""
    ack = ledger.end()
    ((text,),) = ledger.store.rows("SELECT item FROM settlement_pending")
    item = json.loads(text)
    assert set(item) == {
        *("owner", "scope", "environment", "session_hash", "turn_hash", "receipt", "outcome"),
        *("evidence", "evidence_hash", "fingerprint"),
    }
    said = [row[0] for row in ledger.store.rows("SELECT body FROM session_events WHERE kind LIKE '%message'")]
    words = {word for body in said for word in json.loads(body)["text"].split()}
    assert words and not any(word in text for word in words)
    assert ack.key not in text


def test_every_coordinate_is_there(ledger: Ledger) -> None:
    """2.7 key, payload hash, owner, scope, environment, session hash, turn hash, the frozen receipt, outcome, the
    evidence's hash, fingerprint, queued at, deadline, attempts, next attempt, last error."""
    turn_id = ledger.start("alice")
    ack = ledger.finish(turn_id).settlement
    assert isinstance(ack, Acked)
    row, item = ledger.of(ack), ledger.of(ack).item
    meta = ledger.store.run(owners.read_meta)
    assert meta is not None
    session_id = ledger.session_of(turn_id)
    assert row.key == rules.settlement_key(meta.db_uuid, ReservationId(f"reservation:{turn_id}"))
    assert row.payload_hash == rules.payload_hash(item)
    assert (row.owner, item.scope, item.environment) == ("demo", rules.sha256_hex("alice"), meta.db_uuid)
    assert row.session_hash == item.session_hash == rules.session_hash(session_id)
    assert item.turn_hash == rules.sha256_hex(turn_id)
    assert item.receipt == ledger.reservation(turn_id).receipt
    assert item.outcome == "completed"
    ((evidence_hash,),) = ledger.store.rows("SELECT hash FROM evidence")
    assert item.evidence_hash == evidence_hash
    assert item.fingerprint == rules.fingerprint(item.receipt)
    assert (row.queued_at, row.deadline) == (ledger.store.now, ledger.store.now + rules.DEADLINE_MS)
    assert (row.attempts, row.next_attempt_at, row.last_error) == (0, ledger.store.now, "")


def test_an_end_keeps_whitelisted_fields_only(ledger: Ledger) -> None:
    """2.7 What is left of an end: no receipt, no evidence, no scope."""
    ledger.settle(ledger.end())
    columns = [row[1] for row in ledger.store.rows("PRAGMA table_info(settlement_history)")]
    assert set(columns) == {
        *("place", "key", "format", "payload_hash", "owner", "session_hash", "state", "code", "outcome"),
        *("attempts", "queued_at", "deadline", "retired_at"),
    }


def test_the_file_itself_keeps_the_bounds(ledger: Ledger) -> None:
    """2.2 A mistake elsewhere cannot break them: more rows, another deadline, fewer attempts, other coordinates."""
    ack = ledger.end()
    row, run = ledger.of(ack), ledger.store.connection.execute
    refused: list[tuple[str, str]] = [
        ("UPDATE settlement_pending SET deadline = deadline + 1", "acknowledged"),
        ("UPDATE settlement_pending SET queued_at = queued_at - 1", "acknowledged"),
        ("UPDATE settlement_pending SET item = item || ' '", "acknowledged"),
        ("UPDATE settlement_pending SET payload_hash = key", "acknowledged"),
        ("UPDATE settlement_pending SET attempts = -1", "attempts"),
        ("UPDATE settlement_pending SET attempts = 5", "CHECK"),
        ("DELETE FROM settlement_pending", "leaves with its end"),
        (f"UPDATE reservations SET expires_at = expires_at + {DAY_MS}", "stays what it was"),
        ("UPDATE reservations SET queued_at = queued_at + 1", "queued once"),
        ("UPDATE reservations SET settlement = 'none', queued_at = NULL", "queued once"),
    ]
    for statement, why in refused:
        with pytest.raises(sqlite3.IntegrityError, match=why):
            run(statement)
    ledger.settle(ack)
    for statement, why in (
        ("UPDATE settlement_history SET state = 'expired'", "stays"),
        ("UPDATE reservations SET settlement = 'pending' WHERE state = 'released'", "queued once|CHECK"),
    ):
        with pytest.raises(sqlite3.IntegrityError, match=why):
            run(statement)
    assert row.key == ack.key


def unguarded(ledger: Ledger, statement: str) -> None:
    """Change rows as no program of ours could."""
    connection = ledger.store.connection
    guards = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute(statement)
    connection.execute("PRAGMA ignore_check_constraints = OFF")
    for _, sql in guards:
        connection.execute(sql)


def dump(ledger: Ledger) -> dict[str, list[tuple[object, ...]]]:
    """Every row of the ledger."""
    return {table: ledger.rows(table) for table in TABLES}
