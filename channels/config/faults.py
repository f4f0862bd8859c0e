"""pydantic's findings → one `ConfigError` that a person can act on: full key, what was found, what would be right."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from channels.config.agent_settings import AGENT_KINDS
from channels.config.keys import as_known, environment_name, known_keys, nearest
from channels.errors import ConfigError

_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text in quotes",
    "string_too_short": "text that is not empty",
    "tuple_type": "a list in square brackets",
    "model_type": "a section with keys of its own",
    "model_attributes_type": "a section with keys of its own",
    "dict_type": "sections, one for each agent",
    "too_short": "a list with at least one entry",
}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
_LONGEST_SHOWN = 40


def as_config_error(error: ValidationError, sources: Mapping[str, str]) -> ConfigError:
    """The first finding, and the names of the others. `sources` says which keys came from which variable."""
    # a misspelt key also makes the right one missing: the misspelling is what the person must see
    findings = sorted(error.errors(include_url=False), key=lambda finding: finding["type"] != "extra_forbidden")
    key, why = _explain(findings[0])
    if key in sources:
        why += f" (it was set by the environment variable {sources[key]})"
    others = [other for other in dict.fromkeys(_explain(finding)[0] for finding in findings[1:]) if other != key]
    if others:
        why += f"; also wrong: {', '.join(others)}"
    return ConfigError(key, why)


def _explain(finding: ErrorDetails) -> tuple[str, str]:
    key = _key_of(finding["loc"])
    kind, context, found = finding["type"], finding.get("ctx", {}), _found(key, finding["input"])
    if kind == "extra_forbidden":
        return key, "is not a known setting" + _hint(key)
    if kind == "missing":
        return key, f"is missing; set it in the file or with {environment_name(key)}"
    if kind == "setting":
        return key, str(context["text"])
    if kind == "literal_error":
        return key, f"is {found}, but must be {context['expected']}".replace("'", '"')
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        choice = found if kind == "union_tag_invalid" else "nothing"
        return f"{key}.kind", f"is {choice}, but must be one of: {', '.join(AGENT_KINDS)}"
    for bound, words in _BOUNDS.items():
        if bound in context:
            return key, f"is {found}, but must be {words} {context[bound]}"
    return key, f"is {found}, but must be {_EXPECTED.get(kind, finding['msg'])}"


def _key_of(location: Sequence[int | str]) -> str:
    """pydantic puts the kind of an agent between its name and its key, and positions behind lists: both go."""
    parts = [str(part) for part in location if isinstance(part, str)]
    if len(parts) > 2 and parts[0] == "agents" and parts[2] in AGENT_KINDS:
        del parts[2]
    return ".".join(parts) or "settings"


def _found(key: str, value: Any) -> str:
    if as_known(key) not in known_keys():  # also: an unknown key may hold anything, even a secret
        return "something else" if not isinstance(value, dict) else json.dumps(value.get("kind"), default=str)
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a section"}
    shown = str(value).lower() if isinstance(value, bool) else json.dumps(value, ensure_ascii=False, default=str)
    kind = names.get(type(value), type(value).__name__)
    return kind if len(shown) > _LONGEST_SHOWN or isinstance(value, dict) else f"{shown} ({kind})"


def _hint(key: str) -> str:
    parts = key.split(".")
    found = nearest(key, parts[1] if parts[0] == "agents" and len(parts) > 1 else "NAME")
    return f'; did you mean "{found}"?' if found else ""
