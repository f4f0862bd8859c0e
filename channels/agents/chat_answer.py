"""One answer of a model as it grows: which events a chunk becomes, and how the answer may end. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from channels.agents.chat_stream import Chunk, ThinkSplitter
from channels.agents.failures import BrokenStream, EmptyAnswer, Failure, Filtered, ServerSaid
from channels.rules.agent_event import AgentEvent, Outcome, ReasoningDelta, TextDelta, UsageReported

_CUT: Final = frozenset({"length", "max_tokens", "model_length"})
_FILTERED: Final = frozenset({"content_filter", "sensitive"})
_ABANDONED: Final = frozenset({"insufficient_system_resource", "error", "network_error"})


@dataclass(slots=True)
class _Seen:
    """What has been handed out."""

    characters: int = 0
    answered: bool = False
    usage: UsageReported | None = None


class Answer:
    """Folds chunks. `most_characters` bounds text and reasoning together; an answer that reaches it is over."""

    def __init__(self, most_characters: int) -> None:
        self._left = most_characters
        self._splitter = ThinkSplitter()
        self._seen = _Seen()
        self._finish = ""
        self._done = False
        self._error: str | None = None

    @property
    def begun(self) -> bool:
        """Whether a person may have seen anything of it: from then on nothing is sent again."""
        return self._seen.characters > 0

    @property
    def finished(self) -> bool:
        """The model has said why it ended; only the usage can still come."""
        return bool(self._finish)

    @property
    def over(self) -> bool:
        """Nothing more is wanted from the stream."""
        return self._done or self._error is not None or self._left <= 0

    def take(self, chunk: Chunk) -> Iterator[AgentEvent]:
        """The events of `chunk`."""
        self._error, self._done = chunk.error, chunk.done
        yield from self._bounded(self._splitter.events(chunk))
        self._finish = chunk.finish or self._finish
        if chunk.usage is not None and chunk.usage != self._seen.usage:
            self._seen.usage = chunk.usage
            yield chunk.usage

    def flush(self) -> Iterator[AgentEvent]:
        """What was held back, once nothing more comes."""
        yield from self._bounded(self._splitter.finish())

    def result(self) -> Outcome | Failure:
        """How it ended, after the stream has."""
        if self._error is not None:
            return ServerSaid(self._error)
        if self._left <= 0 or self._finish in _CUT:
            return Outcome.MAX_TOKENS
        if self._finish in _FILTERED:
            return Filtered()
        if self._finish in _ABANDONED or not (self._finish or self._done):
            return BrokenStream(self.begun)
        return Outcome.COMPLETED if self._seen.answered else EmptyAnswer()

    def _bounded(self, events: Iterator[AgentEvent]) -> Iterator[AgentEvent]:
        for event in events:
            if not isinstance(event, TextDelta | ReasoningDelta) or self._left <= 0:
                continue
            shown = replace(event, text=event.text[: self._left])
            self._left -= len(shown.text)
            self._seen.characters += len(shown.text)
            self._seen.answered = self._seen.answered or (isinstance(shown, TextDelta) and not shown.text.isspace())
            yield shown
