"""What people do in the emulated tenant: write, click, recall, react, move the bot about.

Everything here is synchronous except `click`, which waits for the bot's answer. What the bot does through HTTP is in
`posting`; both record what became visible in the ledger and tell every observer.
"""

import json
from collections.abc import Sequence
from typing import Any

from channels.emulator.accounts import Kind, Person
from channels.emulator.clicks import apply_answer, click_event
from channels.emulator.clock import EmulatorClock
from channels.emulator.errors import ApiError
from channels.emulator.messages import Mention, Message
from channels.emulator.reactions import Reactions
from channels.emulator.settings import EmulatorSettings
from channels.emulator.snapshot import snapshot_for
from channels.emulator.tenant import Answer, Tenant, Who
from channels.emulator.views import Json


class World(Tenant):
    """One tenant with one app and its people."""

    def __init__(self, settings: EmulatorSettings | None = None, clock: EmulatorClock | None = None) -> None:
        super().__init__(settings, clock)
        self.reactions = Reactions(self)

    def add_other_bot(self, name: str, slug: str, chat_ids: Sequence[str]) -> Person:
        """Another app's bot, a member of these groups; what it says reaches our bot with sender_type "app"."""
        other = Person(f"ou_{slug}", "", f"on_{slug}", name, app_id=f"cli_{slug}")
        self.directory.people[other.open_id] = other
        for chat_id in chat_ids:
            self.chat(chat_id).members.append(other.open_id)
        return other

    # What people do

    def say(
        self,
        user: Who,
        chat_id: str,
        text: str = "",
        *,
        mention_bot: bool = False,
        mentions: Sequence[Who] = (),
        thread_id: str | None = None,
        parent_id: str | None = None,
        message_type: str = "text",
        content: Json | str | None = None,
        create_time: int | None = None,
        push: bool = True,
    ) -> str:
        """A person writes; returns the message_id. `create_time` in ms; `push=False`: only history has it.

        `thread_id` writes into a topic, `parent_id` quotes a message (inside its topic, if it has one). `content`
        replaces the body that `text` would make. A topic group gives every new root its own thread.
        """
        sender, marks = self.person(user), self._mentions(mention_bot, mentions)
        self._check_seat(sender, chat_id)
        body = content if content is not None else {"text": " ".join([*(each.key for each in marks), text]).strip()}
        message = self.new_message(
            chat_id,
            sender.open_id,
            message_type,
            body if isinstance(body, str) else json.dumps(body, ensure_ascii=False),
            create_ms=create_time,
        )
        message.mentions = marks
        self._place(message, thread_id, parent_id)
        self.publish(message)
        if push:
            self.push_message(message)
        return message.message_id

    def send_file(self, user: Who, chat_id: str, name: str, data: bytes, kind: str = "file", **place: Any) -> str:
        """A person sends a file: kind image, file, audio or media (video). `place`: as for `say`."""
        if kind == "image":
            key = self.media.upload_image(data, check_format=False).key
            return self.say(user, chat_id, message_type="image", content={"image_key": key}, **place)
        file_type = {"audio": "opus", "media": "mp4"}.get(kind, "stream")
        medium = self.media.keep_file(name, data, file_type)
        content: Json = {"file_key": medium.key, "file_name": name}
        if kind == "audio":
            content = {"file_key": medium.key, "duration": 1000}
        elif kind == "media":
            content |= {"image_key": "", "duration": 1000}
        return self.say(user, chat_id, message_type=kind, content=content, **place)

    def forward(self, user: Who, chat_id: str, message_ids: Sequence[str], **place: Any) -> str:
        """A person forwards several messages as one merge_forward; the children are copies."""
        upper_id = self.say(user, chat_id, message_type="merge_forward", content="{}", push=False, **place)
        upper = self.message(upper_id)
        for message_id in message_ids:
            source = self.message(message_id)
            child = self.new_message(chat_id, source.sender, source.message_type, source.content)
            child.by_bot, child.mentions, child.upper_message_id = source.by_bot, source.mentions, upper_id
            child.create_ms = source.create_ms
            self.timeline.add(child, listed=False)
            upper.children.append(child.message_id)
        self.push_message(upper)
        return upper_id

    async def click(self, user: Who, message_id: str, value: Any, *, tag: str = "button", **action: Any) -> Json:
        """A person uses a card; waits for the bot's answer and shows it.

        `action` may hold form, name, option, options, input_value, checked, timezone. Returns {"code": 0 or the code
        the person sees, "toast": {...} | None, "card": {...} | None, "applied": whether the card was replaced}.
        """
        person, message = self.person(user), self.message(message_id)
        entity = self.cards.find(message.card_id) if message.card_id else None
        event = click_event(self, person, message, value, tag, action)
        if entity is not None:
            entity.interactions += 1
        try:
            answer = await self.call_back(event, message_id) if self.call_back else Answer(code=200341)
        finally:
            if entity is not None:
                entity.interactions -= 1
        return apply_answer(self, person, message, answer)

    def recall(self, user: Who, message_id: str) -> None:
        """A person takes their message back."""
        person, message = self.person(user), self.message(message_id)
        if message.sender != person.open_id:
            raise ApiError(230026)
        self.mark_recalled(message)
        event = {
            "message_id": message_id,
            "chat_id": message.chat_id,
            "recall_time": str(self.clock.now_ms()),
            "recall_type": "message_owner",
        }
        self.push_in_chat("im.message.recalled_v1", event, message.chat_id, message_id)

    def edit(self, user: Who, message_id: str, text: str) -> None:
        """A person edits their text; the platform pushes nothing for it."""
        message = self.message(message_id)
        if message.sender != self.person(user).open_id:
            raise ApiError(230071)
        keys = " ".join(each.key for each in message.mentions)
        self.rewrite(message, json.dumps({"text": f"{keys} {text}".strip()}, ensure_ascii=False))

    def react(self, user: Who, message_id: str, emoji_type: str) -> str:
        """A person adds a reaction; returns its reaction_id."""
        return self.reactions.add(message_id, emoji_type, self.person(user).open_id)

    def unreact(self, user: Who, message_id: str, reaction_id: str) -> None:
        self.reactions.remove(message_id, reaction_id, self.person(user).open_id)

    def read(self, user: Who, message_id: str) -> None:
        """A person reads a message of the bot."""
        person, message = self.person(user), self.message(message_id)
        message.reads[person.open_id] = now_ms = self.clock.now_ms()
        reader = {"reader_id": self.views.ids(person.open_id), "read_time": str(now_ms)}
        if message.by_bot and self.chat(message.chat_id).kind is Kind.P2P:
            event = {"reader": reader | {"tenant_key": self.settings.tenant_key}, "message_id_list": [message_id]}
            self.push("im.message.message_read_v1", event, message_id)

    def enter_private_chat(self, user: Who) -> None:
        person = self.person(user)
        chat_id = self.private_chat(person)
        event: Json = {"chat_id": chat_id, "operator_id": self.views.ids(person.open_id)}
        if history := self.timeline.in_chat(chat_id):
            event["last_message_id"] = history[-1].message_id
            event["last_message_create_time"] = str(history[-1].create_ms)
        self.push("im.chat.access_event.bot_p2p_chat_entered_v1", event, "")

    # Groups

    def add_bot(self, chat_id: str, user: Who = "Alice") -> None:
        self.chat(chat_id).bot_in_chat = True
        self._bot_moved("im.chat.member.bot.added_v1", chat_id, user)

    def remove_bot(self, chat_id: str, user: Who = "Alice") -> None:
        self.chat(chat_id).bot_in_chat = False
        self._bot_moved("im.chat.member.bot.deleted_v1", chat_id, user)

    def disband(self, chat_id: str, user: Who = "Alice") -> None:
        self.chat(chat_id).disbanded = True
        self._bot_moved("im.chat.disbanded_v1", chat_id, user)

    def _bot_moved(self, event_type: str, chat_id: str, user: Who) -> None:
        chat = self.chat(chat_id)
        event = {
            "chat_id": chat_id,
            "operator_id": self.views.ids(self.person(user).open_id),
            "external": False,
            "operator_tenant_key": self.settings.tenant_key,
            "name": chat.name,
        }
        self.push(event_type, event, "")
        self.emit({"type": "chat", "chat_id": chat_id})

    def snapshot(self, user: Who) -> Json:
        """Everything this person sees now, for the page (shape: `snapshot.snapshot_for`)."""
        return snapshot_for(self, self.person(user))

    def _check_seat(self, sender: Person, chat_id: str) -> None:
        chat = self.chat(chat_id)
        if chat.disbanded:
            raise ApiError(232009)
        if sender.open_id not in chat.members:
            raise ApiError(230002, f"{sender.name} is not in this chat")

    def _mentions(self, bot: bool, people: Sequence[Who]) -> tuple[Mention, ...]:
        named = [(self.bot.open_id, self.bot.name, "bot")] if bot else []
        named += [(person.open_id, person.name, "user") for person in map(self.person, people)]
        return tuple(Mention(f"@_user_{n}", *each) for n, each in enumerate(named, 1))

    def _place(self, message: Message, thread_id: str | None, parent_id: str | None) -> None:
        parent = self.message(parent_id) if parent_id else None
        if parent is not None:
            message.reply_to = parent.message_id
            thread_id = thread_id or parent.thread_id
        if thread_id:
            root = self.timeline.thread_root(thread_id)
            if root is None:
                raise ApiError(230019)
            message.thread_id, message.root_id, message.parent_id = thread_id, root.message_id, root.message_id
            message.reply_to = message.reply_to or root.message_id
        elif parent is not None:
            message.parent_id, message.root_id = parent.message_id, parent.root_id or parent.message_id
        elif self.chat(message.chat_id).kind is Kind.TOPIC:
            message.thread_id = self.identifiers.new("omt_")
