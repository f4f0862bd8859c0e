"""A consistent copy of the open domain file, made through its own connection while commits go on."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from channels.errors import Refused


def copy_pages(
    connection: sqlite3.Connection, target: Path, step_pages: int, between_steps: Callable[[], None]
) -> None:
    """Copy everything to `target` (0600), which appears whole or not at all; `between_steps` may commit.

    SQLite carries what this same connection commits meanwhile over to the copy. Raises `Refused` when `target` exists.
    """
    if target.exists():
        raise Refused("backup_exists", f"{target} exists: a backup never overwrites a file")
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            connection.backup(copy, pages=step_pages, progress=lambda _status, _left, _all: between_steps())
        _sync(part)
        part.rename(target)
        _sync(target.parent)
    finally:
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
