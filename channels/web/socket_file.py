"""The file of a Unix socket: made so that nobody else can open it, and never taken from a living process."""

import contextlib
import os
import socket
import stat
from pathlib import Path

from channels.errors import ConfigError, StartRefused

_KEY = "control.socket"
_BACKLOG = 64
_PROBE_LIMIT_S = 1.0


class SocketFile:
    """One socket file. `open` gives the listening socket, `remove` takes the file away if it is still that one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._inode: int | None = None

    def open(self) -> socket.socket:
        """A listening socket with mode 0600. A file left by a dead process is replaced; a living one is refused."""
        _check_folder(self.path.parent)
        _clear_stale(self.path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Linux gives the file the mode of the socket: set before bind, it is never open to others, not even briefly
            os.fchmod(listener.fileno(), 0o600)
            listener.bind(str(self.path))
            self.path.chmod(0o600)
            listener.listen(_BACKLOG)
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            raise ConfigError(_KEY, f"cannot make {self.path}: {error.strerror or error}") from None
        self._inode = self.path.stat().st_ino
        return listener

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            if self._inode is not None and self.path.lstat().st_ino == self._inode:
                self.path.unlink()
        self._inode = None


def _check_folder(folder: Path) -> None:
    """The folder exists (made with 0700 when missing) and no stranger can put another socket into it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise ConfigError(_KEY, f"the folder {folder} cannot be used: {error.strerror}") from None
    if found.st_uid not in (os.getuid(), 0):
        raise ConfigError(_KEY, f"the folder {folder} belongs to another user; choose one of your own")
    if _is_open_to_others(found):
        raise ConfigError(
            _KEY, f"others may write in the folder {folder}; take that away (chmod go-w) or choose another"
        )


def _is_open_to_others(folder: os.stat_result) -> bool:
    """The user's own group may write: many systems give every user a private group and such folders."""
    if folder.st_mode & stat.S_ISVTX:
        return False
    foreign_group = folder.st_mode & stat.S_IWGRP and folder.st_gid != os.getgid()
    return bool(folder.st_mode & stat.S_IWOTH or foreign_group)


def _clear_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(_KEY, f"{path} cannot be looked at: {error.strerror}") from None
    if not stat.S_ISSOCK(mode):
        raise ConfigError(_KEY, f"{path} exists and is not a socket; move it away or choose another path")
    if _is_alive(path):
        raise StartRefused(f"another service listens on {path}; stop it first (channels status shows it)")
    path.unlink(missing_ok=True)


def _is_alive(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_LIMIT_S)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # busy, or not ours to ask: never take it away
    return True
