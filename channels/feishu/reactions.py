"""Reactions: add, list, remove. They carry no uuid: after OutcomeUnknown, list them and look for ours."""

from dataclasses import dataclass
from typing import Any

from channels.errors import OutcomeUnknown
from channels.feishu.envelopes import mapping, text
from channels.feishu.messages import MESSAGES, next_token
from channels.feishu.transport import Call, Transport
from channels.ids import MessageId, ReactionId

MOST_PAGES = 20


@dataclass(frozen=True, slots=True)
class Reaction:
    """`operator_type` is user or app; for an app `operator_id` is its app_id."""

    reaction_id: ReactionId
    emoji: str
    operator_id: str
    operator_type: str


class ReactionCalls:
    """The reaction part of `FeishuApi`."""

    _transport: Transport

    async def add_reaction(self, message_id: MessageId, emoji: str) -> ReactionId:
        """Put one reaction of ours on a message. `emoji` is one of Feishu's names (Typing, DONE …)."""
        body = {"reaction_type": {"emoji_type": emoji}}
        call = Call("add_reaction", "POST", f"{MESSAGES}/{message_id}/reactions", True, json=body)
        if not (reaction_id := text(await self._transport.data(call), "reaction_id")):
            raise OutcomeUnknown("add_reaction: success without a reaction_id")
        return ReactionId(reaction_id)

    async def list_reactions(self, message_id: MessageId, emoji: str | None = None) -> list[Reaction]:
        """All reactions of a message, or those with one emoji; at most 20 pages of 50."""
        found: list[Reaction] = []
        token: str | None = None
        for _ in range(MOST_PAGES):
            params = [("page_size", "50")]
            params += [("reaction_type", emoji)] if emoji else []
            params += [("page_token", token)] if token else []
            call = Call("list_reactions", "GET", f"{MESSAGES}/{message_id}/reactions", params=params)
            data = await self._transport.data(call)
            items = data.get("items")
            found += [_reaction(item) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
            earlier, token = token, next_token(data)
            if token is None or token == earlier:
                break
        return found

    async def remove_reaction(self, message_id: MessageId, reaction_id: ReactionId) -> None:
        """Take one of our reactions off. One that is gone already is refused with MESSAGE_GONE."""
        path = f"{MESSAGES}/{message_id}/reactions/{reaction_id}"
        await self._transport.data(Call("remove_reaction", "DELETE", path, True))


def _reaction(item: dict[str, Any]) -> Reaction:
    operator = mapping(item, "operator")
    return Reaction(
        ReactionId(text(item, "reaction_id")),
        text(mapping(item, "reaction_type"), "emoji_type"),
        text(operator, "operator_id"),
        text(operator, "operator_type"),
    )
