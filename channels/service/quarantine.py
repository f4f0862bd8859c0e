"""A restored file is compared with history before anything of the time before is said or decided.

First the turns that the backup holds as running or waiting: one whose question carries our DONE came to its end after
the backup and is left as people see it; the others may be repaired (`may_repair`). Then every message that is held:
answered in history, or onto its chat's pending card. Delivery meanwhile asks history by itself about each message of
ours that was still to be sent. When all of that and every gap is through, quarantine is left; messages from before
that Feishu sends again later are still compared.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from channels.errors import ApiRefused, OutcomeUnknown, RetryLater
from channels.feishu.events import normalise
from channels.feishu.history import is_said, seen_from
from channels.feishu.messages import Item
from channels.ids import ChatId, MessageId, ThreadId, TurnId
from channels.logs import LOOP_FAILED, QUARANTINE_COMPARED, QUARANTINE_LEFT, get_logger
from channels.rules.intents import DONE
from channels.rules.message import Message
from channels.rules.quarantine import SKEW_MS, Question, find_answered
from channels.rules.reconcile import Seen
from channels.rules.retry import backoff_ms
from channels.service.context import Context
from channels.service.missed_reading import read_place
from channels.store import inbox
from channels.store.inbox import InboxRow
from channels.store.missed import Container, Place
from channels.store.transactions.missed import Sorting
from channels.store.transactions.quarantine import (
    History,
    UnsureTurn,
    end_answered,
    leave_if_done,
    read_standing,
    settle_held,
    unsure_turns,
)

POLL_S = 0.5
LATER_POLL_S = 2.0
ROWS_PER_PASS = 200
TURNS_PER_PASS = 100

log = get_logger(__name__)

Held = tuple[InboxRow, str]


@dataclass(slots=True)
class Reading:
    """What history says about one chat: our answers and people's questions, from a moment on."""

    seen: list[Seen] = field(default_factory=list)
    questions: dict[MessageId, Question] = field(default_factory=dict)
    threads: dict[MessageId, ThreadId] = field(default_factory=dict)  # topic of each message that lies in one

    def take(self, items: Iterable[Item], app_id: str) -> None:
        for item in items:
            one = seen_from(item, app_id)
            self.seen.append(one)
            if one.thread_id is not None:
                self.threads[one.message_id] = one.thread_id
            if not one.ours and is_said(item):
                is_root = one.root_id is None
                self.questions[one.message_id] = Question(one.message_id, one.create_time_ms, one.thread_id, is_root)

    def answered(self) -> frozenset[MessageId]:
        return find_answered(self.seen, self.questions.values())

    def topics(self) -> frozenset[str]:
        """Topics in which we have spoken."""
        return frozenset(str(one.thread_id) for one in self.seen if one.ours and one.thread_id is not None)


class Quarantine:
    """Runs only where the file was restored at some time; elsewhere `run` returns at once."""

    def __init__(
        self,
        context: Context,
        is_open: bool,
        excerpt_of: Callable[[Message], str],
        tell_cards: Callable[[], None],
    ) -> None:
        self._context, self._is_open = context, is_open
        self._excerpt_of, self._tell_cards = excerpt_of, tell_cards
        self._turns_seen: set[TurnId] = set()
        self._tries: dict[ChatId, int] = {}
        self.tell_repair: Callable[[], None] = lambda: None

    def may_repair(self, turn_id: TurnId) -> bool:
        """Whether nothing stands against ending this turn as what the file knows of it."""
        return not self._is_open or turn_id in self._turns_seen

    async def run(self) -> None:
        """Compare what waits for it, for ever."""
        context = self._context
        if await context.database.read(read_standing) is None:
            return
        await context.identified.wait()
        while True:
            try:
                await self._pass()
            except Exception:
                log.exception(LOOP_FAILED, loop="quarantine")
            await asyncio.sleep(POLL_S if self._is_open else LATER_POLL_S)

    async def _pass(self) -> None:
        context = self._context
        if self._is_open:
            await self._look_at_turns()
        rows = await context.database.read(inbox.held_rows, context.now(), ROWS_PER_PASS)
        by_chat: dict[ChatId, list[Held]] = defaultdict(list)
        for row, state in rows:
            by_chat[row.chat_id].append((row, state))
        for held in by_chat.values():
            await self._compare(held)
        if self._is_open and await context.database.run(leave_if_done, context.now()):
            self._is_open = False
            log.info(QUARANTINE_LEFT)

    # Turns

    async def _look_at_turns(self) -> None:
        for unsure in await self._context.database.read(unsure_turns, TURNS_PER_PASS):
            if unsure.turn.turn_id in self._turns_seen:
                continue
            try:
                await self._look_at_turn(unsure)
            except (RetryLater, OutcomeUnknown):
                continue  # next time; nothing happens to this turn until then
            except ApiRefused:
                pass  # nothing to be seen there, now or later: what the file knows has to do
            self._turns_seen.add(unsure.turn.turn_id)
            self.tell_repair()

    async def _look_at_turn(self, unsure: UnsureTurn) -> None:
        context, snapshot = self._context, unsure.snapshot
        trigger = snapshot.trigger_message_id if snapshot is not None else None
        if snapshot is None or trigger is None or DONE not in await self._reactions(trigger):
            return
        place = Place(snapshot.chat_id, "chat", snapshot.chat_id, snapshot.chat_type)
        own = _topics(snapshot.route_key or "")
        reading = await self._read(place, unsure.turn.queued_at - SKEW_MS, own, [trigger])
        replies = sorted(
            (one for one in reading.seen if one.ours and one.parent_id == trigger),
            key=lambda one: (one.create_time_ms, one.message_id),
        )
        reply = (replies[0].message_id, replies[0].thread_id) if replies else None
        await context.database.run(end_answered, unsure.turn, reply, context.epoch, context.now())
        context.turns.ring()
        context.inbox.ring()

    async def _reactions(self, message_id: MessageId) -> frozenset[str]:
        """Our own reactions on a message."""
        listed = await self._context.feishu.list_reactions(message_id)
        app_id = self._context.policy.app_id
        return frozenset(one.emoji for one in listed if one.operator_type == "app" and one.operator_id == app_id)

    # Messages

    async def _compare(self, held: Sequence[Held]) -> None:
        """One chat's messages against its history. What cannot be read now is tried again later."""
        try:
            history = await self._history(held)
        except (RetryLater, OutcomeUnknown) as error:
            await self._put_off(held, error.after_ms if isinstance(error, RetryLater) else 0)
            return
        self._tries.pop(held[0][0].chat_id, None)
        for row, state in held:
            try:
                await self._settle(row, state, history)
            except Exception:  # one message that cannot be understood must not hold up the others
                log.exception(LOOP_FAILED, loop="quarantine.message", message_id=row.message_id)
                await self._put_off([(row, state)], 0)

    async def _history(self, held: Sequence[Held]) -> History:
        first, rows = held[0][0], [row for row, _ in held]
        since_ms = min(row.create_time for row in rows) - SKEW_MS
        place = Place(first.chat_id, "chat", first.chat_id, first.chat_type)
        own = {topic for row in rows for topic in _topics(row.conversation)}
        reading = await self._read(place, since_ms, own, [row.message_id for row in rows])
        found = reading.answered()
        left = [row.message_id for row in rows if row.message_id not in found]
        reacted = [message_id for message_id in left if await self._has_reaction(message_id)]
        return History(found.union(reacted), reading.topics())

    async def _has_reaction(self, message_id: MessageId) -> bool:
        try:
            return bool(await self._reactions(message_id))
        except ApiRefused:
            return False

    async def _read(
        self, place: Place, since_ms: int, threads: Iterable[ThreadId], messages: Sequence[MessageId] = ()
    ) -> Reading:
        """A chat, and the topics in it that matter: `threads`, and those that `messages` opened. What Feishu does not
        let us read stays unread: then a message counts as unanswered, and a person is asked."""
        reading = Reading()
        await self._read_one(reading, place, since_ms)
        for message_id in messages:
            if message_id not in reading.threads:
                await self._find_topic(reading, message_id)
        topics = {*threads, *(reading.threads[one] for one in messages if one in reading.threads)}
        for thread_id in sorted(topics):
            await self._read_one(reading, Place(thread_id, "thread", place.chat_id, place.chat_type), since_ms)
        return reading

    async def _read_one(self, reading: Reading, place: Place, since_ms: int) -> None:
        try:
            async for chunk in read_place(self._context, Container(place, max(0, since_ms))):
                reading.take(chunk.items, self._context.policy.app_id)
        except ApiRefused:
            return

    async def _find_topic(self, reading: Reading, message_id: MessageId) -> None:
        """A message that the chat's listing does not show may still say which topic it opened."""
        try:
            reading.take(await self._context.feishu.get_message(message_id), self._context.policy.app_id)
        except ApiRefused:
            return

    async def _settle(self, row: InboxRow, state: str, history: History) -> None:
        context = self._context
        message = normalise(row.payload, context.policy.bot_open_id)
        sorting = Sorting(
            policy=context.policy,
            window_ms=0,
            wall_ms=context.clock.wall_ms(),
            spare_batch_id=context.ids.new("batch"),
            excerpt=self._excerpt_of(message),
        )
        compared = await context.database.run(settle_held, row, state, message, history, sorting, context.now())
        log.info(QUARANTINE_COMPARED, message_id=row.message_id, verdict=compared.verdict)
        if compared.batch_id is not None:
            self._tell_cards()
        context.inbox.ring()

    async def _put_off(self, held: Sequence[Held], after_ms: int) -> None:
        context, chat_id = self._context, held[0][0].chat_id
        self._tries[chat_id] = self._tries.get(chat_id, 0) + 1
        wait_ms = max(after_ms, backoff_ms(self._tries[chat_id], context.rng.random()))
        for row, _ in held:
            await context.database.run(inbox.put_off, row.message_id, context.now() + wait_ms)


def _topics(conversation: str) -> list[ThreadId]:
    """The topic that a conversation key names; none where it names a chat."""
    return [ThreadId(conversation)] if conversation and not conversation.startswith("chat:") else []
