"""`channels check-config`: everything about the settings that can be known without starting. Changes nothing."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from channels.cli.agent_programs import agent_programs
from channels.cli.faults import CheckFailed
from channels.cli.running import read_settings
from channels.config import Reference, Secret, Settings, check_secrets
from channels.config.keys import effective
from channels.logs import HIDDEN


def check_settings(config: Path | None, environ: Mapping[str, str], *, show: bool) -> None:
    """Print what is fine. Raises ConfigError for a setting or secret, CheckFailed for a place that cannot be used."""
    settings = read_settings(config, environ)
    check_secrets(settings, environ)
    if show:
        for key, value in effective(settings):
            print(f"{key} = {_shown(key, value)}")
    check_place("store.path", settings.store.path)
    check_place("control.socket", settings.control_socket)
    check_agent_programs(settings, environ)
    print(
        f"The settings are fine ({config or 'environment only'}): "
        f"agent {settings.agent_name}, domain file {settings.store.path}"
    )


def _shown(key: str, value: Any) -> str:
    """As TOML would have it, but what an agent finds in its environment is shown only where it is a reference."""
    if isinstance(value, Reference | Secret | Path):
        return json.dumps(str(value))
    if key.startswith("agents.") and key.endswith((".env", ".headers")):
        return json.dumps({name: str(one) if isinstance(one, Reference) else HIDDEN for name, one in value.items()})
    if key.startswith("agents.") and key.endswith(".mcp"):
        return json.dumps(list(value))
    return json.dumps(value, ensure_ascii=False)


def check_agent_programs(settings: Settings, environ: Mapping[str, str]) -> None:
    """Name the programs of agents that are not there; raises CheckFailed for one that conversations begin with."""
    for program in agent_programs(settings, environ):
        if program.found is None:
            text = f"agents.{program.agent}.command: there is no program {program.name}; {program.mend}."
            if program.is_used:
                raise CheckFailed(text)
            print(text)


def check_place(key: str, path: Path) -> None:
    """Whether a file can be made at `path`; raises CheckFailed.

    The nearest folder above it that exists must let us write; the service makes the missing ones.
    """
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if path.is_dir():
        raise CheckFailed(f"{key}: {path} is a folder, but must name a file.")
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise CheckFailed(f"{key}: {folder} may not be written by this user; give the right or choose another place.")
