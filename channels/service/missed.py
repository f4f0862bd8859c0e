"""Missed messages: what history has and nobody brought.

Three things run here. The keeper of gaps commits, for every connection that stands, what has to be read before
anything is read. The reader works through open gaps, place by place, and puts what it finds through the gate; it also
keeps the pending cards as they should be. The sweep compares lively chats with their history while connected, because
a half-open socket answers pings and brings no events; when it finds something, the connection is built anew. So it is
after hours without any event, whatever the sweep says: it does not see the chats of people who never wrote before.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.feishu.connection import ConnectionHealth
from channels.feishu.events import MessageReceived, normalise
from channels.feishu.history import created_ms
from channels.feishu.messages import Item
from channels.logs import (
    LOOP_FAILED,
    MISSED_FOUND,
    MISSED_GAP_CLOSED,
    MISSED_GAP_OPENED,
    MISSED_PLACE_DELAYED,
    MISSED_PLACE_READ,
    MISSED_PLACE_REFUSED,
    get_logger,
)
from channels.rules.message import Message
from channels.rules.missed import UNDER_WAY_MS, shows_deafness
from channels.rules.retry import backoff_ms
from channels.service.context import Context
from channels.service.intake import Intake
from channels.service.liveness import Liveness, Uncovered
from channels.service.missed_cards import MissedCards
from channels.service.missed_reading import found_events, read_place, threads_in
from channels.store import missed
from channels.store.missed import Container, Gap, Place
from channels.store.transactions.accept import Accepted, Duplicate
from channels.store.transactions.missed import (
    Asked,
    Sorting,
    accept_missed,
    add_threads,
    open_gap,
    sweep_places,
    sweep_start,
    tidy,
)

POLL_S = 1.0
READ_AT_ONCE = 4
SWEEP_ALL_THE_SAME = 12  # times `sweep_s`: then also while events come in
RENEW_S = 3600.0
SILENT_S = 5 * 3600.0  # Feishu sends an event for the last time seven hours after it happened
SCOPE_WORDS = "the app may not read this chat's history: give it the permission im:message.group_msg"
PASSING = (CodeKind.TOKEN, CodeKind.MONTHLY_QUOTA, CodeKind.RATE, CodeKind.SERVER)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MissedPlan:
    """The settings of this part."""

    enabled: bool = True
    window_s: float = 900.0
    sweep_s: float = 300.0
    heartbeat_s: float = 5.0

    @property
    def sweeping(self) -> bool:
        return self.enabled and self.sweep_s > 0


class Missed:
    """Finds what was missed. `rebuild` makes the connection anew; `health` is the connection's."""

    def __init__(
        self,
        context: Context,
        intake: Intake,
        cards: MissedCards,
        liveness: Liveness,
        plan: MissedPlan,
        health: Callable[[], ConnectionHealth],
        rebuild: Callable[[str], None],
    ) -> None:
        self._context, self._intake, self._cards, self._liveness = context, intake, cards, liveness
        self.plan, self._health, self._rebuild = plan, health, rebuild
        self._waits: dict[tuple[int, str], tuple[int, int]] = {}  # (gap, container) → attempts, not before
        self._swept_at = self._renewed_at = self._connected_at = context.clock.monotonic()
        self._connection = 0  # number of the connection that stands since then

    # Gaps

    async def keep_gaps(self) -> None:
        """For every connection that stands: commit what must be read. For ever."""
        while True:
            try:
                uncovered = self._liveness.uncovered()
                if uncovered is not None:
                    await self._cover(uncovered)
            except Exception:
                log.exception(LOOP_FAILED, loop="gaps")
            await self._liveness.changed.wait(POLL_S)

    async def _cover(self, uncovered: Uncovered) -> None:
        context, plan = self._context, self.plan
        if plan.enabled:
            gap = await context.database.run(
                open_gap,
                uncovered.since_ms,
                uncovered.reason,
                int(plan.heartbeat_s * 1000),
                context.clock.wall_ms(),
                context.now(),
                sweeping=plan.sweeping,
            )
            if gap is not None:
                log.info(
                    MISSED_GAP_OPENED, gap_id=gap.gap_id, reason=gap.reason, seconds=(gap.to_ms - gap.from_ms) // 1000
                )
        self._liveness.cover(uncovered)
        context.missed.ring()

    # Reading

    async def run(self) -> None:
        """Read open gaps, keep the cards, sweep; for ever. The bot's own name is needed to know who was meant."""
        await self._context.identified.wait()
        while True:
            try:
                if self.plan.enabled:
                    await self._read_gaps()
                    await self._sweep_if_due()
                    self._rebuild_if_silent()
                await self._renew_if_due()
                await self._cards.draw()
            except Exception:
                log.exception(LOOP_FAILED, loop="missed")
            await self._context.missed.wait(POLL_S)

    async def _read_gaps(self) -> None:
        """One try at everything that is open and due: chats first, then topics, also those that the chats showed."""
        context = self._context
        for gap in await context.database.read(missed.open_gaps):
            for kind in ("chat", "thread"):
                containers = await context.database.read(missed.open_containers, gap.gap_id)
                due = [one for one in containers if one.place.kind == kind and self._is_due(gap, one)]
                for start in range(0, len(due), READ_AT_ONCE):
                    async with asyncio.TaskGroup() as group:
                        for container in due[start : start + READ_AT_ONCE]:
                            group.create_task(self._read_container(gap, container))
            if await context.database.run(missed.close_if_read, gap.gap_id, context.now()):
                self._waits = {key: wait for key, wait in self._waits.items() if key[0] != gap.gap_id}
                log.info(MISSED_GAP_CLOSED, gap_id=gap.gap_id)

    def _is_due(self, gap: Gap, container: Container) -> bool:
        _, not_before = self._waits.get((gap.gap_id, container.place.container), (0, 0))
        return self._context.now() >= not_before

    async def _read_container(self, gap: Gap, container: Container) -> None:
        """Read one place as far as it goes. What fails for now is tried again later; the gap stays open for it."""
        database, name = self._context.database, container.place.container
        try:
            refusal = await self._read_chunks(gap, container)
        except (RetryLater, OutcomeUnknown) as error:
            await self._put_off(gap, container, error, error.after_ms if isinstance(error, RetryLater) else 0)
            return
        except ApiRefused as error:
            if error.kind in PASSING:
                await self._put_off(gap, container, error, 60_000)
                return
            refusal = (
                SCOPE_WORDS if error.kind is CodeKind.SCOPE else f"Feishu refuses: {error.code} {error.msg}".strip()
            )
        except Exception as error:  # a defect that one message brings to light must not hold up the other places
            log.exception(LOOP_FAILED, loop="missed.place", container=name)
            await self._put_off(gap, container, error, 0)
            return
        await database.run(missed.end_container, gap.gap_id, name, refusal or None)
        if refusal:
            log.warning(MISSED_PLACE_REFUSED, gap_id=gap.gap_id, container=name, why=refusal)
        else:
            log.info(MISSED_PLACE_READ, gap_id=gap.gap_id, container=name)

    async def _read_chunks(self, gap: Gap, container: Container) -> str:
        """Take in every chunk and note how far it goes; returns why something had to be left out."""
        database, place, left_out = self._context.database, container.place, ""
        async for chunk in read_place(self._context, container):
            await self._take_in(place, chunk.items)
            if threads := threads_in(place, chunk.items):
                await database.run(add_threads, gap, threads)
            if place.kind == "chat":
                await database.run(missed.set_read_to, gap.gap_id, place.container, chunk.read_to_ms)
            left_out = chunk.cut_short or left_out
        return left_out

    async def _put_off(self, gap: Gap, container: Container, error: Exception, after_ms: int) -> None:
        context, key = self._context, (gap.gap_id, container.place.container)
        attempts = self._waits.get(key, (0, 0))[0] + 1
        wait_ms = max(after_ms, backoff_ms(attempts, context.rng.random()))
        self._waits[key] = (attempts, context.now() + wait_ms)
        log.warning(MISSED_PLACE_DELAYED, gap_id=key[0], container=key[1], error=str(error), again_in_ms=wait_ms)
        await context.database.run(missed.note_error, *key, str(error) or type(error).__name__)

    async def _take_in(self, place: Place, items: Sequence[Item]) -> list[Message]:
        """Put messages through the gate, in order; returns those that nobody had brought."""
        context, found = self._context, await found_events(self._context, place, items)
        messages = [normalise(event.raw, context.policy.bot_open_id) for event in found]
        results = [await self._accept(event, message) for event, message in zip(found, messages, strict=True)]
        fresh = [
            message
            for message, result in zip(messages, results, strict=True)
            if not isinstance(result, Duplicate) and message.envelope.sender.kind == "user"
        ]
        if fresh:
            log.info(MISSED_FOUND, container=place.container, messages=len(fresh))
            context.inbox.ring()
        return fresh

    async def _accept(self, event: MessageReceived, message: Message) -> Accepted | Asked | Duplicate:
        """The gate for one message."""
        context = self._context
        sorting = Sorting(
            policy=context.policy,
            window_ms=int(self.plan.window_s * 1000),
            wall_ms=context.clock.wall_ms(),
            spare_batch_id=context.ids.new("batch"),
            excerpt=self._cards.excerpt_of(message),
        )

        return await self._intake.accept_found(
            event.envelope,
            lambda: context.database.run(accept_missed, message, event.raw, sorting, context.epoch, context.now()),
        )

    # The sweep

    async def _sweep_if_due(self) -> None:
        """While connected: after a while without events, and from time to time all the same."""
        plan, now_s = self.plan, self._context.clock.monotonic()
        if not plan.sweeping or not self._liveness.is_covered:
            return
        quiet_since = max(self._swept_at, self._health().last_frame_at or 0.0)
        if now_s - quiet_since >= plan.sweep_s or now_s - self._swept_at >= SWEEP_ALL_THE_SAME * plan.sweep_s:
            self._swept_at = now_s
            await self._sweep()

    def _rebuild_if_silent(self) -> None:
        """A connection that has brought nothing for hours may be deaf; what it owes is sent again to the next one."""
        health, now_s = self._health(), self._context.clock.monotonic()
        if health.connections != self._connection:
            self._connection, self._connected_at = health.connections, now_s
        quiet_since = max(self._connected_at, health.last_frame_at or 0.0)
        if self.plan.sweeping and self._liveness.is_covered and now_s - quiet_since >= SILENT_S:
            self._connected_at = now_s
            self._rebuild(f"no event has come for {SILENT_S / 3600:.0f} hours")

    async def _sweep(self) -> None:
        """Compare lively chats with their history since the last sweep; what is missing shows a deaf connection."""
        context, database = self._context, self._context.database
        wall_ms, connected_ms = context.clock.wall_ms(), self._liveness.connected_ms
        start_ms = await database.read(sweep_start, wall_ms)
        end_ms = wall_ms - UNDER_WAY_MS
        if end_ms <= start_ms:
            return
        fresh: list[Message] = []
        complete = True
        for place in await database.read(sweep_places, wall_ms):
            try:
                fresh += await self._sweep_place(place, start_ms, end_ms)
            except ApiRefused as refusal:
                complete = complete and refusal.kind not in PASSING
            except (RetryLater, OutcomeUnknown):
                complete = False
        if complete:
            await database.run(missed.record_sweep, start_ms, end_ms, context.now())
        deaf = [one for one in fresh if shows_deafness(one, context.policy, connected_ms, wall_ms)]
        if deaf and self._liveness.connected_ms == connected_ms:
            self._rebuild(f"history has {len(deaf)} messages that the connection did not bring")

    async def _sweep_place(self, place: Place, start_ms: int, end_ms: int) -> list[Message]:
        fresh: list[Message] = []
        async for chunk in read_place(self._context, Container(place, start_ms)):
            fresh += await self._take_in(place, [item for item in chunk.items if created_ms(item) <= end_ms])
        return fresh

    async def _renew_if_due(self) -> None:
        now_s = self._context.clock.monotonic()
        if now_s - self._renewed_at >= RENEW_S:
            self._renewed_at = now_s
            await self._cards.renew()
            await self._context.database.run(tidy, self._context.now())
