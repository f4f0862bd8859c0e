"""What a running turn has still to hear, in bounded memory. No task, no polling.

The agent's process puts events in as they come, the turn takes them out as fast as it can. What piles up is joined:
deltas of one kind become one (thoughts
and words in turn become two), a tool's newest state replaces its older one, so does the plan. The answer and the
reasoning are bounded over the whole turn. When much is pending, `is_full` says so, and the process is left unread.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import Final

from channels.rules.agent_event import (
    AgentEvent,
    ModelReported,
    PlanUpdated,
    ReasoningDelta,
    TextDelta,
    ToolCalled,
    ToolUpdated,
    UsageReported,
)

PIECE_CHARACTERS: Final = 32_000
FULL_CHARACTERS: Final = 1_000_000


@dataclass(slots=True)
class _Words:
    """Deltas of one kind that came one after another."""

    kind: type[TextDelta] | type[ReasoningDelta]
    pieces: list[str]


class TurnFeed:
    """Put in from callbacks, taken out by one turn. `most_characters` bounds the answer, and the reasoning alike."""

    def __init__(self, most_characters: int) -> None:
        self._room = {TextDelta: most_characters, ReasoningDelta: most_characters}
        self._pending: deque[_Words | AgentEvent] = deque()
        self._characters = 0
        self._waiter: asyncio.Future[None] | None = None
        self.overflowed = False  # the answer was longer than allowed: what is in here is all there will be

    @property
    def is_full(self) -> bool:
        return self._characters > FULL_CHARACTERS

    def put(self, event: AgentEvent) -> None:
        if isinstance(event, TextDelta | ReasoningDelta):
            self._put_words(type(event), event.text)
        else:
            self._put_newest(event)
        self.wake()

    def take(self) -> AgentEvent | None:
        """The next event, or None when there is none now."""
        if not self._pending:
            return None
        first = self._pending.popleft()
        if not isinstance(first, _Words):
            self._characters -= _size(first)
            return first
        text = "".join(first.pieces)
        self._characters -= min(len(text), PIECE_CHARACTERS)
        if len(text) > PIECE_CHARACTERS:
            self._pending.appendleft(_Words(first.kind, [text[PIECE_CHARACTERS:]]))
        return first.kind(text[:PIECE_CHARACTERS])

    def wake(self) -> None:
        """Whoever waits looks again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def changed(self) -> None:
        """Until something was put in, or `wake` was called."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _put_words(self, kind: type[TextDelta] | type[ReasoningDelta], text: str) -> None:
        room = self._room[kind]
        if len(text) > room:
            text = text[:room]
            self.overflowed = self.overflowed or kind is TextDelta
        if not text:
            return
        self._room[kind] -= len(text)
        self._characters += len(text)
        for last in reversed(self._pending):
            if not isinstance(last, _Words):
                break
            if last.kind is kind:
                last.pieces.append(text)
                return
        self._pending.append(_Words(kind, [text]))

    def _put_newest(self, event: AgentEvent) -> None:
        """In the place of an older one that says less, so that deltas around it go on being joined."""
        self._characters += _size(event)
        for index, one in enumerate(self._pending):
            if isinstance(one, _Words) or _subject(one) is None or _subject(one) != _subject(event):
                continue
            if isinstance(one, ToolUpdated) and isinstance(event, ToolUpdated):
                event = replace(event, output=event.output or one.output, diff=event.diff or one.diff)
            self._pending[index] = event
            self._characters = sum(map(_pending_size, self._pending))
            return
        self._pending.append(event)


def _subject(event: AgentEvent) -> tuple[type, str] | None:
    """Events of one subject replace each other; None: this one stands for itself."""
    match event:
        case ToolUpdated(tool_id) | ToolCalled(tool_id):
            return type(event), tool_id
        case PlanUpdated() | UsageReported() | ModelReported():
            return type(event), ""
        case _:
            return None


def _pending_size(one: _Words | AgentEvent) -> int:
    return sum(map(len, one.pieces)) if isinstance(one, _Words) else _size(one)


def _size(event: AgentEvent) -> int:
    return len(event.output) + len(event.diff) if isinstance(event, ToolUpdated) else 0
