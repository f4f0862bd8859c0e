"""What `channels doctor` can see on this machine alone: programs, places, disk, lock, file."""

import platform
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from channels import __version__
from channels.cli.agent_programs import agent_programs
from channels.cli.checking import check_place
from channels.cli.doctor_words import Check, failed, ok, skipped, warning
from channels.cli.faults import CheckFailed
from channels.clock import Clock
from channels.config import Settings
from channels.errors import Refused, StartRefused
from channels.store.anchor import mark_path, read_beside
from channels.store.copies import look_into
from channels.store.domain_file import true_path
from channels.store.header import check_header
from channels.store.invariants import look
from channels.store.lock import FileLock, lock_path
from channels.store.migrate import load_migrations
from channels.store.transactions.boot import read_floor
from channels.store.transactions.evidence import read_evidence
from channels.store.transactions.quarantine import read_suspicion

OLDEST_SQLITE = (3, 37, 0)  # STRICT tables
LITTLE_ROOM_BYTES, NO_ROOM_BYTES = 500 * 2**20, 50 * 2**20


def check_programs() -> list[Check]:
    """Versions of what runs here."""
    found = f"channels {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        return [failed("versions", found, "install a Python whose SQLite is 3.37 or newer")]
    return [ok("versions", found)]


def check_agent_programs(settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    """Whether the programs of agents are there; an agent that nobody begins with may lack its own."""
    checks = []
    for program in agent_programs(settings, environ):
        name, found = f"agents.{program.agent}.command", program.found
        if found is not None:
            checks.append(ok(name, found))
        else:
            bad = failed if program.is_used else warning
            checks.append(bad(name, f"there is no program {program.name}", program.mend))
    return checks


def check_places(settings: Settings) -> list[Check]:
    """Whether the domain file and the control socket can be where the settings say."""
    checks = []
    for key, path in (("store.path", settings.store.path), ("control.socket", settings.control_socket)):
        try:
            check_place(key, path)
        except CheckFailed as error:
            checks.append(failed(key, str(error), "give this user the right, or choose another place"))
        else:
            checks.append(ok(key, str(path)))
    return checks


def check_disk(settings: Settings) -> Check:
    """Room where the domain file is."""
    folder = next(parent for parent in settings.store.path.absolute().parents if parent.exists())
    free = shutil.disk_usage(folder).free
    found = f"{free // 2**20:,} MiB free in {folder}"
    if free < NO_ROOM_BYTES:
        return failed("disk", found, "free some room now: a full disk stops everything that has to be kept")
    if free < LITTLE_ROOM_BYTES:
        return warning("disk", found, "free some room")
    return ok("disk", found)


def check_lock(settings: Settings, running: str, clock: Clock) -> Check:
    """Who has the domain file. `running`: what the control socket said, "" when nobody listens there."""
    path = true_path(settings.store.path)
    if not lock_path(path).exists():
        return ok("lock", "no service runs: nobody has the domain file")
    try:
        FileLock.acquire(path, clock.wall_ms()).release()
    except StartRefused as refusal:
        holder = str(refusal).rpartition(": ")[0]
        if running == "answers":
            return ok("lock", holder)
        what = running or f"nobody listens on {settings.control_socket}"
        return failed("lock", f"{holder}, and {what}", "stop that process; if it is the service, its log says more")
    if running:
        return failed("lock", "a service answers and does not hold the lock", "restart the service")
    return ok("lock", "no service runs: nobody has the domain file")


def check_file(settings: Settings) -> Check:
    """Whose file it is and of which version, from its bytes alone."""
    path, newest = true_path(settings.store.path), len(load_migrations())
    if mark_path(path).exists() and not path.exists():
        return failed("file", f"{path} is missing: a restore was cut off", "run `channels restore` again")
    try:
        header = check_header(path, newest)
    except StartRefused as refusal:
        found, _, mend = str(refusal).rpartition(": ")
        return failed("file", found or str(refusal), mend or "name another file")
    except OSError as error:
        return failed("file", f"{path} cannot be read: {error.strerror}", "make it readable for this user")
    if header is None:
        return ok("file", f"{path} does not exist yet; the first start makes it")
    if header.user_version < newest:
        return ok("file", f"{path} has version {header.user_version}; the next start brings it to {newest}")
    return ok("file", f"{path} has version {newest}")


def look_at_closed_file(
    settings: Settings, invariants: bool, clock: Clock
) -> tuple[dict[str, Any] | None, list[Check]]:
    """What the file of a stopped service says, in the form in which a running one would say it; and what its next
    start will think of it."""
    path, newest = true_path(settings.store.path), len(load_migrations())
    try:
        header = check_header(path, newest)
        if header is None or header.user_version < newest:
            return None, [skipped("content", "there is no file of this version to look into yet")]
        with look_into(path, clock.wall_ms()) as tx:
            why = read_suspicion(tx, read_beside(path))
            answer: dict[str, Any] = {"evidence": asdict(read_evidence(tx))}
            if invariants:
                answer["findings"] = asdict(look(tx, read_floor(tx)))
    except (StartRefused, Refused, OSError, sqlite3.Error) as error:
        return None, [failed("content", str(error), "restore a backup with `channels restore FILE`")]
    return answer, [_history_of(why)]


def _history_of(why: str | None) -> Check:
    if why is None:
        return ok("content", "whole, and the one that ran here last")
    return warning(
        "content",
        f"whole, but {why}",
        "nothing: the next start compares it with Feishu's history before it answers anything; if this is a mistake, "
        "put the right file back first",
    )
