"""Seed 000 §5, as far as the core keeps it; the scheduler's half stands with `service/settling`. See `contract.py`."""

import hashlib

import pytest

from channels.ids import SessionId
from channels.rules import settlement as rules
from channels.rules.settlement import Code, Item, Terminal, identify, session_hash
from channels.store import inbox, turns
from channels.store.transactions.settlement import Acked, Settled
from channels.store.transactions.settlement_facts import Refused
from channels.store.tx import Tx
from tests.store.ledger.conftest import WRONG_EVIDENCE, Ledger, code_of, refuse
from tests.store.ledger.test_contract_2_storage import dump


def test_nothing_is_replayed_but_the_settlement(ledger: Ledger) -> None:
    """5.0 Settling again touches the ledger only: no turn is queued, no message, no log entry, no effect at Feishu."""
    acks = [ledger.end() for _ in range(3)]
    others = ("turns", "inbox", "session_events", "inflight", "processed")
    before = {table: ledger.rows(table) for table in others}
    effects = ledger.store.rows("SELECT count(*) FROM outbox WHERE kind <> 'receipt'")
    for ack in acks:
        for _ in range(2):
            ledger.apply(ack)
    ledger.sweep()
    assert {table: ledger.rows(table) for table in others} == before
    assert ledger.store.rows("SELECT count(*) FROM outbox WHERE kind <> 'receipt'") == effects
    assert ledger.store.run(inbox.open_rows, ledger.store.now, 10) == []
    assert ledger.store.run(turns.runnable_turns, ledger.store.epoch, 10) == []


def test_only_the_core_ends_what_was_acknowledged(ledger: Ledger) -> None:
    """5.1 After the acknowledgement every end is written here: a deadline that passes changes nothing by itself."""
    ack = ledger.end()
    before = dump(ledger)
    ledger.store.now = ack.deadline + 1
    ledger.reopen()
    assert dump(ledger) == before and ledger.fact(ack.key) is None
    assert ledger.status().pending[0].state == "overdue", "told as it is, and not as an end"
    assert code_of(ledger.apply(ack)) is Code.EXPIRED


def test_the_last_attempt_sits_on_the_deadline(ledger: Ledger) -> None:
    """5.2 A wait that would cross the deadline ends on it; there the core still tries, and one later it expires."""
    ack = ledger.end()
    WRONG_EVIDENCE.spoil(ledger.store)
    ledger.store.now = ack.deadline - 100
    answer = ledger.apply(ack)
    assert isinstance(answer, Refused) and answer.next_attempt_at == ack.deadline
    ledger.store.now = ack.deadline
    assert ledger.status().pending[0].state == "ready", "not overdue yet"
    on_it = ledger.apply(ack)
    assert isinstance(on_it, Refused) and (on_it.code, on_it.attempts) == (Code.FAILED, 2)
    ledger.store.now += 1
    assert code_of(ledger.apply(ack)) is Code.EXPIRED


def test_permission_is_asked_inside_the_write(ledger: Ledger) -> None:
    """5.4 The guard sees the very transaction that settles: item, life cycle and deadline are judged where it is
    written, and what it forbids leaves nothing but its reason."""
    ack, seen = ledger.end(), []

    def guard(tx: Tx, item: Item) -> str | None:
        turn = turns.find_turn_by_cause(tx, "message", "om_10001")
        seen.append((item.receipt.reservation_id, turn is not None and turn.state))
        return None

    done = ledger.apply(ack, guard=guard)
    assert isinstance(done, Settled) and not done.duplicate
    ((reservation_id, state),) = seen
    assert (str(reservation_id).partition(":")[0], state) == ("reservation", "ended")
    other = ledger.end()
    before = dump(ledger)
    assert code_of(ledger.apply(other, guard=refuse("the session is being deleted"))) is Code.GUARD_REFUSED
    after = dump(ledger)
    assert {table for table in before if before[table] != after[table]} == {"settlement_pending"}
    assert ledger.of(other).last_error == "the session is being deleted"


def test_a_stop_touches_its_own_session_only(ledger: Ledger) -> None:
    """5.5 Exact and per session: the others go on, under the new generation; only the user's pause is for all."""
    stopped, others = ledger.start(), [ledger.end() for _ in range(3)]
    ack = ledger.finish(stopped).settlement
    assert isinstance(ack, Acked)
    ledger.stop(session_id=ledger.session_of(stopped))
    assert {row.key for row in ledger.status().pending} == {each.key for each in others}
    assert code_of(ledger.apply(others[0], generation=ack.generation)) is Code.STALE_CONTROL
    assert isinstance(ledger.apply(others[0]), Settled)
    ledger.pause()
    assert {code_of(ledger.apply(each)) for each in others[1:]} == {Code.PAUSED}


@pytest.mark.parametrize("session_id", ["session_1", "会话-7", "Ünï code", "a" * 200])
def test_a_session_is_hashed_by_one_rule(session_id: str) -> None:
    """5.5 sha256 of the id's UTF-8; the id itself is handed back unchanged once it was checked."""
    checked = identify(session_id)
    assert checked == session_id
    assert session_hash(SessionId(session_id)) == hashlib.sha256(session_id.encode("utf-8")).hexdigest()


def test_the_row_shows_the_hash_that_a_stop_would_have(ledger: Ledger) -> None:
    """5.5 A client finds its session's rows by the public session hash alone."""
    turn_id = ledger.start()
    ledger.finish(turn_id)
    (row,) = ledger.status().pending
    assert row.session_hash == rules.session_hash(ledger.session_of(turn_id))
    ledger.stop(session_id=ledger.session_of(turn_id))
    assert ledger.status().stops[0].session_hash == row.session_hash
    assert ledger.status().history[0].state is Terminal.STOPPED
