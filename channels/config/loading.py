"""From a TOML file and the environment to `Settings`. Reads two things and touches nothing.

The environment wins over the file: CHANNELS_TURNS__MAX_RUNNING=4 sets `turns.max_running`. A variable's text is read
as the setting's type asks: text as it stands, everything else as TOML would ("true", "4", "[1, 2]"), lists of names
also as "a, b".
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from channels.config.faults import as_config_error
from channels.config.keys import ENVIRONMENT_PREFIX, as_known, environment_name, known_keys, nearest
from channels.config.settings import AGENT_NAME, UNIX_SOCKET_PATH_BYTES, Settings
from channels.errors import ConfigError

CONFIG_VARIABLE = "CHANNELS_CONFIG"  # the CLI's own: which file to read

_TEXT_LISTS = frozenset({"access.admins", "chat.dm_users"})
# keys whose value is text even when it looks like a number ("model = 4")
_TEXT_KEYS = frozenset(
    {"app_id", "model", "system_prompt", "host", "path", "socket", "agent", "agent_private", "agent_group", "ca_file"}
)
_PLAIN = re.compile(r"true|false|[+-]?[0-9][0-9_.]*|\[.*\]", re.DOTALL)
# Kubernetes puts such variables into every pod when a Service is called "channels"; they are nobody's settings.
_SERVICE_LINK = re.compile(r"CHANNELS(_[A-Z0-9]+)*_(SERVICE_HOST|SERVICE_PORT\w*|PORT(_\d+_(TCP|UDP)\w*)?)")


def load_settings(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """Settings from `path` (None: environment and defaults only) and `environ`.

    Raises ConfigError for a file that cannot be read, for TOML that is none, and for every key that is unknown,
    missing or wrong. Relative paths belong to the folder of the file, else to the current one.
    """
    data = _read_file(path) if path else {}
    folder = path.resolve().parent if path else Path.cwd()
    return build_settings(data, folder, environ)


def build_settings(data: Mapping[str, Any], folder: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from values as TOML would give them (secrets also as `Secret`), checked as a whole."""
    merged = _copied(data)
    sources = _merge_environment(merged, environ or {})
    try:
        settings = Settings.model_validate(merged, context={"folder": folder})
    except ValidationError as error:
        raise as_config_error(error, sources) from None
    _check_together(settings)
    return settings


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(str(path), "there is no such file; config/example.toml shows one") from None
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), f"is not valid TOML: {error}") from None


def _merge_environment(data: dict[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """Put every CHANNELS_* variable into `data`; which key came from which variable is returned."""
    sources: dict[str, str] = {}
    references = set(environ.values())
    for variable, text in sorted(environ.items()):
        if (
            not variable.startswith(ENVIRONMENT_PREFIX)
            or variable == CONFIG_VARIABLE
            or _SERVICE_LINK.fullmatch(variable)
        ):
            continue
        if f"env:{variable}" in references or _is_referred_to(variable, data):
            continue
        key = variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace("__", ".")
        if as_known(key) not in known_keys():
            raise ConfigError(variable, "is not a known setting" + _variable_hint(variable))
        _put(data, key, _read_variable(key, text), variable)
        sources[key] = variable
    return sources


def _copied(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copied(value) if isinstance(value, Mapping) else value for key, value in data.items()}


def _put(data: dict[str, Any], key: str, value: Any, variable: str) -> None:
    *sections, last = key.split(".")
    for section in sections:
        data = data.setdefault(section, {})
        if not isinstance(data, dict):
            raise ConfigError(section, f"is not a section in the file, so {variable} cannot set {key}")
    data[last] = value


def _read_variable(key: str, text: str) -> Any:
    if key in _TEXT_LISTS and not text.lstrip().startswith("["):
        return [name.strip() for name in text.split(",") if name.strip()]
    if key.split(".")[-1] in _TEXT_KEYS or not _PLAIN.fullmatch(text.strip()):
        return text
    try:
        return tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _is_referred_to(variable: str, data: Mapping[str, Any]) -> bool:
    """Whether some setting says "env:`variable`": then it holds a secret and is no setting itself."""
    return any(
        value == f"env:{variable}" or (isinstance(value, Mapping) and _is_referred_to(variable, value))
        for value in data.values()
    )


def _variable_hint(variable: str) -> str:
    squeezed = variable.replace("__", "_")
    for key in known_keys():
        if environment_name(key).replace("__", "_") == squeezed:
            return f'; did you mean "{environment_name(key)}" (two underscores after the section)?'
    found = nearest(variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace("__", "."))
    return f'; did you mean "{environment_name(found)}"?' if found else ""


def _check_together(settings: Settings) -> None:
    """What one key alone cannot show."""
    for name in settings.agents:
        if not AGENT_NAME.fullmatch(name):
            raise ConfigError(
                f"agents.{name}", "a name is lower-case letters, digits, - and _, at most 32, letter first"
            )
    if not settings.agents:
        raise ConfigError("agents", "at least one agent is needed, for example a section [agents.demo]")
    for key in ("agent", "agent_private", "agent_group"):
        name = getattr(settings.turns, key)
        if name and name not in settings.agents:
            raise ConfigError(f"turns.{key}", f'is "{name}", but the agents are: {", ".join(settings.agents)}')
    if settings.chat.dm == "users" and not settings.chat.dm_users:
        raise ConfigError("chat.dm_users", 'is empty, but chat.dm = "users" lets only these people in')
    if len(str(settings.control_socket).encode()) > UNIX_SOCKET_PATH_BYTES:
        limit = UNIX_SOCKET_PATH_BYTES
        raise ConfigError(
            "control.socket", f"{settings.control_socket} is too long for a socket (at most {limit} bytes)"
        )
