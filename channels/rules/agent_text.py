"""What an agent says, as text that can be kept and sent.

Models and proxies cut a character in two where its surrogates meet, and send the halves in two deltas. No UTF-8 holds
a half: neither the domain file nor Feishu takes it. Halves that meet become their character again, others U+FFFD.
"""

import re
from dataclasses import replace
from typing import assert_never

from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    ModelReported,
    PlanUpdated,
    ReasoningDelta,
    SessionOpened,
    SlotAwaited,
    TextDelta,
    ToolCalled,
    ToolUpdated,
    UsageReported,
)

_HALF = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """The text without halves of characters."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class WholeText:
    """Mends the events of one run, in their order. A first half at the end of a delta waits for the next delta."""

    def __init__(self) -> None:
        self._held: dict[type, str] = {}

    def mend(self, event: AgentEvent) -> AgentEvent:
        """The same event, fit to be kept."""
        match event:
            case TextDelta(text) | ReasoningDelta(text):
                return replace(event, text=self._join(type(event), text))
            case ToolCalled(tool_id, title, kind, arguments, diff):
                return ToolCalled(whole(tool_id), whole(title), whole(kind), whole(arguments), whole(diff))
            case ToolUpdated(tool_id, status, output, diff):
                return ToolUpdated(whole(tool_id), status, whole(output), whole(diff))
            case PlanUpdated(entries):
                return PlanUpdated(tuple((whole(text), whole(status)) for text, status in entries))
            case ModelReported(model):
                return ModelReported(whole(model))
            case SessionOpened(reference):
                return SessionOpened(whole(reference))
            case Ended(error=error):
                return replace(event, error=whole(error))
            case UsageReported() | SlotAwaited():
                return event
            case _:
                assert_never(event)

    def _join(self, kind: type, text: str) -> str:
        text = self._held.pop(kind, "") + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held[kind] = text[:-1], text[-1]
        return whole(text)
