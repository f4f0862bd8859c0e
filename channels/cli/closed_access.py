"""`channels access|sessions|settlement|quota …` while no service runs: the same operations on the file itself."""

import asyncio
import sys
from typing import Any

from channels import logs
from channels.cli.importing import no_collector
from channels.config import Settings

with no_collector():
    from channels.app.closed_file import READING, ask_closed_file


def ask_file(settings: Settings, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The operation's answer. Raises Refused as the service would, and StartRefused where another process has the
    file."""
    logs.configure("error", "console")
    answer = asyncio.run(ask_closed_file(settings, operation, arguments))
    if operation not in READING:
        print(
            "No service runs: this stands in its file, and its next start sends what follows from it.", file=sys.stderr
        )
    return answer
