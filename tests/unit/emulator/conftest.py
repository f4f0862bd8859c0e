"""A running emulator and a bare bot in the test's own loop."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from channels.emulator import Emulator
from tests.unit.emulator.bot import Bot


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    emulator = Emulator()
    await emulator.start()
    yield emulator
    await emulator.stop()


@pytest.fixture
async def bot(emulator: Emulator) -> AsyncIterator[Bot]:
    async with aiohttp.ClientSession(emulator.url) as session:
        bot = Bot(emulator, session)
        yield bot
        for each in bot.sockets:
            await each.socket.close()
