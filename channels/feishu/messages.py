"""Messages: send, reply, patch, edit, recall, read and list.

The `uuid` of a send or reply belongs to the caller's intent: on RetryLater and OutcomeUnknown the same uuid goes again
(also after a 5xx, which may have had its effect), within 55 minutes of the first attempt.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from channels.errors import ApiRefused, CodeKind, OutcomeUnknown
from channels.feishu.envelopes import number, text
from channels.feishu.transport import Call, Transport
from channels.ids import ChatId, MessageId, SendUuid, ThreadId

MESSAGES = "/open-apis/im/v1/messages"
MOST_IDS = 50  # of one mget

Item = dict[str, Any]  # a message as history shows it (feishu.md §2)


@dataclass(frozen=True, slots=True)
class SentMessage:
    """What Feishu made of a send or reply. `thread_id` is where the topic is born: it stands nowhere else before."""

    message_id: MessageId
    chat_id: ChatId
    thread_id: ThreadId | None
    root_id: MessageId | None
    parent_id: MessageId | None
    create_time_ms: int


@dataclass(frozen=True, slots=True)
class MessagePage:
    """One page of a listing; `page_token` asks for the next one, None on the last."""

    items: tuple[Item, ...]
    page_token: str | None


class MessageCalls:
    """The message part of `FeishuApi`."""

    _transport: Transport
    _mget_missing = False

    async def send_message(
        self, chat_id: ChatId, msg_type: str, content: str, uuid: SendUuid, *, receive_id_type: str = "chat_id"
    ) -> SentMessage:
        """Post a new message to a chat. `content` is the JSON text of its type.

        With another `receive_id_type` (open_id, user_id) the message goes to that person's private chat.
        """
        body = {"receive_id": chat_id, "msg_type": msg_type, "content": content, "uuid": uuid}
        params = (("receive_id_type", receive_id_type),)
        call = Call("send_message", "POST", MESSAGES, True, (("chat", chat_id),), params, body)
        return _sent(call, await self._transport.data(call))

    async def reply_message(
        self,
        message_id: MessageId,
        msg_type: str,
        content: str,
        uuid: SendUuid,
        *,
        in_thread: bool,
        chat_id: ChatId,
    ) -> SentMessage:
        """Answer a message, in its topic (opening one if need be) or as a quote. `chat_id` is for the rate only."""
        body = {"msg_type": msg_type, "content": content, "reply_in_thread": in_thread, "uuid": uuid}
        path = f"{MESSAGES}/{message_id}/reply"
        call = Call("reply_message", "POST", path, True, (("chat", chat_id),), json=body)
        return _sent(call, await self._transport.data(call))

    async def patch_card(self, message_id: MessageId, content: str, *, droppable: bool = False) -> bool:
        """Replace an inline card. Does nothing to a message that holds a card entity, and notifies nobody.

        With `droppable`, False and nothing sent when the limits have no room now.
        """
        keys = (("message", message_id),)
        call = Call("patch_card", "PATCH", f"{MESSAGES}/{message_id}", True, keys, json={"content": content})
        if droppable:
            return await self._transport.try_data(call) is not None
        await self._transport.data(call)
        return True

    async def edit_message(self, message_id: MessageId, msg_type: str, content: str) -> None:
        """Replace a text or post of ours (at most 20 times)."""
        body = {"msg_type": msg_type, "content": content}
        keys = (("message", message_id),)
        await self._transport.data(Call("edit_message", "PUT", f"{MESSAGES}/{message_id}", True, keys, json=body))

    async def recall_message(self, message_id: MessageId) -> None:
        """Take a message of ours back."""
        await self._transport.data(Call("recall_message", "DELETE", f"{MESSAGES}/{message_id}", True))

    async def get_message(
        self, message_id: MessageId, *, user_id_type: str = "open_id", raw_card: bool = False
    ) -> list[Item]:
        """One message; a merged forward comes with its children, which name it in `upper_message_id`."""
        params = [("user_id_type", user_id_type)]
        if raw_card:
            params.append(("card_msg_content_type", "raw_card_content"))
        call = Call("get_message", "GET", f"{MESSAGES}/{message_id}", params=params)
        return _items(await self._transport.data(call))

    async def get_messages(self, message_ids: Iterable[MessageId], *, user_id_type: str = "open_id") -> list[Item]:
        """Many messages; those that are gone or unknown are left out. Uses the undocumented mget while there is one."""
        wanted = list(dict.fromkeys(message_ids))
        found: list[Item] = []
        for start in range(0, len(wanted), MOST_IDS):
            found += await self._get_some(wanted[start : start + MOST_IDS], user_id_type)
        return found

    async def list_messages(
        self,
        container_type: str,
        container_id: str,
        *,
        start_s: int | None = None,
        end_s: int | None = None,
        ascending: bool = True,
        page_token: str | None = None,
        page_size: int = 50,
        user_id_type: str = "open_id",
    ) -> MessagePage:
        """One page of a chat's or thread's history. A thread takes no time range: it is left out of the request."""
        params = [
            ("container_id_type", container_type),
            ("container_id", container_id),
            ("sort_type", "ByCreateTimeAsc" if ascending else "ByCreateTimeDesc"),
            ("page_size", str(page_size)),
            ("user_id_type", user_id_type),
        ]
        if container_type != "thread":
            params += [(name, str(at)) for name, at in (("start_time", start_s), ("end_time", end_s)) if at is not None]
        if page_token:
            params.append(("page_token", page_token))
        data = await self._transport.data(Call("list_messages", "GET", MESSAGES, params=params))
        return MessagePage(tuple(_items(data)), next_token(data))

    async def _get_some(self, message_ids: Sequence[MessageId], user_id_type: str) -> list[Item]:
        refused = False
        if not self._mget_missing and len(message_ids) > 1:
            params = [*(("message_ids", message_id) for message_id in message_ids), ("user_id_type", user_id_type)]
            try:
                call = Call("get_messages", "GET", f"{MESSAGES}/mget", params=params)
                return _items(await self._transport.data(call))
            except ApiRefused:  # one bad id refuses all of them; a Feishu without mget refuses always
                refused = True
        found = [item for message_id in message_ids for item in await self._get_one(message_id, user_id_type)]
        self._mget_missing = self._mget_missing or (refused and len(found) >= len(message_ids))
        return found

    async def _get_one(self, message_id: MessageId, user_id_type: str) -> list[Item]:
        try:
            return await self.get_message(message_id, user_id_type=user_id_type)
        except ApiRefused as refusal:
            if refusal.kind in (CodeKind.MESSAGE_GONE, CodeKind.PARAMETER):
                return []
            raise


def next_token(data: Mapping[str, Any]) -> str | None:
    """The token of the next page, None where Feishu says there is none (or gives none to ask with)."""
    return (text(data, "page_token") or None) if data.get("has_more") else None


def _items(data: Mapping[str, Any]) -> list[Item]:
    items = data.get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _sent(call: Call, data: Mapping[str, Any]) -> SentMessage:
    """A success without a message id is no success: nothing could ever be done to that message."""
    if not (message_id := text(data, "message_id")):
        raise OutcomeUnknown(f"{call.name}: success without a message_id")
    return SentMessage(
        MessageId(message_id),
        ChatId(text(data, "chat_id")),
        ThreadId(thread) if (thread := text(data, "thread_id")) else None,
        MessageId(root) if (root := text(data, "root_id")) else None,
        MessageId(parent) if (parent := text(data, "parent_id")) else None,
        number(data, "create_time"),
    )
