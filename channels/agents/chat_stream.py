"""The bytes of a streamed chat completion as values. Pure: what may come from a server of any make, and damaged, too.

`SseReader` cuts bytes into the data of server-sent events; `read_chunk` makes a `Chunk` of one; `ThinkSplitter` sorts
out reasoning that a model writes into its answer between <think> and </think>.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from channels.rules.agent_event import AgentEvent, ReasoningDelta, TextDelta, UsageReported

DONE: Final = "[DONE]"
_LONGEST_LINE_BYTES: Final = 1 << 20
_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class DamagedStream(ValueError):
    """What arrived is no stream of completion chunks."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one chunk carries. `finish` is the server's finish_reason, "" while it goes on; `error` is the text of an
    error that the server put into its stream; `done` is the end mark of the stream."""

    text: str = ""
    reasoning: str = ""
    finish: str = ""
    usage: UsageReported | None = None
    error: str | None = None
    done: bool = False


class SseReader:
    """Cuts a byte stream into the data of server-sent events, wherever the network cut it. Comments and other fields
    are skipped. A line of more than 1 MiB raises DamagedStream, so that no server can fill our memory."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of every event that `piece` completes."""
        self._rest += piece
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        if len(rest) > _LONGEST_LINE_BYTES:
            raise DamagedStream("a line without an end")
        for line in lines:
            yield from self._take(line.rstrip(b"\r"))

    def finish(self) -> Iterator[str]:
        """What stands at the end of the stream without the empty line that should close it."""
        line, self._rest = bytes(self._rest), bytearray()
        yield from self._take(line)
        yield from self._take(b"")

    def _take(self, line: bytes | bytearray) -> Iterator[str]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
            if sum(map(len, self._data)) > _LONGEST_LINE_BYTES:
                raise DamagedStream("an event without an end")
        elif not line and self._data:
            data, self._data = "\n".join(self._data), []
            yield data


def read_chunk(data: str) -> Chunk:
    """The chunk in `data`, a streamed one or a whole completion. Raises DamagedStream when it is not a JSON object."""
    if data.strip() == DONE:
        return Chunk(done=True)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise DamagedStream("no JSON") from None
    if not isinstance(value, dict):
        raise DamagedStream("no JSON object")
    if value.get("error"):
        return Chunk(error=error_text(value["error"]))
    choices = value.get("choices")
    choice = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    delta = _mapping(choice.get("delta") or choice.get("message"))
    text, inner = _content(delta.get("content"))
    return Chunk(
        text=text or _string(delta.get("refusal")) or _string(choice.get("text")),
        reasoning=_string(delta.get("reasoning_content")) or _string(delta.get("reasoning")) or inner,
        finish=_string(choice.get("finish_reason")),
        usage=_usage(value.get("usage")),
    )


def error_text(error: object) -> str:
    """The readable part of an error value, which servers shape as they like."""
    if isinstance(error, Mapping):
        return _string(error.get("message")) or _string(error.get("error")) or _string(error.get("code"))
    return _string(error)


class ThinkSplitter:
    """Events of a chunk. When the answer begins with <think>, all up to </think> is reasoning; a tag may come in any
    number of pieces. Anywhere else the tags are ordinary text."""

    def __init__(self) -> None:
        self._held = ""
        self._place = "start"

    def events(self, chunk: Chunk) -> Iterator[AgentEvent]:
        """Reasoning and text of `chunk`, in this order; pieces are passed on as they come."""
        if chunk.reasoning:
            yield ReasoningDelta(chunk.reasoning)
        if chunk.text:
            yield from self._split(chunk.text)

    def finish(self) -> Iterator[AgentEvent]:
        """What was held back because it could still have become a tag."""
        if self._held:
            yield ReasoningDelta(self._held) if self._place == "inside" else TextDelta(self._held)
        self._held = ""

    def _split(self, text: str) -> Iterator[AgentEvent]:
        text, self._held = self._held + text, ""
        match self._place:
            case "start":
                yield from self._begin(text)
            case "inside":
                yield from self._think(text)
            case "gap":
                yield from self._resume(text)
            case _:
                yield TextDelta(text)

    def _begin(self, text: str) -> Iterator[AgentEvent]:
        bare = text.lstrip()
        if bare.startswith(_OPEN):
            self._place = "inside"
            yield from self._think(bare.removeprefix(_OPEN))
        elif _OPEN.startswith(bare):
            self._held = text
        else:
            self._place = "outside"
            yield TextDelta(text)

    def _think(self, text: str) -> Iterator[AgentEvent]:
        thought, tag, answer = text.partition(_CLOSE)
        if tag:
            self._place = "gap"
        else:
            kept = next((size for size in range(len(_CLOSE) - 1, 0, -1) if text.endswith(_CLOSE[:size])), 0)
            thought, self._held = text[: len(text) - kept], text[len(text) - kept :]
        if thought:
            yield ReasoningDelta(thought)
        if answer:
            yield from self._resume(answer)

    def _resume(self, text: str) -> Iterator[AgentEvent]:
        """The empty lines between the thought and the answer belong to neither."""
        if bare := text.lstrip("\r\n"):
            self._place = "outside"
            yield TextDelta(bare)


def _usage(value: object) -> UsageReported | None:
    usage = _mapping(value)
    if not usage:
        return None
    inputs = _count(usage.get("prompt_tokens"))
    details = _mapping(usage.get("prompt_tokens_details"))
    cached = _count(details.get("cached_tokens")) or _count(usage.get("prompt_cache_hit_tokens"))
    return UsageReported(inputs, _count(usage.get("completion_tokens")), min(cached, inputs))


def _content(value: object) -> tuple[str, str]:
    """Text and reasoning of a content that is a string or, with some servers, a list of parts."""
    if not isinstance(value, list):
        return _string(value), ""
    parts = [_mapping(part) for part in value]
    text = "".join(_string(part.get("text")) for part in parts)
    return text, "".join(_content(part.get("thinking"))[0] for part in parts)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
