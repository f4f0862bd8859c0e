"""Fixtures: houses that are taken down whatever happens, and logs from warning on in the captured output."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import structlog

from channels import logs
from channels.emulator import Emulator
from tests.integration.house import House, emulator_settings

OpenHouse = Callable[..., Awaitable[House]]


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    logs.configure("warning", "console")
    yield
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest_asyncio.fixture
async def open_house(tmp_path: Path) -> AsyncIterator[OpenHouse]:
    """Makes houses: `await open_house(start=False, platform={…}, turns={…}, …)`; sections are those of the settings."""
    houses: list[House] = []

    async def open_one(
        *, start: bool = True, platform: dict[str, Any] | None = None, **sections: dict[str, Any]
    ) -> House:
        emulator = Emulator(emulator_settings(**(platform or {})))
        await emulator.start()
        emulator.sockets.behaviour.client_config |= {"ReconnectNonce": 1, "ReconnectInterval": 1}
        folder = tmp_path / str(len(houses))
        folder.mkdir()
        house = House(folder, emulator, **sections)
        houses.append(house)
        if start:
            await house.start()
        return house

    yield open_one
    for house in houses:
        await house.stop()
        await house.emulator.stop()


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> House:
    """A house with everything as usual, running and connected."""
    return await open_house()
