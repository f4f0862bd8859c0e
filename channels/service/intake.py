"""Frame → message-id gate → one commit → ack.

The answer that `handle` returns is the ack: it says 200 only when what it stands for is durable. A second delivery of
a message that is being committed waits for that commit and gets the same answer, so that a commit that fails is told
to both.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import assert_never

from channels.feishu import events
from channels.feishu.connection import Answer
from channels.ids import EventId, MessageId
from channels.logs import (
    EVENT_RECORDED,
    EVENT_SKIPPED,
    MESSAGE_ACCEPTED,
    MESSAGE_DROPPED,
    MESSAGE_DUPLICATED,
    get_logger,
)
from channels.rules.message import Envelope
from channels.rules.routing import drop_at_the_door
from channels.service.clicks import Clicks
from channels.service.context import Context
from channels.service.guiding import Guiding
from channels.service.stopping import Stopping
from channels.store.transactions.accept import Accepted, Duplicate, accept_message
from channels.store.transactions.missed import Asked, lose_chat

OK = Answer(200)
Outcome = Accepted | Asked | Duplicate
PlaceEvent = events.BotAdded | events.BotRemoved | events.ChatDisbanded | events.PrivateChatEntered

log = get_logger(__name__)


class Intake:
    """The handler of the long connection."""

    def __init__(self, context: Context, clicks: Clicks, stopping: Stopping, guiding: Guiding) -> None:
        self._context, self._clicks, self._stopping, self._guiding = context, clicks, stopping, guiding
        self._committing: dict[MessageId, asyncio.Future[Outcome]] = {}
        self._ringing = False
        self.accepted = 0
        self.duplicates = 0
        self.asked = 0

    async def handle(self, payload: bytes) -> Answer:
        """The ack of one event. Raises when it could not be made durable (the connection then says 500)."""
        event = events.parse(payload)
        match event:
            case events.MessageReceived(_, envelope, raw):
                await self.accept_found(envelope, lambda: self._commit(envelope, raw))
            case events.CardClicked():
                return await self._clicks.handle(event)
            case events.MessageRecalled(event_id, message_id):
                await self._recall(event_id, message_id)
            case events.BotAdded() | events.BotRemoved() | events.ChatDisbanded() | events.PrivateChatEntered():
                await self._record(event)
            case events.ReactionAdded() | events.UnknownEvent():
                log.debug(EVENT_SKIPPED, event_id=event.event_id)
            case events.Malformed(why):
                log.error(EVENT_SKIPPED, why=why)
            case _:
                assert_never(event)
        return OK

    async def accept_found(self, envelope: Envelope, commit: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """One acceptance per message id, whatever comes at the same moment; `commit` is run for the first.

        Whoever comes while it runs waits for it and hears of the same failure; where it succeeded, theirs is a
        duplicate.
        """
        running = self._committing.get(envelope.message_id)
        if running is not None:
            await asyncio.shield(running)
            self._count(Duplicate(), envelope)
            return Duplicate()
        future = asyncio.ensure_future(commit())
        self._committing[envelope.message_id] = future
        future.add_done_callback(lambda done: self._forget(envelope.message_id, done))
        result = await asyncio.shield(future)
        self._count(result, envelope)
        return result

    def _commit(self, envelope: Envelope, raw: str) -> Awaitable[Outcome]:
        context = self._context
        drop = drop_at_the_door(envelope, context.policy)
        return context.database.run_first(accept_message, envelope, raw, context.epoch, drop, context.now())

    def _forget(self, message_id: MessageId, done: asyncio.Future[Outcome]) -> None:
        self._committing.pop(message_id, None)
        if not done.cancelled():
            done.exception()  # seen: every waiter was told, also when all of them have gone
        if not self._ringing:  # once for all that one COMMIT released, and behind their acks
            self._ringing = True
            asyncio.get_running_loop().call_soon(self._ring)

    def _ring(self) -> None:
        """Wake the dispatch: also when the ack timed out, for the row may be there."""
        self._ringing = False
        self._context.inbox.ring()

    def _count(self, result: Outcome, envelope: Envelope) -> None:
        match result:
            case Duplicate():
                self.duplicates += 1
                log.info(MESSAGE_DUPLICATED, message_id=envelope.message_id)
            case Accepted(None):
                self.accepted += 1
                # its decision is the line that people read; one more here would be a tenth of what an ack costs
                log.debug(MESSAGE_ACCEPTED, message_id=envelope.message_id, chat_id=envelope.chat_id)
            case Asked():
                self.asked += 1
            case Accepted(reason):
                log.info(MESSAGE_DROPPED, message_id=envelope.message_id, reason=reason)

    async def _record(self, event: PlaceEvent) -> None:
        """What the event says about where the bot is; those places are where messages can be missed."""
        run, now, kind = self._context.database.run, self._context.now(), type(event).__name__
        match event:
            case events.BotAdded():
                fresh = await self._guiding.bot_added(event)
            case events.BotRemoved(event_id, chat_id) | events.ChatDisbanded(event_id, chat_id):
                fresh = await run(lose_chat, event_id, kind, chat_id, now)
            case events.PrivateChatEntered():
                fresh = await self._guiding.private_chat_entered(event)
            case _:
                assert_never(event)
        log.info(EVENT_RECORDED, kind=kind, subject=event.chat_id, fresh=fresh)

    async def _recall(self, event_id: EventId, message_id: MessageId) -> None:
        await self._stopping.recall(event_id, message_id)
        self._context.inbox.ring()
