"""CardKit entities: sequence, uuid, the streaming limit, and every operation on them.

Order of refusals for an operation: unknown entity, expired, in interaction, repeated uuid, sequence, then the content.
A refused operation uses up neither its sequence nor its uuid.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from channels.emulator import elements
from channels.emulator.card_rules import CardLimits, check_card, check_size, dump, parse_card
from channels.emulator.clock import EmulatorClock
from channels.emulator.elements import Json
from channels.emulator.errors import ApiError
from channels.emulator.settings import EmulatorSettings

MAX_SEQUENCE = 2**31 - 1


@dataclass(slots=True, kw_only=True)
class CardEntity:
    card_id: str
    card: Json
    text: str  # `card` as JSON
    created_ms: int
    message_id: str = ""  # once sent
    sequence: int = 0
    uuids: set[str] = field(default_factory=set)
    opened_ms: int | None = None  # streaming since
    timed_out: bool = False  # streaming was closed by the limit and nobody was told yet
    interactions: int = 0  # clicks that wait for an answer


class Cards:
    """All entities. `on_change(entity, call)` is told of every successful change."""

    def __init__(
        self,
        settings: EmulatorSettings,
        clock: EmulatorClock,
        new_id: Callable[[], str],
        knows_image: Callable[[str], bool],
        on_change: Callable[[CardEntity, str], None],
    ) -> None:
        self._settings, self._clock, self._new_id = settings, clock, new_id
        self._knows_image, self._on_change = knows_image, on_change
        self._entities: dict[str, CardEntity] = {}

    @property
    def limits(self) -> CardLimits:
        s = self._settings
        return CardLimits(s.max_card_bytes, s.max_elements, s.max_tables)

    def find(self, card_id: str) -> CardEntity | None:
        return self._entities.get(card_id)

    def create(self, data: Any) -> CardEntity:
        """A new entity from the card JSON text `data`."""
        card = parse_card(data, entity=True)
        text = self._checked(card)
        now_ms = self._clock.now_ms()
        entity = CardEntity(card_id=self._new_id(), card=card, text=text, created_ms=now_ms)
        if _streaming_mode(card):
            entity.opened_ms = now_ms
        self._entities[entity.card_id] = entity
        self._on_change(entity, "cardkit.card.create")
        return entity

    def live(self, card_id: str) -> CardEntity:
        """The entity, unless it does not exist or is older than 14 days."""
        entity = self._entities.get(card_id)
        if entity is None:
            raise ApiError(200740)
        if self._clock.now_ms() - entity.created_ms > self._settings.card_life_s * 1000:
            raise ApiError(200750)
        self._close_if_over(entity)
        return entity

    def is_streaming(self, entity: CardEntity) -> bool:
        self._close_if_over(entity)
        return entity.opened_ms is not None

    def stream_text(self, card_id: str, element_id: str, content: Any, sequence: Any, uuid: str) -> CardEntity:
        """Replace an element's whole text; needs streaming on. The hot path: changes in place, without a copy."""
        entity = self._admit(card_id, sequence, uuid)
        if entity.opened_ms is None:
            code, entity.timed_out = (200850 if entity.timed_out else 300309), False
            raise ApiError(code)
        if not isinstance(content, str) or not content:
            raise ApiError(10002, "content is empty")
        element = elements.find_element(entity.card, element_id)
        if element is None:
            raise ApiError(300313, "element not found")
        if element["tag"] not in ("markdown", "plain_text", "lark_md"):
            raise ApiError(300310)
        before, element["content"] = element.get("content", ""), content
        try:
            text = self._checked(entity.card) if "|" in content or "![" in content else self._sized(entity.card)
        except ApiError:
            element["content"] = before
            raise
        self._commit(entity, entity.card, text, "cardkit.element.content", sequence, uuid)
        return entity

    def change(self, card_id: str, call: str, sequence: Any, uuid: str, edit: Callable[[Json], Json]) -> CardEntity:
        """Run `edit` on a copy of the card's JSON; the result replaces it whole, or nothing happens."""
        entity = self._admit(card_id, sequence, uuid)
        card = edit(json.loads(entity.text))
        text = self._checked(card)
        self._commit(entity, card, text, call, sequence, uuid)
        return entity

    def replace_by_answer(self, entity: CardEntity, card: Json) -> bool:
        """A callback's answer replaces the card, except while it streams; whether it did."""
        if self.is_streaming(entity):
            return False
        entity.card, entity.text = card, self._checked(card)
        self._follow_streaming(entity, was_on=False)
        self._on_change(entity, "callback")
        return True

    def _admit(self, card_id: str, sequence: Any, uuid: str) -> CardEntity:
        entity = self.live(card_id)
        if entity.interactions and self._settings.interaction_lock:
            raise ApiError(200810)
        if len(uuid) > 64:
            raise ApiError(10002, "uuid is longer than 64")
        if uuid and uuid in entity.uuids:
            raise ApiError(200770)
        if not isinstance(sequence, int) or not 0 < sequence <= MAX_SEQUENCE:
            raise ApiError(10002, "sequence is invalid")
        if sequence <= entity.sequence:
            raise ApiError(300317)
        return entity

    def _commit(self, entity: CardEntity, card: Json, text: str, call: str, sequence: int, uuid: str) -> None:
        entity.card, entity.text, entity.sequence = card, text, sequence
        if uuid:
            entity.uuids.add(uuid)
        self._follow_streaming(entity, was_on=entity.opened_ms is not None)
        self._on_change(entity, call)

    def _follow_streaming(self, entity: CardEntity, *, was_on: bool) -> None:
        if not _streaming_mode(entity.card):
            entity.opened_ms, entity.timed_out = None, False
        elif not was_on:
            entity.opened_ms, entity.timed_out = self._clock.now_ms(), False

    def reopen(self, entity: CardEntity) -> None:
        """Streaming was asked for while it is on: starts the limit again only where the settings say so."""
        if self._settings.reopen_resets:
            entity.opened_ms = self._clock.now_ms()

    def _close_if_over(self, entity: CardEntity) -> None:
        limit_ms = self._settings.streaming_limit_s * 1000
        if entity.opened_ms is None or self._clock.now_ms() - entity.opened_ms < limit_ms:
            return
        entity.opened_ms, entity.timed_out = None, True
        entity.card.setdefault("config", {})["streaming_mode"] = False
        entity.text = dump(entity.card)
        self._on_change(entity, "streaming.timeout")

    def _sized(self, card: Json) -> str:
        text = dump(card)
        check_size(text, self.limits)
        return text

    def _checked(self, card: Json) -> str:
        check_card(card, self.limits, entity=True, knows_image=self._knows_image)
        return self._sized(card)


def _streaming_mode(card: Json) -> bool:
    return bool(card.get("config", {}).get("streaming_mode"))


def apply_settings(card: Json, settings: Json) -> Json:
    """Merge `config` and `card_link` of a settings call into the card."""
    for key in ("config", "card_link"):
        if isinstance(settings.get(key), dict):
            card.setdefault(key, {}).update(settings[key])
    return card


def apply_actions(card: Json, actions: list[Json]) -> Json:
    """Run a batch_update's actions in order."""
    for action in actions:
        params = action.get("params") or {}
        match action.get("action"):
            case "partial_update_setting":
                apply_settings(card, params.get("settings") or {})
            case "add_elements":
                where, target = params.get("type", "append"), params.get("target_element_id", "")
                elements.add_elements(card, where, target, params.get("elements") or [])
            case "delete_elements":
                elements.delete_elements(card, params.get("element_ids") or [])
            case "partial_update_element":
                elements.patch_element(card, params.get("element_id", ""), params.get("partial_element") or {})
            case "update_element":
                elements.replace_element(card, params.get("element_id", ""), params.get("element") or {})
            case other:
                raise ApiError(10002, f"unknown action {other}")
    return card
