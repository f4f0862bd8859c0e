"""What becomes of a turn that an older boot had entered, read from the session log. Pure.

a stop was asked for                                   → Stopped, before all else
the log has a good end of exactly this turn            → Finished: its cards are drawn from the log
anything else                                          → Interrupted: what was read stays, *Continue* may be offered
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.rules.agent_event import Outcome

GOOD_ENDS = {Outcome.COMPLETED.value: Outcome.COMPLETED, Outcome.MAX_TOKENS.value: Outcome.MAX_TOKENS}


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody had stopped it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """It had come to a good end; `text` is the whole answer."""

    outcome: Outcome
    text: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Nobody knows what it did."""


Verdict = Stopped | Finished | Interrupted


def classify_turn(stop_requested: bool, entries: Iterable[tuple[str, Mapping[str, Any]]]) -> Verdict:
    """The verdict on one turn. `entries`: (kind, body) of this turn's log entries, in order."""
    if stop_requested:
        return Stopped()
    texts: list[str] = []
    outcome: Outcome | None = None
    for kind, body in entries:
        if kind == "assistant/message":
            texts.append(str(body.get("text", "")))
        elif kind == "turn/end":
            outcome = GOOD_ENDS.get(str(body.get("outcome", "")))
    return Finished(outcome, "\n\n".join(texts)) if outcome is not None else Interrupted()
