"""Settings that admins have set over the settings file: checked as the file's own are, and put in their place.

What stands on record but no longer fits (another version wrote it, a folder has gone) never keeps the service from
starting: it is left out and logged, and the file's value counts.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from channels.config import Settings
from channels.config.faults import as_config_error
from channels.errors import ConfigError
from channels.logs import SETTINGS_IGNORED, get_logger

KEYS = ("workspace.base_dir", "access.mode")
LONGEST_PATH_BYTES = 1024

log = get_logger(__name__)


def overlaid(settings: Settings, overlay: Mapping[str, str]) -> Settings:
    """`settings` with these values in place of its own. Raises ConfigError for the first that does not do."""
    for key, value in overlay.items():
        settings = _put(settings, key, value)
    return settings


def overlaid_where_possible(settings: Settings, overlay: Mapping[str, str]) -> Settings:
    """The same, without those that do not do."""
    for key, value in overlay.items():
        try:
            settings = _put(settings, key, value)
        except ConfigError as error:
            log.warning(SETTINGS_IGNORED, key=error.key, why=error.why)
    return settings


def values_in_force(settings: Settings) -> dict[str, str]:
    """What counts for each key that can be set."""
    return {"workspace.base_dir": str(settings.workspace_dir), "access.mode": settings.access.mode}


def _put(settings: Settings, key: str, value: str) -> Settings:
    if key not in KEYS:
        raise ConfigError(key, f"cannot be set here; what can is: {', '.join(KEYS)}")
    if key == "workspace.base_dir":
        _check_folder(key, value)
    section, name = key.split(".")
    values: dict[str, Any] = {each: getattr(settings, each) for each in Settings.model_fields}
    fields = type(values[section]).model_fields
    values[section] = {each: getattr(values[section], each) for each in fields} | {name: value}
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise as_config_error(error, {}) from None


def _check_folder(key: str, value: str) -> None:
    """An absolute path to a folder in which this user may write; it is there when this returns."""
    path = Path(value)
    if not path.is_absolute() or ".." in path.parts:
        raise ConfigError(key, "must be an absolute path without ..")
    if len(os.fsencode(path)) > LONGEST_PATH_BYTES or not value.isprintable():
        raise ConfigError(key, f"must be at most {LONGEST_PATH_BYTES} bytes, and printable")
    try:
        path.mkdir(parents=True, exist_ok=True)  # the only way to know; nobody works there before it is set
    except OSError as error:
        raise ConfigError(key, f"{path} cannot be made: {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ConfigError(key, f"{path} is no folder in which the service may write")
