"""`channels check-config`: everything about the settings that can be known without starting. Changes nothing."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from channels.cli.faults import CheckFailed
from channels.cli.running import read_settings
from channels.config import Reference, Secret, Settings, resolve_secret


def check_settings(config: Path | None, environ: Mapping[str, str], *, show: bool) -> None:
    """Print what is fine. Raises ConfigError for a setting or secret, CheckFailed for a place that cannot be used."""
    settings = read_settings(config, environ)
    for key, value in effective(settings):
        if isinstance(value, Reference | Secret):
            resolve_secret(value, key, environ)
        if show:
            print(f"{key} = {_shown(value)}")
    _check_folder("store.path", settings.store.path)
    _check_folder("control.socket", settings.control_socket)
    print(
        f"The settings are fine ({config or 'environment only'}): "
        f"agent {settings.agent_name}, domain file {settings.store.path}"
    )


def effective(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Every key with the value that counts, agents under their own names."""
    for section in type(settings).model_fields:
        value = getattr(settings, section)
        parts = {f"agents.{name}": agent for name, agent in value.items()} if section == "agents" else {section: value}
        for prefix, part in parts.items():
            for key in type(part).model_fields:
                yield f"{prefix}.{key}", getattr(part, key)


def _shown(value: Any) -> str:
    if isinstance(value, Reference | Secret | Path):
        return json.dumps(str(value))
    return json.dumps(value, ensure_ascii=False)


def _check_folder(key: str, path: Path) -> None:
    """The nearest folder above `path` that exists must let us write; the service makes the missing ones."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if path.is_dir():
        raise CheckFailed(f"{key}: {path} is a folder, but must name a file.")
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise CheckFailed(f"{key}: {folder} may not be written by this user; give the right or choose another place.")
