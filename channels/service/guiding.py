"""Guide cards: what a person sees first in a private chat, and a group when the bot comes in."""

from collections.abc import Callable

from channels.cards.conversation import guide_card
from channels.feishu.events import BotAdded, PrivateChatEntered
from channels.rules.intents import Drawing
from channels.rules.routing import Policy
from channels.service.context import Context
from channels.store.transactions.guide import greet_group, greet_person

NAMELESS = "Feishu Channels"  # until Feishu has told the bot's own name


class Guiding:
    """Commits what the event says about the place, with the guide card as an intent."""

    def __init__(self, context: Context, kick: Callable[[tuple[str, ...]], None]) -> None:
        self._context, self._kick = context, kick

    async def bot_added(self, event: BotAdded) -> bool:
        """A group; whether it was greeted now."""
        context = self._context
        lane = await context.database.run(
            greet_group,
            event.event_id,
            event.chat_id,
            event.name,
            self._guide(group=True),
            context.uuids(1)[0],
            context.now(),
        )
        return self._pass_on(lane)

    async def private_chat_entered(self, event: PrivateChatEntered) -> bool:
        """A private chat; whether it was greeted now."""
        context, user_id = self._context, event.sender.user_id
        guide = self._guide(group=False) if may_write(context.policy, user_id) else None
        lane = await context.database.run(
            greet_person, event.event_id, event.chat_id, user_id, guide, context.uuids(1)[0], context.now()
        )
        return self._pass_on(lane)

    def _pass_on(self, lane: str | None) -> bool:
        if lane is not None:
            self._kick((lane,))
        return lane is not None

    def _guide(self, *, group: bool) -> Drawing:
        context = self._context
        topics = context.policy.topic_in_group if group else context.policy.topic_in_private
        card = guide_card(context.preferences.language, context.bot_name or NAMELESS, group=group, topics=topics)
        return Drawing(card.json, card.text)


def may_write(policy: Policy, user_id: str) -> bool:
    """Whether this person is answered in private."""
    return policy.dm == "all" or (policy.dm == "users" and user_id in policy.dm_users)
