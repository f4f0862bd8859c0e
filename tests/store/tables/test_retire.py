"""The TTL sweep in the file: tombstones first, nothing retired that still waits, never a route under a tombstone."""

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.ids import ChatId, ConversationKey, SendUuid, SessionId
from channels.rules.intents import turn_lane
from channels.rules.message import Message
from channels.store import invariants, missed, routes, snapshots
from channels.store.transactions.admit import Decided, NotYet
from channels.store.transactions.converse import Agents, Answer, resume_session, start_anew
from channels.store.transactions.retire import (
    CARD_LIFE_MS,
    Retired,
    drop_stale_turn,
    retire_route,
    stale_routes,
    stale_turns,
)
from tests.store.tables.conftest import Store
from tests.store.tables.drive import (
    DRAWING,
    NUMBERS,
    accept,
    admit,
    decide,
    deliver_all,
    enter,
    finish,
    message,
    runnable,
    turn_of,
)

TTL_MS = 30 * 24 * 3_600_000
TOPIC = "omt_1"


def open_topic(store: Store, number: int = 1, thread: str | None = TOPIC) -> None:
    """A first question, answered in full; its conversation has a route."""
    turn_id = admit(store, message(number))
    deliver_all(store, turn_lane(turn_id), thread=thread)
    enter(store, turn_id)
    finish(store, turn_id)
    for lane in (turn_lane(turn_id), f"react:{turn_id}"):
        deliver_all(store, lane, thread=thread)


def sweep(store: Store, ttl_ms: int = TTL_MS) -> list[Retired]:
    before = store.now - ttl_ms
    found = store.run(stale_routes, before, 100)
    return [store.run(retire_route, route.key, before, store.now) for route in found or ()]


def keys(store: Store) -> list[str]:
    return [row[0] for row in store.rows("SELECT key FROM routes ORDER BY key")]


def tombstones(store: Store) -> list[str]:
    return [row[0] for row in store.rows("SELECT thread_id FROM expired_routes ORDER BY thread_id")]


def test_a_silent_topic_gets_a_tombstone_and_loses_its_route(store: Store) -> None:
    open_topic(store)
    store.now += TTL_MS
    assert sweep(store) == []
    store.now += 1
    assert sweep(store) == [Retired.EXPIRED]
    assert (keys(store), tombstones(store)) == ([], [TOPIC])
    assert store.rows("SELECT count(*) FROM sessions") == [(1,)], "the session itself is kept"
    assert sweep(store) == []


def test_a_silent_chat_simply_forgets_its_session(store: Store) -> None:
    open_topic(store, thread=None)
    store.now += TTL_MS + 1
    assert sweep(store) == [Retired.FORGOTTEN]
    assert (keys(store), tombstones(store)) == ([], [])
    accept(store, message(2))
    assert decide(store, message(2)).verdict == "start"  # type: ignore[union-attr]


def test_activity_keeps_a_topic(store: Store) -> None:
    open_topic(store)
    store.now += TTL_MS
    admit(store, message(2, thread=TOPIC))
    store.now += 2
    assert sweep(store) == []


def test_activity_between_the_look_and_the_commit_keeps_it_too(store: Store) -> None:
    open_topic(store)
    store.now += TTL_MS + 1
    before = store.now - TTL_MS
    (found,) = store.run(stale_routes, before, 100) or []
    store.run(routes.touch_route, found.key, found.session_id, None, store.now)
    assert store.run(retire_route, found.key, before, store.now) is Retired.KEPT
    assert keys(store) == [TOPIC]


def test_a_message_that_waits_there_keeps_it(store: Store) -> None:
    """The service was away for a month, and somebody wrote meanwhile."""
    open_topic(store)
    store.now += TTL_MS + 1
    accept(store, message(2, thread=TOPIC))
    assert sweep(store) == [Retired.KEPT]
    assert isinstance(decide(store, message(2, thread=TOPIC)), Decided)


def test_nothing_is_retired_while_history_is_being_read(store: Store) -> None:
    open_topic(store)
    store.now += TTL_MS + 1
    gap = store.run(missed.open_gap, 1, store.now, "boot", store.now)
    assert store.run(stale_routes, store.now - TTL_MS, 100) is None
    store.run(missed.close_if_read, gap.gap_id, store.now)
    assert sweep(store) == [Retired.EXPIRED]


def test_an_expired_topic_refuses_whatever_comes(store: Store) -> None:
    open_topic(store)
    store.now += TTL_MS + 1
    sweep(store)
    for number, chat_type in ((2, "p2p"), (3, "group")):
        late = message(number, thread=TOPIC, chat_type=chat_type)
        accept(store, late)
        decided = decide(store, late)
        assert isinstance(decided, Decided) and decided.verdict == "expired" and decided.turn_id is None
    assert store.rows("SELECT state, verdict FROM inbox WHERE message_id IN ('om_2', 'om_3')") == [
        ("refused", "expired"),
        ("refused", "expired"),
    ]
    assert store.rows("SELECT count(*) FROM outbox WHERE intent_id LIKE '%/refused'") == [(2,)]


def test_the_schema_itself_refuses_a_route_under_a_tombstone(store: Store) -> None:
    open_topic(store)
    (route,) = store.run(routes.stale_routes, store.now + 1, 10)
    store.now += TTL_MS + 1
    sweep(store)
    with pytest.raises(sqlite3.IntegrityError, match="tombstoned"):
        store.run(routes.put_route, route, store.now)


def test_a_reply_that_lands_in_a_topic_which_has_just_expired_makes_no_route(store: Store) -> None:
    """Its turn was admitted before the sweep; the answer is shown, and the topic stays closed."""
    open_topic(store)
    turn_id = admit(store, message(2))
    store.now += TTL_MS + 1
    assert sweep(store) == [Retired.EXPIRED]
    deliver_all(store, turn_lane(turn_id), thread=TOPIC)
    assert (keys(store), tombstones(store)) == ([], [TOPIC])
    assert store.rows("SELECT count(*) FROM establishing") == [(0,)], "nobody waits for it"


class TestStaleSnapshots:
    """Turns that nobody can show any more end without a word."""

    def age(self, store: Store, ms: int = CARD_LIFE_MS) -> None:
        store.now += ms + 1
        store.reboot()

    def drop(self, store: Store, ttl_ms: int = 0) -> list[bool]:
        found = store.run(stale_turns, ttl_ms, store.now, 100)
        return [store.run(drop_stale_turn, turn_id, store.epoch, store.now) for turn_id in found]

    @pytest.mark.parametrize("entered", [False, True])
    def test_a_turn_of_an_older_boot_is_dropped(self, store: Store, entered: bool) -> None:
        turn_id = admit(store, message(1))
        if entered:
            deliver_all(store, turn_lane(turn_id))
            enter(store, turn_id)
        self.age(store)
        pending = store.rows("SELECT count(*) FROM outbox WHERE state = 'pending'")[0][0]
        assert self.drop(store) == [True]
        turn = turn_of(store, turn_id)
        assert (turn.state, turn.outcome) == ("ended", "interrupted")
        assert store.rows("SELECT count(*) FROM outbox WHERE state = 'pending'") == [(0,)]
        assert pending > 0 and store.run(snapshots.count_snapshots) == 0
        assert store.rows("SELECT state FROM inbox") == [("done",)]
        assert store.rows("SELECT count(*) FROM session_events WHERE kind = 'turn/end'") == [(1,)]
        assert store.rows("SELECT count(*) FROM establishing") == [(0,)]
        assert store.run(invariants.look, store.now).violations == ()

    def test_what_has_ended_and_was_never_shown_is_dropped_too(self, store: Store) -> None:
        turn_id = admit(store, message(1))
        deliver_all(store, turn_lane(turn_id))
        enter(store, turn_id)
        finish(store, turn_id)
        self.age(store)
        assert self.drop(store) == [True]
        assert turn_of(store, turn_id).outcome == "completed"
        assert store.run(invariants.look, store.now).violations == ()

    def test_a_younger_one_stays(self, store: Store) -> None:
        admit(store, message(1))
        self.age(store, CARD_LIFE_MS - 10)
        assert self.drop(store) == []

    def test_a_longer_life_of_topics_counts(self, store: Store) -> None:
        admit(store, message(1))
        self.age(store)
        assert self.drop(store, TTL_MS) == []
        store.now += TTL_MS
        store.reboot()
        assert self.drop(store, TTL_MS) == [True]

    def test_this_boots_own_turns_stay_however_old(self, store: Store) -> None:
        admit(store, message(1))
        store.now += 2 * TTL_MS
        assert self.drop(store) == []


class Street:
    """People, the dispatcher, the platform, the clock and boots, one step at a time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.waiting: list[Message] = []
        open_topic(store)
        self.lanes = [turn_lane(admit(store, message(2)))]  # a second question, whose answer is on its way

    def write(self, thread: str | None, user: str) -> None:
        one = message(next(NUMBERS) + 1_000, thread=thread, root="om_1" if thread else None, user=user)
        accept(self.store, one)
        self.waiting.append(one)

    def dispatch(self) -> None:
        for one in tuple(self.waiting):
            dead = one.envelope.conversation in tombstones(self.store)
            decided = decide(self.store, one)
            if isinstance(decided, NotYet):
                continue
            assert isinstance(decided, Decided)
            assert not (dead and decided.turn_id), "an expired topic got a turn"
            self.waiting.remove(one)
            self.lanes += [turn_lane(decided.turn_id)] if decided.turn_id else []

    def deliver(self, thread: str | None) -> None:
        """The platform puts the next reply wherever it likes, also into a topic that has just expired."""
        if self.lanes:
            deliver_all(self.store, self.lanes.pop(0), thread=thread)

    def run_turns(self) -> None:
        for turn_id in runnable(self.store):
            if enter(self.store, turn_id):
                finish(self.store, turn_id)

    def pass_time(self, days: int) -> None:
        self.store.now += days * 24 * 3_600_000
        sweep(self.store)

    def boot(self) -> None:
        self.store.reboot()

    def command(self, name: str, thread: str | None) -> None:
        number = next(NUMBERS) + 1_000
        one = message(number, thread=thread)
        accept(self.store, one)
        answer = Answer(DRAWING, DRAWING, SendUuid(f"command-{number}"))
        if name == "new":
            spare = SessionId(f"spare_{number}")
            self.store.run(
                start_anew, one, spare, Agents(frozenset({"demo"}), "demo"), answer, answer, answer, self.store.now
            )
        else:
            first = SessionId(self.store.rows("SELECT session_id FROM sessions ORDER BY created_at LIMIT 1")[0][0])
            self.store.run(resume_session, one, first, answer, self.store.now)


STEPS: list[tuple[str, tuple[object, ...]]] = [
    *(("write", (thread, user)) for thread in (TOPIC, None) for user in ("alice", "bob")),
    *(("dispatch", ()), ("dispatch", ()), ("run_turns", ())),
    *(("deliver", (thread,)) for thread in (TOPIC, None)),
    *(("pass_time", (days,)) for days in (1, 31, 31)),
    ("boot", ()),
    *(("command", (name, thread)) for name in ("new", "resume") for thread in (TOPIC, None)),
]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(STEPS), min_size=8, max_size=30))
def test_a_tombstoned_topic_never_has_a_route_again(
    tmp_path: Path, steps: list[tuple[str, tuple[object, ...]]]
) -> None:
    """Whatever comes in whatever order: no route under a tombstone, no turn in an expired topic, no error."""
    with TemporaryDirectory(dir=tmp_path) as folder:
        store = Store(Path(folder) / "channels.db")
        street, dead = Street(store), set[str]()
        for name, arguments in steps:
            getattr(street, name)(*arguments)
            assert dead <= set(tombstones(store)), "a tombstone was taken away"
            dead = set(tombstones(store))
            assert not dead & set(keys(store))
        found = store.run(invariants.look, store.now).violations
        assert [one for one in found if one.name.startswith("S7")] == []
        store.close()


def test_a_chat_route_is_told_from_a_topics() -> None:
    route = routes.Route(
        ConversationKey("chat:p2p:oc_1:alice"),
        SessionId("s"),
        ChatId("oc_1"),
        "p2p",
        "alice",  # type: ignore[arg-type]
        "",
        None,
        1,
    )
    assert not route.is_thread
