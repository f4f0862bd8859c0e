"""Seed 000 §6, as far as the core keeps it: what a host says of a session decides inside the write; a stop by key is
exact; a process that leaves takes nothing with it. The life cycles themselves stand with `service/settling`."""

from typing import Any

import pytest

from channels.rules.settlement import Code, Item, Terminal
from channels.store.transactions.settlement import Acked, Settled
from channels.store.transactions.settlement_control import Controlled
from channels.store.tx import Tx
from tests.store.ledger.conftest import Ledger, code_of
from tests.store.ledger.test_contract_2_storage import dump


@pytest.mark.parametrize("truth", ["unknown", "truncated", "the service is missing", "an exception"])
def test_what_the_host_does_not_know_is_refused(ledger: Ledger, truth: str) -> None:
    """6.2 A guard that has no whole truth about the session refuses: no attempt, the row waits, nothing is settled."""
    ack = ledger.end()

    def guard(tx: Tx, item: Item) -> str | None:
        return f"host state {truth}"

    for _ in range(6):
        assert code_of(ledger.apply(ack, guard=guard)) is Code.GUARD_REFUSED
    row = ledger.of(ack)
    assert (row.attempts, row.last_error, row.deadline) == (0, f"host state {truth}", ack.deadline)
    assert ledger.rows("usage") == []


def test_a_guard_that_fails_settles_nothing(ledger: Ledger) -> None:
    """6.2 A guard that raises undoes the whole commit: nothing is counted, and the caller hears of it."""
    ack = ledger.end()
    before = dump(ledger)

    def guard(tx: Tx, item: Item) -> str | None:
        raise LookupError("no such service")

    with pytest.raises(LookupError):
        ledger.apply(ack, guard=guard)
    assert dump(ledger) == before


def test_an_archived_or_deleted_session_is_stopped_by_key(ledger: Ledger) -> None:
    """6.3 Key and payload hash are enough to stop exactly the session that the settlement is about; asked again it is
    done already, and nothing moves."""
    first, other = ledger.end(), ledger.end()
    key: dict[str, Any] = {"key": first.key, "payload_hash": first.payload_hash}
    assert ledger.stop("archived", **key) == Controlled(2, False, True, 1)
    assert ledger.stop("deleted", **key) == Controlled(2, False, False, 0)
    assert [row.key for row in ledger.status().pending] == [other.key]
    assert ledger.status().stops[0].reason == "archived"


def test_leaving_keeps_the_durable_rows(ledger: Ledger) -> None:
    """6.5, 6.8 Disposing, unloading, shutting down: no row goes, and the next process settles them."""
    acks = [ledger.end() for _ in range(2)]
    before = dump(ledger)
    ledger.reopen()
    assert dump(ledger) == before
    assert all(isinstance(ledger.apply(ack), Settled) for ack in acks)


def test_a_session_boundary_stops_the_old_id_exactly(ledger: Ledger) -> None:
    """6.6 The raw old id, and no other: a longer id, a shorter one and one in other letters go on."""
    turn_id = ledger.start()
    ack = ledger.finish(turn_id).settlement
    assert isinstance(ack, Acked)
    session_id = ledger.session_of(turn_id)
    for near in (f"{session_id}x", session_id[:-1], session_id.upper()):
        assert ledger.stop(session_id=near) == Controlled(ledger.generation(), False, True, 0)
    assert len(ledger.status().pending) == 1
    ledger.stop(session_id=session_id)
    fact = ledger.fact(ack.key)
    assert fact is not None and fact.state is Terminal.STOPPED
