"""A small schema of the tests' own, and the functions on it that they commit."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from channels.store.database import Database
from channels.store.tx import StatementHook, Tx

SCHEMA = """
CREATE TABLE notes (
  note_id INTEGER PRIMARY KEY,
  text    TEXT NOT NULL,
  parent  INTEGER REFERENCES notes (note_id) DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO counters VALUES ('commits', 0);
CREATE TABLE blobs (blob_id INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;
CREATE TRIGGER notes_never_empty BEFORE INSERT ON notes WHEN NEW.text = ''
BEGIN SELECT RAISE(ABORT, 'empty; refused'); END;
CREATE TRIGGER notes_never_fatal BEFORE INSERT ON notes WHEN NEW.text = 'fatal'
BEGIN SELECT RAISE(ROLLBACK, 'ends the transaction'); END;
"""


def make_migrations(folder: Path, *scripts: str) -> Path:
    """A migration folder with these scripts as 0001, 0002, …"""
    folder.mkdir(parents=True, exist_ok=True)
    for number, script in enumerate(scripts, start=1):
        (folder / f"{number:04d}_step.sql").write_text(script)
    return folder


def open_notes(path: Path) -> sqlite3.Connection:
    """A plain connection with the schema, for tests of a batch without a thread."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;" + SCHEMA
    )
    return connection


@asynccontextmanager
async def opened(path: Path, migrations: Path, hook: StatementHook | None = None) -> AsyncIterator[Database]:
    """An open database with the commit counter, closed at the end: its thread would outlive a failed test."""
    database = await Database.open(path, hook=hook, migrations=migrations, before_commit=count_commit)
    try:
        yield database
    finally:
        await database.close()


def put(tx: Tx, note_id: int, text: str = "text", parent: int | None = None) -> int:
    """Insert a note and give its id."""
    tx.execute("INSERT INTO notes VALUES (:id, :text, :parent)", {"id": note_id, "text": text, "parent": parent})
    return note_id


def put_large(tx: Tx, blob_id: int) -> int:
    """Insert 400 KiB. In a table without triggers or references a statement has no journal of its own, so that a full
    file ends the whole transaction."""
    tx.execute("INSERT INTO blobs VALUES (:id, zeroblob(409600))", {"id": blob_id})
    return blob_id


def put_then_fail(tx: Tx, note_id: int) -> int:
    """Insert a note, then raise."""
    put(tx, note_id)
    raise LookupError(f"after {note_id}")


def note_ids(tx: Tx) -> list[int]:
    """Every note's id, ascending."""
    return [int(row[0]) for row in tx.rows("SELECT note_id FROM notes ORDER BY note_id")]


def count_commit(tx: Tx) -> None:
    """The commit counter, as `before_commit`."""
    tx.execute("UPDATE counters SET value = value + 1 WHERE name = 'commits'")


def commit_count(tx: Tx) -> int:
    """What the commit counter shows."""
    row = tx.row("SELECT value FROM counters WHERE name = 'commits'")
    assert row is not None
    return int(row[0])
