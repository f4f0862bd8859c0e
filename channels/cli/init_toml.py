"""Changing a few settings in the text of a TOML file, and nothing else in it: comments, order and spacing stay.

Pure. The text is cut into statements by asking the TOML reader itself where each one ends, so that a key inside a
multi-line string is never taken for a setting. The result is read again and compared with what was wanted; where the
text is written in a way that this cannot edit, it says so instead of guessing.
"""

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from channels.errors import ConfigError

KeyPath = tuple[str, ...]
_SECTION = ()


@dataclass(frozen=True, slots=True)
class _Statement:
    """Lines `first` to `last` (inclusive). `path`: of the section that a header opens, or of the key that is set."""

    first: int
    last: int
    path: KeyPath
    is_header: bool


def set_values(text: str, values: Mapping[str, str]) -> str:
    """`text` with each key ("feishu.app_id") set to its value.

    A key that is set gets the new value in its place; else a commented default of it becomes the setting; else it is
    added to its section. Raises ConfigError for text that is not TOML and for a way of writing that cannot be edited.
    """
    for key, value in values.items():
        path = tuple(key.split("."))
        wanted = _parsed(text)
        _put(wanted, path, value, key)
        text = next(
            (found for found in _candidates(text, path, value) if _reads_as(found, wanted)),
            "",
        )
        if not text:
            raise ConfigError(key, f"cannot be changed in the way the file writes it; set it there to {quoted(value)}")
    return text


def comment_out(text: str, keep: frozenset[str]) -> str:
    """`text` with every setting turned into a comment, except `keep`; sections [agents.…] without one go too."""
    lines = text.split("\n")
    kept_sections = {key.rpartition(".")[0] for key in keep}
    section: KeyPath = _SECTION
    for each in list(_statements(lines)):
        section = each.path if each.is_header else section
        full = ".".join(each.path)
        stays = (full in kept_sections or each.path[:1] != ("agents",)) if each.is_header else full in keep
        if not stays:
            for number in range(each.first, each.last + 1):
                lines[number] = f"# {lines[number]}"
    return "\n".join(lines)


def quoted(value: str) -> str:
    """A value as TOML writes it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _candidates(text: str, path: KeyPath, value: str) -> Iterator[str]:
    """Ways to write it, the most careful first."""
    lines = text.split("\n")
    statements = list(_statements(lines))
    for each in statements:
        if not each.is_header and each.path == path:
            yield _replaced(lines, each, value)
            return
    setting = f"{path[-1]} = {quoted(value)}"
    end = "\r" if lines[0].endswith("\r") else ""
    header = next((each for each in statements if each.is_header and each.path == path[:-1]), None)
    if header is not None:
        first, last = header.last + 1, _section_end(statements, header, len(lines))
        if (number := _commented(lines, path[-1], first, last)) is not None:
            yield "\n".join([*lines[:number], setting + end, *lines[number + 1 :]])
        behind = max(each.last for each in statements if header.first <= each.first < last)
        yield _inserted(lines, behind + 1, [setting], end)
    else:
        yield _inserted(lines, len(lines), ["", f"[{'.'.join(path[:-1])}]", setting], end)
        yield _inserted(lines, 0, [f"{'.'.join(path)} = {quoted(value)}"], end)


def _inserted(lines: list[str], at: int, new: list[str], end: str) -> str:
    """The lines with `new` before line `at`; every line keeps an ending, also where the text has none at its end."""
    if at >= len(lines):
        while len(lines) > 1 and not lines[-1].strip():
            lines = lines[:-1]
        at = len(lines)
        lines = [*lines[:-1], lines[-1].removesuffix("\r") + end, ""]
    if not lines[0] and len(lines) == 2:  # the text was empty
        return "\n".join([*(line + end for line in new if line), ""])
    return "\n".join([*lines[:at], *(line + end for line in new), *lines[at:]])


def _section_end(statements: list[_Statement], header: _Statement, lines: int) -> int:
    return next((each.first for each in statements if each.is_header and each.first > header.first), lines)


def _commented(lines: list[str], key: str, first: int, last: int) -> int | None:
    """The first line of the section that reads as a commented default of `key`."""
    pattern = re.compile(rf"\s*#\s*({re.escape(key)}\s*=.*)")
    for number in range(first, last):
        found = pattern.fullmatch(lines[number].rstrip("\r"))
        if found and _try_parse(found[1]) is not None:
            return number
    return None


def _replaced(lines: list[str], statement: _Statement, value: str) -> str:
    chunk = "\n".join(lines[statement.first : statement.last + 1])
    end = "\r" if chunk.endswith("\r") else ""
    body = chunk.removesuffix("\r")
    key, _ = _split_key(body)
    rest = body[len(key) + 1 :]
    space = rest[: len(rest) - len(rest.lstrip(" \t"))]
    new = f"{key}={space}{quoted(value)}{_comment_behind(body)}{end}"
    return "\n".join([*lines[: statement.first], new, *lines[statement.last + 1 :]])


def _comment_behind(body: str) -> str:
    """The comment at the end of a statement, with the space before it."""
    meaning = _try_parse(body)
    for found in re.finditer("#", body):
        before = body[: found.start()]
        if _try_parse(before) == meaning:
            return body[len(before.rstrip()) :]
    return ""


def _statements(lines: list[str]) -> Iterator[_Statement]:
    """Every header and every setting in order. Raises ConfigError for what is neither."""
    section: KeyPath = _SECTION
    number = 0
    while number < len(lines):
        line = lines[number].strip()
        if not line or line.startswith("#"):
            number += 1
            continue
        last = _statement_end(lines, number)
        if line.startswith("["):
            section = _walk(_try_parse(lines[number]) or {})
            yield _Statement(number, last, section, True)
        else:
            _, path = _split_key("\n".join(lines[number : last + 1]))
            yield _Statement(number, last, (*section, *path), False)
        number = last + 1


def _statement_end(lines: list[str], first: int) -> int:
    """A statement ends at the first line end at which it can be read."""
    for last in range(first, len(lines)):
        if _try_parse("\n".join(lines[first : last + 1])) is not None:
            return last
    raise ConfigError(f"line {first + 1}", "is not valid TOML")


def _split_key(chunk: str) -> tuple[str, KeyPath]:
    """What stands before the equals sign, and the path that it means."""
    for found in re.finditer("=", chunk):
        key = chunk[: found.start()]
        meaning = _try_parse(f"{key}= 0")
        if meaning is not None:
            return key, _walk(meaning)
    raise ConfigError("settings", "a line without a key")


def _walk(nested: Any) -> KeyPath:
    """{"a": {"b": …}} → ("a", "b"). An array of tables has a path that nothing is looked for under."""
    path: list[str] = []
    while isinstance(nested, dict) and len(nested) == 1:
        ((key, nested),) = nested.items()
        path.append(key)
    return (*path, "[]") if isinstance(nested, list) else tuple(path)


def _try_parse(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text + "\n")
    except tomllib.TOMLDecodeError:
        return None


def _parsed(text: str) -> dict[str, Any]:
    try:
        return copy.deepcopy(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("settings", f"is not valid TOML: {error}") from None


def _put(data: dict[str, Any], path: KeyPath, value: str, key: str) -> None:
    for part in path[:-1]:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise ConfigError(key, f"cannot be set: {part} is not a section")
    data[path[-1]] = value


def _reads_as(text: str, wanted: dict[str, Any]) -> bool:
    found = _try_parse(text)
    return found is not None and found == wanted
