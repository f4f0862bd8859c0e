"""Processes of one agent, whoever their parent is by now: every one of them has this run's home in its environment."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Running:
    pid: int
    program: str
    resident_mb: int


def running(home: Path) -> list[Running]:
    """All processes that were started with this HOME and live."""
    mark = f"HOME={home}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0") and (resident := _resident_mb(folder)):
                program = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                found.append(Running(int(folder.name), program, resident))
        except (OSError, StopIteration):
            continue  # it has just ended
    return sorted(found, key=lambda one: one.pid)


def _resident_mb(folder: Path) -> int:
    lines = (folder / "status").read_text().splitlines()
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), 0)
