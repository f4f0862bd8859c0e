"""Copies of the domain file: looking into one, making one while no service runs, and putting one back.

Putting back is killed nowhere half-way. The copy is made whole beside the file first; the old file's -wal is folded
into it, so that the old file is whole without it; then one rename changes old into new. Only an old file that is too
damaged to be folded is moved away before; a kill right there leaves no file and the mark, and the service says so.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from channels.errors import Refused, StartRefused
from channels.rules.anchor import Anchor
from channels.store import owners
from channels.store.anchor import sync_folder, write_mark
from channels.store.header import check_header
from channels.store.lock import FileLock
from channels.store.migrate import load_migrations
from channels.store.page_copy import copy_pages
from channels.store.transactions.boot import Report, report
from channels.store.transactions.quarantine import mark_as_copy, read_anchor
from channels.store.tx import SqliteTx

STEP_PAGES = 1024
FIRST_MARKED_VERSION = 2  # of a file that has a place for the mark of a copy
SIDE_FILES = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """What a whole, readable copy holds. `alive_at`: when a service was last connected with it (epoch ms)."""

    version: int
    anchor: Anchor
    alive_at: int | None
    report: Report
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PutBack:
    """`kept`: where the file is that was replaced; None where there was none."""

    facts: CopyFacts
    kept: Path | None


@contextmanager
def locked(domain_file: Path, now_ms: int) -> Iterator[None]:
    """Nobody else has the file meanwhile. Raises StartRefused that names who has it."""
    lock = FileLock.acquire(domain_file, now_ms)
    try:
        yield
    finally:
        lock.release()


def inspect_copy(path: Path) -> CopyFacts:
    """Check a file that nobody has open, without writing anything, and say what it holds.

    Raises StartRefused for a file that is not ours or newer, Refused("damaged") for one that is not whole.
    """
    header = check_header(path, newest=len(load_migrations()))
    if header is None:
        raise Refused("no_file", f"{path} is missing or empty")
    try:
        address = f"{path.absolute().as_uri()}?immutable=1"  # no side files, no lock, no recovery
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as copy:
            return _facts(copy, path, header.user_version)
    except sqlite3.Error as error:
        raise Refused("damaged", f"{path} cannot be read ({error}); take another copy") from error


def back_up_closed(domain_file: Path, target: Path, now_ms: int) -> None:
    """Copy a file that no service has open. Raises StartRefused (in use, not ours), Refused (the target exists)."""
    if not domain_file.exists():
        raise Refused("no_file", f"{domain_file} is not there: there is nothing to copy yet")
    with locked(domain_file, now_ms):
        if check_header(domain_file, newest=len(load_migrations())) is None:
            raise Refused("no_file", f"{domain_file} is empty: there is nothing to copy yet")
        with closing(sqlite3.connect(domain_file, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            copy_pages(connection, target, STEP_PAGES, lambda: None)


@contextmanager
def look_into(domain_file: Path, now_ms: int) -> Iterator[SqliteTx]:
    """A read of a file that no service has open, its -wal included. It works on a copy of its own: nothing is written
    to the file. Raises StartRefused (in use, not ours), Refused (damaged)."""
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder) / domain_file.name
        with locked(domain_file, now_ms):
            _stage(domain_file, stage)
        with closing(sqlite3.connect(stage, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            tx = SqliteTx(connection)
            yield tx
            tx.close()
            connection.execute("ROLLBACK")


def mark_copy(copy: Path, now_ms: int) -> None:
    """Write into a copy that it is one, so that it is recognised wherever it is put. A copy of a version that has no
    place for it stays as it is."""
    header = check_header(copy, newest=len(load_migrations()))
    if header is None or header.user_version < FIRST_MARKED_VERSION:
        return
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN IMMEDIATE")
        tx = SqliteTx(connection)
        mark_as_copy(tx, now_ms)
        tx.close()
        connection.execute("COMMIT")
    _sync(copy)


def put_back(copy: Path, domain_file: Path, now_ms: int) -> PutBack:
    """Make a copy the domain file; what it replaces is kept under another name. `now_ms` is wall time.

    Raises StartRefused (in use; the copy is not ours or newer), Refused (the copy is damaged or is the file itself).
    """
    if domain_file.exists() and copy.exists() and domain_file.samefile(copy):
        raise Refused("same_file", f"{copy} is the domain file itself")
    if not copy.exists():
        raise Refused("no_file", f"{copy}: there is no such file")
    domain_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(domain_file, now_ms):
        stage = domain_file.with_name(domain_file.name + ".incoming")
        try:
            facts = _stage(copy, stage)
            write_mark(domain_file, facts.anchor)
            kept = _set_aside(domain_file, now_ms)
            stage.rename(domain_file)
            sync_folder(domain_file.parent)
        finally:
            _unlink(stage, *_sides(stage))
        return PutBack(facts, kept)


def _facts(copy: sqlite3.Connection, path: Path, version: int) -> CopyFacts:
    found = [str(row[0]) for row in copy.execute("PRAGMA integrity_check(5)")]
    if found != ["ok"]:
        raise Refused("damaged", f"{path} is damaged ({found[0]}); take another copy")
    copy.execute("BEGIN")
    tx = SqliteTx(copy)
    try:
        if version < 1 or (anchor := read_anchor(tx)) is None:
            raise Refused("no_file", f"{path} has never been used by a service")
        meta = owners.read_meta(tx)
        return CopyFacts(version, anchor, meta.last_alive_at if meta else None, report(tx), path.stat().st_size)
    finally:
        tx.close()
        copy.execute("ROLLBACK")


def _stage(copy: Path, stage: Path) -> CopyFacts:
    """The copy, with what its -wal holds, whole and on the disk under the staging name."""
    check_header(copy, newest=len(load_migrations()))
    _unlink(stage, *_sides(stage))
    descriptor = os.open(stage, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    shutil.copyfile(copy, stage)
    wal = copy.with_name(copy.name + "-wal")
    if wal.exists() and wal.stat().st_size > 0:
        shutil.copyfile(wal, stage.with_name(stage.name + "-wal"))
        _fold(stage)
    _sync(stage)
    return inspect_copy(stage)


def _set_aside(domain_file: Path, now_ms: int) -> Path | None:
    """Keep the old file under another name; afterwards nothing lies beside the place that could spoil the new one."""
    if not domain_file.exists():
        _unlink(*_sides(domain_file))  # of a file that is gone: nothing can be read from a -wal alone
        return None
    kept = _free_name(domain_file, now_ms)
    try:
        _fold(domain_file)
    except sqlite3.Error:  # too damaged: the file goes away with everything that belongs to it
        domain_file.rename(kept)
        for side in SIDE_FILES:
            beside = domain_file.with_name(domain_file.name + side)
            if beside.exists():
                beside.rename(kept.with_name(kept.name + side))
        sync_folder(domain_file.parent)
        return kept
    _unlink(*_sides(domain_file))
    os.link(domain_file, kept)
    sync_folder(domain_file.parent)
    return kept


def _fold(path: Path) -> None:
    """Write what the -wal holds into the file. Raises sqlite3.Error when the file is damaged."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StartRefused(f"{path} is in use by another program")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()


def _free_name(domain_file: Path, now_ms: int) -> Path:
    when = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%d-%H%M%S")
    names = (f"{domain_file.name}.replaced-{when}{suffix}" for suffix in ["", *(f"-{n}" for n in range(2, 1000))])
    return next(path for name in names if not (path := domain_file.with_name(name)).exists())


def _sides(path: Path) -> list[Path]:
    return [path.with_name(path.name + side) for side in SIDE_FILES]


def _unlink(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
