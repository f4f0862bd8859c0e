"""Which outputs are too long for a card, and the file that holds them."""

from typing import Any

import pytest

from channels.rules.agent_event import ToolStatus
from channels.rules.tool_output import FILE_CHARACTERS, gather, is_long
from channels.rules.turn import Tool


def called(tool_id: str, kind: str = "execute", arguments: str = "ls") -> tuple[str, dict[str, Any]]:
    return "tool/call", {"tool_id": tool_id, "title": "List", "kind": kind, "arguments": arguments}


def printed(tool_id: str, output: str) -> tuple[str, dict[str, Any]]:
    return "tool/result", {"tool_id": tool_id, "status": "done", "output": output}


@pytest.mark.parametrize(
    ("kind", "output", "long"),
    [
        ("execute", "x" * 2_000, False),
        ("execute", "x" * 2_001, True),
        ("execute", "\n" * 24, False),
        ("execute", "\n" * 25, True),
        ("read", "x" * 9_000, False),
    ],
)
def test_what_is_long(kind: str, output: str, long: bool) -> None:
    assert is_long(Tool("t", "title", kind, "", ToolStatus.DONE, output)) is long
    assert bool(gather([called("t", kind), printed("t", output)])) is long


def test_each_stands_under_its_command_as_it_was_last() -> None:
    first, second = "a\n" * 30, "b\n" * 30
    text = gather(
        [
            called("t1", arguments=""),
            called("t2"),
            printed("t2", second),
            printed("t1", first[:40]),
            printed("t1", first),
            printed("t1", ""),
            printed("t3", first),
        ]
    )
    assert text == f"$ List\n\n{first}\n\n$ ls\n\n{second}"


def test_it_is_bounded() -> None:
    assert len(gather([called("t"), printed("t", "x" * (FILE_CHARACTERS + 10))])) == FILE_CHARACTERS
