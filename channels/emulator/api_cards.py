"""The CardKit calls, and the delayed update of a card after a click."""

import json
from typing import Any

from channels.emulator import elements
from channels.emulator.card_rules import dump
from channels.emulator.cards import apply_actions, apply_settings
from channels.emulator.errors import ApiError
from channels.emulator.gateway import Operation, Request, Services
from channels.emulator.limits import Limit
from channels.emulator.views import Json

CARDS = "/open-apis/cardkit/v1/cards"
ONE = CARDS + "/{card_id}"
ELEMENTS = ONE + "/elements"
ELEMENT = ELEMENTS + "/{element_id}"


def create(services: Services, request: Request) -> Json:
    if request.body.get("type") != "card_json":
        raise ApiError(10002, "type is invalid (templates do not exist here)")
    entity = services.world.cards.create(request.body.get("data"))
    request.call.result_id = entity.card_id
    return {"card_id": entity.card_id}


def convert(services: Services, request: Request) -> Json:
    """The entity that a message of the bot shows."""
    message = services.world.timeline.find(str(request.body.get("message_id") or ""))
    if message is None or not message.by_bot or not message.card_id:
        raise ApiError(10002, "message_id is invalid")
    return {"card_id": message.card_id}


def update(services: Services, request: Request) -> Json:
    card = request.body.get("card")
    if not isinstance(card, dict) or card.get("type") != "card_json":
        raise ApiError(10002, "card is invalid")
    new = _parsed(card.get("data"), dict)
    if not new:
        raise ApiError(300307)
    return _change(services, request, "cardkit.card.update", lambda old: new)


def settings(services: Services, request: Request) -> Json:
    new = _parsed(request.body.get("settings"), dict)
    return _change(services, request, "cardkit.card.settings", lambda card: apply_settings(card, new))


def batch_update(services: Services, request: Request) -> Json:
    actions = _parsed(request.body.get("actions"), list)
    return _change(services, request, "cardkit.card.batch_update", lambda card: apply_actions(card, actions))


def stream_text(services: Services, request: Request) -> Json:
    params, body = request.params, request.body
    services.world.cards.stream_text(
        params["card_id"], params["element_id"], body.get("content"), body.get("sequence"), request.call.uuid
    )
    return _done(services, request)


def add_elements(services: Services, request: Request) -> Json:
    body = request.body
    new = _parsed(body.get("elements"), list)

    def edit(card: Json) -> Json:
        elements.add_elements(card, str(body.get("type", "append")), str(body.get("target_element_id") or ""), new)
        return card

    return _change(services, request, "cardkit.element.create", edit)


def replace_element(services: Services, request: Request) -> Json:
    new = _parsed(request.body.get("element"), dict)

    def edit(card: Json) -> Json:
        elements.replace_element(card, request.params["element_id"], new)
        return card

    return _change(services, request, "cardkit.element.update", edit)


def patch_element(services: Services, request: Request) -> Json:
    partial = _parsed(request.body.get("partial_element"), dict)

    def edit(card: Json) -> Json:
        elements.patch_element(card, request.params["element_id"], partial)
        return card

    return _change(services, request, "cardkit.element.patch", edit)


def delete_element(services: Services, request: Request) -> Json:
    def edit(card: Json) -> Json:
        elements.delete_elements(card, [request.params["element_id"]])
        return card

    return _change(services, request, "cardkit.element.delete", edit)


def delayed_update(services: Services, request: Request) -> Json:
    """POST /interactive/v1/card/update with the token of a click: valid for 30 minutes and two uses."""
    world, card = services.world, request.body.get("card")
    message_id = world.use_click_token(str(request.body.get("token", "")))
    if not isinstance(card, dict):
        raise ApiError(10002, "card is invalid")
    message = world.message(message_id)
    entity = world.cards.find(message.card_id) if message.card_id else None
    if entity is not None:
        request.call.effect = world.cards.replace_by_answer(entity, card)
    else:
        world.show_card(message, card, dump(card), "interactive.update")
        request.call.effect = True
    return {}


def _change(services: Services, request: Request, call: str, edit: Any) -> Json:
    cards, card_id = services.world.cards, request.params["card_id"]
    entity = cards.live(card_id)
    was_on = cards.is_streaming(entity)
    cards.change(card_id, call, request.body.get("sequence"), request.call.uuid, edit)
    if was_on and call == "cardkit.card.settings" and entity.opened_ms is not None:
        cards.reopen(entity)
    return _done(services, request)


def _done(services: Services, request: Request) -> Json:
    entity = services.world.cards.find(request.params["card_id"])
    request.call.result_id = request.params["card_id"]
    request.call.effect = bool(entity and entity.message_id)
    return {}


def _parsed(text: Any, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, TypeError):
        raise ApiError(10002, "not a JSON string") from None
    if not isinstance(value, kind):
        raise ApiError(10002, f"JSON {kind.__name__} expected")
    return value


def _card_limits(services: Services, request: Request) -> list[Limit]:
    return [Limit(f"card {request.params['card_id']}", services.world.settings.card_per_s)]


OPERATIONS = [
    Operation("POST", CARDS, "cardkit.card.create", create),
    Operation("POST", CARDS + "/id_convert", "cardkit.card.id_convert", convert),
    Operation("PUT", ONE, "cardkit.card.update", update, limits=_card_limits),
    Operation("PATCH", ONE + "/settings", "cardkit.card.settings", settings, limits=_card_limits),
    Operation("POST", ONE + "/batch_update", "cardkit.card.batch_update", batch_update, limits=_card_limits),
    Operation("PUT", ELEMENT + "/content", "cardkit.element.content", stream_text, limits=_card_limits),
    Operation("POST", ELEMENTS, "cardkit.element.create", add_elements, limits=_card_limits),
    Operation("PUT", ELEMENT, "cardkit.element.update", replace_element, limits=_card_limits),
    Operation("PATCH", ELEMENT, "cardkit.element.patch", patch_element, limits=_card_limits),
    Operation("DELETE", ELEMENT, "cardkit.element.delete", delete_element, limits=_card_limits),
    Operation("POST", "/open-apis/interactive/v1/card/update", "interactive.update", delayed_update),
]
