"""Report 008, C and D, over the product's own functions: one release per reservation, by its own evidence only.

The named scenarios over real processes come with `tests.crash.report_008`; here each is tried in one file.
"""

import itertools
from dataclasses import replace

import pytest

from channels.ids import OwnerEpoch, StartEpoch, TurnId
from channels.rules.settlement import Caller, Code, EvidenceRef
from channels.store import evidence, reservations, turns
from channels.store.evidence import Said, executor_of
from channels.store.transactions.books import read_books
from channels.store.transactions.repair import repair_turn
from channels.store.transactions.run import Lease, finish_turn
from channels.store.transactions.settle import Spent
from channels.store.transactions.settlement import Acked, Settled, enqueue
from channels.store.transactions.settlement_facts import Refused
from tests.store.ledger.conftest import Ledger, code_of
from tests.store.tables import drive
from tests.store.tables.drive import finish_of, lease_of, turn_of


def store_evidence(ledger: Ledger, turn_id: TurnId, ref: EvidenceRef, tokens: int) -> bool:
    """Somebody says how this turn ended."""
    reservation_id, said = reservations.reservation_of(turn_id), Said("completed", "demo", input_tokens=tokens)
    return ledger.store.run(evidence.insert_evidence, reservation_id, ref, said, OwnerEpoch(1), ledger.store.now)


def queue(ledger: Ledger, turn_id: TurnId, ref: EvidenceRef) -> Acked | Refused:
    return ledger.store.run(enqueue, reservations.reservation_of(turn_id), ref, ledger.host, ledger.store.now)


def test_c4_two_proofs_of_one_reservation_release_it_once(ledger: Ledger) -> None:
    """Whichever comes first settles; the other is kept, grants nothing, and is told that it is too late."""
    ledger.pause()
    turn_id = ledger.start("alice")
    ledger.finish(turn_id, tokens=500)
    ledger.resume()
    other = EvidenceRef(StartEpoch(1), executor_of(OwnerEpoch(1)), "repaired")
    assert store_evidence(ledger, turn_id, other, 900)
    first = queue(ledger, turn_id, other)
    assert isinstance(first, Acked)
    assert code_of(queue(ledger, turn_id, replace(other, kind="ended"))) is Code.CONFLICT
    ledger.settle(first)
    assert code_of(queue(ledger, turn_id, replace(other, kind="ended"))) is Code.EVENT_CONFLICT
    assert ledger.store.rows("SELECT count(*), sum(input_tokens) FROM usage") == [(1, 900)]
    assert ledger.store.rows("SELECT count(*) FROM releases") == [(1,)]
    assert ledger.store.rows("SELECT count(*) FROM evidence") == [(2,)]
    assert ledger.store.rows("SELECT turns_held, turns_used, tokens_used FROM quotas") == [(0, 1, 900)] * 2


def test_d1_the_same_resource_is_not_the_same_reservation(ledger: Ledger) -> None:
    """Two turns of one session, the first one's evidence: nothing of it is given to the second, which stays held."""
    first = ledger.start("alice")
    ledger.deliver()
    second = ledger.ask("alice", thread=f"omt_{first}")
    assert second.turn_id is not None and ledger.session_of(second.turn_id) == ledger.session_of(first)
    done = ledger.finish(first, tokens=700)
    assert isinstance(done.settlement, Acked)
    ledger.settle(done.settlement)
    assert ledger.reservation(first).state == "released"
    assert ledger.reservation(second.turn_id).state == "held"
    ref = EvidenceRef(StartEpoch(1), executor_of(ledger.store.epoch), "ended")
    assert code_of(queue(ledger, second.turn_id, ref)) is Code.INVALID_EVIDENCE
    assert ledger.sweep().closed == 0
    assert ledger.reservation(second.turn_id).state == "held"


@pytest.mark.parametrize(
    ("start", "executor", "kind"),
    [
        combination
        for combination in itertools.product((1, 2), ("boot:1", "boot:2"), ("ended", "repaired"))
        if combination != (2, "boot:2", "ended")
    ],
)
def test_d2_every_part_of_the_identity_counts(ledger: Ledger, start: int, executor: str, kind: str) -> None:
    """A turn that boot 2 has started as its second start. Evidence of another start or another executor (each varied
    by itself) is kept and does not release; another kind of the right start and executor is that start's own word."""
    decided = ledger.ask("alice")
    assert decided.turn_id is not None
    ledger.reopen()
    assert drive.enter(ledger.store, decided.turn_id)
    ref = EvidenceRef(StartEpoch(start), executor, kind)
    assert store_evidence(ledger, decided.turn_id, ref, 900)
    assert code_of(queue(ledger, decided.turn_id, ref)) is Code.INVALID_EVIDENCE, "the turn still runs"
    ledger.pause()
    ledger.finish(decided.turn_id, tokens=300)
    ledger.resume()
    answer = queue(ledger, decided.turn_id, ref)
    if (start, executor) == (2, "boot:2"):
        assert isinstance(answer, Acked)
        return
    assert code_of(answer) is Code.INVALID_EVIDENCE
    assert ledger.reservation(decided.turn_id).state == "held"
    own = EvidenceRef(StartEpoch(2), "boot:2", "ended")
    settled = queue(ledger, decided.turn_id, own)
    assert isinstance(settled, Acked)
    ledger.settle(settled)
    assert ledger.store.rows("SELECT input_tokens FROM usage") == [(300,)]
    assert ledger.store.rows("SELECT count(*) FROM evidence") == [(2,)]


def test_d3_what_a_deposed_owner_says_is_kept_and_powerless(ledger: Ledger) -> None:
    """The old boot's finish comes after the takeover: its evidence is stored, the turn is not ended by it, nothing is
    released; the new owner ends it and releases once."""
    turn_id = ledger.start("alice")
    old = lease_of(ledger.store, turn_id)
    ledger.reopen()
    said = replace(finish_of("completed"), spent=Spent(5_000, model="m"))
    assert ledger.store.run(finish_turn, old, said, ledger.store.now) is None
    ((executor, owner, tokens),) = ledger.store.rows("SELECT executor, owner_epoch, input_tokens FROM evidence")
    assert (executor, owner, tokens) == ("boot:1", 1, 5_000)
    assert turn_of(ledger.store, turn_id).state == "unknown" and ledger.reservation(turn_id).state == "held"
    turn = turn_of(ledger.store, turn_id)
    done = ledger.store.run(repair_turn, turn, finish_of("interrupted"), ledger.store.epoch, ledger.store.now)
    assert done is not None and isinstance(done.settlement, Acked)
    for caller in (Caller(None, OwnerEpoch(1)), Caller("demo", OwnerEpoch(1))):
        assert code_of(ledger.apply(done.settlement, caller=caller)) is Code.STALE_CONTROL
    assert isinstance(ledger.apply(done.settlement), Settled)
    assert ledger.store.rows("SELECT owner_epoch, executor FROM releases") == [(2, "boot:2")]
    assert len(ledger.rows("evidence")) == 2
    assert ledger.store.run(finish_turn, old, said, ledger.store.now) is None, "and once more changes nothing"
    assert len(ledger.rows("evidence")) == 2 and len(ledger.rows("releases")) == 1


def test_the_sweep_goes_by_its_own_evidence_whatever_was_said_after_it(ledger: Ledger) -> None:
    """Somebody who never owned this start says something later: it is kept, and the own word settles."""
    ledger.pause()
    turn_id = ledger.start()
    ledger.finish(turn_id, tokens=300)
    ledger.resume()
    ledger.store.now += 1
    store_evidence(ledger, turn_id, EvidenceRef(lease_of(ledger.store, turn_id).start_epoch, "boot:99", "ended"), 999)
    assert ledger.sweep().queued == 1
    (row,) = ledger.status().pending
    ledger.settle(Acked(row.key, row.payload_hash, 0, 0, 0))
    assert ledger.store.rows("SELECT input_tokens, late FROM usage") == [(300, 0)]


def test_what_was_said_first_stays(ledger: Ledger) -> None:
    """The same start, executor and kind with other numbers: the first word counts, and is what settles."""
    turn_id = ledger.start("alice")
    ref = EvidenceRef(StartEpoch(1), executor_of(ledger.store.epoch), "ended")
    assert store_evidence(ledger, turn_id, ref, 111)
    assert not store_evidence(ledger, turn_id, ref, 222)
    done = ledger.finish(turn_id, tokens=333)
    assert isinstance(done.settlement, Acked)
    ledger.settle(done.settlement)
    assert ledger.store.rows("SELECT input_tokens FROM usage") == [(111,)]


def test_evidence_comes_before_what_follows_from_it(ledger: Ledger) -> None:
    """In the commit that ends a turn, the evidence is the first thing written."""
    turn_id = ledger.start("alice")
    order: list[str] = []
    ledger.store.connection.set_trace_callback(lambda sql: order.append(" ".join(sql.split()[:3])))
    ledger.finish(turn_id)
    ledger.store.connection.set_trace_callback(None)
    writes = [each for each in order if each.startswith(("INSERT INTO", "UPDATE")) and "meta" not in each]
    assert writes[0] == "INSERT INTO evidence"
    assert "UPDATE turns SET" in writes[1]


def test_a_turn_from_before_there_were_reservations_ends_as_ever(ledger: Ledger) -> None:
    """An open turn of an older file has none: it ends, and nothing is booked."""
    turn_id = ledger.start("alice")
    for trigger in ("reservations_kept", "quotas_move_for_a_reason"):
        ledger.store.connection.execute(f"DROP TRIGGER {trigger}")
    ledger.store.connection.execute("PRAGMA foreign_keys = OFF")
    ledger.store.connection.execute("DELETE FROM reservations")
    done = ledger.finish(turn_id)
    assert done.settlement is None and done.outcome == "completed"
    assert ledger.rows("evidence") == [] and ledger.store.run(turns.unknown_turns, 5) == []


def test_a_lease_that_was_never_right_leaves_its_word_only(ledger: Ledger) -> None:
    """A start that another has overtaken within one boot."""
    turn_id = ledger.start("alice")
    lease = lease_of(ledger.store, turn_id)
    stranger = Lease(lease.turn_id, lease.session_id, StartEpoch(7), lease.owner_epoch)
    assert ledger.store.run(finish_turn, stranger, finish_of(), ledger.store.now) is None
    assert ledger.store.rows("SELECT start_epoch FROM evidence") == [(7,)]
    assert turn_of(ledger.store, turn_id).state == "entered"


def test_what_was_used_stands_per_person_session_agent_and_model(ledger: Ledger) -> None:
    """Also of a turn that failed and of one that was stopped; and the parts make the whole."""
    said = (
        ("alice", "demo", "small", "completed", Spent(100, 10, 5, "demo", "small")),
        ("alice", "demo", "large", "failed", Spent(200, 20, 0, "demo", "large")),
        ("bob", "acp", "small", "stopped", Spent(300, 30, 0, "acp", "small")),
    )
    sessions = []
    for user, _, _, outcome, spent in said:
        turn_id = ledger.start(user)
        sessions.append(ledger.session_of(turn_id))
        finish = replace(finish_of(outcome), spent=spent)
        done = ledger.store.run(finish_turn, lease_of(ledger.store, turn_id), finish, ledger.store.now)
        assert done is not None and isinstance(done.settlement, Acked)
        ledger.settle(done.settlement)
        ledger.store.now += 1
    columns = "user_id, session_id, agent, model, outcome, input_tokens, output_tokens, cached_tokens"
    assert ledger.store.rows(f"SELECT {columns} FROM usage ORDER BY queued_at") == [
        (user, session_id, agent, model, outcome, *spent.tokens)
        for (user, agent, model, outcome, spent), session_id in zip(said, sessions, strict=True)
    ]
    books = ledger.store.run(read_books, 0, "user", "agent", "model")
    tokens = {by: {name: used.tokens for name, used in parts.items()} for by, parts in books.by.items()}
    assert tokens == {
        "user": {"alice": 330, "bob": 330},
        "agent": {"demo": 330, "acp": 330},
        "model": {"small": 440, "large": 220},
    }
    assert (books.all.turns, books.all.sessions, books.all.tokens, books.all.cached_tokens) == (3, 3, 660, 5)
