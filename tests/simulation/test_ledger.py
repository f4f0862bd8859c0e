"""The whole ledger against the model of `ledger_model.py`, in any order that hypothesis finds: asking, ending,
settling, stopping, pausing, sweeping, killed processes, clocks that go on or back, and older copies put back.

A real domain file with the product's settings (WAL, EXCLUSIVE, synchronous FULL), on tmpfs where there is one. A killed
process is an image of the file and its -wal as they lie there. After every step everything that the ledger holds is
compared, and the ledger's own invariants are asked.
"""

import copy
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from channels.ids import ChatId, OpenId, OwnerEpoch, SessionId, TurnId, UserId
from channels.rules.access import Actor
from channels.rules.quota import Limits, QuotaPolicy
from channels.rules.settlement import Caller, StopKey, StopSession
from channels.store import invariants_ledger, sessions, turns
from channels.store.transactions.books import read_accounts, read_books, read_used
from channels.store.transactions.boot import read_floor
from channels.store.transactions.closing import BEGINNING, Place, sweep_reservations
from channels.store.transactions.repair import repair_turn
from channels.store.transactions.reserve import LimitChange, find_shortage, insert_reserved_turn, set_limits
from channels.store.transactions.run import Finish, finish_turn
from channels.store.transactions.settle import Spent
from channels.store.transactions.settlement import Acked, Settled, apply, status
from channels.store.transactions.settlement_control import Controlled, pause, resume, stop
from channels.store.transactions.settlement_facts import Refused
from channels.store.tx import Tx
from tests.simulation.ledger_model import ATTEMPTS, DAY, PENDING, STOPS, Model, Turn
from tests.store.fresh import fresh_file
from tests.store.tables.conftest import Store
from tests.store.tables.drive import lease_of, turn_of

EXAMPLES, STEPS, LEAST = 20, 100, 10_000  # examples of one seed; seeds until there are the least steps
USERS = st.sampled_from(["alice", "bob", ""])
USUALLY = st.sampled_from([True, True, True, False])
TOKENS = st.sampled_from([0, 1, 700, 8_000, 20_000, 90_000])
LIMIT = st.sampled_from([None, 1, 3, 9, 40])
CAP = st.sampled_from([None, 500, 9_000, 30_000, 200_000])
WAITS = st.sampled_from([1, 250, 60_000, 299_999, 300_001, 3_600_000, 86_400_000])
ADMIN = Actor(UserId("u_admin"), OpenId(""), "cli")
RAM = Path("/dev/shm")
ENDS = Finish("completed", (), (), (), ())


# What comes about for certain, by the directed sequences: hypothesis draws otherwise when other modules are loaded.
MUST_BE_SEEN = {
    *("overrun", "several rows stopped at once", "reserved", "short", "closed late"),
    *("restored", "crashed", "the clock went back"),
    *("enqueue: queued", "enqueue: settlement_stopped", "enqueue: settlement_paused"),
    *("enqueue: settlement_outbox_full", "enqueue: settlement_receipt_expired"),
    *("apply: settled", "apply: settlement_stale_control", "apply: settlement_paused", "apply: settlement_expired"),
    *("apply: settlement_guard_refused", "apply: settlement_failed", "apply: duplicate settled"),
    *("apply: duplicate expired", "apply: duplicate failed", "apply: duplicate stopped"),
    *("stop: changed", "stop: unchanged", "stop: settlement_stop_capacity"),
}
# What any ten thousand random steps come upon, dozens of times: without it they would not be about the ledger.
FOUND_AT_RANDOM = {
    *("reserved", "short", "closed late", "restored", "crashed", "enqueue: queued", "apply: settled", "stop: changed"),
}


def admit(tx: Tx, number: int, user: str, session: str, policy: QuotaPolicy, epoch: OwnerEpoch, now: int) -> bool:
    """What the admit commit does to the ledger."""
    if find_shortage(tx, UserId(user), policy, now) is not None:
        return False
    session_id = SessionId(session)
    if sessions.find_session(tx, session_id) is None:
        sessions.insert_session(tx, sessions.Session(session_id, ChatId("oc"), "p2p", UserId(user), "demo", ""), now)
    cause = f"om_{number}"
    insert_reserved_turn(tx, name(number), "message", cause, session_id, UserId(user), policy, epoch, now)
    return True


def enter(tx: Tx, number: int, now: int) -> bool:
    turn = turns.find_turn(tx, name(number))
    assert turn is not None
    return turns.enter_turn(tx, turn.turn_id, turn.start_epoch, turn.owner_epoch, now)


def name(number: int) -> TurnId:
    return TurnId(f"turn_{number:06}")


def ask_all(tx: Tx, now: int) -> list[tuple[Any, ...]]:
    return [
        (word, *row)
        for word, _, question in invariants_ledger.QUESTIONS
        for row in tx.rows(question, {"now": now} if ":now" in question else ())
    ]


def limits_change(day: tuple[int | None, int | None], month: tuple[int | None, int | None]) -> LimitChange:
    """0 in a change means no limit, whatever the settings say."""
    return LimitChange(day[0] or 0, month[0] or 0, day[1] or 0, month[1] or 0)


class Machine(RuleBasedStateMachine):
    steps = 0
    seen: ClassVar[Counter[str]] = Counter()  # what has come about at all

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(dir=RAM if RAM.is_dir() else None)
        self.images = 0
        self.store = self.open(fresh_file(self.place()))
        self.model = Model(self.store.now)
        self.policy = QuotaPolicy(Limits())
        self.kept: tuple[Path, Model] | None = None
        self.flooded = self.crowded = True  # a file with so much in it is slow to compare: a few of them are enough
        self.copied_at = self.killed_at = self.own_steps = 0

    def teardown(self) -> None:
        try:
            assert self.store.run(ask_all, self.store.now) == []
        finally:
            self.store.close()
            self.folder.cleanup()

    # the file

    def place(self) -> Path:
        self.images += 1
        return Path(self.folder.name) / f"{self.images}.db"

    def open(self, path: Path, now: int = 1_000_000) -> Store:
        store = Store(path, now=now)
        store.connection.execute("DROP TRIGGER IF EXISTS evidence_stays")  # evidence is spoiled here
        return store

    def image(self) -> Path:
        """The file as a killed process leaves it."""
        path = self.place()
        for suffix in ("", "-wal"):
            source = self.store.path.with_name(self.store.path.name + suffix)
            if source.exists():
                shutil.copyfile(source, path.with_name(path.name + suffix))
        return path

    def boot(self, path: Path, wall: int) -> None:
        """The next process: never before the floor of the file; what ran is repaired, what waits is owned anew."""
        self.store.close()
        with closing(sqlite3.connect(path)) as connection:
            ((floor,),) = connection.execute("SELECT clock_floor FROM meta").fetchall()
        self.store = self.open(path, max(wall, floor))
        assert self.store.run(read_floor) == self.store.now
        self.model.now = self.store.now
        for turn in [turn for turn in self.model.turns.values() if turn.state == "entered"]:
            done = self.store.run(
                repair_turn,
                turn_of(self.store, name(turn.number)),
                Finish("interrupted", (), (), (), ()),
                self.store.epoch,
                self.store.now,
            )
            assert done is not None
            self.acknowledge(turn, done.settlement, self.model.end(turn, 0))

    # people and processes

    @initialize(turns_day=LIMIT, tokens_month=CAP, bound=st.sampled_from([""] * 14 + ["queue", "stops"]))
    def begin(self, turns_day: int | None, tokens_month: int | None, bound: str) -> None:
        self.flooded, self.crowded = bound != "queue", bound != "stops"
        self.limit("alice", turns_day, None, None, tokens_month)

    @rule(user=USERS, new=st.booleans(), data=st.data())
    def ask(self, user: str, new: bool, data: st.DataObject) -> None:
        self.asked(user, new, data)

    def asked(self, user: str, new: bool, data: st.DataObject) -> Turn | None:
        number = len(self.model.turns) + 1 + 1_000 * self.images
        old = sorted({turn.session for turn in self.model.turns.values() if turn.user == user})
        session = f"session_{number}" if new or not old else data.draw(st.sampled_from(old[-2:]))
        return self.reserve(number, user, session)

    def reserve(self, number: int, user: str, session: str) -> Turn | None:
        done = self.store.run(admit, number, user, session, self.policy, self.store.epoch, self.store.now)
        assert done == self.model.ask(number, user, session)
        self.seen["reserved" if done else "short"] += 1
        return self.model.turns[number] if done else None

    @rule(user=USERS, new=st.booleans(), data=st.data(), tokens=TOKENS)
    def ask_and_answer(self, user: str, new: bool, data: st.DataObject, tokens: int) -> None:
        turn = self.asked(user, new, data)
        if turn is not None and not any(other.session == turn.session for other in self.of("entered")):
            self.run(turn, tokens)

    @precondition(lambda self: not self.model.paused)
    @rule(count=st.sampled_from([2, 4]))
    def many(self, count: int) -> None:
        """A few that are answered at once."""
        for _ in range(count):
            self.run(self.ask_anew("carol"), 100)

    @precondition(lambda self: not self.flooded and not self.model.paused)
    @rule()
    def flood(self) -> None:
        """More than the queue takes."""
        self.flooded = True
        for _ in range(PENDING + 3):
            self.run(self.ask_anew("carol"), 100)

    @precondition(lambda self: not self.crowded)
    @rule()
    def crowd(self) -> None:
        """More stops than there may be, each of them bound by a turn that has not ended."""
        self.crowded = True
        for _ in range(STOPS + 2):
            session = self.ask_anew("carol").session
            self.stopped(StopSession(SessionId(session)), session)

    def ask_anew(self, user: str, session: str = "") -> Turn:
        """Of a person whom nobody limits."""
        number = len(self.model.turns) + 1 + 1_000 * self.images
        turn = self.reserve(number, user, session or f"session_{number}")
        assert turn is not None
        return turn

    @precondition(lambda self: self.of("queued"))
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(self.of("queued")))
        busy = any(other.session == turn.session for other in self.of("entered"))
        if not busy:
            assert self.store.run(enter, turn.number, self.store.now)
            turn.state, turn.began = "entered", 1

    @precondition(lambda self: self.of("entered"))
    @rule(data=st.data(), tokens=TOKENS)
    def finish(self, data: st.DataObject, tokens: int) -> None:
        turn = data.draw(st.sampled_from(self.of("entered")))
        self.end(turn, tokens)

    @precondition(lambda self: self.of("queued"))
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """Stopped while it waits."""
        self.end(data.draw(st.sampled_from(self.of("queued"))), 0)

    def run(self, turn: Turn, tokens: int) -> None:
        assert self.store.run(enter, turn.number, self.store.now)
        turn.state, turn.began = "entered", 1
        self.end(turn, tokens)

    def end(self, turn: Turn, tokens: int) -> None:
        finish = Finish("completed", (), (), (), (), spent=Spent(tokens))
        lease = lease_of(self.store, name(turn.number))
        done = self.store.run(finish_turn, lease, finish, self.store.now)
        assert done is not None
        self.acknowledge(turn, done.settlement, self.model.end(turn, tokens))

    def acknowledge(self, turn: Turn, done: Acked | Refused | None, expected: str) -> None:
        self.seen[f"enqueue: {expected}"] += 1
        if isinstance(done, Acked):
            assert (expected, done.deadline) == ("queued", turn.deadline)
            turn.key = done.key
        else:
            assert done is not None and done.code == expected

    # the operations

    @precondition(lambda self: self.queued_once())
    @rule(data=st.data(), fresh=USUALLY, allowed=USUALLY)
    def settle(self, data: st.DataObject, fresh: bool, allowed: bool) -> None:
        turn = data.draw(st.sampled_from(self.queued_once()))
        self.apply(turn, fresh=fresh, allowed=allowed)

    @precondition(lambda self: self.model.pending())
    @rule(data=st.data(), times=st.sampled_from([1, 3, 5]))
    def settle_in_vain(self, data: st.DataObject, times: int) -> None:
        turn = data.draw(st.sampled_from(self.model.pending()))
        self.spoil(turn)
        for _ in range(times):
            self.apply(turn, fresh=True, allowed=True)

    @precondition(lambda self: self.model.pending())
    @rule(times=st.integers(1, 70))
    def settle_many(self, times: int) -> None:
        for turn in self.model.pending()[:times]:
            self.apply(turn, fresh=True, allowed=True)

    def spoil(self, turn: Turn) -> None:
        """Its evidence is no longer what was frozen: every trial comes to nothing."""
        turn.spoiled = True
        self.store.connection.execute(
            "UPDATE evidence SET hash = ? WHERE reservation_id = ?", ("0" * 64, f"reservation:{name(turn.number)}")
        )

    def apply(self, turn: Turn, *, fresh: bool, allowed: bool) -> None:
        ((payload_hash,),) = self.store.rows("SELECT payload_hash FROM reservations WHERE settlement_key = ?", turn.key)
        generation = self.model.generation + (not fresh)
        guard = None if allowed else (lambda tx, item: "not now")
        caller = Caller(None, self.store.epoch)
        done = self.store.run(apply, turn.key, payload_hash, generation, caller, guard, self.store.now)
        expected = self.model.apply(turn, fresh=fresh, allowed=allowed)
        if isinstance(done, Settled):
            told = f"duplicate {done.fact.state}" if done.duplicate else done.fact.state
            if not done.duplicate:
                over = self.store.rows("SELECT 1 FROM usage WHERE day_overrun + month_overrun > 0")
                self.seen["overrun"] += bool(over)
        else:
            told = done.code
        assert told == expected
        self.seen[f"apply: {expected}"] += 1

    @precondition(lambda self: self.model.turns)
    @rule(data=st.data(), by_key=st.booleans())
    def stop(self, data: st.DataObject, by_key: bool) -> None:
        turn = data.draw(st.sampled_from(self.model.pending() or list(self.model.turns.values())))
        if by_key and turn.key:
            ((payload_hash,),) = self.store.rows(
                "SELECT payload_hash FROM reservations WHERE settlement_key = ?", turn.key
            )
            self.stopped(StopKey(turn.key, payload_hash), turn.session)
        else:
            self.stopped(StopSession(SessionId(turn.session)), turn.session)

    @rule(count=st.sampled_from([1, 2, 20]), first=st.integers(0, 200))
    def stop_many(self, count: int, first: int) -> None:
        for number in range(first, first + count):
            self.stopped(StopSession(SessionId(f"stranger_{number}")), f"stranger_{number}")

    def stopped(self, request: StopSession | StopKey, session: str) -> None:
        done = self.store.run(stop, request, "test", Caller(None, self.store.epoch), self.store.now)
        waiting = sum(turn.session == session for turn in self.model.pending())
        expected = self.model.stop(session)
        self.seen[f"stop: {expected}"] += 1
        self.seen["several rows stopped at once"] += waiting > 1
        if isinstance(done, Controlled):
            assert done.changed == (expected == "changed") and expected != "settlement_stop_capacity"
        else:
            assert done.code == expected

    @rule()
    def pause(self) -> None:
        self.store.run(pause, Caller(None, self.store.epoch), self.store.now)
        self.model.set_paused(True)

    @precondition(lambda self: self.model.paused)
    @rule()
    def resume(self) -> None:
        self.store.run(resume, Caller(None, self.store.epoch), self.store.now)
        self.model.set_paused(False)

    @rule()
    def sweep(self) -> None:
        after: Place | None = BEGINNING
        while after is not None:
            after = self.store.run(sweep_reservations, self.store.epoch, self.store.now, after=after).after
        self.model.sweep()
        self.seen["closed late"] += any(turn.released == "late" for turn in self.model.turns.values())
        for turn in self.model.pending():
            if not turn.key:
                ((turn.key,),) = self.store.rows(
                    "SELECT settlement_key FROM reservations WHERE turn_id = ?", name(turn.number)
                )

    @rule(user=USERS, turns_day=LIMIT, turns_month=LIMIT, tokens_day=CAP, tokens_month=CAP)
    def limit(
        self,
        user: str,
        turns_day: int | None,
        turns_month: int | None,
        tokens_day: int | None,
        tokens_month: int | None,
    ) -> None:
        day, month = (turns_day, tokens_day), (turns_month, tokens_month)
        change = limits_change(day, month)
        self.store.run(set_limits, UserId(user), change, ADMIN, self.policy, self.store.now)
        self.model.set_limits(user, day, month)

    # the world

    @rule(wait_ms=WAITS)
    def wait(self, wait_ms: int) -> None:
        self.store.now += wait_ms
        self.model.now = self.store.now

    @precondition(lambda self: self.own_steps - self.killed_at > 3)  # a boot is the dearest step by far
    @rule(back_ms=st.sampled_from([0, 0, 3_600_000]))
    def crash(self, back_ms: int) -> None:
        """Killed; the next process comes at once, or with a clock that was put back."""
        before, self.killed_at = self.store.now, self.own_steps
        self.boot(self.image(), before - back_ms)
        self.seen["the clock went back" if self.store.now < before else "crashed"] += 1

    @precondition(lambda self: self.own_steps - self.copied_at > 12)
    @rule()
    def back_up(self) -> None:
        self.copied_at = self.own_steps
        self.kept = self.image(), copy.deepcopy(self.model)

    @precondition(lambda self: self.kept is not None)
    @rule()
    def restore(self) -> None:
        """An older copy is put back. Its generation is older too: nobody's permit from after it counts."""
        assert self.kept is not None
        path, model = self.kept
        fresh = self.place()
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copyfile(source, fresh.with_name(fresh.name + suffix))
        self.model = copy.deepcopy(model)
        self.boot(fresh, self.store.now)
        self.seen["restored"] += 1

    # what must be true

    def of(self, state: str) -> list[Turn]:
        return [turn for turn in self.model.turns.values() if turn.state == state]

    def queued_once(self) -> list[Turn]:
        return [turn for turn in self.model.turns.values() if turn.settlement != "none"]

    def shown(self) -> Any:
        return self.store.run(status, self.store.now)

    @invariant()
    def the_file_says_what_the_model_says(self) -> None:
        Machine.steps, self.own_steps = Machine.steps + 1, self.own_steps + 1
        model, rows = self.model, self.store.rows
        control = rows("SELECT generation, user_paused FROM settlement_control") or [(1, 0)]
        assert control == [(model.generation, int(model.paused))]
        assert {row[0] for row in rows("SELECT session_hash FROM settlement_stops")} == {
            hashed for _, hashed in model.stops.values()
        }
        assert set(rows("SELECT key, attempts, deadline FROM settlement_pending")) == {
            (turn.key, turn.attempts, turn.deadline) for turn in model.pending()
        }
        assert rows("SELECT key, state FROM settlement_history ORDER BY place") == [
            (model.turns[number].key, how) for number, how in model.history
        ]

    @invariant()
    def status_shows_it(self) -> None:
        if self.own_steps % 10 == 5:
            shown = self.shown()
            assert (shown.generation, shown.user_paused) == (self.model.generation, self.model.paused)
            assert (len(shown.pending), len(shown.history)) == (len(self.model.pending()), len(self.model.history))
            assert {row.key for row in shown.pending} == {turn.key for turn in self.model.pending()}

    @invariant()
    def what_people_are_shown_is_what_was_used(self) -> None:
        """Booked or not yet, to the token: each person alone, everybody together, and the list of all."""
        if self.own_steps % 30 == 17:
            self.compare_shown()

    def compare_shown(self) -> None:
        ended = [turn for turn in self.model.turns.values() if turn.state == "ended"]
        used = {
            user: (
                sum(turn.began for turn in ended if turn.user == user),
                sum(turn.spent for turn in ended if turn.user == user),
            )
            for user in ("alice", "bob", "carol", "")
        }
        shown = {user: self.store.run(read_used, UserId(user), 0) for user in used}
        assert {user: (one.turns, one.tokens) for user, one in shown.items()} == used
        today = self.store.now - self.store.now % DAY
        since = {user: self.store.run(read_used, UserId(user), today).tokens for user in used}
        assert since == {
            user: sum(turn.spent for turn in ended if turn.user == user and turn.reserved_at >= today) for user in used
        }
        books = self.store.run(read_books, 0, "user")
        assert (books.all.turns, books.all.tokens) == tuple(map(sum, zip(*used.values(), strict=True)))
        booked = {user: (one.turns, one.tokens) for user, one in books.by["user"].items()}
        told = [turn for turn in ended if turn.released]
        assert booked == {
            user: (
                sum(turn.began for turn in told if turn.user == user),
                sum(turn.spent for turn in told if turn.user == user),
            )
            for user in {turn.user for turn in told}
        }
        accounts = self.store.run(read_accounts, self.policy, 0, self.store.now)
        assert {one.user_id: (one.used.turns, one.used.tokens) for one in accounts if any(used[one.user_id])} == {
            user: sums for user, sums in used.items() if any(sums)
        }

    @invariant()
    def every_quota_is_what_it_should_be(self) -> None:
        columns = "turns_limit, tokens_limit, turns_held, turns_used, tokens_held, tokens_used"
        rows = self.store.rows(f"SELECT user_id, period, starts_at, {columns} FROM quotas")
        assert {tuple(row[:3]): tuple(row[3:]) for row in rows} == {
            place: tuple(vars(window).values()) for place, window in self.model.windows.items()
        }

    @invariant()
    def everything_is_booked_once(self) -> None:
        rows = self.store.rows("SELECT turn_id, turns, input_tokens, late FROM usage")
        released = [turn for turn in self.model.turns.values() if turn.released]
        assert sorted(rows) == sorted(
            (name(turn.number), turn.began, turn.spent, int(turn.released == "late")) for turn in released
        )
        states = self.store.rows("SELECT turn_id, state, settlement FROM reservations")
        assert sorted(states) == sorted(
            (name(turn.number), "released" if turn.released else "held", turn.settlement)
            for turn in self.model.turns.values()
        )

    def compare(self) -> None:
        """All of it at once."""
        self.the_file_says_what_the_model_says()
        self.every_quota_is_what_it_should_be()
        self.everything_is_booked_once()
        self.compare_shown()
        assert self.store.run(ask_all, self.store.now) == []

    @invariant()
    def nothing_is_violated(self) -> None:
        """Asked now and then: whatever was violated once stays so."""
        if self.own_steps % 10 == 0:
            assert self.store.run(ask_all, self.store.now) == []


def limits_and_books(machine: Machine) -> None:
    machine.begin(turns_day=None, tokens_month=500, bound="")
    turn = machine.ask_anew("alice")
    assert machine.reserve(2_000, "alice", "another") is None
    machine.run(turn, 20_000)
    machine.apply(turn, fresh=False, allowed=True)
    machine.apply(turn, fresh=True, allowed=False)
    for _ in range(2):
        machine.apply(turn, fresh=True, allowed=True)


def ends_that_settle_nothing(machine: Machine) -> None:
    in_vain, too_late = machine.ask_anew("carol"), machine.ask_anew("carol")
    machine.run(in_vain, 1)
    machine.spoil(in_vain)
    for _ in range(ATTEMPTS + 1):
        machine.apply(in_vain, fresh=True, allowed=True)
    machine.run(too_late, 1)
    machine.wait(300_001)
    for _ in range(2):
        machine.apply(too_late, fresh=True, allowed=True)
    expired = machine.ask_anew("carol")
    machine.wait(86_400_000)
    machine.run(expired, 1)
    machine.sweep()


def stops_and_pauses(machine: Machine) -> None:
    rows = []
    for _ in range(2):
        rows.append(machine.ask_anew("carol", "one session"))
        machine.run(rows[-1], 1)
    for _ in range(2):
        machine.stopped(StopSession(SessionId("one session")), "one session")
    for row in rows:
        machine.apply(row, fresh=True, allowed=True)
    machine.run(machine.ask_anew("carol", "one session"), 1)
    before, meanwhile = machine.ask_anew("carol"), machine.ask_anew("carol")
    machine.run(before, 1)
    machine.pause()
    machine.apply(before, fresh=True, allowed=True)
    machine.run(meanwhile, 1)
    machine.resume()
    machine.sweep()


def bounds(machine: Machine) -> None:
    machine.begin(turns_day=None, tokens_month=None, bound="queue")
    machine.flood()
    machine.crowded = False
    machine.crowd()


def killed_processes(machine: Machine) -> None:
    machine.wait(60_000)
    machine.back_up()
    machine.run(machine.ask_anew("carol"), 1)
    machine.wait(3_600_000)
    machine.crash(0)
    machine.wait(3_600_000)
    machine.crash(3_600_000)
    machine.restore()


DIRECTED = (limits_and_books, ends_that_settle_nothing, stops_and_pauses, bounds, killed_processes)


def test_directed_sequences_reach_every_answer() -> None:
    Machine.seen = Counter()
    for sequence in DIRECTED:
        machine = Machine()
        try:
            sequence(machine)
            machine.compare()
        finally:
            machine.teardown()
    assert set(Machine.seen) >= MUST_BE_SEEN, MUST_BE_SEEN - set(Machine.seen)


@pytest.mark.timeout(300)
def test_ten_thousand_steps_agree_with_the_model() -> None:
    Machine.steps, Machine.seen = 0, Counter()
    for number in count():
        if Machine.steps >= LEAST:
            break
        run_state_machine_as_test(
            seed(number)(Machine),
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    assert set(Machine.seen) >= FOUND_AT_RANDOM, Machine.seen
