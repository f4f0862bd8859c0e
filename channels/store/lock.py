"""`<file>.lock`: which process has the domain file.

The kernel's flock is the lock, and the kernel frees it however the holder dies; the pid and time inside only tell
people who it is. What a dead holder left inside is harmless. The lock file is never deleted: deleting it while another
process waits on the old one would let two in.
"""

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from channels.errors import StartRefused


def lock_path(domain_file: Path) -> Path:
    """Where the lock of a domain file is."""
    return domain_file.with_name(domain_file.name + ".lock")


class FileLock:
    """Held from `acquire` until `release` or the end of the process. Child programs do not inherit it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor

    @classmethod
    def acquire(cls, domain_file: Path, now_ms: int) -> Self:
        """Take the lock at once, or raise `StartRefused` that names the holder. `now_ms` is wall time."""
        path = lock_path(domain_file)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StartRefused(
                f"{path}: the lock file cannot be written ({error.strerror}): "
                "make the folder writable for this user, or choose another place for the domain file"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write_holder(descriptor, now_ms)
        except BlockingIOError as error:
            holder = _read_holder(descriptor)
            os.close(descriptor)
            raise StartRefused(
                f"{domain_file} is in use by {holder}: "
                "stop that process first, or give this one a domain file of its own"
            ) from error
        except OSError as error:
            os.close(descriptor)
            raise StartRefused(f"{path}: the file cannot be locked ({error.strerror}): use a local disk") from error
        return cls(path, descriptor)

    def release(self) -> None:
        """Let the next process in. Safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _write_holder(descriptor: int, now_ms: int) -> None:
    since = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n{since}\n".encode(), 0)


def _read_holder(descriptor: int) -> str:
    lines = os.pread(descriptor, 200, 0).decode(errors="replace").split("\n")
    if len(lines) < 3 or not lines[0].isdigit():
        return "another process that has just started"
    return f"process {lines[0]} since {lines[1]}"
