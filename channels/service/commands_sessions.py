"""Commands about conversations: /new /sessions /resume /cd /usage. Each ends in one commit that holds its answer."""

from channels.cards.card import Card
from channels.cards.conversation import SessionLine, UsageLine, expired_card, first_words, sessions_card, usage_card
from channels.cards.markdown import plain
from channels.cards.notice import notice_card
from channels.cards.texts import texts
from channels.ids import SessionId
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.service.commands_settlement import quota_lines
from channels.service.context import Context
from channels.service.quota_desk import QuotaDesk
from channels.service.workspaces import Found, NotFound, Workspaces
from channels.store.transactions.admit import Decided, answer_command
from channels.store.transactions.converse import (
    Agents,
    Answer,
    Numbered,
    archived_numbers,
    change_folder,
    find_current,
    find_numbered,
    list_sessions,
    resume_session,
    start_anew,
)
from channels.store.usage import Used

LISTED = 10
DAY_MS = 24 * 3_600_000


class SessionCommands:
    """Carries out what moves a conversation, or counts it."""

    def __init__(self, context: Context, workspaces: Workspaces, quotas: QuotaDesk) -> None:
        self._context, self._workspaces, self._quotas = context, workspaces, quotas

    async def carry_out(self, name: str, arguments: str, message: Message) -> Decided:
        """`name` is new, sessions, resume, cd or usage."""
        match name:
            case "new":
                return await self._new(message)
            case "resume":
                return await self._resume(arguments, message)
            case "cd":
                return await self._cd(arguments, message)
            case "sessions":
                return await self._say(name, message, await self._sessions(message))
            case _:
                return await self._say(name, message, await self._usage(message))

    async def _new(self, message: Message) -> Decided:
        context, words = self._context, texts(self._language)
        fresh, in_topic, nothing = (
            self._answer(self._notice(text)) for text in (words.new_done, words.new_in_topic, words.new_nothing)
        )
        spare = SessionId(context.ids.new("session"))
        agents = Agents(frozenset(context.agents), context.preferences.agent_for(message.envelope.chat_type))
        return await context.database.run(start_anew, message, spare, agents, fresh, in_topic, nothing, context.now())

    async def _sessions(self, message: Message) -> Card:
        shown, earlier = await self._context.database.read(list_sessions, message, LISTED)
        archived = await self._context.database.read(archived_numbers, message, LISTED)
        return sessions_card(self._language, [self._line(one) for one in shown], earlier, archived)

    async def _resume(self, arguments: str, message: Message) -> Decided:
        context, words = self._context, texts(self._language)
        if not arguments.isdecimal():
            return await self._say("resume", message, self._notice(words.resume_how))
        number = int(arguments[:9])
        found = await context.database.read(find_numbered, message, number)
        if found is None:
            return await self._say("resume", message, self._notice(words.resume_unknown.format(number=number)))
        if found.session.archived_at is not None:
            return await self._say("resume", message, self._notice(words.resume_archived.format(number=number)))
        if found.is_current:
            return await self._say("resume", message, self._notice(words.resume_here.format(number=number)))
        begin = self._line(found).words or words.sessions_unsaid
        answer = self._answer(self._notice(words.resume_done.format(number=number, words=begin)))
        return await context.database.run(resume_session, message, found.session.session_id, answer, context.now())

    async def _cd(self, arguments: str, message: Message) -> Decided:
        context, words = self._context, texts(self._language)
        session_id = await context.database.read(find_current, message)
        found = await self._workspaces.find(session_id, arguments) if session_id else NotFound("nowhere")
        match found:
            case Found(path, branch, shown) if session_id is not None:
                answer = self._answer(self._notice(words.cd_done.format(folder=f"`{shown}`")))
                return await context.database.run(
                    change_folder, message, session_id, path, branch, answer, context.now()
                )
            case NotFound("here", shown):
                return await self._say("cd", message, self._notice(words.cd_here.format(folder=f"`{shown}`")))
            case NotFound("outside", shown):
                return await self._say("cd", message, self._notice(words.cd_outside.format(folder=f"`{shown}`")))
            case NotFound("missing", shown):
                return await self._say("cd", message, self._notice(words.cd_missing.format(folder=f"`{shown}`")))
            case _:
                return await self._say("cd", message, self._notice(words.cd_nowhere))

    async def _usage(self, message: Message) -> Card:
        context = self._context
        now, user_id = context.now(), message.envelope.sender.user_id
        moments = (now - DAY_MS, now - 30 * DAY_MS, 0)
        day, month, whole = [_usage_line(await self._quotas.used(user_id, since)) for since in moments]
        standing = (await self._quotas.account(user_id)).standing
        quota = quota_lines(self._language, standing, context.policy.quota.zone)
        return usage_card(self._language, day, month, whole, quota)

    async def _say(self, name: str, message: Message, card: Card) -> Decided:
        context, answer = self._context, self._answer(card)
        return await context.database.run(
            answer_command,
            message,
            f"command:{name}",
            answer.drawing,
            answer.uuid,
            context.now(),
            expired=answer.expired,
        )

    def _answer(self, card: Card) -> Answer:
        expired = expired_card(self._language)
        return Answer(Drawing(card.json, card.text), Drawing(expired.json, expired.text), self._context.uuids(1)[0])

    def _line(self, one: Numbered) -> SessionLine:
        words = first_words(plain(one.words, texts(self._language).image))
        return SessionLine(one.number, one.session.created_at, words, one.turns, one.tokens, one.is_current)

    def _notice(self, body: str) -> Card:
        return notice_card(texts(self._language).notice_title, body, language=self._language)

    @property
    def _language(self) -> str:
        return self._context.preferences.language


def _usage_line(used: Used) -> UsageLine:
    return UsageLine(used.turns, used.sessions, used.input_tokens, used.output_tokens)
