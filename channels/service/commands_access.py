"""/grant /revoke /users /requests /web: admins look after the bot from any chat with it, with names and mentions."""

from dataclasses import replace
from datetime import UTC, datetime

from channels.cards.access import switch_names
from channels.cards.card import Card
from channels.cards.markdown import literal
from channels.cards.notice import notice_card
from channels.cards.texts import texts
from channels.cards.wording import Texts
from channels.errors import Refused
from channels.ids import UserId
from channels.rules.access import Actor, Grant, Terms, Unclear, read_terms
from channels.rules.message import Message
from channels.service.access_desk import AccessDesk
from channels.service.context import Context
from channels.store.transactions.access import Person

LISTED = 30


class AccessCommands:
    """Carries out what admins type; the desk checks who they are."""

    def __init__(self, context: Context, desk: AccessDesk) -> None:
        self._context, self._desk = context, desk

    async def is_admitted(self, message: Message) -> bool:
        """Whether the author has been let in."""
        if self._context.policy.access.mode == "open":
            return True
        sender = message.envelope.sender
        return "chat" in await self._desk.switches_of(sender.user_id, sender.open_id)

    async def card(self, name: str, arguments: str, message: Message) -> Card:
        """The answer; what was changed is committed before."""
        words, sender = self._words, message.envelope.sender
        if "admin" not in await self._desk.switches_of(sender.user_id, sender.open_id):
            return self._notice("", words.admins_only)
        try:
            match name:
                case "grant" | "revoke":
                    return await self._change(name, arguments, message)
                case "users":
                    return await self._users()
                case "web":
                    return await self._web(message)
                case _:
                    return await self._requests()
        except Refused as refusal:
            return self._notice("", literal(refusal.user_text))

    async def _change(self, name: str, arguments: str, message: Message) -> Card:
        words, sender = self._words, message.envelope.sender
        actor, terms = Actor(sender.user_id, sender.open_id, "chat"), read_terms(_unmentioned(arguments, message))
        if isinstance(terms, Unclear):
            lead = words.grant_unclear.format(word=literal(terms.word)) + "\n\n" if terms.word else ""
            return self._notice("", lead + literal(words.grant_how))
        person = await self._person(terms, message)
        if name == "grant":
            changed = await self._desk.grant(
                actor, person, terms.switches, for_ms=terms.for_ms, messages=terms.messages
            )
            said = words.grant_done
        else:
            changed, said = await self._desk.revoke(actor, person, terms.switches), words.revoke_done
        text = said.format(who=person_words(changed.name, changed.user_id), what=grant_words(words, changed.grant))
        if name == "revoke" and self._context.policy.access.mode == "open":
            text += f"\n\n{words.revoke_open}"
        return self._notice("", text)

    async def _person(self, terms: Terms, message: Message) -> Person:
        """Who was mentioned, else whom the typed name means."""
        if len(message.mentioned) == 1:
            (one,) = message.mentioned
            return Person(one.user_id, one.open_id, one.name)
        return await self._desk.find_person(terms.person)

    async def _users(self) -> Card:
        words, lines = self._words, []
        by_config = sorted(self._context.policy.access.admins)
        lines += [f"- {words.users_line.format(who=literal(one), what=words.users_by_config)}" for one in by_config]
        for user in await self._desk.people(LISTED):
            who = person_words(user.name, user.user_id)
            lines.append(f"- {words.users_line.format(who=who, what=grant_words(words, user.grant))}")
        return self._notice(words.users_title, "\n".join(lines) or words.users_none)

    async def _requests(self) -> Card:
        words = self._words
        waiting = await self._desk.requests(LISTED)
        if not waiting:
            return self._notice(words.requests_title, words.requests_none)
        lines = [
            "- " + words.requests_line.format(who=person_words(one.request.name, one.request.user_id), count=one.kept)
            for one in waiting
        ]
        return self._notice(words.requests_title, "\n".join(lines) + f"\n\n{words.requests_hint}")

    async def _web(self, message: Message) -> Card:
        """The link stands on the card alone: what is kept for quotes, or sent where cards are refused, lacks it."""
        words, sender = self._words, message.envelope.sender
        if message.envelope.chat_type != "p2p":
            return self._notice(words.web_title, words.web_private)
        link = await self._desk.page_link(Actor(sender.user_id, sender.open_id, "chat"))
        body = words.web_link.format(url=link.url, minutes=link.life_ms // 60_000)
        card = self._notice(words.web_title, f"{body}\n\n{words.web_only_there}" if link.local else body)
        return replace(card, text=f"{words.web_title}\n\n{words.web_text}")

    def _notice(self, title: str, body: str) -> Card:
        return notice_card(title or self._words.notice_title, body, language=self._context.preferences.language)

    @property
    def _words(self) -> Texts:
        return texts(self._context.preferences.language)


def person_words(name: str, user_id: UserId) -> str:
    """A name with the id behind it: people choose their names themselves, and may choose another's."""
    plain_id = user_id.removeprefix("open:")
    return f"{literal(name)} ({literal(plain_id)})" if name else literal(plain_id)


def grant_words(words: Texts, grant: Grant) -> str:
    """A grant in words for people."""
    parts = [switch_names(words, grant.switches)]
    if grant.until_ms is not None:
        parts.append(f"{words.users_until} {_day(grant.until_ms)}")
    if grant.messages_left is not None:
        parts.append(words.users_messages.format(count=grant.messages_left))
    return "; ".join(parts)


def _day(at_ms: int) -> str:
    """A moment as "2026-12-07 09:30 UTC"."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _unmentioned(arguments: str, message: Message) -> str:
    """The arguments with the mention of one person, wherever it stands, as their first word."""
    if len(message.mentioned) != 1:
        return arguments
    name = message.mentioned[0].name
    return f"@mentioned {arguments.replace(f'@{name}', ' ') if name else arguments}"
