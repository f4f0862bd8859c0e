"""Numbered migrations: `NNNN_words.sql`, applied statement by statement, all missing ones in one transaction.

The file's `user_version` is the number of the last one applied. A process killed in the middle leaves the old version
whole. Foreign keys are off while migrating, so that a table can be rebuilt, and checked as a whole before COMMIT.
"""

import re
import sqlite3
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from channels.errors import Broken, StartRefused
from channels.store.tx import SqliteTx, StatementHook

_FILE_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: its number, its name and its statements in order."""

    number: int
    name: str
    statements: tuple[str, ...]


def packaged_folder() -> Traversable:
    """The migrations that come with this program."""
    return files("channels.store") / "schema"


def load_migrations(folder: Traversable | None = None) -> tuple[Migration, ...]:
    """All migrations of a folder (default: the packaged ones) in order.

    Raises `StartRefused` when there are none, a number is missing or double, or a file cannot be understood: a program
    that was packaged wrongly must not touch a file.
    """
    folder = folder if folder is not None else packaged_folder()
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    migrations = tuple(_load(entry) for entry in found)
    numbers = [migration.number for migration in migrations]
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        raise StartRefused(
            f"the migrations are not numbered 0001, 0002, … without a gap: {[m.name for m in migrations]}"
        )
    return migrations


@cache
def split_statements(sql: str) -> tuple[str, ...]:
    """The statements of a script; semicolons in strings, comments and trigger bodies do not end one."""
    statements: list[str] = []
    gathered = ""
    for piece in re.split(r"(?<=;)", sql):
        gathered += piece
        if gathered.endswith(";") and sqlite3.complete_statement(gathered):
            statements.append(gathered.strip())
            gathered = ""
    if _COMMENTS.sub("", gathered).strip():
        raise ValueError(f"the last statement has no end: {gathered.strip()[:60]!r}")
    return tuple(statements)


def migrate(
    connection: sqlite3.Connection, migrations: tuple[Migration, ...], hook: StatementHook | None = None
) -> int:
    """Bring the file to the newest version and give that number. Expects no open transaction and foreign keys off.

    Raises `StartRefused`; the file then has the version and content that it had before.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(migrations):
        raise StartRefused(f"the file has version {version}, this program knows versions up to {len(migrations)}")
    missing = migrations[version:]
    if not missing:
        return version
    tell_hook = hook if hook is not None else _ignore
    try:
        tell_hook("BEGIN IMMEDIATE")
        connection.execute("BEGIN IMMEDIATE")
        for migration in missing:
            _apply(connection, migration, hook)
        _check_foreign_keys(connection)
        tell_hook("COMMIT")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    tell_hook("COMMITTED")
    return missing[-1].number


def _load(entry: Traversable) -> Migration:
    named = _FILE_NAME.fullmatch(entry.name)
    if named is None:
        raise StartRefused(f"migration {entry.name}: the name must be like 0001_words.sql")
    try:
        return Migration(int(named[1]), entry.name, split_statements(entry.read_text(encoding="utf-8")))
    except ValueError as error:
        raise StartRefused(f"migration {entry.name}: {error}") from error


def _apply(connection: sqlite3.Connection, migration: Migration, hook: StatementHook | None) -> None:
    tx = SqliteTx(connection, hook, may_change_schema=True)
    for number, statement in enumerate(migration.statements, start=1):
        try:
            tx.execute(statement)
        except (sqlite3.Error, Broken) as error:
            raise StartRefused(
                f"migration {migration.name} failed at statement {number} ({error}): the file keeps its old version"
            ) from error
    connection.execute(f"PRAGMA user_version = {migration.number:d}")


def _check_foreign_keys(connection: sqlite3.Connection) -> None:
    broken = connection.execute('SELECT DISTINCT "table" FROM pragma_foreign_key_check').fetchall()
    if broken:
        raise StartRefused(f"the migrations break references of {[row[0] for row in broken]}: nothing was changed")


def _ignore(_sql: str) -> None:
    return None
