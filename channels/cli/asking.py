"""`channels status`: ask the running service and show what it says."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from channels.cli.control_client import call_service
from channels.cli.running import read_settings


def show_status(config: Path | None, socket: Path | None, environ: Mapping[str, str], *, as_json: bool) -> None:
    """Print the service's status. Raises NotRunning when there is none."""
    path = socket or read_settings(config, environ).control_socket
    answer = call_service(path, "status")
    if as_json:
        print(json.dumps(answer, ensure_ascii=False, indent=2))
        return
    for line in outline(answer):
        print(line)


def outline(value: Any, indent: str = "") -> Iterator[str]:
    """JSON values as an indented list of words, for people: "last_frame_at: 3" under its section."""
    if isinstance(value, Mapping):
        width = max((len(str(key)) for key, item in value.items() if not _nests(item)), default=0)
        for key, item in value.items():
            if _nests(item):
                yield f"{indent}{key}"
                yield from outline(item, indent + "  ")
            else:
                yield f"{indent}{str(key).ljust(width)}  {_words(item)}"
    elif isinstance(value, list):
        for item in value:
            yield from outline(item, indent + "- ") if not _nests(item) else outline(item, indent + "  ")
    else:
        yield f"{indent}{_words(value)}"


def _nests(value: Any) -> bool:
    return isinstance(value, Mapping | list) and bool(value)


def _words(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None | "" | [] | {}:
            return "-"
        case _:
            return str(value)
