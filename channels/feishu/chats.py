"""Chats and people: who the bot is, what a chat is, who is in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.errors import CodeKind, RetryLater
from channels.feishu.envelopes import mapping, text
from channels.feishu.messages import next_token
from channels.feishu.transport import Call, Transport
from channels.ids import ChatId, OpenId, UserId

CHATS = "/open-apis/im/v1/chats"
MOST_PAGES = 20
MOST_USERS = 50  # of one request


@dataclass(frozen=True, slots=True)
class BotInfo:
    """Who this app's bot is."""

    open_id: OpenId
    name: str


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat. `mode` is group, topic or p2p; `topics` says that every message opens a topic there; a dissolved one may
    still be shown."""

    chat_id: ChatId
    name: str
    mode: str
    topics: bool
    is_dissolved: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """`member_id` is of the type that was asked for. Bots are not listed."""

    member_id: str
    name: str


@dataclass(frozen=True, slots=True)
class User:
    """A person; fields that the app may not see are empty."""

    open_id: OpenId
    user_id: UserId
    name: str


class ChatCalls:
    """The chat and people part of `FeishuApi`."""

    _transport: Transport

    async def bot_info(self) -> BotInfo:
        """The bot's own open_id and name."""
        bot = mapping(await self._transport.call(Call("bot_info", "GET", "/open-apis/bot/v3/info")), "bot")
        if not (open_id := text(bot, "open_id")):
            raise RetryLater(0, CodeKind.SERVER, why="an answer without the bot's open_id")
        return BotInfo(OpenId(open_id), text(bot, "app_name"))

    async def granted_scopes(self) -> dict[str, bool]:
        """The permissions that this app asked for, and whether the tenant has granted each."""
        call = Call("granted_scopes", "GET", "/open-apis/application/v6/scopes")
        items = (await self._transport.data(call)).get("scopes")
        found = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        return {text(item, "scope_name"): item.get("grant_status") == 1 for item in found}

    async def get_chat(self, chat_id: ChatId) -> Chat:
        """What kind of chat this is."""
        data = await self._transport.data(Call("get_chat", "GET", f"{CHATS}/{chat_id}"))
        mode, status = text(data, "chat_mode"), text(data, "chat_status")
        topics = mode == "topic" or text(data, "group_message_type") == "thread"
        return Chat(chat_id, text(data, "name"), mode, topics, status.startswith("dissolved"))

    async def list_members(self, chat_id: ChatId, *, member_id_type: str = "open_id") -> list[Member]:
        """The people in a chat; at most 20 pages of 100."""
        found: list[Member] = []
        token: str | None = None
        for _ in range(MOST_PAGES):
            params = [("member_id_type", member_id_type), ("page_size", "100")]
            params += [("page_token", token)] if token else []
            data = await self._transport.data(Call("list_members", "GET", f"{CHATS}/{chat_id}/members", params=params))
            found += [Member(text(item, "member_id"), text(item, "name")) for item in _items(data)]
            earlier, token = token, next_token(data)
            if token is None or token == earlier:
                break
        return found

    async def get_users(self, ids: Iterable[str], *, user_id_type: str = "open_id") -> list[User]:
        """People by id; those whom the app may not see are left out."""
        wanted, found = list(dict.fromkeys(ids)), []
        for start in range(0, len(wanted), MOST_USERS):
            params = [("user_ids", user) for user in wanted[start : start + MOST_USERS]]
            params.append(("user_id_type", user_id_type))
            data = await self._transport.data(
                Call("get_users", "GET", "/open-apis/contact/v3/users/batch", params=params)
            )
            found += [_user(item) for item in _items(data)]
        return found


def _items(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    items = data.get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _user(item: Mapping[str, Any]) -> User:
    return User(OpenId(text(item, "open_id")), UserId(text(item, "user_id")), text(item, "name"))
