"""A click on a card: the callback that goes out, and what its answer does to what the person sees."""

from typing import Any

from channels.emulator.accounts import Person
from channels.emulator.card_rules import check_card, dump
from channels.emulator.errors import ApiError
from channels.emulator.messages import Message
from channels.emulator.tenant import Answer, Tenant
from channels.emulator.views import Json

TEXTS = {
    200340: "尚未配置卡片回调 (200340)",
    200341: "出错了，请稍后重试 (200341)",
    200671: "出错了 (200671)",
    200672: "出错了 (200672)",
    200673: "出错了 (200673)",
}
_FIELDS = ("name", "option", "options", "input_value", "checked", "timezone")


def click_event(world: Tenant, person: Person, message: Message, value: Any, tag: str, action: Json) -> Json:
    """The body of card.action.trigger."""
    sent: Json = {"value": value, "tag": tag}
    sent |= {key: action[key] for key in _FIELDS if action.get(key) is not None}
    if action.get("form") is not None:
        sent["form_value"] = action["form"]
    return {
        "operator": world.views.ids(person.open_id) | {"tenant_key": world.settings.tenant_key},
        "token": world.new_click_token(message.message_id),
        "action": sent,
        "host": "im_message",
        "context": {"open_message_id": message.message_id, "open_chat_id": message.chat_id},
    }


def apply_answer(world: Tenant, person: Person, message: Message, answer: Answer) -> Json:
    """Show toast and card of the answer; a streaming card keeps its content."""
    code, body = answer.code, answer.body if answer.code == 0 else None
    if code == 0 and body is not None and not isinstance(body, dict):
        code, body = 200672, None
    toast = body.get("toast") if body else None
    card = body.get("card") if body else None
    applied = False
    if card is not None:
        try:
            applied = _replace(world, message, card)
        except (ApiError, KeyError, TypeError, AttributeError):
            code = 200673
    if code:
        toast = {"type": "error", "content": TEXTS.get(code, f"出错了 ({code})")}
    if isinstance(toast, dict):
        _show_toast(world, person, message, toast)
    return {"code": code, "toast": toast, "card": card, "applied": applied}


def _replace(world: Tenant, message: Message, card: Json) -> bool:
    if card["type"] != "raw":
        raise ApiError(200673)
    data = card["data"]
    entity = world.cards.find(message.card_id) if message.card_id else None
    if entity is not None:
        return world.cards.replace_by_answer(entity, data)
    check_card(data, world.cards.limits, entity=False, knows_image=world.media.knows_image)
    world.show_card(message, data, dump(data), "callback")
    return True


def _show_toast(world: Tenant, person: Person, message: Message, toast: Json) -> None:
    kind, content = str(toast.get("type", "info")), str(toast.get("content", ""))
    world.ledger.record_toast(person.open_id, message.message_id, kind, content)
    change = {"type": "toast", "chat_id": message.chat_id, "message_id": message.message_id}
    world.emit(change | {"open_id": person.open_id, "kind": kind, "content": content})
