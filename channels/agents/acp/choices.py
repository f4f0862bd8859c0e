"""The models and modes that an agent offers for a session, in the protocol's newer and older form. Pure.

Newer: `configOptions`, set with session/set_config_option. Older: `models` with session/set_model, `modes` with
session/set_mode. Where both are there, the newer one counts, as the protocol asks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_OLDER: Final = {
    "model": ("models", "currentModelId", "availableModels", "modelId", "session/set_model"),
    "mode": ("modes", "currentModeId", "availableModes", "id", "session/set_mode"),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose: the current value, all values with their names, and how another one is set."""

    current: str
    names: Mapping[str, str]
    method: str
    fixed: Mapping[str, str] = field(default_factory=dict)  # what the request carries besides the value
    value_key: str = "value"

    @property
    def current_name(self) -> str:
        return self.names.get(self.current) or self.current

    def find(self, wanted: str) -> str | None:
        """The value that `wanted` means: the value itself, or a name in whatever case."""
        if wanted in self.names:
            return wanted
        named = [
            value for value, name in self.names.items() if wanted.casefold() in (name.casefold(), value.casefold())
        ]
        return named[0] if named else None

    def request(self, reference: str, value: str) -> dict[str, str]:
        return {"sessionId": reference, **self.fixed, self.value_key: value}


def read_choice(result: Mapping[str, Any], what: str) -> Choice | None:
    """What a session's answer offers for `what` (model or mode); None: nothing."""
    for option in _mappings(result.get("configOptions")):
        if what in (option.get("category"), option.get("id")) and isinstance(option.get("currentValue"), str):
            names = dict(_named(option.get("options"), "value"))
            return Choice(
                option["currentValue"], names, "session/set_config_option", {"configId": str(option.get("id"))}
            )
    key, current, available, value_key, method = _OLDER[what]
    state = result.get(key)
    if not isinstance(state, Mapping) or not isinstance(state.get(current), str):
        return None
    names = dict(_named(state.get(available), value_key))
    return Choice(state[current], names, method, value_key=f"{what}Id")


def _named(options: Any, key: str) -> Iterator[tuple[str, str]]:
    """Values with their names; groups of options are opened."""
    for option in _mappings(options):
        if isinstance(option.get(key), str):
            yield option[key], str(option.get("name") or option[key])
        else:
            yield from _named(option.get("options"), key)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
