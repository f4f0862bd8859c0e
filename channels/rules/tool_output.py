"""What commands have printed: when that is more than a card can show, and the file that holds all of it. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from channels.rules.turn import Tool

LONG_CHARACTERS, LONG_LINES = 2_000, 25
FILE_CHARACTERS = 5_000_000  # at most four bytes each: below what may be uploaded
COMMAND = "execute"


def is_long(tool: Tool) -> bool:
    """Whether people get the whole output of this tool as a file."""
    return _is_long(tool.kind, tool.output)


def gather(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """The text of the file, from a turn's entries of the session log (kind, body): each long output under its command,
    in the order of the calls; "" where there is none."""
    called: dict[str, Mapping[str, Any]] = {}
    printed: dict[str, str] = {}
    for kind, body in entries:
        tool_id = str(body.get("tool_id", ""))
        if kind == "tool/call":
            called[tool_id] = body
        elif output := str(body.get("output", "")):
            printed[tool_id] = output
    parts = [
        f"$ {call.get('arguments') or call.get('title', '')}\n\n{printed[tool_id].rstrip()}\n"
        for tool_id, call in called.items()
        if _is_long(str(call.get("kind", "")), printed.get(tool_id, ""))
    ]
    return "\n\n".join(parts)[:FILE_CHARACTERS]


def _is_long(kind: str, output: str) -> bool:
    return kind == COMMAND and (len(output) > LONG_CHARACTERS or output.count("\n") >= LONG_LINES)
