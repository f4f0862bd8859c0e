"""Ends the processes of agents whose service has died. Standard library only: it also runs as a script of its own.

    python -I -S watchdog.py MARK        (standard input: a pipe whose other end only the service holds)

The service writes one line a change: "+N" (process group N is ours), "-N" (it is gone), "bye" (all is well, leave).
However the service dies, the kernel closes its end; then every group that is left is killed, and so is every process
with MARK in its environment, which children inherit: also those that left their group, and one that was just being
started. The script looks several times, because a process may appear that was on its way.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

VARIABLE = "CHANNELS_AGENT_OF"  # in the environment of every process of an agent: <domain file>:<epoch>:<number>
PROC = Path("/proc")
ROUNDS_S = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)


def find_marked(wanted: str) -> dict[int, str]:
    """The processes of this user whose mark begins with `wanted`, with their marks. Never this one or one above it."""
    spared, found = _lineage(), {}
    for pid in processes():
        if pid not in spared and (mark := mark_of(pid)).startswith(wanted):
            found[pid] = mark
    return found


def processes() -> list[int]:
    with os.scandir(PROC) as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit()]


def mark_of(pid: int) -> str:
    """The mark of a process; "" where it has none or may not be looked at."""
    try:
        environment = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return ""
    for part in environment.split(b"\0"):
        name, _, value = part.partition(b"=")
        if name == VARIABLE.encode():
            return value.decode(errors="replace")
    return ""


def kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _lineage() -> set[int]:
    """This process and those above it: a service that an agent has started bears the mark of that agent itself."""
    pid, lineage = os.getpid(), set[int]()
    while pid > 1 and pid not in lineage:
        lineage.add(pid)
        try:
            pid = int((PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
    return lineage


def _watch(wanted: str) -> None:
    groups: set[int] = set()
    for line in sys.stdin:
        word = line.strip()
        if word == "bye":
            return
        if word[1:].isdigit():
            (groups.add if word[0] == "+" else groups.discard)(int(word[1:]))
    for pause_s in ROUNDS_S:
        time.sleep(pause_s)
        for group in groups:
            kill_group(group)
        if PROC.is_dir():
            for pid in find_marked(wanted):
                kill(pid)
        groups.clear()  # once killed, a number may belong to somebody else


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # what ends the service must not end its watchdog first
    _watch(sys.argv[1])
