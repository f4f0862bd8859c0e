"""Agent events → entries of the session log, coalesced, to be written with the next save."""

from dataclasses import asdict

from channels.rules.agent_event import AgentEvent, TextDelta, ToolCalled, ToolUpdated
from channels.rules.turn import View

Entry = tuple[str, dict[str, object]]


class TurnLog:
    """Collects what has not been written yet."""

    def __init__(self) -> None:
        self._chunk: list[str] = []
        self._entries: list[Entry] = []

    def add(self, event: AgentEvent) -> None:
        match event:
            case TextDelta(text):
                self._chunk.append(text)
            case ToolCalled():
                self._flush_chunk()
                self._entries.append(("tool/call", asdict(event)))
            case ToolUpdated():
                self._flush_chunk()
                self._entries.append(("tool/result", asdict(event)))
            case _:
                pass

    def take(self) -> tuple[Entry, ...]:
        """Everything collected since the last time."""
        self._flush_chunk()
        entries, self._entries = tuple(self._entries), []
        return entries

    def put_back(self, entries: tuple[Entry, ...]) -> None:
        """They could not be written: the next time takes them again."""
        self._entries = [*entries, *self._entries]

    def close(self, view: View, prefix: str = "") -> tuple[Entry, ...]:
        """The last entries of a turn: the whole answer and what it cost. `prefix` was said by an earlier turn."""
        answer = view.answer.removeprefix(prefix)
        message: list[Entry] = [("assistant/message", {"text": answer})] if answer else []
        return (*self.take(), *message, ("usage", asdict(view.usage)))

    def _flush_chunk(self) -> None:
        if self._chunk:
            self._entries.append(("assistant/chunk", {"text": "".join(self._chunk)}))
            self._chunk = []
