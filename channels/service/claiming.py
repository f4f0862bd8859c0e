"""A claim code that somebody sends in a private chat: it makes its sender an admin, once."""

from channels.cards.notice import notice_card
from channels.cards.texts import texts
from channels.rules.access import Actor, read_code
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.service.access_desk import AccessDesk
from channels.service.context import Context
from channels.store.transactions.access import NotChanged
from channels.store.transactions.admit import Decided, answer_command


class Claiming:
    """Takes claim codes out of the way of messages. A code never reaches an agent."""

    def __init__(self, context: Context, desk: AccessDesk) -> None:
        self._context, self._desk = context, desk

    async def take(self, message: Message) -> Decided | None:
        """The answer to a claim code; None for every other message.

        A message is one only while a code is there that nobody has used. Between the claim and its answer the process
        may die: the row is decided again, and whoever has used the code is told the same once more.
        """
        envelope = message.envelope
        code = read_code(message.text) if envelope.chat_type == "p2p" and envelope.sender.kind == "user" else None
        if code is None or not await self._desk.knows_code(code):
            return None
        result = await self._desk.claim(Actor(envelope.sender.user_id, envelope.sender.open_id, "chat"), code)
        words = texts(self._context.preferences.language)
        said, template = words.claim_done, "green"
        if isinstance(result, NotChanged):
            template = "grey"
            said = {
                "used": words.claim_used,
                "expired": words.claim_expired,
                "too_many": words.claim_too_many,
            }.get(result.why, words.claim_unknown)
        card = notice_card(words.claim_title, said, template=template, language=self._context.preferences.language)
        context = self._context
        return await context.database.run(
            answer_command, message, "claim", Drawing(card.json, card.text), context.uuids(1)[0], context.now()
        )
