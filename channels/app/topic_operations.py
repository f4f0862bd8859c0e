"""Launches and wake-ups on the control socket: for scripts, and for an agent's own tools.

Whoever may open the socket may ask for both. `key` names the request: the same one again answers with the turn that it
made, and how far that is, so that asking again is how a script waits for the end.
"""

from collections.abc import Callable
from typing import Any

from channels.service.launching import Answered, Launching, StartRequest, WakeRequest
from channels.web.control import Operation

Json = dict[str, Any]


class TopicOperations:
    """`launching` gives that of the running boot, or refuses while there is none."""

    def __init__(self, launching: Callable[[], Launching]) -> None:
        self._launching = launching

    def table(self) -> dict[str, Operation]:
        """Name → operation."""
        return {"topic_start": self.start, "topic_wake": self.wake}

    async def start(self, arguments: Json) -> Json:
        """{"user", "text", "chat"?, "agent"?, "key"?} → the turn (see `turn_json`)."""
        request = StartRequest(
            user=_text(arguments, "user", needed=True),
            text=_text(arguments, "text", needed=True),
            chat=_text(arguments, "chat"),
            agent=_text(arguments, "agent"),
            key=_text(arguments, "key"),
        )
        return turn_json(await self._launching().start(request))

    async def wake(self, arguments: Json) -> Json:
        """{"text", "thread" or "session", "nobody"?, "key"?} → the turn (see `turn_json`). With "nobody" it stands for
        no person and may change no code."""
        thread, session = _text(arguments, "thread"), _text(arguments, "session")
        if bool(thread) == bool(session):
            raise ValueError("either thread or session must be given")
        nobody = arguments.get("nobody", False)
        if not isinstance(nobody, bool):
            raise ValueError("nobody must be true or false")
        request = WakeRequest(
            text=_text(arguments, "text", needed=True),
            thread=thread,
            session=session,
            for_nobody=nobody,
            key=_text(arguments, "key"),
        )
        return turn_json(await self._launching().wake(request))


def turn_json(answered: Answered) -> Json:
    """`state`: queued, entered, ended, unknown (a restart has cut it off; it ends soon); `card`: pending, done, or why
    people do not see it; `thread` is there once the topic is."""
    progress, turn = answered.progress, answered.progress.turn
    return {
        "key": answered.key,
        "again": answered.again,
        "turn": turn.turn_id,
        "session": turn.session_id,
        "state": turn.state,
        "outcome": turn.outcome,
        "chat": progress.chat_id,
        "thread": progress.thread_id,
        "message": progress.message_id,
        "card": progress.shown,
    }


def _text(arguments: Json, key: str, *, needed: bool = False) -> str:
    value = arguments.get(key) or ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise ValueError(f"{key} must be a text")
    return value if key == "text" else value.strip()
