"""A person's message as the rest of the house sees it, whatever wire or history listing it came from."""

from dataclasses import dataclass

from channels.ids import ChatId, ConversationKey, MessageId, OpenId, ThreadId, UserId


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote it. `user_id` falls back to "open:<open_id>" where the app may not see user ids; "" for bots."""

    user_id: UserId
    open_id: OpenId
    kind: str = "user"  # Feishu's sender_type: user, app, bot, anonymous, unknown
    name: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """Something beside words: image, file, audio, video (to download); sticker, folder (Feishu gives no bytes);
    location, share_chat, share_user, other (only named, without a key)."""

    kind: str
    file_key: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Envelope:
    """The cheap part, read before the ack: enough for the gate, the cursor and the order."""

    message_id: MessageId
    chat_id: ChatId
    chat_type: str  # p2p | group
    create_time_ms: int
    sender: Sender
    thread_id: ThreadId | None = None
    root_id: MessageId | None = None
    parent_id: MessageId | None = None
    message_type: str = "text"
    empty: bool = False

    @property
    def known_chat_type(self) -> str:
        """The chat's type as tables keep it: what Feishu does not name a private chat is a group."""
        return self.chat_type if self.chat_type in ("p2p", "group") else "group"

    @property
    def conversation(self) -> ConversationKey:
        """The thread, or the fallback key of this person in this chat."""
        return ConversationKey(self.thread_id) if self.thread_id else self.chat_key

    @property
    def chat_key(self) -> ConversationKey:
        return chat_key(self.chat_type, self.chat_id, self.sender.user_id)


@dataclass(frozen=True, slots=True)
class Message:
    """The whole message, normalised: `text` is Markdown without the bot's own mention."""

    envelope: Envelope
    text: str
    mentioned_bot: bool = False
    mentioned_all: bool = False
    resources: tuple[Resource, ...] = ()
    mentioned: tuple[Sender, ...] = ()  # people named with @, without the bot


def chat_key(chat_type: str, chat_id: ChatId, user_id: UserId) -> ConversationKey:
    """The fallback key of a person in a chat, used where there is no thread."""
    place = "p2p" if chat_type == "p2p" else "group"
    return ConversationKey(f"chat:{place}:{chat_id}:{user_id}")
