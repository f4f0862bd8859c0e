"""Which turn runs next: round robin between people, first come first served within one."""

import pytest

from channels.ids import TurnId, UserId
from channels.rules.intents import turn_lane
from channels.store.turns import SELECT_RUNNABLE, runnable_turns
from tests.store.tables.conftest import Store
from tests.store.tables.drive import admit, deliver_all, enter, finish, message


def ask(store: Store, number: int, user: str) -> TurnId:
    """A first question in a topic of its own."""
    turn_id = admit(store, message(number, user=user))
    deliver_all(store, turn_lane(turn_id), thread=f"omt_{number}")
    return turn_id


def served(store: Store, slots: int, rounds: int) -> list[str]:
    """Who is served, when `slots` turns may run at once and each ends after the others that run have begun."""
    people: list[str] = []
    running: list[TurnId] = []
    for _ in range(rounds):
        store.now += 1
        for turn in store.run(runnable_turns, store.epoch, 100)[: slots - len(running)]:
            assert enter(store, turn.turn_id)
            people.append(str(turn.sender_user_id))
            running.append(turn.turn_id)
        if running:
            finish(store, running.pop(0))
    return people


@pytest.mark.parametrize("slots", [1, 2, 8])
def test_a_person_with_fifty_sessions_does_not_starve_another(store: Store, slots: int) -> None:
    for number in range(50):
        ask(store, number, "alice")
    first = served(store, slots, 3)
    for number in range(50, 53):
        ask(store, number, "bob")
    then = served(store, slots, 12)
    assert set(first) == {"alice"}
    assert then[: 2 * 3].count("bob") >= 2
    assert then[:8].count("bob") == 3


def test_three_people_take_turns(store: Store) -> None:
    for number, user in enumerate(["alice"] * 5 + ["bob"] * 3 + ["carol"]):
        ask(store, number, user)
    assert served(store, 1, 9) == ["alice", "bob", "carol", "alice", "bob", "alice", "bob", "alice", "alice"]


def test_one_persons_own_questions_keep_their_order(store: Store) -> None:
    asked = [ask(store, number, "alice") for number in range(4)]
    assert [turn.turn_id for turn in store.run(runnable_turns, store.epoch, 100)] == asked


def test_who_has_more_running_waits_for_who_has_fewer(store: Store) -> None:
    for number in range(3):
        assert enter(store, ask(store, number, "alice"))
    ask(store, 3, "alice")
    ask(store, 4, "bob")
    first = store.run(runnable_turns, store.epoch, 1)[0]
    assert first.sender_user_id == UserId("bob")
    assert len(store.run(runnable_turns, store.epoch, 100)) == 2


def test_the_look_for_the_next_turn_reads_no_ended_one(store: Store) -> None:
    """The table grows for ever; what has ended must not cost anything."""
    plan = store.connection.execute(f"EXPLAIN QUERY PLAN {SELECT_RUNNABLE}", {"owner_epoch": 1, "limit": 1})
    steps = [row[3] for row in plan.fetchall()]
    assert [step for step in steps if step.startswith("SCAN mine")] == ["SCAN mine USING INDEX turns_queued"]
