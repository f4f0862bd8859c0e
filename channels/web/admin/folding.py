"""A session's log → a conversation that a person can read. Pure.

The log says everything twice (an answer in pieces and whole); a reader wants it once: the whole text where there is
one, the pieces where the turn has not come that far.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from channels.store.sessions import LogEntry

LONGEST_TOOL_TEXT = 4000


@dataclass(slots=True)
class Tool:
    """One call with what is known of its result; `status` is pending, running, done or failed."""

    tool_id: str
    title: str
    arguments: str = ""
    status: str = "pending"
    output: str = ""


@dataclass(slots=True)
class Piece:
    """One thing that happened. `kind`: said (a person), answer, tool, note (title "folder", "agent" or "end")."""

    kind: str
    at: int
    number: int
    text: str = ""
    title: str = ""
    who: str = ""
    tool: Tool | None = None
    files: tuple[str, ...] = ()
    tokens: tuple[int, int] | None = None


@dataclass(slots=True)
class _Open:
    """What may still grow: the answer in pieces, and the tools by their id."""

    answer: Piece | None = None
    pieces: list[Piece] = field(default_factory=list)
    tools: dict[str, Tool] = field(default_factory=dict)


def fold(entries: Iterable[LogEntry]) -> list[Piece]:
    """The conversation in these entries, in order."""
    found: list[Piece] = []
    turns: dict[str, _Open] = {}
    for entry in entries:
        _add(found, turns.setdefault(entry.turn_id or "", _Open()), entry)
    return [piece for piece in found if piece.kind != "dropped"]


def _add(found: list[Piece], turn: _Open, entry: LogEntry) -> None:
    body = entry.body
    match entry.kind:
        case "user/message":
            files = tuple(str(one.get("name", "")) for one in body.get("files", ()))
            who = str(body.get("sender_user_id") or "")
            found.append(Piece("said", entry.at, entry.number, text=_text(body), who=who, files=files))
        case "assistant/chunk":
            _grow(found, turn, entry)
        case "assistant/message":
            _put_whole(found, turn, entry)
        case "tool/call":
            tool = Tool(str(body.get("tool_id", "")), str(body.get("title", "")), str(body.get("arguments", "")))
            turn.tools[tool.tool_id], turn.answer = tool, None
            found.append(Piece("tool", entry.at, entry.number, tool=tool))
        case "tool/result":
            _put_result(turn, body)
        case _:
            _note(found, turn, entry)


def _grow(found: list[Piece], turn: _Open, entry: LogEntry) -> None:
    if turn.answer is None:
        turn.answer = Piece("answer", entry.at, entry.number)
        turn.pieces.append(turn.answer)
        found.append(turn.answer)
    turn.answer.text += _text(entry.body)


def _put_whole(found: list[Piece], turn: _Open, entry: LogEntry) -> None:
    """Pieces that make up the whole stay between their tools; else the whole stands in the place of the last."""
    whole = _text(entry.body)
    if not turn.pieces:
        _grow(found, turn, entry)
    elif "".join(piece.text for piece in turn.pieces) != whole:
        for piece in turn.pieces[:-1]:
            piece.kind = "dropped"
        turn.pieces[-1].text = whole


def _put_result(turn: _Open, body: Mapping[str, Any]) -> None:
    tool = turn.tools.get(str(body.get("tool_id", "")))
    if tool is not None:
        tool.status = str(body.get("status", tool.status))
        tool.output = (str(body.get("output", "")) or tool.output)[:LONGEST_TOOL_TEXT]


def _note(found: list[Piece], turn: _Open, entry: LogEntry) -> None:
    body = entry.body
    match entry.kind:
        case "usage" if turn.pieces:
            turn.pieces[-1].tokens = (int(body.get("input_tokens", 0)), int(body.get("output_tokens", 0)))
        case "session/start":
            found.append(Piece("note", entry.at, entry.number, text=str(body.get("agent", "")), title="agent"))
        case "working-directory/change":
            found.append(Piece("note", entry.at, entry.number, text=str(body.get("folder", "")), title="folder"))
        case "turn/end" if body.get("outcome") != "completed":
            found.append(Piece("note", entry.at, entry.number, text=str(body.get("outcome", "")), title="end"))
        case _:
            pass


def _text(body: Mapping[str, Any]) -> str:
    return str(body.get("text", ""))
