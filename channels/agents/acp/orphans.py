"""Processes of agents that an earlier boot has left behind, found by their mark and ended.

Every process of an agent carries `VARIABLE=<db_uuid>:<epoch>:<number>` in its environment and hands it on to its
children. At boot all that bear this domain file's id and another epoch are ended, before any session may run again:
otherwise an old agent could go on changing files while a new one works on them. Needs /proc; where there is none (not
Linux) only the watchdog stands in, and the caller is told so.
"""

import os
import select
import time
from dataclasses import dataclass

from channels.agents.acp.watchdog import PROC, find_marked, kill
from channels.agents.protocol import ProcessMark
from channels.logs import ORPHANS_ENDED, ORPHANS_LEFT, get_logger

LIMIT_S = 5.0

_log = get_logger("agents.acp")


@dataclass(frozen=True, slots=True)
class OrphansEnded:
    """`ended` processes are gone; `left` could not be ended in time; `looked`: there was a /proc to look in."""

    ended: int = 0
    left: tuple[int, ...] = ()
    looked: bool = True


def end_orphans(mark: ProcessMark, limit_s: float = LIMIT_S) -> OrphansEnded:
    """End what earlier boots on this domain file have left running. Blocking, at most about `limit_s`; stopped
    processes are ended as well. Looks again until nothing new turns up: one may fork while it is looked for."""
    if not PROC.is_dir():
        return OrphansEnded(looked=False)
    seen, until = set[int](), time.monotonic() + limit_s
    while True:
        found = {pid for pid, theirs in find_marked(f"{mark.db_uuid}:").items() if not theirs.startswith(str(mark))}
        if not found or time.monotonic() > until:
            break
        seen |= found
        for pid in found:
            kill(pid)
        for pid in found:
            _wait_for(pid, until)
    result = OrphansEnded(len(seen - found), tuple(sorted(found)))
    if result.left:
        _log.error(ORPHANS_LEFT, ended=result.ended, left=result.left)
    elif result.ended:
        _log.warning(ORPHANS_ENDED, ended=result.ended)
    return result


def end_marked(mark: str) -> None:
    """Kill at once whatever bears exactly this process's mark: also what has left its group."""
    if PROC.is_dir():
        for pid, theirs in find_marked(mark).items():
            if theirs == mark:
                kill(pid)


def _wait_for(pid: int, until: float) -> None:
    """Until the process is gone (its pidfd becomes readable) or the time is over."""
    try:
        watched = os.pidfd_open(pid)
    except OSError:
        return  # gone already
    try:
        select.select([watched], [], [], max(0.0, until - time.monotonic()))
    finally:
        os.close(watched)
