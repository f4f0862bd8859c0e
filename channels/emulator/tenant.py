"""The emulated tenant's state: accounts, chats, messages, cards, media, the ledger, how a change is seen."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from channels.emulator import accounts
from channels.emulator.accounts import Bot, Chat, Directory, Kind, Person
from channels.emulator.cards import CardEntity, Cards
from channels.emulator.clock import EmulatorClock
from channels.emulator.errors import ApiError
from channels.emulator.identifiers import Identifiers
from channels.emulator.ledger import Ledger
from channels.emulator.media import Media
from channels.emulator.messages import Message, Reaction, Timeline
from channels.emulator.settings import EmulatorSettings
from channels.emulator.views import Json, Views

CLICK_TOKEN_MS, CLICK_TOKEN_USES = 30 * 60 * 1000, 2

Who = Person | str  # a person, or any of their ids, or their name
Push = Callable[[str, Json, str], None]  # event type, event body, message id it is about


@dataclass(frozen=True, slots=True)
class Answer:
    """A callback's outcome: `code` 0 and the decoded JSON answer (None: nothing), or the code of what went wrong."""

    code: int = 0
    body: Any = None


@dataclass(slots=True)
class AppRegistration:
    """The device flow in which a person creates the app. `decision`: pending, approved, denied, expired, slow_down."""

    decision: str = "pending"
    device_code: str = ""
    interval_s: int = 1
    expires_s: int = 600
    open_id: str = "ou_alice"
    brand: str = "feishu"
    address: str = "http://127.0.0.1"  # where the page is on which the person decides

    def begin(self, device_code: str) -> None:
        self.device_code = device_code

    @property
    def ticket(self) -> str:
        """What the code that is scanned carries."""
        return self.device_code[:8]


class Tenant:
    """All state of one tenant with one app in it."""

    def __init__(self, settings: EmulatorSettings | None = None, clock: EmulatorClock | None = None) -> None:
        self.settings = settings or EmulatorSettings()
        self.clock = clock or EmulatorClock()
        self.identifiers = Identifiers()
        self.bot = Bot(self.settings.app_id, f"ou_bot_{self.settings.app_id}", self.settings.app_name)
        self.directory = Directory()
        self.timeline = Timeline()
        self.reacted: dict[str, dict[str, Reaction]] = {}  # message_id → reaction_id → reaction, as it is now
        self.registration = AppRegistration()
        self.ledger = Ledger(self.timeline, self.clock.now_ms)
        self.ledger.keep_history = self.settings.keep_history
        self.media = Media(self.settings, self.identifiers)
        self.views = Views(self.settings, self.directory, self.bot)
        self.cards = Cards(
            self.settings, self.clock, self.identifiers.card, self.media.knows_image, self._entity_changed
        )
        self.push: Push = lambda event_type, event, message_id: None
        self.call_back: Callable[[Json, str], Awaitable[Answer]] | None = None
        self._observers: list[Callable[[Json], None]] = []
        self._count = 0
        self._click_tokens: dict[str, list[Any]] = {}
        accounts.default_cast(self.directory)

    # Who and where

    def person(self, who: Who) -> Person:
        return self.directory.person(who)

    def private_chat(self, who: Who) -> str:
        """The chat_id of this person's private chat with the bot."""
        return self.directory.private_chat(who).chat_id

    def chat(self, chat_id: str) -> Chat:
        return self.directory.chats[chat_id]

    def message(self, message_id: str) -> Message:
        return self.timeline.get(message_id)

    def add_person(self, name: str, slug: str = "") -> Person:
        """A new person with a private chat; `slug` makes the ids (default: a counter)."""
        person = self.directory.add_person(name, slug or f"person_{len(self.directory.people) + 1}")
        self.emit({"type": "chat", "chat_id": self.private_chat(person)})
        return person

    def add_chat(self, name: str, members: Sequence[Who], *, kind: Kind = Kind.GROUP, chat_id: str = "") -> Chat:
        """A new group with the bot in it; no event is pushed (use `add_bot` for that)."""
        open_ids = [self.person(who).open_id for who in members]
        chat = self.directory.add_chat(chat_id or self.identifiers.new("oc_"), kind, name, open_ids)
        self.emit({"type": "chat", "chat_id": chat.chat_id})
        return chat

    # Watching

    def observe(self, callback: Callable[[Json], None]) -> Callable[[], None]:
        """Call `callback` with a small dict at every visible change; returns the function that ends it.

        {"type": "message"|"card"|"reaction"|"recall"|"edit"|"toast"|"chat", "chat_id", "message_id", …}
        """
        self._observers.append(callback)
        return lambda: self._observers.remove(callback) if callback in self._observers else None

    def card_of(self, message: Message) -> Json | None:
        """The card that the message shows now."""
        entity = self.cards.find(message.card_id) if message.card_id else None
        return entity.card if entity is not None else message.card

    # How a change becomes visible (used by the world, posting, reactions and clicks)

    def new_message(
        self, chat_id: str, sender: str, message_type: str, content: str, *, create_ms: int | None = None
    ) -> Message:
        self._count += 1
        return Message(
            message_id=self.identifiers.new("om_"),
            chat_id=chat_id,
            sender=sender,
            by_bot=sender == self.bot.open_id,
            message_type=message_type,
            content=content,
            create_ms=self.clock.now_ms() if create_ms is None else create_ms,
            number=self._count,
        )

    def publish(self, message: Message) -> None:
        """Put a placed message into its chat."""
        self.timeline.add(message)
        readers = [each for each in self.chat(message.chat_id).members if each != message.sender]
        self.ledger.record_notifications(message.message_id, readers)
        self.emit({"type": "message", "chat_id": message.chat_id, "message_id": message.message_id})

    def push_message(self, message: Message) -> None:
        """The event about a person's message, where the app may see it."""
        chat = self.chat(message.chat_id)
        named = any(each.open_id == self.bot.open_id for each in message.mentions)
        if chat.kind is Kind.P2P or named or "im:message.group_msg" in self.settings.scopes:
            event = self.views.received(message, chat)
            self.push_in_chat("im.message.receive_v1", event, message.chat_id, message.message_id)

    def push_in_chat(self, event_type: str, event: Json, chat_id: str, message_id: str) -> None:
        chat = self.chat(chat_id)
        if chat.bot_in_chat and not chat.disbanded:
            self.push(event_type, event, message_id)

    def mark_recalled(self, message: Message) -> None:
        if message.recalled:
            raise ApiError(230110)
        message.recalled, message.update_ms = True, self.clock.now_ms()
        self.emit({"type": "recall", "chat_id": message.chat_id, "message_id": message.message_id})

    def rewrite(self, message: Message, content: str) -> None:
        message.content, message.update_ms = content, self.clock.now_ms()
        message.edits += 1
        self.emit({"type": "edit", "chat_id": message.chat_id, "message_id": message.message_id})

    def show_card(self, message: Message, card: Json, text: str, call: str) -> None:
        """An inline card's new state."""
        message.card = card
        self.ledger.record_card(message.message_id, text, call)
        self.emit({"type": "card", "chat_id": message.chat_id, "message_id": message.message_id})

    def new_click_token(self, message_id: str) -> str:
        """What a callback may update the card with later: for 30 minutes, twice."""
        token = self.identifiers.new("c-")
        self._click_tokens[token] = [message_id, self.clock.now_ms() + CLICK_TOKEN_MS, CLICK_TOKEN_USES]
        return token

    def use_click_token(self, token: str) -> str:
        """The message it belongs to; one use is gone."""
        message_id, until_ms, uses = self._click_tokens.get(token, ["", 0, 0])
        if uses <= 0 or until_ms < self.clock.now_ms():
            raise ApiError(10002, "token is invalid or used up")
        self._click_tokens[token][2] = uses - 1
        return str(message_id)

    def emit(self, change: Json) -> None:
        for observer in tuple(self._observers):
            observer(change)
        self.ledger.changed()

    def _entity_changed(self, entity: CardEntity, call: str) -> None:
        visible = bool(entity.message_id)
        self.ledger.record_card(entity.card_id, entity.text, call, sequence=entity.sequence, visible=visible)
        if visible:
            chat_id = self.message(entity.message_id).chat_id
            self.emit({"type": "card", "chat_id": chat_id, "message_id": entity.message_id, "card_id": entity.card_id})
