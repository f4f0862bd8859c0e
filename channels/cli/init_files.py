"""The two files that `channels init` writes, each whole or not at all: the secret, then the settings that name it.

A secret's file carries the app's id in its name, so that another app never overwrites the secret that the settings of
now still name: the one moment in which everything changes is the renaming of the settings. What a killed run left
behind is removed by the next one.
"""

import os
import re
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PART = ".part"
SECRET_MODE, CONFIG_MODE = 0o600, 0o644
_OURS = r"\.cli_[A-Za-z0-9_]+\.secret"


@dataclass(frozen=True, slots=True)
class Writing:
    """What to write. `secret` None: the settings alone."""

    config: Path
    text: str
    secret_file: Path | None = None
    secret: str | None = field(default=None, repr=False)


def secret_name(config: Path, app_id: str) -> str:
    """The name of the file beside the settings that holds this app's secret."""
    return f"{config.name}.{app_id}.secret"


def write(writing: Writing) -> list[Path]:
    """Write both durably and remove what no longer counts; returns the former secrets that were removed.

    Raises OSError with everything as it was. A link is followed, and an existing file of settings keeps its mode.
    """
    config = writing.config.resolve()
    staged = [(config, writing.text, _mode_of(config))]
    if writing.secret_file is not None and writing.secret is not None:
        staged.insert(0, (writing.secret_file, writing.secret + "\n", SECRET_MODE))
    before = config.read_text(encoding="utf-8") if config.exists() else ""
    with _signals_held():
        try:
            for place, text, mode in staged:
                _stage(place, text, mode)
            for place, _, _ in staged:
                _part(place).replace(place)
                _sync_folder(place.parent)
        except OSError:
            sweep(config, before)
            raise
        finally:
            for place, _, _ in staged:
                with suppress(OSError):
                    _part(place).unlink(missing_ok=True)
        return sweep(config, writing.text)


def sweep(config: Path, text: str) -> list[Path]:
    """Remove secrets of ours that `text` does not name, and unfinished files; returns the secrets that went."""
    ours = re.compile(re.escape(config.name) + _OURS)
    unfinished = re.compile(f"{re.escape(config.name)}({_OURS})?{re.escape(PART)}")
    removed = []
    for each in sorted(each for each in config.parent.iterdir() if each.is_file()):
        if unfinished.fullmatch(each.name):
            each.unlink(missing_ok=True)
        elif ours.fullmatch(each.name) and each.name not in text:
            each.unlink(missing_ok=True)
            removed.append(each)
    return removed


def _part(place: Path) -> Path:
    return place.with_name(place.name + PART)


def _stage(place: Path, text: str, mode: int) -> None:
    """The whole content beside its place, on the disk."""
    _part(place).unlink(missing_ok=True)
    descriptor = os.open(_part(place), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, SECRET_MODE)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(text.encode())
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mode_of(config: Path) -> int:
    try:
        return stat.S_IMODE(config.stat().st_mode)
    except FileNotFoundError:
        return CONFIG_MODE


@contextmanager
def _signals_held() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until everything is in its place."""
    held = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
