"""The names of all settings, taken from the models: for errors that know the nearest one, and for tests."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from channels.config.agent_settings import AGENT_KINDS
from channels.config.references import Reference, Secret, resolve_secret
from channels.config.settings import Settings

ENVIRONMENT_PREFIX = "CHANNELS_"
ANY_AGENT = "agents.NAME"


def known_keys() -> tuple[str, ...]:
    """Every key in the order of the models, agents as "agents.NAME.kind"."""
    keys: list[str] = []
    for section, field in Settings.model_fields.items():
        if section == "agents":
            keys += dict.fromkeys(f"{ANY_AGENT}.{key}" for kind in AGENT_KINDS.values() for key in kind.model_fields)
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            keys += [f"{section}.{key}" for key in field.annotation.model_fields]
    return tuple(keys)


def effective(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Every key of these settings with the value that counts, agents under their own names."""
    for section in Settings.model_fields:
        value = getattr(settings, section)
        parts = {f"agents.{name}": agent for name, agent in value.items()} if section == "agents" else {section: value}
        for prefix, part in parts.items():
            for key in type(part).model_fields:
                yield f"{prefix}.{key}", getattr(part, key)


def check_secrets(settings: Settings, environ: Mapping[str, str] | None = None) -> None:
    """Resolve every secret once and keep none. Raises ConfigError for the first that is not there."""
    for key, value in effective(settings):
        for name, one in _places(key, value):
            if isinstance(one, Reference | Secret):
                resolve_secret(one, name, environ)


def _places(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The value, or what stands in its table."""
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _places(f"{key}.{name}", one)
    else:
        yield key, value


def as_known(key: str) -> str:
    """`key` with an agent's own name replaced by NAME, as `known_keys` spells it."""
    parts = key.split(".")
    return ".".join([ANY_AGENT, *parts[2:]]) if parts[0] == "agents" and len(parts) > 1 else key


def nearest(key: str, agent: str = "NAME", among: Iterable[str] | None = None) -> str | None:
    """The known key or section that `key` most probably means, or None when nothing is near.

    First the last word alone inside its own section ("feishu.app_idd"), then the whole name ("fieshu.app_id"), then a
    key of that name in another section ("turns.port" → "web.port").
    """
    keys = list(known_keys() if among is None else among)
    wanted = as_known(key)
    section = wanted.rpartition(".")[0]
    sections = list(dict.fromkeys(known.rpartition(".")[0] for known in keys))
    siblings = [known for known in keys if known.rpartition(".")[0] == section]
    found = (
        difflib.get_close_matches(wanted, siblings, 1, 0.75)
        or difflib.get_close_matches(wanted, [*keys, *sections], 1, 0.8)
        or [known for known in keys if known.rpartition(".")[2] == wanted.rpartition(".")[2]]
    )
    return found[0].replace(ANY_AGENT, f"agents.{agent}") if found else None


def environment_name(key: str) -> str:
    """The variable that sets `key`: "feishu.app_id" → CHANNELS_FEISHU__APP_ID."""
    return ENVIRONMENT_PREFIX + key.replace(".", "__").upper()
