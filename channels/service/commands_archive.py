"""/archive /unarchive /delete: a person puts conversations away. Deleting is asked about on a card first."""

import json

from channels.cards.card import Button, Card
from channels.cards.conversation import expired_card, first_words
from channels.cards.markdown import literal, plain
from channels.cards.notice import notice_card
from channels.cards.texts import texts
from channels.cards.wording import Texts
from channels.errors import Refused
from channels.feishu.connection import Answer
from channels.feishu.events import CardClicked
from channels.ids import SessionId
from channels.rules.access import Actor
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.service.context import Context
from channels.service.session_desk import SessionDesk
from channels.service.toasts import toast
from channels.store.transactions.admit import Decided, answer_command
from channels.store.transactions.archive import Move, archive_session, move_by_command, unarchive_session
from channels.store.transactions.converse import Numbered, find_current, find_numbered

DELETE = "session_delete"


class ArchiveCommands:
    """Carries out what people type, and the button of the question."""

    def __init__(self, context: Context, desk: SessionDesk) -> None:
        self._context, self._desk = context, desk

    async def carry_out(self, name: str, arguments: str, message: Message) -> Decided:
        """`name` is archive, unarchive or delete; without a number, /archive means this conversation."""
        words = self._words
        if name == "archive" and not arguments:
            current = await self._context.database.read(find_current, message)
            if current is None:
                return await self._say(name, message, words.archive_nothing)
            return await self._move(name, archive_session, current, message)
        if not arguments.isdecimal():
            return await self._say(name, message, words.archive_how.format(command=f"/{name}"))
        number = int(arguments[:9])
        found = await self._context.database.read(find_numbered, message, number)
        if found is None:
            return await self._say(name, message, words.resume_unknown.format(number=number))
        if name == "delete":
            return await self._ask(found, message)
        move = archive_session if name == "archive" else unarchive_session
        return await self._move(name, move, found.session.session_id, message)

    async def press(self, click: CardClicked) -> Answer:
        """The *Delete* button: toast, and the card says what has become of it."""
        words, operator = self._words, click.operator
        actor = Actor(operator.user_id, operator.open_id, "card")
        try:
            await self._desk.delete_by_click(click.event_id, actor, SessionId(str(click.value.get("session", ""))))
        except Refused as refusal:
            if refusal.code != "session_deleted":
                return toast("warning", refusal.user_text)
        said = toast("success", words.delete_done)
        return Answer(said.code, {**(said.data or {}), "card": self._deleted()})

    def _deleted(self) -> dict[str, object]:
        card = self._notice(self._words.delete_done, template="grey")
        return {"type": "raw", "data": json.loads(card.json)}

    async def _move(self, name: str, move: Move, session_id: SessionId, message: Message) -> Decided:
        context, words, sender = self._context, self._words, message.envelope.sender
        actor = Actor(sender.user_id, sender.open_id, "chat")
        archives = name == "archive"
        said = {
            "done": words.archive_done if archives else words.unarchive_done,
            "unchanged": words.archive_unchanged if archives else words.unarchive_unchanged,
            "unknown_session": words.archive_unknown,
            "not_yours": words.toast_not_yours,
            "session_busy": words.archive_busy,
            "session_deleted": words.archive_deleted,
        }
        answers = {outcome: _drawing(self._notice(text)) for outcome, text in said.items()}
        admins, uuid = context.preferences.admins, context.uuids(1)[0]
        decided, moved = await context.database.run(
            move_by_command, message, move, session_id, actor, admins, answers, self._expired, uuid, context.now()
        )
        if moved is not None:
            self._desk.follow(moved, f"{name}d", actor)
        return decided

    async def _ask(self, found: Numbered, message: Message) -> Decided:
        """What would go, and the button that does it."""
        words, session = self._words, found.session
        begin = literal(first_words(plain(found.words, words.image))) or words.sessions_unsaid
        body = words.delete_ask.format(number=found.number, words=begin)
        button = Button(words.button_delete, {"do": DELETE, "session": session.session_id}, "danger")
        return await self._answer("delete", message, self._notice(body, buttons=[button], template="orange"))

    async def _say(self, name: str, message: Message, text: str) -> Decided:
        return await self._answer(name, message, self._notice(text))

    async def _answer(self, name: str, message: Message, card: Card) -> Decided:
        context = self._context
        return await context.database.run(
            answer_command,
            message,
            f"command:{name}",
            _drawing(card),
            context.uuids(1)[0],
            context.now(),
            expired=self._expired,
        )

    def _notice(self, body: str, *, buttons: list[Button] | None = None, template: str = "blue") -> Card:
        language = self._context.preferences.language
        return notice_card(self._words.notice_title, body, buttons=buttons or (), template=template, language=language)

    @property
    def _expired(self) -> Drawing:
        return _drawing(expired_card(self._context.preferences.language))

    @property
    def _words(self) -> Texts:
        return texts(self._context.preferences.language)


def _drawing(card: Card) -> Drawing:
    return Drawing(card.json, card.text)
