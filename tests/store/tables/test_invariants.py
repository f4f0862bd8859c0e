"""Each invariant is broken once by hand, with the schema's own guards taken away, and must be named."""

from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from channels.ids import EventId, OpenId, OwnerEpoch, UserId
from channels.rules.access import Actor
from channels.rules.invariants import Findings
from channels.store.access_requests import open_requests
from channels.store.invariants import DELAYS, QUESTIONS, look
from channels.store.transactions.access import claim_admin, make_code
from channels.store.transactions.access_requests import Verdict, cards_to_draw, decide_request, put_access_card
from channels.store.transactions.missed import Sorting, accept_missed, open_gap
from channels.store.transactions.permissions import Pressed
from channels.store.transactions.quarantine import take_restored
from channels.store.transactions.settlement import Settled
from channels.store.transactions.web import change_settings, make_link, use_link
from channels.store.tx import Tx
from tests.store.fresh import fresh_file
from tests.store.tables.conftest import Store
from tests.store.tables.drive import (
    ACCESS,
    DRAWING,
    POLICY,
    accept,
    admit,
    ask,
    come,
    deliver_all,
    enter,
    finish,
    message,
    press,
    settle,
    spend,
    uuids,
)

DAY_MS = 24 * 3_600_000
AT_PAGE = Actor(UserId("console"), OpenId(""), "page")
DONE, RUNNING, CLOSING, QUEUED = message(1), message(2, user="bob"), message(3, user="carol"), message(4, user="dave")


@pytest.fixture
def lived(tmp_path: Path) -> Iterator[Store]:
    """A file in the middle of its life: one turn through, one running, one closing, one queued, one message asked."""
    path = tmp_path / "channels.db"
    path.write_bytes(lived_content())
    with closing(Store(path, epoch=OwnerEpoch(1))) as store:
        yield store


@cache
def lived_content() -> bytes:
    with TemporaryDirectory() as folder:
        with closing(Store(fresh_file(Path(folder) / "channels.db"))) as store:
            live(store)
        return store.path.read_bytes()


def live(store: Store) -> None:
    turn_id = admit(store, DONE)
    enter(store, turn_id)
    assert isinstance(settle(store, spend(store, turn_id, 9_000)), Settled)
    deliver_all(store, f"turn:{turn_id}")
    deliver_all(store, f"react:{turn_id}")
    running = admit(store, RUNNING)
    enter(store, running)
    for token in ("permit_allowed", "permit_open"):
        ask(store, running, token)
    deliver_all(store, "permit:permit_allowed")
    assert isinstance(press(store, "permit_allowed", 0, "bob"), Pressed)
    closing = admit(store, CLOSING)
    enter(store, closing)
    finish(store, closing)
    admit(store, QUEUED)
    accept(store, message(5, user="erin"))
    sorting = Sorting(policy=POLICY, window_ms=0, wall_ms=100, spare_batch_id="batch_1", excerpt="…")
    come(store, message(7, user="grace"))
    come(store, message(8, user="heidi"))
    draw_all(store)
    (denied,) = [one for one in store.run(open_requests, 10) if one.user_id == "heidi"]
    store.run(decide_request, denied.request_id, Verdict(False), AT_PAGE, ACCESS, store.now)
    store.run(change_settings, {"access.mode": "approval"}, AT_PAGE, store.now)
    store.run(make_link, "a" * 64, AT_PAGE.user_id, AT_PAGE, store.now)
    store.run(use_link, "a" * 64, "b" * 64, store.now)
    store.run(make_code, AT_PAGE, "c" * 64, ACCESS, store.now)
    store.run(claim_admin, Actor(UserId("ivan"), OpenId("ou_ivan"), "chat"), "c" * 64, ACCESS, store.now)
    store.run(accept_missed, message(6, user="frank"), "{}", sorting, store.epoch, store.now)


def draw_all(store: Store) -> None:
    """Every card shows its request as it is."""
    for view in store.run(cards_to_draw, 100):
        lane = store.run(put_access_card, view, DRAWING, uuids(1)[0], store.now)
        if lane is not None:
            deliver_all(store, lane)


def findings(store: Store, now: int | None = None) -> Findings:
    return store.run(look, store.now if now is None else now)


def spoil(store: Store, *statements: str) -> None:
    """Change rows as nothing in the product could: no triggers, no checks, no unique indexes, no references."""
    store.connection.execute("BEGIN")
    for kind, name in store.rows("SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'index')"):
        if not name.startswith("sqlite_autoindex"):
            store.connection.execute(f"DROP {kind} {name}")
    store.connection.execute("COMMIT")
    store.connection.execute("PRAGMA foreign_keys = OFF")
    store.connection.execute("PRAGMA ignore_check_constraints = ON")
    for statement in statements:
        store.connection.execute(statement)


def bare(table: str) -> str:
    """The table without what its columns promise."""
    made = f"CREATE TABLE bare AS SELECT * FROM {table}; DROP TABLE {table}; ALTER TABLE bare RENAME TO {table}"
    return made + ("; CREATE UNIQUE INDEX referred ON turns (turn_id)" if table == "turns" else "")


OLD_ID = "(SELECT turn_id FROM turns WHERE cause_id = 'om_1')"
RUNNING_ID = "(SELECT turn_id FROM turns WHERE cause_id = 'om_2')"
CLOSING_ID = "(SELECT turn_id FROM turns WHERE cause_id = 'om_3')"
QUEUED_ID = "(SELECT turn_id FROM turns WHERE cause_id = 'om_4')"
SAID = f"(SELECT intent_id FROM outbox WHERE turn_id = {OLD_ID} AND op = 'reply')"
RECEIPTS = "CREATE UNIQUE INDEX referred ON outbox (intent_id)"  # releases refer to it

BROKEN: dict[str, str] = {
    "foreign_keys": "UPDATE inbox SET turn = 'turn_gone' WHERE message_id = 'om_1'",
    "S2_one_turn_per_cause": f"{bare('turns')}; UPDATE turns SET cause_id = 'om_1' WHERE cause_id = 'om_3'",
    "S2_one_entered_per_session": f"""
        UPDATE turns SET state = 'entered', session_id = (SELECT session_id FROM turns WHERE turn_id = {RUNNING_ID})
        WHERE turn_id = {QUEUED_ID}""",
    "S2_one_reply_per_segment": f"""
        {bare("outbox")}; INSERT INTO outbox SELECT * FROM outbox WHERE intent_id = {SAID};
        UPDATE outbox SET intent_id = intent_id || '~1' WHERE rowid = (SELECT max(rowid) FROM outbox); {RECEIPTS}""",
    "S2_nothing_said_twice": f"""
        UPDATE outbox SET successor_of = {SAID} WHERE turn_id = {RUNNING_ID} AND op = 'reply'""",
    "S7_no_route_under_a_tombstone": "INSERT INTO expired_routes SELECT key, 1 FROM routes LIMIT 1",
    "S7_no_route_to_an_archived_session": "UPDATE sessions SET archived_at = 1",
    "deleted_session_is_empty": "UPDATE sessions SET archived_at = 1, deleted_at = 1",
    "S8_attempts_are_dated": f"UPDATE outbox SET attempts = 0 WHERE intent_id = {SAID}",
    "S10_no_epoch_from_the_future": f"UPDATE turns SET owner_epoch = 99 WHERE turn_id = {OLD_ID}",
    "S10_open_work_has_the_current_owner": "INSERT INTO owners VALUES (2, 1, 'test')",
    "S11_gate_and_inbox": "DELETE FROM inbox WHERE message_id = 'om_5'",
    "S11_inbox_and_gate": "DELETE FROM processed WHERE message_id = 'om_5'",
    "S12_one_uuid_per_intent": f"{bare('outbox')}; UPDATE outbox SET uuid = 'same'; {RECEIPTS}",
    "S12_a_successor_keeps_its_place": f"""
        UPDATE outbox SET successor_of = (SELECT intent_id FROM outbox WHERE turn_id = {CLOSING_ID} AND op = 'create')
        WHERE turn_id = {RUNNING_ID} AND op = 'create'""",
    "S13_order": f"""
        {bare("turns")}; UPDATE inbox SET conversation = 'one', received_at = 1 WHERE turn IS NOT NULL;
        UPDATE turns SET seq = 100 - seq""",
    "turn_in_the_log": f"DELETE FROM session_events WHERE kind = 'user/message' AND turn_id = {RUNNING_ID}",
    "turn_ended_in_the_log": f"DELETE FROM session_events WHERE kind = 'turn/end' AND turn_id = {OLD_ID}",
    "turn_has_its_snapshot": f"DELETE FROM inflight WHERE turn_id = {RUNNING_ID}",
    "snapshot_is_needed": f"UPDATE outbox SET state = 'done', ended_at = 1 WHERE turn_id = {CLOSING_ID}",
    "snapshot_is_kept": f"DELETE FROM inflight WHERE turn_id = {CLOSING_ID}",
    "claim_has_its_turn": f"UPDATE establishing SET turn_id = {OLD_ID}",
    "queued_row_has_an_open_turn": "UPDATE inbox SET state = 'queued', terminal_at = NULL WHERE message_id = 'om_1'",
    "open_turn_has_its_row": "UPDATE inbox SET state = 'done', terminal_at = 1 WHERE message_id = 'om_2'",
    "asked_row_has_its_card": "DELETE FROM missed_batch_messages",
    "restored_row_waits": "UPDATE inbox SET verdict = 'restored' WHERE message_id = 'om_5'",
    "file_has_its_owner": "DELETE FROM owners",
    "kept_row_has_its_request": "UPDATE access_requests SET user_id = 'other', open_id = '' WHERE state = 'open'",
    "one_open_request_per_person": "UPDATE access_requests SET user_id = 'same', state = 'open'",
    "request_is_decided_by_somebody": "UPDATE access_requests SET decided_by = NULL WHERE state = 'denied'",
    "request_is_decided_once": "UPDATE access_requests SET state = 'approved' WHERE state = 'denied'",
    "request_is_shown_to_who_asks": "DELETE FROM access_cards WHERE holder = 'applicant'",
    "card_shows_no_future": "UPDATE access_cards SET drawn = 99",
    "claim_code_in_its_time": "UPDATE claim_codes SET used_at = expires_at",
    "login_link_in_its_time": "UPDATE web_logins SET opened_at = link_expires_at",
    "setting_has_its_record": "DELETE FROM audit WHERE action = 'settings.changed'",
    "asked_by_a_running_turn": f"""
        INSERT INTO permission_requests (token, turn_id, start_epoch, owner_epoch, chat_id, tool, kind, agent, question,
                                         state, created_at, due_at)
        VALUES ('t', {OLD_ID}, 1, 1, 'oc_1', 'tool', 'edit', 'demo', '{{}}', 'pending', 1, 1)""",
    "allowed_by_somebody": f"""
        INSERT INTO permission_requests (token, turn_id, start_epoch, owner_epoch, chat_id, tool, kind, agent, question,
                                         state, choice, created_at, due_at, decided_at)
        VALUES ('t', {OLD_ID}, 1, 1, 'oc_1', 'tool', 'edit', 'demo', '{{"options":[]}}', 'allowed', 0, 1, 1, 1)""",
    "S4_windows_balance": "UPDATE quotas SET turns_limit = 5, turns_free = 5 WHERE user_id = 'alice'",
    "S4_held_is_reserved": "UPDATE quotas SET tokens_held = 0 WHERE user_id = 'dave'",
    "S4_used_was_released": "UPDATE quotas SET tokens_used = 8999 WHERE user_id = 'alice' AND period = 'month'",
    "S4_reserved_is_held": "DELETE FROM quotas WHERE user_id = 'dave' AND period = 'day'",
    "S4_turn_is_reserved": f"UPDATE turns SET reservation = 'reservation:gone' WHERE turn_id = {QUEUED_ID}",
    "S5_released_once": "DELETE FROM releases",
    "S5_release_has_its_receipt": "UPDATE releases SET receipt = NULL",
    "S5_receipt_has_its_release": """
        INSERT INTO outbox (intent_id, kind, op, lane, place, chat_id, target, payload, uuid, terminal, state,
                            next_attempt_at, created_at, ended_at)
        VALUES ('another', 'receipt', 'receipt', 'another', 1, '', '', '', 'another', 0, 'done', 1, 1, 1)""",
    "S5_release_has_its_usage": "UPDATE usage SET input_tokens = 1",
    "S6_own_evidence_only": f"UPDATE turns SET start_epoch = 2 WHERE turn_id = {OLD_ID}",
    "S7_a_stopped_session_never_settles": f"""
        INSERT INTO settlement_stops SELECT session_hash, 1, 'test', 1, 1 FROM reservations
        WHERE turn_id = {OLD_ID}""",
    "S8_deadlines_stay": "UPDATE settlement_pending SET deadline = deadline + 1",
    "S8_settled_in_time": "UPDATE reservations SET queued_at = queued_at - 300001 WHERE state = 'released'",
    "S8_queued_as_it_says": "DELETE FROM settlement_pending",
    "S9_a_pause_holds": "INSERT INTO settlement_control VALUES (1, 1, 2, 1, 1, 1)",
    "settlement_bounds": """
        WITH RECURSIVE more (place) AS (VALUES (1) UNION ALL SELECT place + 1 FROM more WHERE place < 33)
        INSERT INTO settlement_history
        SELECT place + 1, substr(hex(zeroblob(32)) || place, -64), 1, hex(zeroblob(32)), '', hex(zeroblob(32)),
               'settled', '', '', 0, 1, 1, 1 FROM more""",
}

MANY = "WITH RECURSIVE more (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM more WHERE n < 65)"
NTH = "substr(hex(zeroblob(32)) || n, -64)"
# The other ways in which the ledger's can be broken: each clause of a question alone.
BROKEN_OTHERWISE: tuple[tuple[str, str], ...] = (
    ("S4_windows_balance", "UPDATE quotas SET tokens_limit = 5, tokens_free = 5 WHERE user_id = 'alice'"),
    ("S4_windows_balance", "UPDATE quotas SET tokens_limit = 5 WHERE user_id = 'alice'"),
    ("S4_windows_balance", "UPDATE quotas SET turns_free = 5 WHERE user_id = 'alice'"),
    ("S4_windows_balance", "UPDATE quotas SET turns_held = -1 WHERE user_id = 'alice'"),
    ("S4_held_is_reserved", "UPDATE quotas SET turns_held = 0 WHERE user_id = 'dave' AND period = 'month'"),
    ("S4_used_was_released", "UPDATE quotas SET turns_used = 2 WHERE user_id = 'alice' AND period = 'day'"),
    ("S4_used_was_released", "UPDATE quotas SET tokens_used = 8999 WHERE user_id = 'alice' AND period = 'day'"),
    ("S4_reserved_is_held", "DELETE FROM quotas WHERE user_id = 'dave' AND period = 'month'"),
    ("S5_released_once", "UPDATE reservations SET state = 'held' WHERE state = 'released'"),
    ("S5_receipt_has_its_release", "UPDATE outbox SET state = 'pending' WHERE kind = 'receipt'"),
    ("S5_release_has_its_usage", "DELETE FROM usage"),
    ("S5_release_has_its_usage", "UPDATE usage SET late = 1"),
    ("S5_release_has_its_usage", "UPDATE usage SET turns = 0"),
    ("S5_release_has_its_usage", "UPDATE usage SET day_overrun = 1"),
    ("S5_release_has_its_usage", "UPDATE usage SET month_overrun = 1"),
    ("S6_own_evidence_only", f"UPDATE turns SET owner_epoch = 9 WHERE turn_id = {OLD_ID}"),
    ("S6_own_evidence_only", "UPDATE evidence SET kind = 'stale'"),
    (
        "S7_a_stopped_session_never_settles",
        "INSERT INTO settlement_stops SELECT session_hash, 1, 'test', 99, 1 FROM settlement_pending",
    ),
    ("S8_deadlines_stay", "UPDATE settlement_pending SET queued_at = queued_at - 1"),
    ("S8_deadlines_stay", "UPDATE settlement_pending SET attempts = 5"),
    ("S8_settled_in_time", "UPDATE reservations SET queued_at = NULL WHERE state = 'released'"),
    ("S8_settled_in_time", "UPDATE releases SET released_at = released_at + 300001"),
    ("S8_queued_as_it_says", "UPDATE reservations SET settlement = 'none' WHERE settlement = 'pending'"),
    ("settlement_bounds", f"{MANY} INSERT INTO settlement_stops SELECT {NTH}, 1, '', 1, 1 FROM more"),
    (
        "settlement_bounds",
        f"{MANY} INSERT INTO settlement_pending SELECT {NTH}, 1, {NTH}, '', {NTH}, 'r' || n, '', 1, 1, 0, 1, ''"
        " FROM more",
    ),
)


def test_a_file_in_the_middle_of_its_life_holds_all_of_them(lived: Store) -> None:
    assert findings(lived) == Findings((), ())
    lived.now += DAY_MS // 24
    lived.reboot()
    assert findings(lived).violations == ()
    lived.run(take_restored, "uuid", "test", "in a test", 0, lived.now, lived.now)
    assert findings(lived).violations == ()


@pytest.mark.parametrize("name", [name for name, _, _ in QUESTIONS])
def test_each_is_noticed_when_it_is_broken(lived: Store, name: str) -> None:
    spoil(lived, *BROKEN[name].split(";"))
    found = findings(lived).violations
    assert name in {one.name for one in found}, found
    assert all(one.subject and one.text for one in found)


@pytest.mark.parametrize(("name", "statement"), BROKEN_OTHERWISE)
def test_each_clause_of_the_ledgers_is_noticed(lived: Store, name: str, statement: str) -> None:
    spoil(lived, statement)
    assert name in {one.name for one in findings(lived).violations}


def make_gap(tx: Tx, now: int) -> None:
    open_gap(tx, now - 5, "boot", 0, now, now, sweeping=False)


class TestDelays:
    def test_what_waits_for_nobody_is_named_in_the_end(self, lived: Store) -> None:
        lived.run(make_gap, lived.now)
        names = {one.name for one in findings(lived, lived.now + 16 * DAY_MS).delays}
        assert names >= {
            "L1_intent_overdue",
            "L1_intent_old",
            "L1_message_undecided",
            "L1_turn_not_started",
            "L1_claim_open",
            "L1_gap_open",
            "L1_request_not_expired",
            "L1_decision_not_shown",
            "L1_permission_open",
            "L1_permission_not_shown",
            "L1_reservation_lingers",
            "L1_settlement_overdue",
        }
        lived.reboot()
        assert "L1_turn_not_repaired" in {one.name for one in findings(lived, lived.now + DAY_MS).delays}
        lived.run(take_restored, "uuid", "test", "in a test", 0, lived.now, lived.now)
        found = findings(lived, lived.now + DAY_MS).delays
        assert "L1_restored_row_waits" in {one.name for one in found}
        assert {name for name, _, _ in DELAYS} == names | {"L1_turn_not_repaired", "L1_restored_row_waits"}

    def test_what_waits_for_a_person_is_not(self, lived: Store) -> None:
        found = findings(lived, lived.now + 16 * DAY_MS).delays
        assert "om_6" not in {one.subject for one in found}
        assert EventId("om_5") in {one.subject for one in found}


def test_a_look_changes_nothing(lived: Store) -> None:
    before = lived.connection.total_changes
    findings(lived)
    assert lived.connection.total_changes == before + 1, "the commit counter of the test's own transaction"
