"""/agent: which agents there are, and who answers here. Ends in one commit that holds its answer."""

import difflib

from channels.agents.protocol import Agent, NamesModel
from channels.cards.card import Card
from channels.cards.conversation import expired_card
from channels.cards.markdown import literal
from channels.cards.notice import notice_card
from channels.cards.texts import texts
from channels.ids import SessionId
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.service.context import Context
from channels.store.transactions.admit import Decided, answer_command
from channels.store.transactions.converse import Answer
from channels.store.transactions.switching import Here, Switch, find_agent, switch_agent

NAME_CHARACTERS = 64


class AgentCommands:
    """Lists the agents and switches between them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def carry_out(self, arguments: str, message: Message) -> Decided:
        """Without a name the list, with one the switch."""
        typed = arguments.strip()
        if not typed:
            return await self._say(message, await self._list(message))
        name = typed.lower()
        if name not in self._context.agents:
            return await self._say(message, self._notice(self._unknown(typed[:NAME_CHARACTERS])))
        return await self._switch(name, message)

    async def _list(self, message: Message) -> Card:
        context, words, chat_type = self._context, texts(self._language), message.envelope.chat_type
        here = await context.database.read(find_agent, message)
        answering = context.answering(here.session or here.chosen, chat_type).name
        lines = [
            " · ".join([f"- **{literal(name)}**", *_facts(agent), *([words.agents_here] if name == answering else [])])
            for name, agent in context.agents.items()
        ]
        gone = self._gone(here, answering)
        body = "\n\n".join(part for part in ("\n".join(lines), gone, words.agents_hint) if part)
        return notice_card(words.agents_title, body, language=self._language)

    def _gone(self, here: Here, answering: str) -> str:
        if not here.session or here.session in self._context.agents:
            return ""
        return texts(self._language).agents_gone.format(agent=literal(here.session), other=literal(answering))

    async def _switch(self, name: str, message: Message) -> Decided:
        context, words = self._context, texts(self._language)
        renewed, chosen, already = (
            self._answer(self._notice(text.format(agent=f"**{literal(name)}**")))
            for text in (words.agent_done, words.agent_chosen, words.agent_here_already)
        )
        switch = Switch(name, SessionId(context.ids.new("session")), renewed, chosen, already)
        default = context.preferences.agent_for(message.envelope.chat_type)
        return await context.database.run(switch_agent, message, switch, default, context.now())

    def _unknown(self, typed: str) -> str:
        words, names = texts(self._language), list(self._context.agents)
        nearest = difflib.get_close_matches(typed.lower(), names, n=1, cutoff=0.4)
        listed = ", ".join(literal(name) for name in names)
        if not nearest:
            return words.agent_unknown.format(agent=literal(typed), agents=listed)
        return words.agent_unknown_nearest.format(agent=literal(typed), nearest=f"/agent {nearest[0]}", agents=listed)

    async def _say(self, message: Message, card: Card) -> Decided:
        context, answer = self._context, self._answer(card)
        return await context.database.run(
            answer_command,
            message,
            "command:agent",
            answer.drawing,
            answer.uuid,
            context.now(),
            expired=answer.expired,
        )

    def _answer(self, card: Card) -> Answer:
        expired = expired_card(self._language)
        return Answer(Drawing(card.json, card.text), Drawing(expired.json, expired.text), self._context.uuids(1)[0])

    def _notice(self, body: str) -> Card:
        return notice_card(texts(self._language).notice_title, body, language=self._language)

    @property
    def _language(self) -> str:
        return self._context.preferences.language


def _facts(agent: Agent) -> list[str]:
    """Its kind, and its model where that is known."""
    model = agent.model if isinstance(agent, NamesModel) else ""
    return [literal(agent.kind), *([literal(model)] if model else [])]
