"""What a process of an agent finds in its environment: what is configured, and a handful of harmless names.

Never the service's own environment: that holds its secrets (the app's, other agents' keys).
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final

INHERITED: Final = ("PATH", "HOME", "LANG", "TMPDIR")
DEFAULTS: Final = {"PATH": os.defpath, "HOME": "/", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}


def environment_for(configured: Iterable[tuple[str, str]], ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment of a child; `ours` is the service's own."""
    around = os.environ if ours is None else ours
    kept = {name: around.get(name) or DEFAULTS[name] for name in INHERITED}
    return {**kept, "TERM": "dumb", **dict(configured)}
