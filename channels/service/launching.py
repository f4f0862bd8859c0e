"""Turns that no message causes: topics opened on somebody's behalf, sessions woken in their topic.

What can be asked of Feishu is asked before anything is written; what the file knows decides inside the commit. Faults
are `Refused(code, sentence)`, or RetryLater where Feishu cannot be asked: then nothing was begun.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from channels.cards.conversation import first_words
from channels.cards.launch_texts import launch_text
from channels.cards.markdown import plain
from channels.cards.quota import window_end
from channels.cards.reply import reply_cards
from channels.cards.texts import texts
from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, Refused, RetryLater
from channels.ids import ChatId, OpenId, SessionId, ThreadId, TurnId, UserId
from channels.logs import TURN_LAUNCHED, get_logger
from channels.rules.intents import Drawing, payload
from channels.rules.launch import LAUNCH, TEXT_BYTES, digest_of, is_key
from channels.rules.turn import Phase, View
from channels.rules.workspace import workspace_path
from channels.service.access_desk import AccessDesk
from channels.service.context import Context
from channels.store.transactions.access import Person
from channels.store.transactions.launch import (
    UUIDS_PER_LAUNCH,
    Asked,
    Launched,
    NotLaunched,
    Progress,
    TopicStart,
    Waking,
    find_chat_type,
    find_key,
    find_private_chat,
    read_progress,
    start_topic,
    wake_session,
)

DISSOLVED = 232009
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StartRequest:
    """`user`: a name, a user_id or an open_id; `chat` "": that person's private chat; `agent` "": whoever answers them
    there; `key` "": one that was never used."""

    user: str
    text: str
    chat: str = ""
    agent: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class WakeRequest:
    """Of `thread` and `session` one is given."""

    text: str
    thread: str = ""
    session: str = ""
    for_nobody: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """The turn under this key, and how far it is. `again`: the key had it before."""

    key: str
    again: bool
    progress: Progress


@dataclass(frozen=True, slots=True)
class _Where:
    chat_id: ChatId
    chat_type: str
    receive: str = ""


class Launching:
    """Begins turns for scripts, and for agents that may use the control socket."""

    def __init__(self, context: Context, desk: AccessDesk, kick: Callable[[tuple[str, ...]], None]) -> None:
        self._context, self._desk, self._kick = context, desk, kick

    async def start(self, request: StartRequest) -> Answered:
        """Open a topic for somebody; the same request under the same key is one topic."""
        context, key = self._context, self._key(request.key, request.text)
        digest = digest_of(request.user, request.chat, request.agent, request.text)
        if (before := await self._before(LAUNCH, key, digest)) is not None:
            return before
        if request.agent and request.agent not in context.agents:
            raise self._refused("unknown_agent", agent=request.agent, agents=", ".join(context.agents))
        driver = await self._person(request.user)
        where = await self._where(request.chat, driver)
        start = self._topic_start(request, driver, where, self._asked(key, digest, request.text))
        done = await context.database.run(start_topic, start, context.policy, context.epoch, context.now())
        return await self._answer(done, key, user=request.user)

    async def wake(self, request: WakeRequest) -> Answered:
        """Go on in a topic without a message."""
        context, key = self._context, self._key(request.key, request.text)
        place = request.thread or request.session
        digest = digest_of(request.thread, request.session, str(request.for_nobody), request.text)
        asked = self._asked(key, digest, request.text)
        wake = Waking(
            asked,
            ThreadId(request.thread) if request.thread else None,
            SessionId(request.session) if request.session else None,
            request.for_nobody,
            self._drawing(View(asked.turn_id, phase=Phase.WAITING)),
        )
        done = await context.database.run(wake_session, wake, context.policy, context.epoch, context.now())
        return await self._answer(done, key, place=place, user=place)

    async def _before(self, cause: str, key: str, digest: str) -> Answered | None:
        found = await self._context.database.read(find_key, cause, key)
        if found is None:
            return None
        if found.digest != digest:
            raise self._refused("key_conflict", key=key)
        return await self._answer(Launched(found.turn_id, True), key)

    async def _answer(self, done: Launched | NotLaunched, key: str, **values: str) -> Answered:
        if isinstance(done, NotLaunched):
            until = window_end(done.short, self._context.policy.quota.zone) if done.short is not None else ""
            raise self._refused(done.why, key=key, until=until, **values)
        if not done.again:
            self._kick(done.lanes)
            self._context.turns.ring()
        progress = await self._context.database.read(read_progress, done.turn_id)
        assert progress is not None
        log.info(TURN_LAUNCHED, turn_id=done.turn_id, cause=progress.turn.cause, key=key, again=done.again)
        return Answered(key, done.again, progress)

    def _key(self, key: str, text: str) -> str:
        if not text.strip():
            raise ValueError("text must say something")
        if len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES:
            raise ValueError(f"text must be at most {TEXT_BYTES} bytes")
        if key and not is_key(key):
            raise ValueError("key must be 1 to 128 printable ASCII characters without spaces")
        return key or self._context.ids.new("key")

    def _asked(self, key: str, digest: str, text: str) -> Asked:
        context = self._context
        turn_id = TurnId(context.ids.new("turn"))
        message = json.dumps({"text": text, "resources": []}, ensure_ascii=False)
        thinking = self._drawing(View(turn_id))
        return Asked(key, digest, turn_id, context.uuids(UUIDS_PER_LAUNCH), message, thinking)

    def _topic_start(self, request: StartRequest, driver: Person, where: _Where, asked: Asked) -> TopicStart:
        context, language = self._context, self._context.preferences.language
        policy, private = context.policy, where.chat_type == "p2p"
        about = first_words(plain(request.text, texts(language).image))
        mention = "" if private else driver.user_id.removeprefix("open:")
        return TopicStart(
            asked=asked,
            driver=driver,
            chat_id=where.chat_id,
            chat_type=where.chat_type,
            receive=where.receive,
            in_thread=policy.topic_in_private if private else policy.topic_in_group,
            session_id=SessionId(context.ids.new("session")),
            agent=request.agent,
            agents=frozenset(context.agents),
            default=context.preferences.agent_for(where.chat_type),
            cwd=workspace_path(context.preferences.base_dir, where.chat_type, where.chat_id, driver.user_id),
            opening=payload(text=launch_text("opening", language, text=about), mention=mention),
        )

    async def _person(self, user: str) -> Person:
        """Whom the file knows by this name or id; where it knows nobody, an id may be that of somebody new."""
        try:
            return await self._desk.find_person(user)
        except Refused as refusal:
            if refusal.code != "unknown_person" or not _ID.fullmatch(user):
                raise
        return Person(UserId(f"open:{user}"), OpenId(user)) if user.startswith("ou_") else Person(UserId(user))

    async def _where(self, chat: str, driver: Person) -> _Where:
        """The chat, once it is certain that the bot can speak there (of an unknown private chat sending will tell)."""
        private = await self._context.database.read(find_private_chat, driver.user_id)
        if not chat:
            self._check_private(driver)
            if private is not None:
                return _Where(private, "p2p")
            hidden = driver.user_id.startswith("open:")
            receiver = ChatId(driver.user_id.removeprefix("open:"))
            return _Where(receiver, "p2p", "open_id" if hidden else "user_id")
        chat_type = await self._chat_type(ChatId(chat))
        if chat_type == "p2p":
            self._check_private(driver)
            if private is not None and private != chat:
                raise self._refused("not_their_chat", chat=chat, user=driver.user_id)
        return _Where(ChatId(chat), chat_type)

    def _check_private(self, driver: Person) -> None:
        policy = self._context.policy
        if policy.dm == "off" or (policy.dm == "users" and driver.user_id not in policy.dm_users):
            raise self._refused("private_chats_off", user=driver.user_id)

    async def _chat_type(self, chat_id: ChatId) -> str:
        try:
            chat = await self._context.feishu.get_chat(chat_id)
        except OutcomeUnknown as error:
            raise RetryLater(0, CodeKind.SERVER, why=str(error)) from error
        except ApiRefused as refusal:
            return await self._refused_chat(chat_id, refusal)
        if chat.is_dissolved:
            raise self._refused("chat_dissolved", chat=chat_id)
        return "p2p" if chat.mode == "p2p" else "group"

    async def _refused_chat(self, chat_id: ChatId, refusal: ApiRefused) -> str:
        """Feishu shows no such chat: there is none, we are not in it, or we may not ask."""
        if refusal.code == DISSOLVED:
            raise self._refused("chat_dissolved", chat=chat_id)
        if refusal.kind is CodeKind.CHAT_GONE:
            raise self._refused("bot_not_in_chat", chat=chat_id)
        if refusal.kind is not CodeKind.SCOPE:
            raise self._refused("unknown_chat", chat=chat_id)
        known = await self._context.database.read(find_chat_type, chat_id)
        if known is None:
            raise self._refused("chat_unverified", chat=chat_id)
        return known

    def _refused(self, code: str, **values: str) -> Refused:
        return Refused(code, launch_text(code, self._context.preferences.language, **values))

    def _drawing(self, view: View) -> Drawing:
        card = reply_cards(view, self._context.preferences.language)[0]
        return Drawing(card.json, card.text)
