"""A real process, killed by SIGKILL around the accept commit: an ack means that the row is durable."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest_asyncio

from tests.integration.child import KillPoint
from tests.integration.children import Child
from tests.integration.conftest import OpenHouse
from tests.integration.house import House, settings_of

StartChild = Callable[..., Awaitable[Child]]


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> House:
    """An emulator alone: the service runs in children, and at the end here."""
    return await open_house(start=False)


@pytest_asyncio.fixture
async def start_child(house: House) -> AsyncIterator[StartChild]:
    children: list[Child] = []

    async def start(*kill: KillPoint, **sections: dict[str, object]) -> Child:
        settings = settings_of(house.emulator.url, house.folder, **(house.sections | sections))
        children.append(await Child.start(house.folder, settings, *kill))
        return children[-1]

    yield start
    for child in children:
        await child.stop()


async def test_killed_between_commit_and_ack(house: House, start_child: StartChild) -> None:
    """Field report 1: the row is there, no ack has left; the second delivery is only acked."""
    child = await start_child(KillPoint("INSERT INTO inbox"), KillPoint("COMMITTED"))
    message_id = house.say("hello")
    await child.died()
    assert not any(house.acks(message_id))
    await house.start(connected=False)
    assert await house.one("SELECT count(*) FROM inbox") == 1
    await house.answered(message_id)
    await house.seen(lambda: house.acks(message_id)[-1:] == [200])
    house.assert_answered_once(message_id)
    assert await house.one("SELECT count(*) FROM turns") == 1


async def test_killed_before_commit(house: House, start_child: StartChild) -> None:
    """No row, no ack; the second delivery brings the answer."""
    child = await start_child(KillPoint("INSERT INTO inbox"), KillPoint("COMMIT"))
    house.emulator.settings.redelivery_s = (60.0,)
    message_id = house.say("hello")
    await child.died()
    assert not any(house.acks(message_id))
    await house.start()
    assert await house.one("SELECT count(*) FROM inbox") == 0
    house.emulator.advance(4)  # the ack is overdue: from here on the platform counts its minute
    house.emulator.advance(61)
    await house.answered(message_id)
    house.assert_answered_once(message_id)
    assert [each for each in house.acks(message_id) if each is not None] == [200]
