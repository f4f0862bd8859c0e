"""How much memory process groups take, from /proc. Where there is none, nothing is known and nothing is said."""

import os
from collections import Counter
from collections.abc import Set
from pathlib import Path

from channels.agents.acp.watchdog import PROC, processes

_GROUP, _RSS = 2, 21  # fields of /proc/PID/stat behind the name


def group_memory(groups: Set[int]) -> dict[int, int]:
    """Resident bytes of each of these process groups (shared pages count in every process)."""
    found: Counter[int] = Counter()
    if not groups or not PROC.is_dir():
        return {}
    page = os.sysconf("SC_PAGE_SIZE")
    for pid in processes():
        try:
            stat = Path(PROC, str(pid), "stat").read_text(errors="replace")
            fields = stat.rpartition(")")[2].split()
            if int(fields[_GROUP]) in groups:
                found[int(fields[_GROUP])] += int(fields[_RSS]) * page
        except (OSError, ValueError, IndexError):
            continue
    return dict(found)
