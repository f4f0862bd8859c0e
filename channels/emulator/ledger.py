"""The witness: everything a person could see and when, every HTTP call, every delivery of every event.

Times are milliseconds of the emulator's clock. Nothing here decides anything; it only records and answers questions.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from channels.emulator.messages import Message, Timeline


@dataclass(frozen=True, slots=True)
class CardState:
    """One state of a card: its whole JSON as text, and the call that made it ("im.message.reply", "callback", …)."""

    at_ms: int
    text: str
    call: str
    sequence: int = 0
    visible: bool = True

    @property
    def card(self) -> dict[str, Any]:
        return dict(json.loads(self.text))


@dataclass(frozen=True, slots=True)
class ReactionChange:
    at_ms: int
    message_id: str
    reaction_id: str
    emoji_type: str
    operator: str  # open_id
    added: bool


@dataclass(frozen=True, slots=True)
class Toast:
    at_ms: int
    open_id: str
    message_id: str
    kind: str
    content: str


@dataclass(frozen=True, slots=True)
class Notification:
    """An unread mark: raised by a new message, never by an edit or a patch."""

    at_ms: int
    open_id: str
    message_id: str


@dataclass(slots=True)
class Call:
    """One HTTP call. `effect`: something visible changed. `status` 0: the answer never left, or was cut."""

    at_ms: int
    kind: str  # "im.message.reply" …
    method: str
    path: str
    uuid: str = ""
    sequence: int = 0
    status: int = 0
    code: int = 0
    effect: bool = False
    fault: str = ""
    result_id: str = ""  # the message, card, reaction or file that the call made or found
    body: dict[str, Any] = field(default_factory=dict)
    done_ms: int = 0


@dataclass(slots=True)
class Delivery:
    """One attempt to deliver one event. `ack_code` None: not answered (yet); `late`: answered after the limit."""

    at_ms: int
    event_type: str
    event_id: str
    message_id: str
    attempt: int
    connection: str  # "" when nobody was connected
    ack_code: int | None = None
    latency_ms: float | None = None
    late: bool = False


class Ledger:
    """Queries first; the recording half is used by the world and the server only."""

    def __init__(self, timeline: Timeline, now_ms: Callable[[], int]) -> None:
        self._timeline, self._now_ms = timeline, now_ms
        self._calls: list[Call] = []
        self._deliveries: list[Delivery] = []
        self._by_message: dict[str, list[Delivery]] = {}
        self._cards: dict[str, list[CardState]] = {}
        self.reaction_changes: list[ReactionChange] = []
        self.toasts: list[Toast] = []
        self.notifications: list[Notification] = []
        self.keep_history = True
        self._waiting: list[tuple[Callable[[], object], asyncio.Future[None]]] = []

    # Questions

    def visible_replies(self, message_id: str) -> list[Message]:
        """The bot's answers to this message that a person can see now (not recalled), oldest first."""
        return [each for each in self._timeline.replies(message_id) if each.by_bot and not each.recalled]

    def card_states(self, message_id: str) -> list[CardState]:
        """Every state in which people saw this message's card, oldest first."""
        message = self._timeline.find(message_id)
        key = message.card_id or message_id if message else message_id
        return [state for state in self._cards.get(key, ()) if state.visible]

    def card_json(self, message_id: str) -> dict[str, Any]:
        """The card as it looks now; KeyError when the message shows none."""
        states = self.card_states(message_id)
        if not states:
            raise KeyError(message_id)
        return states[-1].card

    def reactions(self, message_id: str) -> list[str]:
        """The emoji types on the message now, in the order in which they were added."""
        now: dict[str, str] = {}
        for change in self.reaction_changes:
            if change.message_id != message_id:
                continue
            if change.added:
                now[change.reaction_id] = change.emoji_type
            else:
                now.pop(change.reaction_id, None)
        return list(now.values())

    def calls(self, kind: str | None = None) -> list[Call]:
        """HTTP calls, oldest first; `kind` as in "im.message.reply", or a prefix ending in "."."""
        if kind is None:
            return list(self._calls)
        if kind.endswith("."):
            return [call for call in self._calls if call.kind.startswith(kind)]
        return [call for call in self._calls if call.kind == kind]

    def deliveries(self, message_id: str | None = None, event_type: str = "") -> list[Delivery]:
        """Delivery attempts of the events about this message (or all), oldest first; of one type when it is given."""
        found = self._deliveries if message_id is None else self._by_message.get(message_id, ())
        return [each for each in found if not event_type or each.event_type == event_type]

    async def until(self, fact: Callable[[], object], timeout_s: float = 10) -> None:
        """Wait until `fact()` is true; it is asked again after every change. TimeoutError when it never is."""
        if fact():
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (fact, future)
        self._waiting.append(entry)
        try:
            await asyncio.wait_for(future, timeout_s)
        finally:
            self._waiting.remove(entry)

    # Recording

    def changed(self) -> None:
        """Something happened: wake whoever waits for a fact."""
        for fact, future in self._waiting:
            if future.done():
                continue
            try:
                if fact():
                    future.set_result(None)
            except Exception as error:  # a wrong question fails its asker, not the server
                future.set_exception(error)

    def record_call(self, call: Call) -> None:
        self._calls.append(call)
        self.changed()

    def record_delivery(self, delivery: Delivery) -> None:
        self._deliveries.append(delivery)
        if delivery.message_id:
            self._by_message.setdefault(delivery.message_id, []).append(delivery)

    def record_card(self, key: str, text: str, call: str, *, sequence: int = 0, visible: bool = True) -> None:
        states = self._cards.setdefault(key, [])
        if not self.keep_history:
            states.clear()
        states.append(CardState(self._now_ms(), text, call, sequence, visible))
        self.changed()

    def record_reaction(self, message_id: str, reaction_id: str, emoji_type: str, operator: str, added: bool) -> None:
        change = ReactionChange(self._now_ms(), message_id, reaction_id, emoji_type, operator, added)
        self.reaction_changes.append(change)
        self.changed()

    def record_toast(self, open_id: str, message_id: str, kind: str, content: str) -> None:
        self.toasts.append(Toast(self._now_ms(), open_id, message_id, kind, content))
        self.changed()

    def record_notifications(self, message_id: str, people: list[str]) -> None:
        now_ms = self._now_ms()
        self.notifications += [Notification(now_ms, open_id, message_id) for open_id in people]
        self.changed()
