"""Text files of the session's folder, read and written for an agent, and never one outside. Blocking.

An agent may make links as it likes, also while we look. So a path is resolved first, links included; what comes out
must lie in the folder; and then every step down from the folder is taken without following a link, so that one that is
put there in between is refused. So is a folder that is not the one of the turn's beginning (`Place`). Only plain files
are opened. A file is replaced as a whole: a hard link to something outside is cut, not followed.
"""

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

READ_LIMIT_BYTES: Final = 8 * 2**20
WRITE_LIMIT_BYTES: Final = 8 * 2**20
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


Place = tuple[int, int]  # which folder it is, whatever is its name: device and number
_numbers = itertools.count(1)  # several may write one file at the same time


class FileRefused(Exception):
    """The reason, in words for the agent."""


def place_of(folder: Path) -> Place | None:
    """None: there is no such folder."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def read_text(
    folder: Path, path: str, line: int | None = None, limit: int | None = None, *, place: Place | None = None
) -> str:
    """The text of a file in `folder`, or `limit` lines of it from `line` (1 is the first) on. Raises FileRefused."""
    text = _read(folder, path, place)
    if line is None and limit is None:
        return text
    lines = text.splitlines(keepends=True)
    start = max((line or 1) - 1, 0)
    return "".join(lines[start : None if limit is None else start + max(limit, 0)])


def read_if_there(folder: Path, path: str, *, place: Place | None = None) -> str | None:
    """The text before a change; None where there is no such file. Raises FileRefused."""
    try:
        return _read(folder, path, place)
    except FileNotFoundRefused:
        return None


def write_text(folder: Path, path: str, content: str, *, place: Place | None = None) -> None:
    """Write a file in `folder`, making it and its folders if need be. Raises FileRefused."""
    data = content.encode("utf-8", "replace")
    if len(data) > WRITE_LIMIT_BYTES:
        raise FileRefused(f"more than {WRITE_LIMIT_BYTES} bytes are not written at once")
    with _refusals(path), _opened_parent(folder, path, place, make=True) as (parent, name):
        mode = _mode_of(parent, name)
        temporary = f".{name[:60]}.{os.getpid()}.{next(_numbers)}.part"  # 60 signs are at most 240 bytes
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)
        written = os.open(temporary, _NEW, 0o666 if mode is None else mode, dir_fd=parent)
        try:
            with os.fdopen(written, "wb") as file:
                file.write(data)
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise


def inside(folder: Path, path: str) -> Path:
    """The real path that `path` means, links followed; relative ones begin in `folder`. Raises FileRefused where it
    leads out."""
    if "\0" in path:
        raise FileRefused("this is no path")
    try:
        home, real = folder.resolve(), (folder / path).resolve()
    except (OSError, RuntimeError):  # a circle of links
        raise FileRefused(f"{path} leads nowhere") from None
    if real != home and home not in real.parents:
        raise FileRefused(f"{path} lies outside the session's folder")
    return real


class FileNotFoundRefused(FileRefused):
    """There is no such file."""


def _read(folder: Path, path: str, place: Place | None) -> str:
    with (
        _refusals(path),
        _opened_parent(folder, path, place, make=False) as (parent, name),
        os.fdopen(os.open(name, _READ, dir_fd=parent), "rb") as file,
    ):
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise FileRefused(f"{path} is no plain file")
        if found.st_size > READ_LIMIT_BYTES:
            raise FileRefused(f"{path} has more than {READ_LIMIT_BYTES} bytes")
        data = file.read(READ_LIMIT_BYTES)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileRefused(f"{path} is no text in UTF-8") from None


@contextmanager
def _opened_parent(folder: Path, path: str, place: Place | None, *, make: bool) -> Iterator[tuple[int, str]]:
    """The folder of the file, opened step by step, and the file's name in it."""
    home, real = folder.resolve(), inside(folder, path)
    *steps, name = real.relative_to(home).parts or ("",)
    if not name:
        raise FileRefused("this is the session's folder itself")
    current = os.open(home, _FOLDER)
    try:
        if place is not None and place != _place_at(current):
            raise FileRefused("the session's folder is not the one that it was")
        for step in steps:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(step, dir_fd=current)
            below = os.open(step, _FOLDER, dir_fd=current)
            os.close(current)
            current = below
        yield current, name
    finally:
        os.close(current)


def _place_at(opened: int) -> Place:
    found = os.fstat(opened)
    return found.st_dev, found.st_ino


def _mode_of(parent: int, name: str) -> int | None:
    """The rights of the file that is replaced; None where there is none."""
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused(f"{name} is no plain file")
    return stat.S_IMODE(found.st_mode)


@contextmanager
def _refusals(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundRefused(f"there is no file {path}") from None
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from None
