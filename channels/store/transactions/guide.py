"""The guide card: once per private chat, and whenever the bot is added to a group."""

from channels.ids import ChatId, EventId, IntentId, SendUuid, UserId
from channels.rules import intents
from channels.rules.intents import Drawing, payload
from channels.store import missed, outbox
from channels.store.transactions.missed import add_bot, enter_private_chat
from channels.store.tx import Tx


def greet_group(
    tx: Tx, event_id: EventId, chat_id: ChatId, name: str, guide: Drawing, uuid: SendUuid, now: int
) -> str | None:
    """The bot was added: the group is known from here on, and gets its guide. Returns the lane, None for a repeat."""
    if not add_bot(tx, event_id, chat_id, name, now):
        return None
    return _greet(tx, IntentId(f"guide/{event_id}"), chat_id, guide, uuid, now)


def greet_person(
    tx: Tx, event_id: EventId, chat_id: ChatId, user_id: UserId, guide: Drawing | None, uuid: SendUuid, now: int
) -> str | None:
    """Somebody opened the private chat: the first time it gets its guide. `guide` None: nobody is answered there."""
    known = missed.is_guided(tx, chat_id)
    enter_private_chat(tx, event_id, chat_id, user_id, now)
    if known or guide is None:
        return None
    return _greet(tx, IntentId(f"guide/{chat_id}"), chat_id, guide, uuid, now)


def _greet(tx: Tx, name: IntentId, chat_id: ChatId, guide: Drawing, uuid: SendUuid, now: int) -> str:
    card = intents.send(name, f"guide:{chat_id}", chat_id, payload(card=guide.card, text=guide.text), uuid)
    outbox.add_intents(tx, [card], now)
    return card.lane
