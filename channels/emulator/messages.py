"""Messages in their chats and topics, in the order in which Feishu lists them."""

import base64
import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from channels.emulator.accounts import Chat, Kind
from channels.emulator.errors import ApiError

RECALLED_TEXT = "This message was recalled"


@dataclass(frozen=True, slots=True)
class Mention:
    key: str  # "@_user_1", as it stands in the text
    open_id: str
    name: str
    kind: str = "user"  # user or bot


@dataclass(frozen=True, slots=True)
class Reaction:
    reaction_id: str
    message_id: str
    emoji_type: str
    operator: str  # open_id
    at_ms: int


@dataclass(slots=True, kw_only=True)
class Message:
    """`reply_to` is what the author answered; `parent_id` is what the platform shows (a topic may show its root)."""

    message_id: str
    chat_id: str
    sender: str  # open_id of a person or of the bot
    by_bot: bool
    message_type: str
    content: str  # JSON string, as sent
    create_ms: int
    number: int  # order of creation within this emulator
    update_ms: int = 0
    root_id: str = ""
    parent_id: str = ""
    thread_id: str = ""
    reply_to: str = ""
    mentions: tuple[Mention, ...] = ()
    recalled: bool = False
    edits: int = 0
    upper_message_id: str = ""
    children: list[str] = field(default_factory=list)  # of a merge_forward
    card: dict[str, Any] | None = None  # current JSON of an inline card
    card_id: str = ""  # the entity that this message shows
    reads: dict[str, int] = field(default_factory=dict)  # open_id → ms

    @property
    def order(self) -> tuple[int, int]:
        return self.create_ms, self.number

    @property
    def is_topic_root(self) -> bool:
        return bool(self.thread_id) and not self.root_id


class Timeline:
    """All messages; `in_chat` and `in_thread` are kept in (create_time, creation) order."""

    def __init__(self) -> None:
        self._all: dict[str, Message] = {}
        self._by_chat: dict[str, list[Message]] = {}
        self._by_thread: dict[str, list[Message]] = {}
        self._replies: dict[str, list[Message]] = {}

    def __iter__(self) -> Iterator[Message]:
        return iter(self._all.values())

    def find(self, message_id: str) -> Message | None:
        return self._all.get(message_id)

    def get(self, message_id: str, code: int = 230001) -> Message:
        """The message, or Feishu's refusal with `code`."""
        message = self._all.get(message_id)
        if message is None:
            raise ApiError(code, "invalid message_id")
        return message

    def add(self, message: Message, *, listed: bool = True) -> None:
        """Take in a new message; children of a forward are not `listed` in any chat."""
        self._all[message.message_id] = message
        if not listed:
            return
        _insert(self._by_chat.setdefault(message.chat_id, []), message)
        if message.thread_id:
            _insert(self._by_thread.setdefault(message.thread_id, []), message)
        if message.reply_to:
            self._replies.setdefault(message.reply_to, []).append(message)

    def open_thread(self, root: Message, thread_id: str) -> None:
        """Make `root` the root of a new topic."""
        root.thread_id = thread_id
        self._by_thread[thread_id] = [root]

    def thread_root(self, thread_id: str) -> Message | None:
        members = self._by_thread.get(thread_id)
        return next((message for message in members if not message.root_id), members[0]) if members else None

    def in_chat(self, chat_id: str) -> list[Message]:
        return self._by_chat.get(chat_id, [])

    def in_thread(self, thread_id: str) -> list[Message]:
        return self._by_thread.get(thread_id, [])

    def replies(self, message_id: str) -> list[Message]:
        """Everything that answered `message_id`, oldest first."""
        return self._replies.get(message_id, [])

    def listed(self, chat: Chat) -> list[Message]:
        """What a chat listing shows: in an ordinary group or private chat a topic appears by its root only."""
        messages = self.in_chat(chat.chat_id)
        if chat.kind is Kind.TOPIC:
            return messages
        return [message for message in messages if not message.thread_id or message.is_topic_root]


def _insert(messages: list[Message], message: Message) -> None:
    if not messages or messages[-1].order <= message.order:
        messages.append(message)
    else:
        bisect.insort(messages, message, key=lambda each: each.order)


def page_of(
    messages: list[Message], *, descending: bool, page_size: int, page_token: str
) -> tuple[list[Message], str | None]:
    """One page and the token of the next. A token names the last message given, so new ones never shift pages."""
    ordered = messages[::-1] if descending else messages
    if page_token:
        after = _read_token(page_token, descending)
        ordered = [each for each in ordered if (each.order < after if descending else each.order > after)]
    page = ordered[:page_size]
    return page, _write_token(page[-1].order, descending) if len(ordered) > page_size else None


def _write_token(order: tuple[int, int], descending: bool) -> str:
    return base64.urlsafe_b64encode(f"{int(descending)}:{order[0]}:{order[1]}".encode()).decode()


def _read_token(token: str, descending: bool) -> tuple[int, int]:
    try:
        sort, create_ms, number = base64.urlsafe_b64decode(token.encode()).decode().split(":")
        order = int(create_ms), int(number)
    except ValueError:
        raise ApiError(230001, "invalid page_token") from None
    if sort != str(int(descending)):
        raise ApiError(230001, "sort_type differs from that of the first page")
    return order
