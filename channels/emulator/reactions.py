"""Reactions on messages, with Feishu's refusals and events."""

from channels.emulator.errors import ApiError
from channels.emulator.messages import Message, Reaction
from channels.emulator.tenant import Tenant
from channels.emulator.views import Json

EMOJI = frozenset(
    [
        "Typing",
        "DONE",
        "OnIt",
        "OneSecond",
        "OK",
        "THUMBSUP",
        "Get",
        "LGTM",
        "CheckMark",
        "CrossMark",
        "ERROR",
        "THINKING",
        "SMILE",
        "LAUGH",
        "HEART",
        "THANKS",
        "APPLAUSE",
        "FISTBUMP",
        "MUSCLE",
        "JIAYI",
        "FINGERHEART",
        "PARTY",
        "SOB",
        "FACEPALM",
        "WAVE",
        "Lemon",
        "Pin",
        "Alarm",
        "Yes",
        "No",
    ]
)


class Reactions:
    def __init__(self, world: Tenant) -> None:
        self._world = world

    def on(self, message_id: str) -> list[Reaction]:
        """The reactions on a message now, oldest first."""
        return list(self._world.reacted.get(message_id, {}).values())

    def add(self, message_id: str, emoji_type: str, operator: str) -> str:
        """Add one; the same emoji by the same operator again returns the first one's id."""
        message = self._target(message_id)
        if emoji_type not in EMOJI:
            raise ApiError(231001)
        for reaction in self.on(message_id):
            if (reaction.emoji_type, reaction.operator) == (emoji_type, operator):
                return reaction.reaction_id
        world = self._world
        reaction_id = world.identifiers.new("ZC")
        reaction = Reaction(reaction_id, message_id, emoji_type, operator, world.clock.now_ms())
        self._world.reacted.setdefault(message_id, {})[reaction_id] = reaction
        self._tell(message, reaction, added=True)
        return reaction_id

    def remove(self, message_id: str, reaction_id: str, operator: str) -> Reaction:
        message = self._target(message_id)
        reaction = self._world.reacted.get(message_id, {}).get(reaction_id)
        if reaction is None:
            elsewhere = any(reaction_id in each for each in self._world.reacted.values())
            raise ApiError(231010 if elsewhere else 231011)
        if reaction.operator != operator:
            raise ApiError(231007)
        del self._world.reacted[message_id][reaction_id]
        self._tell(message, reaction, added=False)
        return reaction

    def item(self, reaction: Reaction, id_type: str = "open_id") -> Json:
        """A reaction as the API returns it."""
        world = self._world
        by_bot = reaction.operator == world.bot.open_id
        shown = world.bot.app_id if by_bot else world.views.person_id(reaction.operator, id_type)
        return {
            "reaction_id": reaction.reaction_id,
            "operator": {"operator_id": shown, "operator_type": "app" if by_bot else "user"},
            "action_time": str(reaction.at_ms),
            "reaction_type": {"emoji_type": reaction.emoji_type},
        }

    def _target(self, message_id: str) -> Message:
        message = self._world.timeline.get(message_id, 231003)
        if message.recalled:
            raise ApiError(231003)
        return message

    def _tell(self, message: Message, reaction: Reaction, *, added: bool) -> None:
        world = self._world
        emoji_type, operator = reaction.emoji_type, reaction.operator
        world.ledger.record_reaction(message.message_id, reaction.reaction_id, emoji_type, operator, added)
        change = {"type": "reaction", "chat_id": message.chat_id, "message_id": message.message_id, "added": added}
        world.emit(change | {"emoji_type": emoji_type, "open_id": operator, "reaction_id": reaction.reaction_id})
        by_bot = operator == world.bot.open_id
        if by_bot and not world.settings.push_own_reactions:
            return
        event: Json = {
            "message_id": message.message_id,
            "reaction_type": {"emoji_type": emoji_type},
            "operator_type": "app" if by_bot else "user",
            "action_time": str(world.clock.now_ms()),
        }
        event |= {"app_id": world.bot.app_id} if by_bot else {"user_id": world.views.ids(operator)}
        name = "created" if added else "deleted"
        world.push_in_chat(f"im.message.reaction.{name}_v1", event, message.chat_id, message.message_id)
