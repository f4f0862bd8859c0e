"""One attempt, made: which call of Feishu carries out which intent."""

import json
from typing import Any

from channels.cards.notice import text_message
from channels.cards.patching import text_only, unstreamed
from channels.errors import ApiRefused, Broken, CodeKind
from channels.feishu.api import FeishuApi
from channels.feishu.cardkit import card_content
from channels.feishu.media import file_type_of
from channels.feishu.messages import SentMessage
from channels.ids import CardId, MessageId, ReactionId
from channels.rules.delivery import Attempt
from channels.rules.intents import read_payload
from channels.store.transactions.deliver import Effect


async def send(feishu: FeishuApi, attempt: Attempt, app_id: str) -> Effect:
    """Make the attempt. Raises RetryLater, ApiRefused or OutcomeUnknown as `feishu.api` does."""
    intent, body = attempt.intent, read_payload(attempt.intent)
    match intent.op:
        case "create":
            return Effect(card_id=await feishu.create_card(body["card"]))
        case "reply" | "notice":
            return _said(await _reply(feishu, attempt, "interactive", _content(attempt, body)), body)
        case "send":
            return _said(await _send(feishu, attempt, "interactive", _content(attempt, body), body), body)
        case "text":
            return _said(await _reply(feishu, attempt, *_text(body)), body)
        case "send_text":
            return _said(await _send(feishu, attempt, *_text(body), body), body)
        case "rewrite":
            await feishu.patch_card(MessageId(intent.target), unstreamed(body["card"]))
            return Effect(message_id=MessageId(intent.target), text=body["text"])
        case "upload":
            return await _upload(feishu, attempt, body["name"])
        case "file":
            if not attempt.file_key:
                raise ApiRefused(CodeKind.OTHER, 0, "nothing was uploaded")
            content = json.dumps({"file_key": attempt.file_key})
            return _said(await _reply(feishu, attempt, "file", content), body)
        case "close":
            return await _close(feishu, attempt, body)
        case "add":
            return Effect(reaction_id=await feishu.add_reaction(MessageId(intent.target), body["emoji"]))
        case "remove":
            await _remove_reaction(feishu, attempt, body["emoji"], app_id)
            return Effect()
        case _:
            raise Broken(f"unknown op {intent.op!r}")


async def _upload(feishu: FeishuApi, attempt: Attempt, name: str) -> Effect:
    """The file, which nobody sees before its message; a log that has been deleted meanwhile has none."""
    if not attempt.content:
        raise ApiRefused(CodeKind.OTHER, 0, "there is nothing to upload")
    return Effect(file_key=await feishu.upload_file(name, attempt.content.encode(), file_type_of(name)))


async def _close(feishu: FeishuApi, attempt: Attempt, body: dict[str, Any]) -> Effect:
    """The last update of a card; where the card became text, the whole answer as a message."""
    if attempt.mode == "text":
        return _said(await _reply(feishu, attempt, *_text(body)), body)
    message_id = MessageId(attempt.message_id) if attempt.message_id else None
    if attempt.card_id is not None:
        await feishu.update_card(CardId(attempt.card_id), body["card"], attempt.sequence, attempt.intent.uuid)
    elif message_id is not None:
        await feishu.patch_card(message_id, unstreamed(body["card"]))
    if message_id is None:  # delivered means a real message: the card's reply never got one
        raise ApiRefused(CodeKind.MESSAGE_GONE, 0, "no message shows this card")
    return Effect(message_id=message_id, text=body["text"])


async def _reply(feishu: FeishuApi, attempt: Attempt, msg_type: str, content: str) -> SentMessage:
    """As an answer; what has no message to answer goes plainly to the chat."""
    intent = attempt.intent
    if not intent.target:
        return await feishu.send_message(intent.chat_id, msg_type, content, intent.uuid)
    return await feishu.reply_message(
        MessageId(intent.target),
        msg_type,
        content,
        intent.uuid,
        in_thread=attempt.in_thread,
        chat_id=intent.chat_id,
    )


async def _send(feishu: FeishuApi, attempt: Attempt, msg_type: str, content: str, body: dict[str, Any]) -> SentMessage:
    """To a chat, or, where `receive` names a kind of id, to that person's private chat."""
    intent = attempt.intent
    return await feishu.send_message(
        intent.chat_id, msg_type, content, intent.uuid, receive_id_type=body.get("receive", "chat_id")
    )


def _content(attempt: Attempt, body: dict[str, Any]) -> str:
    """The card by its entity, or (patch lane, notices) the card itself."""
    return card_content(CardId(attempt.card_id)) if attempt.card_id else unstreamed(body["card"])


def _text(body: dict[str, Any]) -> tuple[str, str]:
    return text_message(text_only(body["text"]), mention=body.get("mention", ""))


def _said(sent: SentMessage, body: dict[str, Any]) -> Effect:
    chat_id = sent.chat_id if "receive" in body else None
    return Effect(sent.message_id, chat_id or None, sent.thread_id, text=body.get("text", ""))


async def _remove_reaction(feishu: FeishuApi, attempt: Attempt, emoji: str, app_id: str) -> None:
    """Take our reaction off: by its id where adding it was answered, else by looking for it."""
    message_id = MessageId(attempt.intent.target)
    if attempt.reaction_id and not read_payload(attempt.intent).get("look"):
        ours = [ReactionId(attempt.reaction_id)]
    else:
        listed = await feishu.list_reactions(message_id, emoji)
        ours = [one.reaction_id for one in listed if one.operator_type == "app" and one.operator_id == app_id]
    for reaction_id in ours:
        await feishu.remove_reaction(message_id, reaction_id)
