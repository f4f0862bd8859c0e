"""The whole service against the emulator, in one process, on a real file.

Waits are for facts: `seen` for what people see (asked again at every change of the emulator), `held` for what the
domain file holds (asked again at every commit). Nothing sleeps.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from channels.agents.protocol import Agent
from channels.app import Ports, Service
from channels.clock import SystemIds, SystemRng
from channels.config import Settings, build_settings
from channels.emulator import Emulator, EmulatorSettings
from channels.emulator.faults import Fault
from channels.emulator.ledger import Call, CardState
from channels.emulator.messages import Message
from channels.service.context import Context
from channels.store.tx import Tx
from tests.integration import cards_seen
from tests.integration.taps import MovableClock, Tap

LIMIT_S = 25.0  # for a machine that does much else; facts usually come within milliseconds
REDELIVERY_S = (0.2, 0.4, 0.8, 1.6)
OPEN_ROWS = """
SELECT (SELECT count(*) FROM inbox WHERE terminal_at IS NULL) + (SELECT count(*) FROM outbox WHERE state = 'pending')
     + (SELECT count(*) FROM turns WHERE state <> 'ended') + (SELECT count(*) FROM inflight)
     + (SELECT count(*) FROM establishing WHERE state = 'open')
     + (SELECT count(*) FROM permission_requests WHERE drawn < version)
"""
# how long until the next intent is due, where every open row waits for one of a turn that has ended
PUT_OFF = """
SELECT min(next_attempt_at) - :now FROM outbox WHERE state = 'pending'
AND NOT EXISTS (SELECT 1 FROM inbox WHERE terminal_at IS NULL)
AND NOT EXISTS (SELECT 1 FROM turns WHERE state <> 'ended')
"""
LONG_WAIT_MS = 20_000


def emulator_settings(**changes: Any) -> EmulatorSettings:
    """A platform without rate limits that sends events again soon."""
    values: dict[str, Any] = {"redelivery_s": REDELIVERY_S, "rate_limits": False}
    return EmulatorSettings(**(values | changes))


def settings_of(url: str, folder: Path, **sections: dict[str, Any]) -> dict[str, Any]:
    """Settings as TOML would give them: the demo agent at once, no web, short waits. `sections` change single keys."""
    (folder / "secret").write_text("secret")
    values: dict[str, dict[str, Any]] = {
        "feishu": {
            "app_id": "cli_emulator",
            "app_secret": f"file:{folder / 'secret'}",
            "domain": url,
            "rate_limits": False,
            "request_timeout_s": 3.0,
        },
        "store": {"path": str(folder / "channels.db")},
        "ui": {"language": "en"},
        "agents": {"demo": {"kind": "demo", "pace": 0.0}},
        "turns": {"drain_s": 0.0},
        "web": {"enabled": False, "port": 0},
        "connection": {"first_pause_s": 0.05, "longest_pause_s": 0.2, "fatal_pause_s": 0.2},
    }
    for name, section in sections.items():
        values[name] = values.get(name, {}) | section
    return values


class House:
    """An emulator and at most one service at a time on one file."""

    def __init__(self, folder: Path, emulator: Emulator, **sections: dict[str, Any]) -> None:
        self.folder, self.emulator, self.sections = folder, emulator, sections
        self.world, self.ledger = emulator.world, emulator.ledger
        self.tap, self.clock = Tap(), MovableClock()
        self.service: Service | None = None
        self.agents: Mapping[str, Agent] | None = None  # answer in place of those that the settings name
        self._running: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._committed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.tap.listeners.append(self._ring)

    # Life

    @property
    def settings(self) -> Settings:
        return build_settings(settings_of(self.emulator.url, self.folder, **self.sections), self.folder)

    @property
    def file(self) -> Path:
        """The domain file."""
        return self.folder / "channels.db"

    async def start(self, *, connected: bool = True) -> Service:
        """Boot the service on the file; `connected` waits until it has its connection and its name."""
        ports = Ports(
            self.clock, SystemRng(), SystemIds(), hook=self.tap.statement, probe=self.tap.call, agents=self.agents
        )
        service = self.service = Service(self.settings, ports)
        await service.start()
        self._stop = asyncio.Event()
        self._running = asyncio.create_task(service.run(self._stop))
        if connected:
            async with asyncio.timeout(LIMIT_S):
                await service.parts.connected.wait()
                await service.parts.context.identified.wait()
        return service

    async def stop(self) -> None:
        """The clean way down."""
        if self.service is None or self._running is None:
            return
        service, self.service = self.service, None
        self._stop.set()
        await self._running
        await service.stop()

    async def restart(self) -> Service:
        await self.stop()
        return await self.start()

    def advance(self, seconds: float) -> None:
        """Let time pass here and on the platform, and have every loop look."""
        self.clock.advance(seconds)
        self.emulator.advance(seconds)
        if self.service is not None:
            context = self._context
            for signal in (context.inbox, context.turns, context.outbox, context.permissions):
                signal.ring()

    # Facts

    async def rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        """What the domain file holds now."""
        return await self._context.database.read(_rows, sql, values)

    async def one(self, sql: str, **values: object) -> Any:
        """The first value of the first row, None when there is none."""
        rows = await self.rows(sql, **values)
        return rows[0][0] if rows else None

    async def held(self, sql: str, wanted: object = None, limit_s: float = LIMIT_S, **values: object) -> Any:
        """Wait until `one(sql)` is `wanted` (None: anything that is true)."""
        async with asyncio.timeout(limit_s):
            while True:
                self._committed.clear()
                found = await self.one(sql, **values)
                if (wanted is None and found) or (wanted is not None and found == wanted):
                    return found
                await self._committed.wait()

    async def seen(self, fact: Callable[[], object], limit_s: float = LIMIT_S) -> None:
        """Wait until `fact()` is true of what the emulator shows."""
        await self.ledger.until(fact, limit_s)

    async def passed(self, fact: Callable[[], object], limit_s: float = LIMIT_S) -> None:
        """Wait until `fact()` is true; asked again at every statement and call that the tap sees."""
        moved = asyncio.Event()

        def ring(_name: str) -> None:
            self._loop.call_soon_threadsafe(moved.set)

        self.tap.listeners.insert(0, ring)  # before those that raise or wait
        try:
            async with asyncio.timeout(limit_s):
                while not fact():
                    await moved.wait()
                    moved.clear()
        finally:
            self.tap.listeners.remove(ring)

    async def quiet(self, limit_s: float = LIMIT_S) -> None:
        """Wait until the file holds nothing that still has to happen; what is put off for long is brought forward."""
        async with asyncio.timeout(limit_s):
            while True:
                self._committed.clear()
                if not await self.one(OPEN_ROWS):
                    return
                now = self._context.now()
                wait_ms = await self.one(PUT_OFF, now=now)
                if wait_ms is not None and wait_ms > LONG_WAIT_MS:
                    self.advance((wait_ms + 1) / 1000)
                await self._committed.wait()

    # People

    def say(self, text: str, user: str = "Alice", chat_id: str | None = None, **more: Any) -> str:
        """A person writes (in the private chat where no other is named); returns the message id."""
        return self.world.say(user, chat_id or self.world.private_chat(user), text, **more)

    def replies(self, message_id: str) -> list[Message]:
        return self.ledger.visible_replies(message_id)

    def card(self, message_id: str) -> dict[str, Any]:
        """The card as it looks now."""
        return self.ledger.card_json(message_id)

    def has_ended(self, message_id: str) -> bool:
        """Whether every answer to this message that is a card has stopped running, and there is one."""
        replies = self.replies(message_id)
        states = [self.ledger.card_states(reply.message_id) for reply in replies]
        return bool(replies) and all(not cards_seen.is_running(card[-1].card) for card in states if card)

    async def answered(self, message_id: str, limit_s: float = LIMIT_S) -> Message:
        """Wait until the message has its answer and nothing runs any more; returns the first reply."""
        await self.seen(
            lambda: self.has_ended(message_id) and "Typing" not in self.ledger.reactions(message_id), limit_s
        )
        await self.quiet(limit_s)
        return self.replies(message_id)[0]

    async def done(self, message_id: str, limit_s: float = LIMIT_S) -> None:
        """Wait until the message was taken in and nothing is left to do; whether people saw an answer is not asked."""
        await self.held("SELECT 1 FROM inbox WHERE message_id = :message_id", 1, limit_s, message_id=message_id)
        await self.quiet(limit_s)

    async def ask(self, text: str, user: str = "Alice", chat_id: str | None = None, **more: Any) -> tuple[str, Message]:
        """Write and wait for the answer: the message id and the first reply."""
        message_id = self.say(text, user, chat_id, **more)
        return message_id, await self.answered(message_id)

    async def shown(self, message_id: str) -> Message:
        """Wait until the message has a reply; returns the first."""
        await self.seen(lambda: self.replies(message_id))
        return self.replies(message_id)[0]

    # The witness

    def fault(self, match: str, kind: str, **more: Any) -> Fault:
        """Set a fault on the platform."""
        return self.emulator.faults.add(Fault(match=match, kind=kind, **more))

    def calls(self, kind: str | None = None) -> list[Call]:
        return self.ledger.calls(kind)

    def acks(self, message_id: str) -> list[int | None]:
        """How each delivery of this message's event was acked, None where it was not."""
        return [each.ack_code for each in self.ledger.deliveries(message_id)]

    def states(self, message_id: str) -> list[CardState]:
        return self.ledger.card_states(message_id)

    def assert_answered_once(self, message_id: str, reply: Message | None = None) -> dict[str, Any]:
        """One visible reply, which is a finished card; Typing gone and DONE there. Returns the card."""
        replies = self.replies(message_id)
        assert [each.message_id for each in replies] == [each.message_id for each in replies[:1]], "answered twice"
        assert replies, "not answered"
        card = self.card(replies[0].message_id)
        assert not cards_seen.is_running(card), json.dumps(card, ensure_ascii=False)[:500]
        assert self.ledger.reactions(message_id) == ["DONE"]
        return card

    @property
    def _context(self) -> Context:
        assert self.service is not None, "no service runs"
        return self.service.parts.context

    def _ring(self, name: str) -> None:
        if name == "COMMITTED":
            self._loop.call_soon_threadsafe(self._committed.set)


def _rows(tx: Tx, sql: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
    return tx.rows(sql, values)
