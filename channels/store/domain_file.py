"""Opening the domain file: folder, lock, identity, settings, migrations; nothing is written before it is known as ours.

Synchronous, for the thread that will own the connection: `Database` calls it on aiosqlite's thread, the simulation
inline.
"""

import os
import sqlite3
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from channels.errors import StartRefused
from channels.store.header import APPLICATION_ID, check_header
from channels.store.lock import FileLock
from channels.store.migrate import load_migrations, migrate
from channels.store.tx import StatementHook

# (setting, what is asked for, what SQLite must answer). EXCLUSIVE comes before WAL: then the wal-index stays in memory
# and no second connection can exist. FULL makes a COMMIT survive a power cut. A -wal that one large transaction has
# blown up is cut back at the next checkpoint.
_SETTINGS: tuple[tuple[str, str, object], ...] = (
    ("busy_timeout", "0", 0),
    ("locking_mode", "EXCLUSIVE", "exclusive"),
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", 2),
    ("temp_store", "MEMORY", 2),
    ("wal_autocheckpoint", "1000", 1000),
    ("journal_size_limit", "16777216", 16_777_216),
    ("trusted_schema", "OFF", 0),
    ("foreign_keys", "OFF", 0),  # until the migrations are done
)
_CACHED_STATEMENTS = 512


@dataclass(frozen=True, slots=True)
class DomainFile:
    """An open, migrated and locked domain file. `connection` belongs to the thread that opened it."""

    path: Path
    connection: sqlite3.Connection
    lock: FileLock
    version: int

    def close(self) -> None:
        """Close the file (which empties the -wal into it), then let the next process in."""
        try:
            self.connection.close()
        finally:
            self.lock.release()


def open_domain_file(
    path: Path, *, now_ms: int, migrations: Traversable | None = None, hook: StatementHook | None = None
) -> DomainFile:
    """Open `path` for this process alone, creating folder (0700) and file (0600) when missing.

    Raises `StartRefused`, with the reason and how to mend it, having changed nothing but the lock file.
    """
    steps = load_migrations(migrations)
    path = true_path(path)
    try:
        with ExitStack() as undo:
            _make_folder(path.parent)
            if path.is_dir():
                raise StartRefused(f"{path} is a folder: name a file in it")
            lock = FileLock.acquire(path, now_ms)
            undo.callback(lock.release)
            check_header(path, newest=len(steps))
            _make_private(path)
            connection = sqlite3.connect(path, timeout=0, isolation_level=None, cached_statements=_CACHED_STATEMENTS)
            undo.callback(connection.close)
            for setting in _SETTINGS:
                _set(connection, *setting)
            version = migrate(connection, steps, hook)
            _set(connection, "foreign_keys", "ON", 1)
            undo.pop_all()
            return DomainFile(path, connection, lock, version)
    except (sqlite3.Error, OSError) as error:
        raise StartRefused(_explain(path, error)) from error


def true_path(path: Path) -> Path:
    """The file itself, whatever links lead to it: one file has one lock, and what belongs to it lies beside it."""
    return Path(os.path.realpath(path))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartRefused(
            f"{folder}: the folder cannot be made ({error.strerror}): make it, or choose another place"
        ) from error


def _make_private(path: Path) -> None:
    """Create the file, or take others' rights away: it holds what people wrote. SQLite gives -wal the same mode."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _mark_if_new(connection: sqlite3.Connection) -> None:
    """Make it ours before it becomes a WAL file: later the mark could stand in the -wal alone when we are killed."""
    if connection.execute("PRAGMA page_count").fetchone()[0] == 0:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")


def _set(connection: sqlite3.Connection, name: str, wanted: str, answer: object) -> None:
    """Set and read back: SQLite ignores a setting that it does not know or cannot do, without an error."""
    if name == "journal_mode":
        _mark_if_new(connection)
    connection.execute(f"PRAGMA {name} = {wanted}").fetchall()
    found = connection.execute(f"PRAGMA {name}").fetchone()
    if found is None or found[0] != answer:
        raise StartRefused(
            f"SQLite does not take the setting {name} = {wanted} here (it answers {found}): use a local disk"
        )


def _explain(path: Path, error: sqlite3.Error | OSError) -> str:
    if isinstance(error, OSError):
        return f"{path}: the file cannot be opened ({error.strerror}): make it readable and writable for this user"
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{path} is in use by another process ({error}): stop that one first"
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return f"{path} is damaged ({error}): restore a backup with `channels restore`"
        case sqlite3.SQLITE_FULL:
            return f"{path}: no room left on the disk ({error}): free some and start again"
        case _:
            return f"{path} cannot be opened ({error}): check the disk and the rights of this user"
