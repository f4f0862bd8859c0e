"""`<file>.anchor`: how far the domain file had come, kept beside it, so that an older copy of it is recognised.

Three numbers: whose file it is, the owner epoch and the count of commits. They are read from the file after COMMIT and
only then written here, so that the anchor is never ahead of a file that nobody has put back. A file ahead of its anchor
is ordinary: the process was killed before it wrote again. A new file gets its anchor before its first commit, so that
a file without one was copied here.

`<file>.restored` is the mark of `channels restore`. It names the numbers of the copy, so that it says nothing once the
file has moved on, and nothing when the restore was killed before the copy was in place.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from channels.errors import StartRefused
from channels.rules.anchor import Anchor, Beside


def anchor_path(domain_file: Path) -> Path:
    """Where the anchor of a domain file is."""
    return domain_file.with_name(domain_file.name + ".anchor")


def mark_path(domain_file: Path) -> Path:
    """Where `channels restore` leaves its mark."""
    return domain_file.with_name(domain_file.name + ".restored")


def read_beside(domain_file: Path) -> Beside:
    """Anchor and mark as they are. A damaged one counts as none: then the file is looked at as a copy."""
    return Beside(_read(anchor_path(domain_file)), _read(mark_path(domain_file)))


def write_anchor(domain_file: Path, anchor: Anchor) -> None:
    """Replace the anchor, durably and whole. `anchor` must hold numbers that are committed. Raises OSError."""
    write_durably(anchor_path(domain_file), asdict(anchor))


def write_mark(domain_file: Path, copy: Anchor) -> None:
    """Say that this file is about to be replaced by a copy with these numbers. Raises OSError."""
    write_durably(mark_path(domain_file), asdict(copy))


def remove_mark(domain_file: Path) -> None:
    """The restored file has been recognised, in a commit of its own."""
    mark_path(domain_file).unlink(missing_ok=True)


def refuse_half_restored(domain_file: Path) -> None:
    """Raise `StartRefused` where a restore was cut off between taking the old file away and putting the copy there."""
    if mark_path(domain_file).exists() and not domain_file.exists():
        raise StartRefused(
            f"{domain_file} is missing and {mark_path(domain_file).name} stands beside it, so a restore was cut off: "
            "run `channels restore` again"
        )


def write_durably(path: Path, values: dict[str, Any]) -> None:
    """JSON to `path` (0600), whole or not at all, on the disk when it returns."""
    part = path.with_name(path.name + ".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, json.dumps(values).encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    part.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in this folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> Anchor | None:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return Anchor(str(values["db_uuid"]), int(values["epoch"]), int(values["commits"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
