"""One real domain file with short words for what the ledger does, for the tests of this folder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from channels.ids import SessionId, TurnId
from channels.rules.quota import Limits, QuotaPolicy
from channels.rules.settlement import Caller, Code, Item, parse_stop, session_hash
from channels.store import inbox, reservations, settlement_control, settlements
from channels.store.settlements import Fact, PendingRow
from channels.store.transactions.admit import Admission, Decided, decide_message
from channels.store.transactions.closing import Swept, sweep_reservations
from channels.store.transactions.run import Finished, finish_turn
from channels.store.transactions.settle import Spent
from channels.store.transactions.settlement import Acked, Guard, Settled, Status, apply, enqueue, status
from channels.store.transactions.settlement_control import Controlled, pause, resume, stop
from channels.store.transactions.settlement_facts import Refused, find_fact
from channels.store.tx import Tx
from tests.store.fresh import fresh_file
from tests.store.tables import drive
from tests.store.tables.conftest import Store
from tests.store.tables.drive import DRAWING, NUMBERS, POLICY, message, uuids

HOUR_MS, DAY_MS = 3_600_000, 86_400_000


@dataclass
class Ledger:
    """`now` of the store is the clock. Every method is one commit (an `end` is three: admit, enter, finish)."""

    store: Store
    quota: QuotaPolicy = field(default_factory=QuotaPolicy)
    asked: int = 0

    @property
    def host(self) -> Caller:
        return Caller(None, self.store.epoch)

    def limit(self, **limits: int) -> None:
        """From now on the settings say so."""
        self.quota = replace(self.quota, limits=Limits(**limits))

    def ask(self, user: str = "alice", *, thread: str | None = None) -> Decided:
        """A person asks, once the topics of earlier questions are there; the message is decided."""
        self.deliver()
        self.asked += 1
        one = message(10_000 + self.asked, user=user, thread=thread)
        drive.accept(self.store, one)
        rows = self.store.run(inbox.open_rows, self.store.now, 1_000)
        (row,) = [row for row in rows if row.message_id == one.envelope.message_id]
        number = next(NUMBERS)
        admission = Admission(
            turn_id=TurnId(f"turn_{number}"),
            session_id=SessionId(f"session_{number}"),
            uuids=uuids(4),
            agent="demo",
            cwd="",
            thinking=DRAWING,
            waiting=DRAWING,
            expired=DRAWING,
            message_json='{"text":"question"}',
            draw_quota=lambda short: replace(DRAWING, text=f"{short.unit} {short.period} {short.ends_at}"),
        )
        policy = replace(POLICY, quota=self.quota)
        decided = self.store.run(decide_message, row, one, policy, admission, self.store.epoch, self.store.now)
        assert isinstance(decided, Decided), decided
        return decided

    def deliver(self) -> None:
        """Every answer gets its topic."""
        for (turn_id,) in self.store.rows("SELECT turn_id FROM establishing WHERE state = 'open'"):
            drive.deliver_all(self.store, f"turn:{turn_id}", thread=f"omt_{turn_id}")

    def start(self, user: str | None = None) -> TurnId:
        """A turn that runs; of a person of its own where nobody is named, so that none waits for another."""
        decided = self.ask(user or f"user_{self.asked + 1}")
        assert decided.turn_id is not None, decided
        assert drive.enter(self.store, decided.turn_id)
        return decided.turn_id

    def finish(self, turn_id: TurnId, tokens: int = 100, outcome: str = "completed") -> Finished:
        finish = replace(drive.finish_of(outcome), spent=Spent(tokens, 0, 0, "", "model"))
        done = self.store.run(finish_turn, drive.lease_of(self.store, turn_id), finish, self.store.now)
        assert done is not None
        return done

    def end(self, tokens: int = 100, user: str | None = None, outcome: str = "completed") -> Acked:
        """A turn from its question to its end; what the finish acknowledged."""
        done = self.finish(self.start(user), tokens, outcome)
        assert isinstance(done.settlement, Acked), done
        return done.settlement

    def of(self, ack: Acked) -> PendingRow:
        row = self.store.run(settlements.find_pending, ack.key)
        assert row is not None
        return row

    def session_of(self, turn_id: TurnId) -> SessionId:
        return drive.turn_of(self.store, turn_id).session_id

    def reservation(self, turn_id: TurnId) -> reservations.Reservation:
        found = self.store.run(reservations.find_by_turn, turn_id)
        assert found is not None
        return found

    def enqueue(self, row: PendingRow, caller: Caller | None = None) -> Acked | Refused:
        """The same once more."""
        reservation_id, ref = row.item.receipt.reservation_id, row.item.evidence
        return self.store.run(enqueue, reservation_id, ref, caller or self.host, self.store.now)

    def generation(self) -> int:
        control = self.store.run(settlement_control.read_control)
        assert control is not None
        return control.generation

    def apply(
        self,
        ack: Acked | PendingRow | Fact,
        *,
        generation: int | None = -1,
        caller: Caller | None = None,
        guard: Guard | None = None,
        payload_hash: str | None = None,
    ) -> Settled | Refused:
        """With the current generation and the host's right, unless told otherwise."""
        current = self.generation() if generation == -1 else generation
        hashed = payload_hash or ack.payload_hash
        return self.store.run(apply, ack.key, hashed, current, caller or self.host, guard, self.store.now)

    def settle(self, ack: Acked) -> Fact:
        done = self.apply(ack)
        assert isinstance(done, Settled), done
        return done.fact

    def stop(self, reason: str = "test", caller: Caller | None = None, **request: object) -> Controlled | Refused:
        parsed = parse_stop(request)
        assert parsed is not None, "invalid_input"
        return self.store.run(stop, parsed, reason, caller or self.host, self.store.now)

    def pause(self) -> Controlled | Refused:
        return self.store.run(pause, self.host, self.store.now)

    def resume(self) -> Controlled | Refused:
        return self.store.run(resume, self.host, self.store.now)

    def status(self) -> Status:
        shown = self.store.run(status, self.store.now)
        assert isinstance(shown, Status), shown
        return shown

    def sweep(self) -> Swept:
        return self.store.run(sweep_reservations, self.store.epoch, self.store.now)

    def fact(self, key: str) -> Fact | None:
        return self.store.run(find_fact, key)

    def rows(self, table: str) -> list[tuple[object, ...]]:
        return self.store.rows(f"SELECT * FROM {table}")

    def reservation_states(self) -> list[str]:
        """In the order of reserving."""
        return [row[0] for row in self.store.rows("SELECT state FROM reservations ORDER BY reserved_at, rowid")]

    def reopen(self) -> None:
        """The process dies and another takes the file over."""
        self.store.reboot()


@dataclass(frozen=True)
class Fault:
    """Statements that break what a trial relies on, with the schema's guards out of the way."""

    statements: tuple[str, ...]

    def spoil(self, store: Store) -> None:
        guards = store.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'evidence%'")
        for name, _ in guards:
            store.connection.execute(f"DROP TRIGGER {name}")
        for statement in self.statements:
            store.connection.execute(statement)
        for _, sql in guards:
            store.connection.execute(sql)


WRONG_EVIDENCE = Fault(("UPDATE evidence SET hash = substr(hash, 2) || 'f'",))


def refuse(why: str) -> Callable[[Tx, Item], str | None]:
    return lambda tx, item: why


def code_of(answer: object) -> Code:
    assert isinstance(answer, Refused), answer
    return answer.code


def hash_of_session(session_id: str) -> str:
    return session_hash(SessionId(session_id))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    store = Store(fresh_file(tmp_path / "channels.db"))
    store.connection.execute("PRAGMA synchronous = OFF")  # nobody cuts the power here
    yield Ledger(store)
    store.close()
