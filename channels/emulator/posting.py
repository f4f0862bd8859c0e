"""What the bot does to messages through the API: send, reply, patch, edit, recall. Raises Feishu's refusals."""

import json
import re
from typing import Any

from channels.emulator.accounts import Chat, Kind
from channels.emulator.card_rules import check_card, parse_card
from channels.emulator.cards import CardEntity
from channels.emulator.errors import ApiError, card_error
from channels.emulator.messages import Message
from channels.emulator.tenant import Tenant
from channels.emulator.views import Json

MAX_EDITS = 20
PATCH_WINDOW_MS = 14 * 86400 * 1000
_FILE_KINDS = {"file": None, "audio": "opus", "media": "mp4"}


class Posting:
    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._by_uuid: dict[str, tuple[int, str]] = {}  # uuid → (until ms, message_id)

    def send(self, id_type: str, body: Json) -> Message:
        """POST /im/v1/messages."""
        chat = self._tenant.directory.receiver(id_type, str(body.get("receive_id", "")))
        return self._repeated(body) or self._post(body, chat, None, call="im.message.create")

    def reply(self, message_id: str, body: Json) -> Message:
        """POST /im/v1/messages/:id/reply."""
        if first := self._repeated(body):
            return first
        target = self._tenant.timeline.get(message_id)
        chat = self._tenant.chat(target.chat_id)
        self.admit(chat)
        if target.recalled:
            raise ApiError(230011)
        if body.get("reply_in_thread") and not target.thread_id:
            if not chat.threads_allowed:
                raise ApiError(230071)
            if target.message_type == "merge_forward" and target.upper_message_id:
                raise ApiError(230072)
        return self._post(body, chat, target, call="im.message.reply")

    def patch(self, message_id: str, body: Json) -> bool:
        """PATCH /im/v1/messages/:id; whether anything changed: nothing does on a message that shows an entity."""
        message = self._own_live(message_id, 230001)
        if message.message_type != "interactive":
            raise ApiError(230001, "This message is NOT a card.")
        if self._tenant.clock.now_ms() - message.create_ms > PATCH_WINDOW_MS:
            raise ApiError(230031)
        card, text = self._inline_card(body.get("content"))
        if message.card_id:
            return False
        self._tenant.show_card(message, card, text, "im.message.patch")
        return True

    def edit(self, message_id: str, body: Json) -> Message:
        """PUT /im/v1/messages/:id: text and post only."""
        message = self._own_live(message_id, 230071)
        if message.message_type not in ("text", "post") or body.get("msg_type") != message.message_type:
            raise ApiError(230054)
        if message.edits >= MAX_EDITS:
            raise ApiError(230072)
        self._tenant.rewrite(message, self._checked_content(message.message_type, body.get("content")))
        return message

    def recall(self, message_id: str) -> None:
        """DELETE /im/v1/messages/:id: the bot's own only."""
        message = self._tenant.timeline.get(message_id)
        if not message.by_bot:
            raise ApiError(230026)
        self.admit(self._tenant.chat(message.chat_id))
        self._tenant.mark_recalled(message)

    def admit(self, chat: Chat) -> None:
        """Refuse what the bot may not do in this chat at all."""
        if chat.disbanded:
            raise ApiError(232009)
        if not chat.bot_in_chat:
            raise ApiError(230002)
        if chat.kind is Kind.P2P and not all(self._tenant.person(each).available for each in chat.members):
            raise ApiError(230013)

    def _own_live(self, message_id: str, not_own_code: int) -> Message:
        message = self._tenant.timeline.get(message_id)
        self.admit(self._tenant.chat(message.chat_id))
        if not message.by_bot:
            raise ApiError(not_own_code, "The operator is not the sender of the message.")
        if message.recalled:
            raise ApiError(230011)
        return message

    def _repeated(self, body: Json) -> Message | None:
        """The message that an earlier call with the same uuid has made within the last hour."""
        uuid = str(body.get("uuid") or "")
        if len(uuid) > 50:
            raise ApiError(99992402, "uuid is longer than 50")
        until_ms, message_id = self._by_uuid.get(uuid, (0, ""))
        if not uuid or until_ms <= self._tenant.clock.now_ms():
            return None
        if code := self._tenant.settings.uuid_repeat_code:
            raise ApiError(code)
        return self._tenant.timeline.get(message_id)

    def _post(self, body: Json, chat: Chat, target: Message | None, *, call: str) -> Message:
        self.admit(chat)
        if chat.muted:
            raise ApiError(230018)
        message_type = str(body.get("msg_type", ""))
        content = body.get("content")
        entity, card, text = self._card_parts(message_type, content)
        if message_type != "interactive":
            content = self._checked_content(message_type, content)
        self._audit(str(content))
        tenant = self._tenant
        message = tenant.new_message(chat.chat_id, tenant.bot.open_id, message_type, str(content))
        self._place(message, target, bool(body.get("reply_in_thread")), chat)
        if uuid := body.get("uuid"):
            until_ms = tenant.clock.now_ms() + int(tenant.settings.uuid_window_s * 1000)
            self._by_uuid[str(uuid)] = until_ms, message.message_id
        if entity is not None:
            message.card_id, entity.message_id = entity.card_id, message.message_id
            tenant.ledger.record_card(entity.card_id, entity.text, call, sequence=entity.sequence)
        elif card is not None:
            message.card = card
            tenant.ledger.record_card(message.message_id, text, call)
        tenant.publish(message)
        return message

    def _place(self, message: Message, target: Message | None, in_thread: bool, chat: Chat) -> None:
        tenant = self._tenant
        if target is None:
            if chat.kind is Kind.TOPIC:
                message.thread_id = tenant.identifiers.new("omt_")
            return
        message.reply_to = target.message_id
        if in_thread and not target.thread_id:
            tenant.timeline.open_thread(target, tenant.identifiers.new("omt_"))
        if not target.thread_id:
            message.root_id, message.parent_id = target.root_id or target.message_id, target.message_id
            return
        root = tenant.timeline.thread_root(target.thread_id) or target
        message.thread_id, message.root_id = target.thread_id, root.message_id
        message.parent_id = root.message_id if tenant.settings.thread_parent == "root" else target.message_id

    def _card_parts(self, message_type: str, content: Any) -> tuple[CardEntity | None, Json | None, str]:
        """(entity, None, "") for a card entity, (None, card, its text) for an inline card, Nones for anything else."""
        if message_type != "interactive":
            return None, None, ""
        parsed = parse_card(content, entity=False)
        if parsed.get("type") != "card":
            return None, *self._inline_card(content)
        try:
            entity = self._tenant.cards.live(str((parsed.get("data") or {}).get("card_id", "")))
        except ApiError as refusal:
            raise card_error(refusal.code, refusal.msg) from None
        if entity.message_id:
            raise card_error(11310, "card entity has been sent already")
        return entity, None, ""

    def _inline_card(self, content: Any) -> tuple[Json, str]:
        limits = self._tenant.cards.limits
        if isinstance(content, str) and len(content.encode()) > limits.max_bytes:
            raise ApiError(230025)
        card = parse_card(content, entity=False)
        check_card(card, limits, entity=False, knows_image=self._tenant.media.knows_image)
        return card, str(content)

    def _checked_content(self, message_type: str, content: Any) -> str:
        settings = self._tenant.settings
        try:
            body = json.loads(content)
        except (ValueError, TypeError):
            raise ApiError(230001, "content is not a string in json format") from None
        if not isinstance(body, dict):
            raise ApiError(230001, "content is not an object")
        limit = settings.max_text_bytes if message_type == "text" else settings.max_card_bytes
        if len(content.encode()) > limit:
            raise ApiError(230025)
        self._check_kind(message_type, body)
        return str(content)

    def _check_kind(self, message_type: str, body: Json) -> None:
        match message_type:
            case "text":
                if not isinstance(body.get("text"), str) or not body["text"]:
                    raise ApiError(230001, "text is empty")
            case "post":
                _check_post(body)
            case "image":
                if not self._tenant.media.knows_image(str(body.get("image_key", ""))):
                    raise ApiError(230001, "invalid image_key")
            case "file" | "audio" | "media":
                medium = self._tenant.media.find(str(body.get("file_key", "")))
                if medium is None or medium.kind != "file":
                    raise ApiError(230001, "invalid file_key")
                wanted = _FILE_KINDS[message_type]
                actual = medium.file_type if medium.file_type in ("opus", "mp4") else None
                if wanted != actual:
                    raise ApiError(230055)
            case "share_chat" | "share_user" | "sticker" | "system":
                pass
            case _:
                raise ApiError(230001, "invalid msg_type")

    def _audit(self, content: str) -> None:
        pattern = self._tenant.settings.audit_pattern
        if pattern and re.search(pattern, content):
            raise ApiError(230028)


def _check_post(body: Json) -> None:
    locales = body if "content" not in body else {"zh_cn": body}
    for locale in locales.values():
        paragraphs = locale.get("content") if isinstance(locale, dict) else None
        if not isinstance(paragraphs, list) or not all(isinstance(each, list) for each in paragraphs):
            raise ApiError(230001, "invalid post content")
        if not all(isinstance(tag, dict) and "tag" in tag for paragraph in paragraphs for tag in paragraph):
            raise ApiError(230001, "invalid post content")
    if not locales:
        raise ApiError(230001, "invalid post content")
