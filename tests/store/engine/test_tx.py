"""`SqliteTx`: what a table module may do on an open transaction, and what it may not."""

import sqlite3
from collections.abc import Iterator

import pytest

from channels.errors import Broken
from channels.store.tx import SqliteTx, first_word
from tests.store.engine.notes import note_ids, put


@pytest.fixture
def tx(connection: sqlite3.Connection) -> Iterator[SqliteTx]:
    connection.execute("BEGIN IMMEDIATE")
    yield SqliteTx(connection)
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def test_execute_counts_the_rows_that_the_statement_itself_changed(tx: SqliteTx) -> None:
    assert tx.execute("INSERT INTO notes (note_id, text) VALUES (1, 'a'), (2, 'b'), (3, 'c')") == 3
    assert tx.execute("INSERT INTO notes (note_id, text) VALUES (1, 'z') ON CONFLICT DO NOTHING") == 0
    assert tx.execute("UPDATE notes SET text = ? WHERE note_id >= ?", ("d", 2)) == 2
    assert (
        tx.execute("WITH late AS (SELECT 2 AS id) UPDATE notes SET text = 'e' WHERE note_id >= (SELECT id FROM late)")
        == 2
    )
    assert tx.execute("WITH none AS (SELECT 9 AS id) DELETE FROM notes WHERE note_id IN (SELECT id FROM none)") == 0
    assert tx.execute("/* why */ DELETE FROM notes WHERE note_id = :id RETURNING text", {"id": 3}) == 1
    assert tx.execute("SELECT * FROM notes") == 0


def test_returning_changes_every_row_even_when_only_the_first_is_read(
    tx: SqliteTx, connection: sqlite3.Connection
) -> None:
    tx.execute("INSERT INTO notes (note_id, text) VALUES (1, 'a'), (2, 'a'), (3, 'a')")
    assert tx.row("UPDATE notes SET text = 'b' RETURNING text") == ("b",)
    connection.execute("COMMIT")  # an unfinished statement would refuse it
    assert connection.execute("SELECT count(*) FROM notes WHERE text = 'b'").fetchone() == (3,)


def test_row_is_none_without_a_match(tx: SqliteTx) -> None:
    assert tx.row("SELECT 1 FROM notes WHERE note_id = 7") is None
    assert tx.rows("SELECT 1 FROM notes WHERE note_id = 7") == []


@pytest.mark.parametrize(
    "sql",
    [
        "COMMIT", "commit", "END", "ROLLBACK", "BEGIN", "SAVEPOINT x", "RELEASE x", "PRAGMA query_only = OFF", "VACUUM",
        "ATTACH ':memory:' AS other", "DETACH other", "CREATE TABLE t (x)", "DROP TABLE notes", "-- why\n COMMIT",
        "/* SELECT */ COMMIT", " ; COMMIT", "", "-- only words",
    ],
)  # fmt: skip
def test_statements_that_would_end_the_transaction_or_change_settings_are_refused(tx: SqliteTx, sql: str) -> None:
    put(tx, 1)
    for method in (tx.execute, tx.rows, tx.row):
        with pytest.raises(Broken):
            method(sql)
    assert note_ids(tx) == [1]


def test_first_word_skips_comments() -> None:
    assert first_word("  -- SELECT\n/* INSERT\n */ update x") == "UPDATE"
    assert first_word("-- nothing more") == ""


def test_a_tx_is_dead_after_its_function_and_after_its_transaction(
    tx: SqliteTx, connection: sqlite3.Connection
) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        put(tx, 1, "fatal")
    with pytest.raises(Broken, match="ended by itself"):
        put(tx, 2)
    with pytest.raises(Broken, match="ended by itself"), tx.savepoint():
        pytest.fail("the body of a savepoint without a transaction was run")
    connection.execute("BEGIN IMMEDIATE")
    tx.close()
    with pytest.raises(Broken, match="after its function"):
        put(tx, 3)
    assert connection.execute("SELECT count(*) FROM notes").fetchone() == (0,)


def test_a_savepoint_undoes_its_body_only_when_it_raises(tx: SqliteTx) -> None:
    put(tx, 1)
    with tx.savepoint():
        put(tx, 2)
        with pytest.raises(LookupError), tx.savepoint():
            put(tx, 3)
            raise LookupError
        put(tx, 4)
    with pytest.raises(sqlite3.IntegrityError), tx.savepoint():
        put(tx, 5)
        put(tx, 1)
    assert note_ids(tx) == [1, 2, 4]


def test_a_savepoint_whose_body_swallowed_the_end_of_the_transaction_raises(tx: SqliteTx) -> None:
    with pytest.raises(Broken, match="ended by itself"), tx.savepoint(), pytest.raises(sqlite3.IntegrityError):
        put(tx, 1, "fatal")


def test_the_hook_sees_each_statement_before_it_happens(connection: sqlite3.Connection) -> None:
    seen: list[tuple[str, int]] = []

    def hook(sql: str) -> None:
        seen.append((first_word(sql), connection.total_changes))

    connection.execute("BEGIN IMMEDIATE")
    before = connection.total_changes
    tx = SqliteTx(connection, hook)
    put(tx, 1)
    note_ids(tx)
    assert seen == [("INSERT", before), ("SELECT", before + 1)]
    connection.execute("ROLLBACK")
