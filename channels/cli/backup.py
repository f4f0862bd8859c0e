"""`channels backup FILE`: a checked copy of the domain file, while the service runs or while none does."""

from collections.abc import Mapping
from pathlib import Path

from channels.cli.control_client import NotRunning, call_service
from channels.cli.copy_words import describe
from channels.cli.faults import CheckFailed
from channels.cli.running import read_settings
from channels.clock import SystemClock
from channels.config import Settings
from channels.errors import Refused
from channels.store.copies import CopyFacts, back_up_closed, inspect_copy, mark_copy
from channels.store.domain_file import true_path

LONGEST_S = 3600.0


def back_up(config: Path | None, target: Path, environ: Mapping[str, str]) -> None:
    """Make the copy, look into it and say what it holds.

    Raises Refused (the target exists) and StartRefused (a service that does not answer has the file) with nothing
    changed, CheckFailed when the copy cannot be written or is not whole.
    """
    settings = read_settings(config, environ)
    target = target.absolute()
    if target.exists():
        raise Refused("backup_exists", f"{target} exists: a backup never overwrites a file; name another one")
    if not target.parent.is_dir():
        raise CheckFailed(f"the folder {target.parent} is not there; make it first.")
    _copy(settings, target)
    mark_copy(target, SystemClock().wall_ms())
    print(f"{target}: {describe(_checked(target))}")
    print("Put it back with `channels restore FILE` while the service is stopped.")


def _copy(settings: Settings, target: Path) -> None:
    try:
        call_service(settings.control_socket, "backup", {"target": str(target)}, LONGEST_S)
    except NotRunning:
        back_up_closed(true_path(settings.store.path), target, SystemClock().wall_ms())


def _checked(target: Path) -> CopyFacts:
    try:
        return inspect_copy(target)
    except Refused as refusal:
        raise CheckFailed(f"the copy was written and is of no use: {refusal.user_text}") from refusal
