"""Inbox row → decision → turn, per conversation in (create_time, message_id) order.

Wake-ups are hints; the table is looked at once a second, and at boot. Commands go first and wait for nobody. A message
that cannot be decided is tried again with growing waits and refused with an error card after five attempts. No
conversation holds up another: one that takes its time (a folder is being made) goes on beside the next passes, and
where more messages wait than one pass takes, the passes go through all of them.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from sqlite3 import OperationalError

from channels.cards.access import denied_card
from channels.cards.conversation import expired_card, queue_full_card
from channels.cards.notice import notice_card
from channels.cards.quota import quota_card
from channels.cards.reply import reply_cards
from channels.cards.texts import texts
from channels.feishu.events import normalise
from channels.ids import ConversationKey, MessageId, SessionId, TurnId
from channels.logs import ACCESS_KEPT, LOOP_FAILED, MESSAGE_DROPPED, MESSAGE_REFUSED, TURN_ADMITTED, get_logger
from channels.rules.command import parse
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.rules.quota import Short
from channels.rules.retry import backoff_ms
from channels.rules.routing import takes_commands
from channels.rules.turn import Phase, View
from channels.rules.workspace import workspace_path
from channels.service.claiming import Claiming
from channels.service.commands import Commands
from channels.service.context import Context
from channels.service.delivery import Delivery
from channels.store import inbox
from channels.store.inbox import InboxRow
from channels.store.transactions.accept import count_decision_attempt
from channels.store.transactions.admit import (
    UUIDS_PER_ADMISSION,
    Admission,
    Decided,
    Held,
    NotYet,
    decide_message,
    refuse_poisoned,
)

POLL_S = 1.0
ROWS_PER_PASS = 500
DECIDED_AT_ONCE = 32  # conversations: all of a burst in one pass of the loop would hold up the acks of its other half
PATIENCE_S = 0.25  # a pass waits so long for the conversations that it has begun
MESSAGES_KEPT = 2_000
ATTEMPTS_AT_MOST = 5

log = get_logger(__name__)


class Dispatch:
    """Decides accepted messages. Starts once the bot knows its own name: without it no mention can be understood."""

    def __init__(
        self,
        context: Context,
        delivery: Delivery,
        commands: Commands,
        claiming: Claiming,
        excerpt_of: Callable[[Message], str],
    ) -> None:
        self._context, self._delivery, self._commands = context, delivery, commands
        self._claiming, self._excerpt_of = claiming, excerpt_of
        self._messages: dict[MessageId, Message] = {}  # of rows that wait; normalising costs more than looking
        self._counted: set[MessageId] = set()
        self._room = asyncio.Semaphore(DECIDED_AT_ONCE)
        self._working: dict[ConversationKey, asyncio.Task[None]] = {}
        self._passed_over: set[ConversationKey] = set()  # they were still at work when a pass came by
        self._skip, self._moved = 0, False  # where the next page of rows begins; whether a row of this one moved
        self.paused = False

    async def run(self) -> None:
        """For ever: look, decide, wait for a ring."""
        await self._context.identified.wait()
        try:
            while True:
                try:
                    if not self.paused:
                        await self._pass()
                except Exception:
                    log.exception(LOOP_FAILED, loop="dispatch")
                await self._context.inbox.wait(POLL_S)
        finally:
            for task in self._working.values():
                task.cancel()
            await asyncio.gather(*self._working.values(), return_exceptions=True)

    async def _pass(self) -> None:
        context = self._context
        rows = await context.database.read(inbox.open_rows, context.now(), ROWS_PER_PASS, self._skip)
        if len(self._messages) > MESSAGES_KEPT:
            self._messages.clear()
        conversations: defaultdict[ConversationKey, list[InboxRow]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: (row.create_time, row.message_id)):
            if row.conversation in self._working:
                self._passed_over.add(row.conversation)
            else:
                conversations[row.conversation].append(row)
        self._moved = False
        begun = {self._begin(conversation, waiting) for conversation, waiting in conversations.items()}
        if begun:
            await asyncio.wait(begun, timeout=PATIENCE_S)
        self._turn_page(len(rows))

    def _turn_page(self, rows: int) -> None:
        """There may be more rows than one page: look again at once, at the next ones where none of these moved."""
        full = rows == ROWS_PER_PASS
        self._skip = self._skip + ROWS_PER_PASS if full and not self._moved else 0
        if full:
            self._context.inbox.ring()

    def _begin(self, conversation: ConversationKey, rows: list[InboxRow]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._take_turn(conversation, rows), name=f"decide-{conversation}")
        self._working[conversation] = task
        return task

    async def _take_turn(self, conversation: ConversationKey, rows: list[InboxRow]) -> None:
        try:
            async with self._room:
                await self._work_through(rows)
        finally:
            del self._working[conversation]
            if conversation in self._passed_over:
                self._passed_over.discard(conversation)
                self._context.inbox.ring()

    async def _work_through(self, rows: list[InboxRow]) -> None:
        """One conversation: its commands at once, the others until one has to wait."""
        waiting = False
        for row in rows:
            try:
                command = self._is_command(row)
                if waiting and not command:
                    continue
                decided = await self._decide(row, command)
                self._moved, waiting = self._moved or decided, waiting or not decided
            except OperationalError as error:  # the disk's fault, not the message's: it waits and no attempt counts
                log.error(LOOP_FAILED, loop="dispatch.storage", message_id=row.message_id, error=str(error))
                return
            except Exception:
                log.exception(LOOP_FAILED, loop="dispatch.message", message_id=row.message_id)
                await self._put_off(row)
                waiting = True

    def _message(self, row: InboxRow) -> Message:
        message = self._messages.get(row.message_id)
        if message is None:
            message = self._messages[row.message_id] = normalise(row.payload, self._context.policy.bot_open_id)
        return message

    def _is_command(self, row: InboxRow) -> bool:
        leftover = row.owner_epoch < self._context.epoch and row.message_id not in self._counted
        if row.attempts >= ATTEMPTS_AT_MOST or leftover:
            return False  # not before its attempt is committed
        message = self._message(row)
        return takes_commands(message, self._context.policy) and parse(message.text) is not None

    async def _decide(self, row: InboxRow, command: bool) -> bool:
        """Decide one row; False when it has to wait."""
        context = self._context
        if row.attempts >= ATTEMPTS_AT_MOST:
            await self._refuse(row)
            return True
        await self._count_leftover(row)
        message = self._message(row)
        found = parse(message.text) if command or takes_commands(message, context.policy) else None
        if found is not None:
            decided: Decided | NotYet | Held = await self._commands.carry_out(found, message)
        elif (claimed := await self._claiming.take(message)) is not None:
            decided = claimed
        else:
            admission = self._admission(message)
            decided = await context.database.run(
                decide_message, row, message, context.policy, admission, context.epoch, context.now()
            )
        return self._follow(row, decided)

    async def _count_leftover(self, row: InboxRow) -> None:
        """An earlier boot may have died of this row: commit the attempt before touching it, once a boot."""
        if row.owner_epoch < self._context.epoch and row.message_id not in self._counted:
            await self._context.database.run(count_decision_attempt, row.message_id, 0)
            self._counted.add(row.message_id)

    def _follow(self, row: InboxRow, decided: Decided | NotYet | Held) -> bool:
        if isinstance(decided, NotYet):
            return False
        if isinstance(decided, Held):
            wait_s = (decided.until_ms - self._context.now()) / 1000
            asyncio.get_running_loop().call_later(max(wait_s, 0), self._context.inbox.ring)
            return True
        self._messages.pop(row.message_id, None)
        self._counted.discard(row.message_id)
        self._delivery.kick(decided.lanes)
        if decided.turn_id is not None:
            self._context.turns.ring()
            log.info(TURN_ADMITTED, message_id=row.message_id, turn_id=decided.turn_id, verdict=decided.verdict)
        elif decided.verdict == "kept":
            self._context.access.ring()
            log.info(ACCESS_KEPT, message_id=row.message_id)
        elif not decided.lanes:
            log.info(MESSAGE_DROPPED, message_id=row.message_id, reason=decided.verdict)
        return True

    def _admission(self, message: Message) -> Admission:
        """Fresh ids and drawings, in case this message gets a turn."""
        context, preferences = self._context, self._context.preferences
        turn_id, envelope = TurnId(context.ids.new("turn")), message.envelope
        thinking = reply_cards(View(turn_id), preferences.language)[0]
        waiting = reply_cards(View(turn_id, phase=Phase.WAITING), preferences.language)[0]
        expired = expired_card(preferences.language)
        queue_full = queue_full_card(preferences.language, context.policy.queue_limit)
        denied, asks = denied_card(preferences.language), context.policy.access.mode == "approval"
        return Admission(
            turn_id=turn_id,
            session_id=SessionId(context.ids.new("session")),
            uuids=context.uuids(UUIDS_PER_ADMISSION),
            agent=preferences.agent_for(envelope.chat_type),
            agents=frozenset(context.agents),
            cwd=workspace_path(preferences.base_dir, envelope.chat_type, envelope.chat_id, envelope.sender.user_id),
            thinking=Drawing(thinking.json, thinking.text),
            waiting=Drawing(waiting.json, waiting.text),
            expired=Drawing(expired.json, expired.text),
            message_json=message_json(message),
            queue_full=Drawing(queue_full.json, queue_full.text),
            denied=Drawing(denied.json, denied.text),
            request_id=context.ids.new("access") if asks else "",
            excerpt=self._excerpt_of(message) if asks else "",
            draw_quota=self._draw_quota,
            max_running=preferences.max_running,
            draw_crowded=partial(self._draw_crowded, turn_id),
        )

    def _draw_crowded(self, turn_id: TurnId, ahead: int) -> Drawing:
        view = View(turn_id, phase=Phase.WAITING, ahead=ahead)
        card = reply_cards(view, self._context.preferences.language)[0]
        return Drawing(card.json, card.text)

    def _draw_quota(self, short: Short) -> Drawing:
        card = quota_card(self._context.preferences.language, short, self._context.policy.quota.zone)
        return Drawing(card.json, card.text)

    async def _put_off(self, row: InboxRow) -> None:
        """Try this message again later; others of the conversation wait behind it."""
        context = self._context
        wait_ms = backoff_ms(row.attempts + 1, context.rng.random())
        await context.database.run(count_decision_attempt, row.message_id, context.now() + wait_ms)

    async def _refuse(self, row: InboxRow) -> None:
        context = self._context
        words = texts(context.preferences.language)
        card = notice_card(
            words.could_not_start_title,
            words.could_not_start.format(reason=words.error_internal),
            template="red",
            language=context.preferences.language,
        )
        drawing = Drawing(card.json, card.text)
        lane = await context.database.run(
            refuse_poisoned, row.message_id, drawing, context.uuids(1)[0], row, context.now()
        )
        self._messages.pop(row.message_id, None)
        self._counted.discard(row.message_id)
        log.error(MESSAGE_REFUSED, message_id=row.message_id, attempts=row.attempts)
        self._delivery.kick((lane,))


def message_json(message: Message) -> str:
    """What the agent will be given, as the snapshot keeps it."""
    resources = [{"kind": one.kind, "file_key": one.file_key, "name": one.name} for one in message.resources]
    return json.dumps({"text": message.text, "resources": resources}, ensure_ascii=False)
