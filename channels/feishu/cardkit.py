"""Card entities (CardKit): create once, send once, then update by a strictly rising `sequence`.

Every update carries the caller's `sequence` and `uuid`. REPEATED_UUID (200770) means that this very update is done;
SEQUENCE (300317) that a later one is. Streaming methods answer whether they sent: with `droppable`, False and nothing
sent when the limits have no room now.
"""

import json
from collections.abc import Mapping
from typing import Any

from channels.errors import CodeKind, RetryLater
from channels.feishu.envelopes import text
from channels.feishu.transport import Call, Transport
from channels.ids import CardId, MessageId

CARDS = "/open-apis/cardkit/v1/cards"


def card_content(card_id: CardId) -> str:
    """The `content` of an interactive message that shows this entity."""
    return json.dumps({"type": "card", "data": {"card_id": card_id}}, separators=(",", ":"))


class CardCalls:
    """The CardKit part of `FeishuApi`."""

    _transport: Transport

    async def create_card(self, card_json: str) -> CardId:
        """Make a card entity. Nobody sees it until it is sent, so a lost answer only leaves one unused entity."""
        body = {"type": "card_json", "data": card_json}
        data = await self._transport.data(Call("create_card", "POST", CARDS, json=body))
        if not (card_id := text(data, "card_id")):
            raise RetryLater(0, CodeKind.SERVER, why="success without a card_id")
        return CardId(card_id)

    async def card_of_message(self, message_id: MessageId) -> CardId:
        """The entity behind a message of ours that shows a card."""
        call = Call("card_of_message", "POST", f"{CARDS}/id_convert", json={"message_id": message_id})
        if not (card_id := text(await self._transport.data(call), "card_id")):
            raise RetryLater(0, CodeKind.SERVER, why="success without a card_id")
        return CardId(card_id)

    async def stream_text(
        self, card_id: CardId, element_id: str, content: str, sequence: int, uuid: str, *, droppable: bool = False
    ) -> bool:
        """Set the whole text of one element (not a delta); Feishu types out what is new."""
        path = f"{CARDS}/{card_id}/elements/{element_id}/content"
        return await self._update("stream_text", "PUT", path, card_id, {"content": content}, sequence, uuid, droppable)

    async def update_card(
        self, card_id: CardId, card_json: str, sequence: int, uuid: str, *, droppable: bool = False
    ) -> bool:
        """Replace the whole card."""
        body = {"card": {"type": "card_json", "data": card_json}}
        return await self._update("update_card", "PUT", f"{CARDS}/{card_id}", card_id, body, sequence, uuid, droppable)

    async def batch_update_card(
        self, card_id: CardId, actions_json: str, sequence: int, uuid: str, *, droppable: bool = False
    ) -> bool:
        """Carry out several changes at once, all or none."""
        path, body = f"{CARDS}/{card_id}/batch_update", {"actions": actions_json}
        return await self._update("batch_update_card", "POST", path, card_id, body, sequence, uuid, droppable)

    async def set_card_settings(
        self, card_id: CardId, settings_json: str, sequence: int, uuid: str, *, droppable: bool = False
    ) -> bool:
        """Change the card's settings, for example open or close streaming."""
        path, body = f"{CARDS}/{card_id}/settings", {"settings": settings_json}
        return await self._update("set_card_settings", "PATCH", path, card_id, body, sequence, uuid, droppable)

    async def _update(
        self,
        name: str,
        method: str,
        path: str,
        card_id: CardId,
        body: Mapping[str, Any],
        sequence: int,
        uuid: str,
        droppable: bool,
    ) -> bool:
        whole = {**body, "sequence": sequence, "uuid": uuid}
        call = Call(name, method, path, True, (("card", card_id),), json=whole)
        if droppable:
            return await self._transport.try_data(call) is not None
        await self._transport.data(call)
        return True
