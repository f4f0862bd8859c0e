"""A handler for tests of the long connection, and the words to wait for facts with."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp

from channels.clock import SystemClock
from channels.emulator import GROUP, Emulator
from channels.feishu.connection import (
    Answer,
    ConnectionHealth,
    ConnectionSettings,
    ConnectionState,
    Handler,
    LongConnection,
)
from channels.feishu.credentials import Credentials
from channels.feishu.events import CardClicked, MessageReceived, parse
from tests.unit.feishu.clocks import SetRng

ENDPOINT = "POST /callback/ws/endpoint"
QUICK = ConnectionSettings(first_pause_s=0.02, longest_pause_s=0.05, fatal_pause_s=0.1, drain_s=2.0)


class Desk:
    """A handler for tests: remembers what came; can be held up, made to fail or answer something else per text."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.done: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.errors: dict[str, Exception] = {}
        self.click_answer = Answer(200, {"toast": {"type": "success", "content": "pressed"}})

    def hold(self, text: str) -> asyncio.Event:
        return self.gates.setdefault(text, asyncio.Event())

    async def __call__(self, payload: bytes) -> Answer:
        match parse(payload):
            case MessageReceived(_, _, raw):
                text = str(json.loads(json.loads(raw)["event"]["message"]["content"])["text"])
            case CardClicked():
                return self.click_answer
            case other:
                text = type(other).__name__
        self.begun.append(text)
        if text in self.gates:
            await self.gates[text].wait()
        if (error := self.errors.pop(text, None)) is not None:
            raise error
        self.done.append(text)
        return Answer(200)


@asynccontextmanager
async def connected(
    emulator: Emulator,
    session: aiohttp.ClientSession,
    handler: Handler,
    settings: ConnectionSettings = QUICK,
    *,
    wait: bool = True,
    proxy: str | None = None,
    on_change: Callable[[ConnectionHealth], None] | None = None,
) -> AsyncIterator[LongConnection]:
    """A connection that runs for as long as the block does."""
    credentials = Credentials("cli_emulator", "secret", emulator.url)
    connection = LongConnection(
        session, credentials, handler, SystemClock(), SetRng(0.5), settings=settings, proxy=proxy, on_change=on_change
    )
    running = asyncio.create_task(connection.run())
    try:
        if wait:
            await emulator.connected()
        yield connection
    finally:
        running.cancel()
        await asyncio.wait({running})
    assert connection.health.state is ConnectionState.STOPPED


async def fact(question: Callable[[], object]) -> None:
    """Wait until something of ours is so; the emulator's own facts are waited for with `emulator.until`."""
    async with asyncio.timeout(10):
        while not question():  # noqa: ASYNC110 (what is asked about has no signal of its own)
            await asyncio.sleep(0.001)


def say(emulator: Emulator, text: str) -> str:
    return emulator.world.say("Alice", GROUP, text)


def acks(emulator: Emulator, message_id: str) -> list[int | None]:
    return [delivery.ack_code for delivery in emulator.ledger.deliveries(message_id)]


async def acked(emulator: Emulator, message_id: str, *codes: int | None) -> None:
    await emulator.until(lambda: acks(emulator, message_id) == list(codes))
