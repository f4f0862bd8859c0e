"""Files of people, kept in the session's folder under `inbox/`.

Nothing is ever written outside: the folder may belong to an agent that makes links as it likes, so every step down is
taken without following one, and a new file never replaces what is there. A file that is there already with the same
bytes is used again, so that preparing a turn twice leaves one. Blocking: call it in a thread.
"""

import contextlib
import os
import stat
from itertools import count
from pathlib import Path

from channels.rules.downloads import numbered

INBOX = "inbox"
IGNORE = ".gitignore"
NUMBERS_AT_MOST = 10_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def save_file(folder: Path, name: str, data: bytes) -> str:
    """Keep the bytes under this name (or the next free one); returns the path below `folder`. Raises OSError.

    `name` is one component, as `rules.downloads.file_name` makes it. On disk when this returns.
    """
    folder.mkdir(parents=True, exist_ok=True)
    root = os.open(folder, _FOLDER)
    try:
        inbox = _open_inbox(root)
        try:
            return f"{INBOX}/{_save(inbox, name, data)}"
        finally:
            os.close(inbox)
    finally:
        os.close(root)


def _open_inbox(root: int) -> int:
    """The folder, made if need be. Where Git is, it ignores itself, so that no commit takes people's files along."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(INBOX, mode=0o700, dir_fd=root)
    inbox = os.open(INBOX, _FOLDER, dir_fd=root)
    if _exists(root, ".git") and not _exists(inbox, IGNORE):
        with contextlib.suppress(FileExistsError), os.fdopen(os.open(IGNORE, _NEW, 0o600, dir_fd=inbox), "wb") as file:
            file.write(b"*\n")
    return inbox


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _save(inbox: int, name: str, data: bytes) -> str:
    """Written whole under a passing name, then linked: nobody ever sees half a file."""
    part = f".{os.getpid()}-{id(data)}.part"
    written = os.open(part, _NEW, 0o600, dir_fd=inbox)
    try:
        with os.fdopen(written, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return _link(inbox, part, name, data)
    finally:
        os.unlink(part, dir_fd=inbox)


def _link(inbox: int, part: str, name: str, data: bytes) -> str:
    for number in count(1):
        candidate = numbered(name, number)
        try:
            os.link(part, candidate, src_dir_fd=inbox, dst_dir_fd=inbox, follow_symlinks=False)
        except FileExistsError:
            if _holds(inbox, candidate, data):
                return candidate
            if number >= NUMBERS_AT_MOST:
                raise
        else:
            os.fsync(inbox)
            return candidate
    raise AssertionError("count never ends")


def _holds(inbox: int, name: str, data: bytes) -> bool:
    """Whether this is a plain file with exactly these bytes."""
    try:
        opened = os.open(name, _OLD, dir_fd=inbox)
    except OSError:
        return False
    with os.fdopen(opened, "rb") as file:
        found = os.fstat(file.fileno())
        return stat.S_ISREG(found.st_mode) and found.st_size == len(data) and file.read() == data
