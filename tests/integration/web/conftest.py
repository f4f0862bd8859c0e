"""A house with its admin page on, and visitors."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.web.visitor import PAGE, Visitor


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> House:
    return await open_house(**PAGE, access={"admins": ["boss"]})


@pytest_asyncio.fixture
async def stranger(house: House) -> AsyncIterator[Visitor]:
    """Somebody without a session."""
    async with Visitor(house) as visitor:
        yield visitor


@pytest_asyncio.fixture
async def admin(house: House) -> AsyncIterator[Visitor]:
    """Logged in."""
    async with Visitor(house) as visitor:
        await visitor.log_in()
        yield visitor
