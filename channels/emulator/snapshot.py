"""What one person sees, as one JSON value for the chat page."""

import json
from typing import Any

from channels.emulator.accounts import Chat, Person
from channels.emulator.messages import Message
from channels.emulator.tenant import Tenant
from channels.emulator.views import Json


def snapshot_for(world: Tenant, person: Person) -> Json:
    """{"me", "people", "bot", "chats"}; a chat has "messages" oldest first (shape: `message_view`).

    Private chats of others are left out, and so are groups in which the person is not.
    """
    chats = [chat for chat in world.directory.chats.values() if person.open_id in chat.members]
    return {
        "me": person_view(person),
        "people": [person_view(each) for each in world.directory.people.values() if not each.app_id],
        "bot": {"open_id": world.bot.open_id, "name": world.bot.name, "app_id": world.bot.app_id},
        "chats": [chat_view(world, chat) for chat in chats],
        "now_ms": world.clock.now_ms(),
    }


def person_view(person: Person) -> Json:
    return {"open_id": person.open_id, "user_id": person.user_id, "name": person.name}


def chat_view(world: Tenant, chat: Chat) -> Json:
    """{"chat_id", "kind": "p2p"|"group"|"topic", "name", …, "messages"}."""
    return {
        "chat_id": chat.chat_id,
        "kind": chat.kind.value,
        "name": chat.name,
        "members": list(chat.members),
        "threads_allowed": chat.threads_allowed,
        "bot_in_chat": chat.bot_in_chat,
        "disbanded": chat.disbanded,
        "messages": [message_view(world, each) for each in world.timeline.in_chat(chat.chat_id)],
    }


def message_view(world: Tenant, message: Message) -> Json:
    """One message for the page: `content` parsed, `card` the JSON shown now (None when it has none)."""
    sender = world.directory.people.get(message.sender)
    entity = world.cards.find(message.card_id) if message.card_id else None
    return {
        "message_id": message.message_id,
        "chat_id": message.chat_id,
        "thread_id": message.thread_id,
        "root_id": message.root_id,
        "parent_id": message.parent_id,
        "sender": {
            "open_id": message.sender,
            "name": sender.name if sender else world.bot.name,
            "kind": "bot" if message.by_bot else "user",
        },
        "message_type": message.message_type,
        "content": _parsed(message.content),
        "card": None if message.recalled else world.card_of(message),
        "card_id": message.card_id,
        "streaming": entity is not None and world.cards.is_streaming(entity),
        "create_time": message.create_ms,
        "edited": message.edits > 0,
        "recalled": message.recalled,
        "mentions": [{"key": each.key, "open_id": each.open_id, "name": each.name} for each in message.mentions],
        "reactions": [
            {
                "reaction_id": each.reaction_id,
                "emoji_type": each.emoji_type,
                "open_id": each.operator,
                "name": _name(world, each.operator),
            }
            for each in world.reacted.get(message.message_id, {}).values()
        ],
    }


def _name(world: Tenant, open_id: str) -> str:
    person = world.directory.people.get(open_id)
    return person.name if person else world.bot.name


def _parsed(content: str) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return {"text": content}
