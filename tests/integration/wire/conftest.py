import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from channels.clock import SystemClock
from channels.emulator import Emulator
from channels.feishu.api import Credentials, FeishuApi, Limits, new_session
from tests.integration.wire.desk import Desk


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    emulator = Emulator()
    await emulator.start()
    yield emulator
    await emulator.stop()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with new_session() as session:
        yield session
    await asyncio.sleep(0)  # aiohttp's transports close on the next turn of the loop


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def credentials(emulator: Emulator) -> Credentials:
    return Credentials("cli_emulator", "secret", emulator.url)


class Passed:
    """A probe that writes down what it passed."""

    def __init__(self) -> None:
        self.points: list[tuple[str, str]] = []

    def __call__(self, point: str, name: str) -> None:
        self.points.append((point, name))


@pytest.fixture
def passed() -> Passed:
    return Passed()


@pytest.fixture
async def api(session: aiohttp.ClientSession, credentials: Credentials, passed: Passed) -> AsyncIterator[FeishuApi]:
    clock = SystemClock()
    api = FeishuApi(session, credentials, clock, Limits(clock), timeout_s=5.0, probe=passed)
    yield api
    await api.close()
