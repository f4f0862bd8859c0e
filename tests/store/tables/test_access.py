"""Tables of access: decided once, audited for ever, released by whoever the person turns out to be."""

import sqlite3
from dataclasses import replace

import pytest

from channels.ids import EventId, MessageId, OpenId, SendUuid, UserId
from channels.rules.access import AccessPolicy, Actor, Admitted, Grant, Outside
from channels.rules.message import Sender
from channels.store import access, access_requests
from channels.store.transactions.access import (
    Changed,
    NotChanged,
    Person,
    change_access,
    claim_admin,
    look_up_standing,
    make_code,
)
from channels.store.transactions.access_requests import (
    Decided,
    NotDecided,
    Verdict,
    cards_to_draw,
    decide_request,
    expire_requests,
    press_request,
    put_access_card,
    tend_requests,
)
from tests.store.tables.conftest import Store
from tests.store.tables.drive import ACCESS, DRAWING, come, message

ADMIN = Actor(UserId("u_admin"), OpenId("ou_admin"), "card")
ALICE = Person(UserId("alice"), OpenId("ou_alice"), "Alice")


def state_of(store: Store, number: int) -> str:
    return str(store.rows("SELECT state FROM inbox WHERE message_id = ?", f"om_{number}")[0][0])


def the_request(store: Store) -> str:
    return store.run(access_requests.open_requests, 10)[0].request_id


def test_one_request_per_person_and_a_card_for_every_admin(store: Store) -> None:
    assert [come(store, message(number)) for number in (1, 2, 3)] == ["kept"] * 3
    assert len(store.run(access_requests.open_requests, 10)) == 1
    holders = [view.card.holder for view in store.run(cards_to_draw, 10)]
    assert sorted(holders) == ["applicant", "u_admin"]
    assert store.rows("SELECT count(*) FROM outbox") == [(0,)], "registered, and nothing is sent in that commit"


def test_the_first_decision_counts(store: Store) -> None:
    come(store, message(1))
    request_id = the_request(store)
    first = store.run(decide_request, request_id, Verdict(True), ADMIN, ACCESS, store.now)
    second = store.run(decide_request, request_id, Verdict(False), ADMIN, ACCESS, store.now)
    assert isinstance(first, Decided) and first.released == 1
    assert isinstance(second, NotDecided) and second.why == "approved"
    assert state_of(store, 1) == "accepted"
    with pytest.raises(sqlite3.IntegrityError, match="decided once"):
        store.connection.execute("UPDATE access_requests SET state = 'denied', decided_at = 1")


def test_kept_before_the_user_id_was_known(store: Store) -> None:
    """The app was given the right to see user ids between two messages: both are one person's."""
    early = message(1)
    hidden = replace(early.envelope, sender=Sender(UserId("open:ou_alice"), OpenId("ou_alice")))
    come(store, replace(early, envelope=hidden))
    come(store, message(2))
    assert len(store.run(access_requests.open_requests, 10)) == 1
    store.run(tend_requests, ACCESS, store.now)
    assert (state_of(store, 1), state_of(store, 2)) == ("kept", "kept")
    result = store.run(decide_request, the_request(store), Verdict(True), ADMIN, ACCESS, store.now)
    assert isinstance(result, Decided) and result.released == 2
    assert [row[0] for row in store.rows("SELECT user_id FROM access_users")] == ["alice"]


def test_a_record_that_has_moved_is_found_by_the_id_it_was_made_with(store: Store) -> None:
    """A turn that was asked under the open_id is held against what the person may do now."""
    hidden = Person(UserId("open:ou_alice"), OpenId("ou_alice"), "Alice")
    for given in (Grant(frozenset({"chat"})), Grant(frozenset())):

        def change(_before: Grant | None, given: Grant = given) -> Grant:
            return given

        changed = store.run(change_access, ADMIN, hidden, change, "grant", ACCESS, store.now)
        assert isinstance(changed, Changed)
        store.run(access.move_to_user_id, ALICE.user_id, ALICE.open_id)
        found = store.run(look_up_standing, Person(hidden.user_id), ACCESS, store.now)
        assert isinstance(found, Admitted) == bool(given.switches)
        if isinstance(found, Outside):
            assert found.why == "revoked"
    assert [row[0] for row in store.rows("SELECT user_id FROM access_users")] == ["alice"]


def test_a_kept_row_that_nobody_speaks_for_is_decided_again(store: Store) -> None:
    come(store, message(1))
    store.connection.execute("UPDATE access_requests SET state = 'denied', decided_at = 1, decided_by = 'x'")
    store.run(tend_requests, ACCESS, store.now)
    assert state_of(store, 1) == "accepted"


def test_expiry(store: Store) -> None:
    come(store, message(1))
    request_id = the_request(store)
    store.now += ACCESS.request_ms
    result = store.run(decide_request, request_id, Verdict(True), ADMIN, ACCESS, store.now)
    assert isinstance(result, NotDecided) and result.why == "expired"
    assert state_of(store, 1) == "refused"
    assert store.run(expire_requests, ACCESS, store.now) == 0


def test_a_press_before_the_card_is_known_marks_the_card(store: Store) -> None:
    come(store, message(1))
    (view,) = [view for view in store.run(cards_to_draw, 10) if view.card.holder == "u_admin"]
    assert store.run(put_access_card, view, DRAWING, SendUuid("uuid-card"), store.now) is not None
    args = (EventId("ev_1"), view.request.request_id, Verdict(True), ADMIN, MessageId("om_card"), ACCESS, store.now)
    assert isinstance(store.run(press_request, *args), Decided)
    card = store.run(access_requests.find_card, view.request.request_id, "u_admin")
    assert card is not None and card.message_id == "om_card"


def test_who_may_change_what(store: Store) -> None:
    def given(_before: Grant | None) -> Grant:
        return Grant(frozenset({"chat"}))

    stranger = Actor(UserId("mallory"), OpenId("ou_mallory"), "chat")
    nobody = store.run(change_access, stranger, ALICE, given, "grant", ACCESS, store.now)
    fixed = store.run(change_access, ADMIN, Person(UserId("u_admin")), given, "revoke", ACCESS, store.now)
    done = store.run(change_access, ADMIN, ALICE, given, "grant", ACCESS, store.now)
    assert nobody == NotChanged("not_admin")
    assert fixed == NotChanged("admin_by_config")
    assert isinstance(done, Changed)
    assert store.rows("SELECT actor, action FROM audit") == [("mallory", "grant.refused"), ("u_admin", "grant")]
    for statement in ("UPDATE audit SET actor = 'x'", "DELETE FROM audit"):
        with pytest.raises(sqlite3.IntegrityError, match="only appended"):
            store.connection.execute(statement)


def test_the_last_admin_stays_unless_the_console_says_so(store: Store) -> None:
    unowned = AccessPolicy(mode="approval")
    actor = Actor(UserId("alice"), OpenId("ou_alice"), "chat")
    store.run(make_code, Actor(UserId("console"), OpenId(""), "cli"), "a" * 64, unowned, store.now)
    assert isinstance(store.run(claim_admin, actor, "a" * 64, unowned, store.now), Changed)

    def taken(_before: Grant | None) -> Grant:
        return Grant(frozenset())

    assert store.run(change_access, actor, ALICE, taken, "revoke", unowned, store.now) == NotChanged("last_admin")
    console = Actor(UserId("console"), OpenId(""), "cli")
    assert isinstance(store.run(change_access, console, ALICE, taken, "revoke", unowned, store.now), Changed)
    assert store.run(access.stored_admins, store.now) == []
