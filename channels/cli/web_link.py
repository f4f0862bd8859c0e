"""`channels web link`: a one-time link to the admin page, made by the running service."""

import json
from collections.abc import Mapping
from pathlib import Path

from channels.cli.control_client import call_service
from channels.cli.running import read_settings


def show_link(config: Path | None, user: str | None, environ: Mapping[str, str], *, as_json: bool) -> None:
    """Print the link. Raises NotRunning, and Refused when the page is off or the person is no admin."""
    settings = read_settings(config, environ)
    answer = call_service(settings.control_socket, "web_link", {"user": user} if user else {})
    if as_json:
        print(json.dumps(answer, ensure_ascii=False))
        return
    print(answer["url"])
    print(f"It works once, within {answer['expires_in_s'] // 60} minutes, and lets its opener in as {answer['user']}.")
