"""One operation of the running service, or of its file where none runs."""

import os
from pathlib import Path
from typing import Any


def ask_either(config: Path | None, operation: str, arguments: dict[str, Any]) -> Any:
    """The answer as JSON values. Raises Refused with the operation's code, CheckFailed, StartRefused."""
    from channels.cli.control_client import NotRunning, call_service
    from channels.cli.running import read_settings

    settings = read_settings(config, os.environ)
    try:
        return call_service(settings.control_socket, operation, arguments)
    except NotRunning:
        from channels.cli.closed_access import ask_file

        return ask_file(settings, operation, arguments)


def print_json(answer: Any) -> None:
    import json

    print(json.dumps(answer, ensure_ascii=False, indent=2))
