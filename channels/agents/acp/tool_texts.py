"""The words of tool calls: arguments, commands and output as people read them, bounded. Pure."""

import json
from collections.abc import Mapping, Sequence
from string import ascii_letters
from typing import Any, Final

from acp import schema

ARGUMENT_CHARACTERS: Final = 4_000
OUTPUT_CHARACTERS: Final = 200_000
_COMMAND_KEYS: Final = ("command", "cmd", "script")
_ANSI_ESCAPE: Final = "\x1b"


def arguments_text(raw: Any) -> str:
    """The arguments of a call for people: the command where it is one, else JSON with long values cut."""
    if command := command_of(raw):
        return clip(command, ARGUMENT_CHARACTERS)
    if isinstance(raw, Mapping):
        raw = {str(key): _shortened(value) for key, value in raw.items()}
    if isinstance(raw, str):
        return clip(raw, ARGUMENT_CHARACTERS)
    return clip(json.dumps(raw, ensure_ascii=False, default=str), ARGUMENT_CHARACTERS)


def command_of(raw: Any) -> str:
    """The command in a call's arguments, "" where there is none."""
    found = (raw.get(key) for key in _COMMAND_KEYS) if isinstance(raw, Mapping) else ()
    command = next((one for one in found if one and isinstance(one, str | list)), "")
    return command if isinstance(command, str) else command_line(command)


def command_line(words: Sequence[Any]) -> str:
    """A command given as a list, as one would type it; of `bash -c TEXT` only the text."""
    said = [str(word) for word in words]
    if len(said) >= 3 and said[-2] in ("-c", "-lc") and said[0].rpartition("/")[2] in ("sh", "bash", "zsh"):
        return said[-1]
    return " ".join(said)


def clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clean(text: str) -> str:
    """Output for people: bounded at its beginning, without the colour codes of terminals."""
    text = text[-OUTPUT_CHARACTERS:]
    return "".join(_without_codes(text)) if _ANSI_ESCAPE in text else text


def _without_codes(text: str) -> list[str]:
    first, *rest = text.split(_ANSI_ESCAPE)
    kept = [first]
    for part in rest:
        end = 1
        if part.startswith("["):
            end = next((at + 1 for at, sign in enumerate(part[1:], 1) if "@" <= sign <= "~"), len(part))
        kept.append(part[end:])
    return kept


def _shortened(value: Any) -> Any:
    return clip(value, 400) if isinstance(value, str) else value


def output_of(update: schema.ToolCallUpdate) -> str:
    """The text that the call produced: its content, else its raw output."""
    parts = [
        text
        for one in update.content or []
        if isinstance(one, schema.ContentToolCallContent) and (text := block_text(one.content))
    ]
    if not parts and update.raw_output not in (None, "", {}):
        said = _raw_text(update.raw_output)
        if said is not None:
            parts = [said]
        elif not update.content:
            parts = [json.dumps(update.raw_output, ensure_ascii=False, default=str)]
    return _unfenced(clean("\n".join(parts)))


def _raw_text(raw: Any) -> str | None:
    """The text of a raw output, where it is one: itself, the usual fields, or blocks of text."""
    match raw:
        case str():
            return raw
        case {"output": str(text)} | {"stdout": str(text)} if text:
            return text
        case [{"type": "text"}, *_] if all(isinstance(one, dict) and one.get("type") == "text" for one in raw):
            return "\n".join(str(one.get("text") or "") for one in raw)
        case _:
            return None


def _unfenced(text: str) -> str:
    """Output that an agent has wrapped in one code block of Markdown, without the fence: it is shown as code anyway."""
    lines = text.strip().split("\n")
    fence = lines[0].rstrip(ascii_letters)
    if len(lines) < 2 or len(fence) < 3 or fence.strip("`") or lines[-1] != fence:
        return text
    inside = lines[1:-1]
    return text if any(line.startswith(fence) for line in inside) else "\n".join(inside)


def block_text(block: Any) -> str:
    """What a content block says in words; a picture or a sound only what it is."""
    match block:
        case schema.TextContentBlock():
            return block.text
        case schema.ResourceContentBlock():
            return block.title or block.name or block.uri
        case schema.EmbeddedResourceContentBlock():
            resource = block.resource
            return resource.text if isinstance(resource, schema.TextResourceContents) else f"[{resource.uri}]"
        case schema.ImageContentBlock() | schema.AudioContentBlock():
            return f"[{block.mime_type}]"
        case _:
            return ""
