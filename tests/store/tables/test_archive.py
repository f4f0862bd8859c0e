"""Sessions are put away and deleted: what goes, what stays, and what the schema keeps by itself."""

import sqlite3

import pytest

from channels.ids import OpenId, SessionId, TurnId, UserId
from channels.rules.access import Actor
from channels.rules.invariants import Findings
from channels.store import routes, sessions
from channels.store.invariants import look
from channels.store.transactions.archive import (
    Move,
    Moved,
    NotMoved,
    archive_session,
    delete_session,
    unarchive_session,
)
from channels.store.turns import insert_turn
from channels.store.tx import Tx
from tests.store.tables.conftest import Store
from tests.store.tables.drive import accept, admit, decide, deliver_all, enter, finish, message, turn_of

ALICE, BOB = Actor(UserId("alice"), OpenId("ou_alice"), "chat"), Actor(UserId("bob"), OpenId("ou_bob"), "chat")
CONSOLE = Actor(UserId("console"), OpenId(""), "cli")
NOBODY: frozenset[UserId] = frozenset()
MOVES: tuple[Move, ...] = (archive_session, unarchive_session, delete_session)


def session_of(store: Store, turn_id: TurnId) -> SessionId:
    return turn_of(store, turn_id).session_id


def lived(store: Store, number: int = 1, thread: str | None = "omt_1") -> SessionId:
    """A session with one turn that is through, and its route."""
    turn_id = admit(store, message(number))
    enter(store, turn_id)
    finish(store, turn_id)
    deliver_all(store, f"turn:{turn_id}", thread=thread)
    deliver_all(store, f"react:{turn_id}")
    return session_of(store, turn_id)


def do(store: Store, move: Move, session_id: SessionId, actor: Actor = ALICE) -> Moved | NotMoved:
    return store.run(move, session_id, actor, NOBODY, store.now)


def log_of(store: Store, session_id: SessionId) -> list[tuple[str, ...]]:
    return store.rows("SELECT kind FROM session_events WHERE session_id = ?", session_id)


def test_archived_its_topic_has_a_tombstone_and_its_log_stays(store: Store) -> None:
    session_id = lived(store)
    before = log_of(store, session_id)
    moved = do(store, archive_session, session_id)
    assert isinstance(moved, Moved) and moved.changed and moved.session.archived_at == store.now
    assert store.rows("SELECT thread_id FROM expired_routes") == [("omt_1",)]
    assert store.rows("SELECT * FROM routes") == []
    assert log_of(store, session_id) == before
    assert store.run(look, store.now) == Findings((), ())
    accept(store, message(2, thread="omt_1"))
    assert getattr(decide(store, message(2, thread="omt_1")), "verdict", None) == "expired"
    assert store.rows("SELECT actor, via, action, subject FROM audit") == [
        ("alice", "chat", "session.archived", session_id)
    ]


def test_archived_in_a_chat_the_next_message_begins_anew(store: Store) -> None:
    session_id = lived(store, thread=None)
    assert store.rows("SELECT key LIKE 'chat:%' FROM routes") == [(1,)]
    do(store, archive_session, session_id)
    assert store.rows("SELECT * FROM expired_routes") == []
    assert session_of(store, admit(store, message(2))) != session_id


def test_every_conversation_of_the_session_goes(store: Store) -> None:
    """A session that was resumed in a chat has two places."""
    session_id = lived(store)
    route = store.run(routes.find_route_of_session, session_id)
    assert route is not None
    other = routes.Route(**{name: getattr(route, name) for name in route.__slots__} | {"key": "chat:p2p:oc_1:alice"})
    store.run(routes.put_route, other, store.now)
    do(store, archive_session, session_id)
    assert store.rows("SELECT * FROM routes") == []


def test_taken_out_again_the_tombstone_stays(store: Store) -> None:
    session_id = lived(store)
    do(store, archive_session, session_id)
    moved = do(store, unarchive_session, session_id)
    assert isinstance(moved, Moved) and moved.changed and moved.session.archived_at is None
    assert store.rows("SELECT thread_id FROM expired_routes") == [("omt_1",)]
    assert log_of(store, session_id)


def test_deleted_the_log_and_what_cards_said_are_gone(store: Store) -> None:
    session_id, other = lived(store), lived(store, 2, "omt_2")
    store.connection.execute("UPDATE sent_cards SET text = 'said'")
    assert isinstance(do(store, delete_session, session_id), Moved)
    assert log_of(store, session_id) == []
    assert log_of(store, other) != []
    texts = store.rows("SELECT text FROM sent_cards JOIN turns USING (turn_id) WHERE session_id = ?", session_id)
    assert texts and set(texts) == {("",)}
    assert ("said",) in store.rows("SELECT text FROM sent_cards")
    assert store.rows("SELECT count(*) FROM turns WHERE session_id = ?", session_id) == [(1,)]
    assert store.rows("SELECT action FROM audit ORDER BY seq") == [("session.archived",), ("session.deleted",)]
    assert store.run(look, store.now) == Findings((), ())
    store.reboot()
    assert store.run(look, store.now).violations == ()


def test_once_more_changes_nothing(store: Store) -> None:
    session_id = lived(store)
    assert isinstance(do(store, archive_session, session_id), Moved)
    assert do(store, archive_session, session_id) == Moved(store.run(_session, session_id), changed=False)
    do(store, unarchive_session, session_id)
    assert do(store, unarchive_session, session_id) == Moved(store.run(_session, session_id), changed=False)
    do(store, delete_session, session_id)
    for move in MOVES:
        assert do(store, move, session_id) == NotMoved("session_deleted")
    assert store.rows("SELECT count(*) FROM audit") == [(4,)]


@pytest.mark.parametrize("move", [archive_session, delete_session])
class TestSomethingToDo:
    """Refused while a turn waits, runs, is to be repaired, or its first reply may still make a route."""

    def refused(self, store: Store, move: Move, session_id: SessionId) -> None:
        before = store.connection.total_changes
        assert do(store, move, session_id) == NotMoved("session_busy")
        assert store.connection.total_changes == before + 1, "the commit counter alone"

    def test_queued_and_entered(self, store: Store, move: Move) -> None:
        session_id = lived(store)
        turn_id = admit(store, message(2, thread="omt_1"))
        self.refused(store, move, session_id)
        enter(store, turn_id)
        self.refused(store, move, session_id)

    def test_waiting_for_repair(self, store: Store, move: Move) -> None:
        session_id = lived(store)
        enter(store, admit(store, message(2, thread="omt_1")))
        store.reboot()
        assert store.rows("SELECT count(*) FROM turns WHERE state = 'unknown'") == [(1,)]
        self.refused(store, move, session_id)

    def test_a_reply_that_makes_the_route(self, store: Store, move: Move) -> None:
        turn_id = admit(store, message(1))
        enter(store, turn_id)
        finish(store, turn_id)
        self.refused(store, move, session_of(store, turn_id))
        deliver_all(store, f"turn:{turn_id}")
        deliver_all(store, f"react:{turn_id}")
        assert isinstance(do(store, move, session_of(store, turn_id)), Moved)


def test_a_last_card_on_its_way_keeps_a_session_from_being_deleted_only(store: Store) -> None:
    session_id = lived(store)
    turn_id = admit(store, message(2, thread="omt_1"))
    enter(store, turn_id)
    finish(store, turn_id)
    assert do(store, delete_session, session_id) == NotMoved("session_busy")
    assert isinstance(do(store, archive_session, session_id), Moved)
    deliver_all(store, f"turn:{turn_id}", thread="omt_1")
    deliver_all(store, f"react:{turn_id}")
    assert store.rows("SELECT * FROM routes") == []
    assert isinstance(do(store, delete_session, session_id), Moved)


@pytest.mark.parametrize("move", MOVES)
def test_only_whose_it_is_and_admins(store: Store, move: Move) -> None:
    session_id = lived(store)
    assert do(store, move, session_id, BOB) == NotMoved("not_yours")
    assert do(store, move, SessionId("nowhere"), CONSOLE) == NotMoved("unknown_session")
    assert isinstance(store.run(move, session_id, BOB, frozenset({UserId("bob")}), store.now), Moved)
    assert isinstance(do(store, move, lived(store, 2, "omt_2"), CONSOLE), Moved)


class TestSchema:
    """Were a function to forget it, the file would not."""

    def test_no_route_and_no_turn_for_what_is_archived(self, store: Store) -> None:
        session_id, other = lived(store), lived(store, 2, "omt_2")
        route = store.run(routes.find_route_of_session, session_id)
        assert route is not None
        do(store, archive_session, session_id)
        fresh = routes.Route(**{name: getattr(route, name) for name in route.__slots__} | {"key": "omt_9"})
        pointed = routes.Route(**{name: getattr(route, name) for name in route.__slots__} | {"key": "omt_2"})
        for one in (fresh, pointed):
            with pytest.raises(sqlite3.IntegrityError, match="archived session has no route"):
                store.run(routes.put_route, one, store.now)
        with pytest.raises(sqlite3.IntegrityError, match="gets no turn"):
            store.run(insert_turn, TurnId("t"), "wake", "w", session_id, None, store.epoch, store.now)
        assert store.run(routes.find_route_of_session, other) is not None

    def test_the_log_goes_with_its_session_and_never_comes_back(self, store: Store) -> None:
        session_id = lived(store)
        with pytest.raises(sqlite3.IntegrityError, match="only a deleted session"):
            store.connection.execute("DELETE FROM session_events")
        do(store, delete_session, session_id)
        with pytest.raises(sqlite3.IntegrityError, match="has no log"):
            store.run(sessions.append, session_id, "user/message", None, {}, store.now)
        with pytest.raises(sqlite3.IntegrityError, match="never comes back"):
            store.connection.execute("UPDATE sessions SET archived_at = NULL, deleted_at = NULL")
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            store.connection.execute("UPDATE sessions SET deleted_at = 1 WHERE session_id = ?", (lived(store, 2),))


def _session(tx: Tx, session_id: SessionId) -> sessions.Session:
    found = sessions.find_session(tx, session_id)
    assert found is not None
    return found
