"""Commands: what a person types with a slash, answered at once and outside the queue."""

from typing import assert_never

from channels.cards.card import Card
from channels.cards.conversation import expired_card
from channels.cards.notice import help_card, notice_card, status_card
from channels.cards.texts import texts
from channels.ids import TurnId
from channels.logs import COMMAND_ANSWERED, get_logger
from channels.rules.command import ADMIN_COMMANDS, FOR_STRANGERS, SESSIONLESS, Command, UnknownCommand
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.service.commands_access import AccessCommands
from channels.service.commands_agents import AgentCommands
from channels.service.commands_archive import ArchiveCommands
from channels.service.commands_sessions import SessionCommands
from channels.service.commands_settlement import COMMANDS as SETTLEMENT_COMMANDS
from channels.service.commands_settlement import SettlementCommands
from channels.service.context import Context
from channels.service.standing import Standing
from channels.service.stopping import Stopping
from channels.store.transactions.admit import Decided, answer_command
from channels.store.transactions.converse import find_stoppable, read_conversation
from channels.store.transactions.run import NothingToStop
from channels.store.transactions.switching import find_agent

log = get_logger(__name__)


class Commands:
    """Carries commands out. Each ends in one commit that also holds its answer."""

    def __init__(
        self,
        context: Context,
        stopping: Stopping,
        standing: Standing,
        conversations: SessionCommands,
        choosing: AgentCommands,
        access: AccessCommands,
        archive: ArchiveCommands,
        settlement: SettlementCommands,
    ) -> None:
        self._context, self._stopping, self._standing = context, stopping, standing
        self._conversations, self._choosing, self._access = conversations, choosing, access
        self._archive, self._settlement = archive, settlement

    async def carry_out(self, command: Command | UnknownCommand, message: Message) -> Decided:
        """The command's effect and its answer card."""
        match command:
            case Command(name) if name not in FOR_STRANGERS and not await self._access.is_admitted(message):
                words = texts(self._language)
                card = self._notice(words.not_admitted_title, words.not_admitted)
                decided = await self._answer(message, "not_admitted", card)
            case Command(name, arguments) if name in SETTLEMENT_COMMANDS:
                decided = await self._answer(message, name, await self._settlement.card(name, arguments, message))
            case Command(name, arguments) if name in ADMIN_COMMANDS:
                decided = await self._answer(message, name, await self._access.card(name, arguments, message))
            case UnknownCommand(typed, nearest):
                decided = await self._answer(message, "unknown", self._unknown(typed, nearest))
            case Command("new" | "sessions" | "resume" | "cd" | "usage" as name, arguments):
                decided = await self._conversations.carry_out(name, arguments, message)
            case Command("agent", arguments):
                decided = await self._choosing.carry_out(arguments, message)
            case Command("archive" | "unarchive" | "delete" as name, arguments):
                decided = await self._archive.carry_out(name, arguments, message)
            case Command(name):
                decided = await self._answer(message, name, await self._card(name, message))
            case _:
                assert_never(command)
        self._context.leave(decided.left)
        log.info(COMMAND_ANSWERED, message_id=message.envelope.message_id, verdict=decided.verdict)
        return decided

    async def _answer(self, message: Message, name: str, card: Card) -> Decided:
        """In a topic that has expired, only what needs no session is answered."""
        context, expired = self._context, _drawing(expired_card(self._language))
        return await context.database.run(
            answer_command,
            message,
            f"command:{name}",
            _drawing(card),
            context.uuids(1)[0],
            context.now(),
            expired=None if name in SESSIONLESS else expired,
        )

    async def _card(self, name: str, message: Message) -> Card:
        words, envelope = texts(self._language), message.envelope
        match name:
            case "help":
                return await self._help(message)
            case "stop":
                return self._notice(words.command_stop, await self._stop(message))
            case "status":
                return await self._status(message)
            case "userid":
                return self._notice("", words.userid_answer.format(user_id=envelope.sender.user_id))
            case "groupid":
                text = words.groupid_private if envelope.chat_type == "p2p" else words.groupid_answer
                return self._notice("", text.format(chat_id=envelope.chat_id))
            case "health":
                reasons = self._standing.reasons()
                return self._notice(
                    "", words.health_degraded.format(why="; ".join(reasons)) if reasons else words.health_ok
                )
            case _:
                return self._whoami(message)

    async def _help(self, message: Message) -> Card:
        here = await self._context.database.read(find_agent, message)
        agent = self._context.answering(here.session or here.chosen, message.envelope.chat_type)
        is_admin = message.envelope.sender.user_id in self._context.preferences.admins
        return help_card(self._language, agent.help_text(self._language), is_admin, agent=agent.name)

    async def _stop(self, message: Message) -> str:
        """End the running turn of this place at once and leave the queue."""
        context, words = self._context, texts(self._language)
        turn_id = await context.database.read(find_stoppable, message)
        if turn_id is None:
            return words.stop_nothing
        result = await self._stopping.stop(TurnId(turn_id), message.envelope.sender.user_id)
        if isinstance(result, NothingToStop):
            return words.toast_not_yours if result.why == "not_yours" else words.stop_nothing
        return words.stop_done

    async def _status(self, message: Message) -> Card:
        context = self._context
        seen = await context.database.read(read_conversation, message)
        return status_card(
            self._language,
            agent=context.answering(seen.agent or seen.chosen, message.envelope.chat_type).name,
            session=seen.session_id,
            running=seen.entered or "",
            queued=len(seen.queued),
            turns=seen.turns,
            input_tokens=seen.input_tokens,
            output_tokens=seen.output_tokens,
            cached_tokens=seen.cached_tokens,
            folder=seen.folder,
            connected=self._standing.connected,
            uptime_ms=self._standing.uptime_ms(),
            version=self._standing.version,
        )

    def _whoami(self, message: Message) -> Card:
        words, sender = texts(self._language), message.envelope.sender
        admin = sender.user_id in self._context.preferences.admins
        lines = [
            words.whoami_name.format(name=sender.name) if sender.name else "",
            words.whoami_user_id.format(user_id=sender.user_id),
            words.whoami_open_id.format(open_id=sender.open_id),
            words.whoami_admin if admin else words.whoami_not_admin,
        ]
        return self._notice(words.whoami_title, "\n\n".join(line for line in lines if line))

    def _unknown(self, typed: str, nearest: str | None) -> Card:
        words = texts(self._language)
        if nearest is None:
            return self._notice("", words.unknown_command.format(command=f"/{typed}"))
        return self._notice("", words.unknown_command_nearest.format(command=f"/{typed}", nearest=f"/{nearest}"))

    def _notice(self, title: str, body: str) -> Card:
        words = texts(self._language)
        return notice_card(title or words.notice_title, body, language=self._language)

    @property
    def _language(self) -> str:
        return self._context.preferences.language


def _drawing(card: Card) -> Drawing:
    return Drawing(card.json, card.text)
