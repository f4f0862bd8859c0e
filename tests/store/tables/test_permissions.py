"""Permissions in the store: asked by a turn that runs, decided once, ended with the turn and with the boot."""

import pytest

from channels.ids import MessageId, UserId
from channels.rules.gate import Allow, Refuse, ToolPolicy
from channels.rules.intents import Drawing, turn_lane
from channels.store import permission_requests
from channels.store.permission_requests import PermissionRequest
from channels.store.transactions.permissions import (
    NotPressed,
    Pressed,
    Registered,
    TurnOver,
    has_unsettled,
    put_permission_card,
    settle_open,
)
from channels.store.transactions.run import stop_turn
from tests.store.tables.conftest import Store
from tests.store.tables.drive import (
    admit,
    ask,
    begin,
    deliver_all,
    enter,
    finish,
    finish_of,
    lease_of,
    message,
    press,
    uuids,
)

LANE, TOKEN = "permit:permit_1", "permit_1"
OTHERWISE = Drawing('{"schema":"2.0","settled":true}', "settled")


@pytest.fixture
def asked(store: Store) -> Store:
    """Alice's turn runs, its card is there, and its agent has asked."""
    turn_id = admit(store, message(1))
    deliver_all(store, turn_lane(turn_id))
    enter(store, turn_id)
    assert isinstance(ask(store, turn_id, TOKEN), Registered)
    return store


def request_of(store: Store) -> PermissionRequest:
    found = store.run(permission_requests.find_request, TOKEN)
    assert found is not None
    return found


def draw(store: Store) -> str | None:
    return store.run(put_permission_card, request_of(store), OTHERWISE, uuids(1)[0], store.now)


def ops(store: Store) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in store.rows("SELECT op, state FROM outbox WHERE lane = ? ORDER BY seq", LANE)]


def test_the_card_is_an_intent_of_the_same_commit(asked: Store) -> None:
    assert ops(asked) == [("notice", "pending")]
    attempt = begin(asked, LANE)
    assert attempt.in_thread
    assert attempt.intent.target == "om_1"


@pytest.mark.parametrize(("choice", "state"), [(0, "allowed"), (1, "denied")], ids=["yes", "no"])
def test_the_first_press_decides_and_later_ones_hear_of_it(asked: Store, choice: int, state: str) -> None:
    deliver_all(asked, LANE)
    first = press(asked, TOKEN, choice, "alice", "om_card")
    assert isinstance(first, Pressed) and first.request.state == state
    for again in (0, 1):
        late = press(asked, TOKEN, again, "alice", "om_card")
        assert isinstance(late, NotPressed) and late.why == state
    assert draw(asked) == LANE
    assert ops(asked)[-1] == ("rewrite", "pending")
    assert begin(asked, LANE).intent.target == "om_card"


@pytest.mark.parametrize(("token", "choice"), [("permit_x", 0), (TOKEN, 2), (TOKEN, -1)])
def test_a_forged_button_decides_nothing(asked: Store, token: str, choice: int) -> None:
    outcome = press(asked, token, choice, "alice", "om_card")
    assert isinstance(outcome, NotPressed) and outcome.why == "unknown"
    assert (request_of(asked).state, request_of(asked).message_id) == ("pending", None)


def test_a_stranger_decides_nothing_and_an_admin_does(asked: Store) -> None:
    outcome = press(asked, TOKEN, 0, "bob")
    assert isinstance(outcome, NotPressed) and outcome.why == "not_yours"
    assert isinstance(press(asked, TOKEN, 0, "u_admin"), Pressed)


def test_nothing_is_asked_for_a_turn_that_is_over_or_not_ours(asked: Store) -> None:
    (turn_id,) = (row[0] for row in asked.rows("SELECT turn_id FROM turns"))
    lease = lease_of(asked, turn_id)
    asked.run(stop_turn, turn_id, UserId("alice"), frozenset(), finish_of("stopped"), asked.epoch, asked.now)
    assert isinstance(ask(asked, turn_id, "permit_2"), TurnOver)
    finish(asked, turn_id)
    assert isinstance(ask(asked, turn_id, "permit_2", lease=lease), TurnOver)


def test_a_press_after_a_stop_comes_too_late(asked: Store) -> None:
    (turn_id,) = (row[0] for row in asked.rows("SELECT turn_id FROM turns"))
    asked.run(stop_turn, turn_id, UserId("alice"), frozenset(), finish_of("stopped"), asked.epoch, asked.now)
    outcome = press(asked, TOKEN, 0, "alice")
    assert isinstance(outcome, NotPressed) and outcome.why == "turn"


def test_the_end_of_the_turn_ends_the_question(asked: Store) -> None:
    (turn_id,) = (row[0] for row in asked.rows("SELECT turn_id FROM turns"))
    finish(asked, turn_id)
    assert (request_of(asked).state, request_of(asked).why) == ("ended", "turn")


def test_a_boot_ends_what_an_earlier_one_has_asked(asked: Store) -> None:
    asked.reboot()
    assert (request_of(asked).state, request_of(asked).why) == ("ended", "restart")
    outcome = press(asked, TOKEN, 0, "alice")
    assert isinstance(outcome, NotPressed) and outcome.why == "restart"


def test_time_and_those_who_went_away_settle_it(asked: Store) -> None:
    assert not asked.run(has_unsettled, {TOKEN}, asked.now)
    assert asked.run(settle_open, {TOKEN}, asked.now) == []
    assert asked.run(has_unsettled, set(), asked.now)
    assert asked.run(settle_open, {TOKEN}, asked.now + 300_000) == [TOKEN]
    assert request_of(asked).state == "expired"


def test_who_does_not_wait_any_more_is_not_answered(asked: Store) -> None:
    assert asked.run(settle_open, set(), asked.now) == [TOKEN]
    assert request_of(asked).state == "ended"


class TestCard:
    def test_one_that_nobody_has_seen_is_taken_back_when_it_is_over(self, asked: Store) -> None:
        asked.run(settle_open, set(), asked.now)
        assert draw(asked) is None
        assert ops(asked) == [("notice", "superseded")]

    def test_one_that_nobody_has_seen_says_that_the_time_was_over(self, asked: Store) -> None:
        asked.run(settle_open, {TOKEN}, asked.now + 300_000)
        assert draw(asked) == LANE
        assert "settled" in begin(asked, LANE).intent.payload

    def test_one_on_its_way_is_waited_for(self, asked: Store) -> None:
        begin(asked, LANE)
        press(asked, TOKEN, 0, "alice")
        assert draw(asked) is None
        assert request_of(asked).drawn == 1
        deliver_all(asked, LANE)
        assert draw(asked) == LANE

    def test_one_that_never_arrived_is_let_be(self, asked: Store) -> None:
        asked.run(settle_open, set(), asked.now)
        draw(asked)
        assert request_of(asked).drawn == request_of(asked).version

    def test_without_a_trigger_it_hangs_under_the_turns_own_card(self, asked: Store) -> None:
        asked.connection.execute("UPDATE inflight SET trigger_message_id = NULL")
        (turn_id,) = (row[0] for row in asked.rows("SELECT turn_id FROM turns"))
        ask(asked, turn_id, "permit_2")
        assert begin(asked, "permit:permit_2").intent.target == MessageId(f"sent-{turn_id}/reply/0")


@pytest.mark.parametrize(
    ("kind", "policy", "found"),
    [
        ("read", {}, Allow()),
        ("edit", {}, Refuse("no_code_write")),
        ("edit", {"edit": "allow"}, Refuse("no_code_write")),
        ("other", {"other": "deny"}, Refuse("policy")),
    ],
)
def test_what_needs_no_person_writes_nothing(
    asked: Store, kind: str, policy: dict[str, str], found: Allow | Refuse
) -> None:
    (turn_id,) = (row[0] for row in asked.rows("SELECT turn_id FROM turns"))
    assert ask(asked, turn_id, "permit_2", kind, policy=ToolPolicy(policy)) == found
    assert asked.rows("SELECT count(*) FROM permission_requests") == [(1,)]


def test_a_question_outlives_its_card_by_nothing(asked: Store) -> None:
    assert asked.run(permission_requests.forget, asked.now + 1) == 0, "it is still open"
    asked.run(settle_open, set(), asked.now)
    assert asked.run(permission_requests.forget, asked.now + 1) == 1
