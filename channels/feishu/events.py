"""Event JSON → values. Pure, and total: no input makes `parse` raise.

`parse` is the cheap part that runs before the ack; it reads only what the gate, the cursor and the order need.
`channels.feishu.content` turns the whole message into text later, outside the 3 seconds.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from channels.feishu.content import normalise
from channels.feishu.envelopes import Lacking, envelope_of, mapping, needed, number, person, text
from channels.ids import ChatId, EventId, MessageId
from channels.rules.message import Envelope, Sender

__all__ = [
    "BotAdded",
    "BotRemoved",
    "CardClicked",
    "ChatDisbanded",
    "Event",
    "Malformed",
    "MessageRecalled",
    "MessageReceived",
    "PrivateChatEntered",
    "ReactionAdded",
    "UnknownEvent",
    "normalise",
    "parse",
]


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """im.message.receive_v1. `raw` is the whole payload as text, fit for the inbox."""

    event_id: EventId
    envelope: Envelope
    raw: str


@dataclass(frozen=True, slots=True)
class CardClicked:
    """card.action.trigger. `value` is what the button carries; a text value comes as {"value": text}."""

    event_id: EventId
    token: str = field(repr=False)
    operator: Sender
    message_id: MessageId
    chat_id: ChatId
    value: Mapping[str, object]
    tag: str = ""
    name: str = ""
    option: str = ""
    form: Mapping[str, object] = field(default_factory=dict)
    input_text: str = ""
    options: tuple[str, ...] = ()
    checked: bool | None = None


@dataclass(frozen=True, slots=True)
class MessageRecalled:
    event_id: EventId
    message_id: MessageId
    chat_id: ChatId
    at_ms: int


@dataclass(frozen=True, slots=True)
class BotAdded:
    event_id: EventId
    chat_id: ChatId
    name: str
    operator: Sender


@dataclass(frozen=True, slots=True)
class BotRemoved:
    event_id: EventId
    chat_id: ChatId


@dataclass(frozen=True, slots=True)
class ChatDisbanded:
    event_id: EventId
    chat_id: ChatId


@dataclass(frozen=True, slots=True)
class PrivateChatEntered:
    """Somebody opened the private chat with the bot (again)."""

    event_id: EventId
    chat_id: ChatId
    sender: Sender


@dataclass(frozen=True, slots=True)
class ReactionAdded:
    event_id: EventId
    message_id: MessageId
    emoji: str
    operator: Sender
    at_ms: int


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """A well-formed event of a type that this service does not know: ack it, record nothing."""

    event_id: EventId
    event_type: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """No event that could ever be handled; `why` names the fault, never the content."""

    why: str


Event = (
    MessageReceived
    | CardClicked
    | MessageRecalled
    | BotAdded
    | BotRemoved
    | ChatDisbanded
    | PrivateChatEntered
    | ReactionAdded
    | UnknownEvent
    | Malformed
)


def parse(payload: bytes) -> Event:
    """The event in a frame's payload. Never raises."""
    try:
        raw = payload.decode()
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return Malformed(f"no JSON: {type(error).__name__}")
    if not isinstance(document, dict):
        return Malformed(f"JSON is a {type(document).__name__}")
    header, event = mapping(document, "header"), mapping(document, "event")
    event_type = text(header, "event_type") or text(event, "type")
    event_id = EventId(text(header, "event_id") or text(document, "uuid"))
    if not event_type:
        return Malformed("no event type")
    try:
        if event_type == "im.message.receive_v1":
            return MessageReceived(event_id, envelope_of(event), raw)
        reader = _READERS.get(event_type)
        return reader(event_id, event) if reader else UnknownEvent(event_id, event_type)
    except Lacking as error:
        return Malformed(f"{event_type} without {error}")


def _click(event_id: EventId, event: Mapping[str, object]) -> Event:
    action, context = mapping(event, "action"), mapping(event, "context")
    operator = person(mapping(event, "operator"))
    if not operator.user_id:
        raise Lacking("operator")
    checked, options = action.get("checked"), action.get("options")
    return CardClicked(
        event_id,
        text(event, "token"),
        operator,
        MessageId(text(context, "open_message_id")),
        ChatId(text(context, "open_chat_id")),
        _value_of(action.get("value")),
        tag=text(action, "tag"),
        name=text(action, "name"),
        option=text(action, "option"),
        form=mapping(action, "form_value"),
        input_text=text(action, "input_value"),
        options=tuple(map(str, options)) if isinstance(options, list) else (),
        checked=checked if isinstance(checked, bool) else None,
    )


def _value_of(value: object) -> Mapping[str, object]:
    """A button's value: an object as it is, a text that holds an object as that object, another text under "value"."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str) or not value:
        return {}
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return {"value": value}
    return document if isinstance(document, dict) else {"value": value}


def _recalled(event_id: EventId, event: Mapping[str, object]) -> Event:
    message_id, chat_id = MessageId(needed(event, "message_id")), ChatId(text(event, "chat_id"))
    return MessageRecalled(event_id, message_id, chat_id, number(event, "recall_time"))


def _bot_added(event_id: EventId, event: Mapping[str, object]) -> Event:
    chat_id = ChatId(needed(event, "chat_id"))
    return BotAdded(event_id, chat_id, text(event, "name"), person(mapping(event, "operator_id")))


def _bot_removed(event_id: EventId, event: Mapping[str, object]) -> Event:
    return BotRemoved(event_id, ChatId(needed(event, "chat_id")))


def _disbanded(event_id: EventId, event: Mapping[str, object]) -> Event:
    return ChatDisbanded(event_id, ChatId(needed(event, "chat_id")))


def _entered(event_id: EventId, event: Mapping[str, object]) -> Event:
    return PrivateChatEntered(event_id, ChatId(needed(event, "chat_id")), person(mapping(event, "operator_id")))


def _reaction(event_id: EventId, event: Mapping[str, object]) -> Event:
    emoji = text(mapping(event, "reaction_type"), "emoji_type")
    operator = person(mapping(event, "user_id"), text(event, "operator_type") or "user")
    message_id = MessageId(needed(event, "message_id"))
    return ReactionAdded(event_id, message_id, emoji, operator, number(event, "action_time"))


_READERS: dict[str, Callable[[EventId, Mapping[str, object]], Event]] = {
    "card.action.trigger": _click,
    "im.message.recalled_v1": _recalled,
    "im.chat.member.bot.added_v1": _bot_added,
    "im.chat.member.bot.deleted_v1": _bot_removed,
    "im.chat.disbanded_v1": _disbanded,
    "im.chat.access_event.bot_p2p_chat_entered_v1": _entered,
    "im.message.reaction.created_v1": _reaction,
}
