"""Whatever a test of access does: in the end the file holds everything that must hold of it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from channels.store.invariants import look
from tests.integration.conftest import OpenHouse
from tests.integration.house import House


@pytest_asyncio.fixture
async def open_house(open_house: OpenHouse) -> AsyncIterator[OpenHouse]:
    """Houses whose files are asked at the end."""
    houses: list[House] = []

    async def open_one(**values: Any) -> House:
        houses.append(await open_house(**values))
        return houses[-1]

    yield open_one
    for house in houses:
        if house.service is not None:
            context = house.service.parts.context
            assert (await context.database.read(look, context.now())).violations == ()
