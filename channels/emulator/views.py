"""How messages and people look on the wire: API items, event bodies. Pure."""

import json
from typing import Any

from channels.emulator.accounts import Bot, Chat, Directory, Kind
from channels.emulator.elements import walk
from channels.emulator.messages import RECALLED_TEXT, Mention, Message
from channels.emulator.settings import EmulatorSettings

Json = dict[str, Any]


class Views:
    """Shapes that depend on who the tenant's people are and on the app's scopes."""

    def __init__(self, settings: EmulatorSettings, directory: Directory, bot: Bot) -> None:
        self._settings, self._directory, self._bot = settings, directory, bot

    @property
    def shows_user_id(self) -> bool:
        return "contact:user.employee_id:readonly" in self._settings.scopes

    def person_id(self, open_id: str, id_type: str) -> str:
        person = self._directory.people.get(open_id)
        return str(getattr(person, id_type)) if person and id_type in ("user_id", "union_id") else open_id

    def item(
        self, message: Message, *, id_type: str = "open_id", card: Json | None = None, raw_card: bool = False
    ) -> Json:
        """A message as send, reply, get and list return it; `card`: the JSON that its card shows now."""
        tenant = self._settings.tenant_key
        app_id = self._app_id(message)
        sender_id = app_id or self.person_id(message.sender, id_type)
        item: Json = {
            "message_id": message.message_id,
            "msg_type": message.message_type,
            "create_time": str(message.create_ms),
            "update_time": str(message.update_ms or message.create_ms),
            "deleted": message.recalled,
            "updated": message.edits > 0,
            "chat_id": message.chat_id,
            "sender": {
                "id": sender_id,
                "id_type": "app_id" if app_id else id_type,
                "sender_type": "app" if app_id else "user",
                "tenant_key": tenant,
            },
            "body": {"content": self._content(message, card, raw_card)},
        }
        for key in ("root_id", "parent_id", "thread_id", "upper_message_id"):
            if value := getattr(message, key):
                item[key] = value
        if message.mentions:
            item["mentions"] = [self._mention_item(each, id_type) for each in message.mentions]
        return item

    def _app_id(self, message: Message) -> str:
        """The app that wrote the message, or ""."""
        if message.by_bot:
            return self._bot.app_id
        person = self._directory.people.get(message.sender)
        return person.app_id if person else ""

    def _mention_item(self, mention: Mention, id_type: str) -> Json:
        shown = mention.open_id if mention.kind == "bot" else self.person_id(mention.open_id, id_type)
        return {
            "key": mention.key,
            "id": shown,
            "id_type": "open_id" if mention.kind == "bot" else id_type,
            "name": mention.name,
            "tenant_key": self._settings.tenant_key,
        }

    def _content(self, message: Message, card: Json | None, raw_card: bool) -> str:
        if message.recalled:
            return RECALLED_TEXT
        if message.message_type == "merge_forward":
            return "Merged and Forwarded Message"
        if message.message_type != "interactive" or card is None:
            return message.content
        return json.dumps(card if raw_card else reduced_card(card), ensure_ascii=False)

    def received(self, message: Message, chat: Chat) -> Json:
        """The body of im.message.receive_v1."""
        body: Json = {
            "message_id": message.message_id,
            "create_time": str(message.create_ms),
            "update_time": str(message.update_ms or message.create_ms),
            "chat_id": message.chat_id,
            "chat_type": chat.chat_type,
            "message_type": message.message_type,
            "content": self._content(message, None, False),
            "user_agent": "Emulator",
        }
        for key in ("root_id", "parent_id", "thread_id"):
            if value := getattr(message, key):
                body[key] = value
        if message.mentions:
            body["mentions"] = [self._mention_event(each) for each in message.mentions]
        return {
            "sender": {
                "sender_id": self.ids(message.sender),
                "sender_type": "app" if self._app_id(message) else "user",
                "tenant_key": self._settings.tenant_key,
            },
            "message": body,
        }

    def _mention_event(self, mention: Mention) -> Json:
        return {
            "key": mention.key,
            "id": self.ids(mention.open_id),
            "mentioned_type": mention.kind,
            "name": mention.name,
            "tenant_key": self._settings.tenant_key,
        }

    def ids(self, open_id: str) -> Json:
        person = self._directory.people.get(open_id)
        if person is None:
            return {"union_id": "on_" + open_id.removeprefix("ou_"), "user_id": None, "open_id": open_id}
        return dict(person.ids(with_user_id=self.shows_user_id))

    def chat(self, chat: Chat) -> Json:
        """GET /im/v1/chats/:id."""
        people = len(chat.members)
        return {
            "name": "" if chat.kind is Kind.P2P else chat.name,
            "description": "",
            "chat_mode": chat.kind.value,
            "chat_type": "private",
            "group_message_type": "thread" if chat.kind is Kind.TOPIC else "chat",
            "chat_status": "dissolved" if chat.disbanded else "normal",
            "user_count": str(people),
            "bot_count": str(int(chat.bot_in_chat)),
            "owner_id": chat.members[0] if chat.members else "",
            "owner_id_type": "open_id",
            "external": False,
            "tenant_key": self._settings.tenant_key,
        }


def reduced_card(card: Json) -> Json:
    """What Feishu gives back of a card by default: a title and plain texts, never the JSON that was sent."""
    if str(card.get("schema", "")) == "2.0":
        return {"title": None, "elements": [[{"tag": "text", "text": "请升级至最新版本客户端，以查看内容"}]]}
    title = (card.get("header") or {}).get("title") or {}
    texts = [str(each["content"]) for each in walk(card.get("elements", [])) if isinstance(each.get("content"), str)]
    return {"title": title.get("content"), "elements": [[{"tag": "text", "text": text}] for text in texts]}
