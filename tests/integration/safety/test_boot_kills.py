"""Killed around the boot commit: an anchor is never ahead of its file, and a restored file is recognised once."""

import pytest
import pytest_asyncio

from channels.store.anchor import read_beside
from tests.integration.child import KillPoint
from tests.integration.children import Child
from tests.integration.conftest import OpenHouse
from tests.integration.house import House, settings_of
from tests.integration.safety.putting_back import WAYS, PutBack, compared, keep_copy

BEFORE_COMMIT = (KillPoint("INSERT INTO owners"), KillPoint("COMMIT"))
AFTER_COMMIT = (KillPoint("INSERT INTO owners"), KillPoint("COMMITTED"))
POINTS = pytest.mark.parametrize("points", [BEFORE_COMMIT, AFTER_COMMIT], ids=["before", "after"])
QUARANTINES = "SELECT count(*) FROM quarantine"


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> House:
    return await open_house(start=False)


async def kill_a_boot(house: House, points: tuple[KillPoint, ...]) -> None:
    settings = settings_of(house.emulator.url, house.folder, **house.sections)
    child = await Child.start(house.folder, settings, *points, ready=False)
    await child.died()


@POINTS
async def test_the_first_boot_of_all(house: House, points: tuple[KillPoint, ...]) -> None:
    await kill_a_boot(house, points)
    anchor = read_beside(house.file).anchor
    assert anchor is not None and anchor.epoch == 0, "a file without an anchor would look like a copy"
    await house.start()
    assert await house.one(QUARANTINES) == 0


@POINTS
async def test_a_later_boot(house: House, points: tuple[KillPoint, ...]) -> None:
    await house.start()
    await house.ask("hello")
    await house.stop()
    await kill_a_boot(house, points)
    await house.start()
    assert await house.one(QUARANTINES) == 0


@POINTS
@pytest.mark.parametrize("put_back", WAYS.values(), ids=WAYS.keys())
async def test_the_boot_of_a_restored_file(house: House, points: tuple[KillPoint, ...], put_back: PutBack) -> None:
    await house.start()
    copy = await keep_copy(house)
    message_id, _ = await house.ask("after the backup")
    await house.stop()
    put_back(house, copy)
    await kill_a_boot(house, points)
    await house.start()
    await compared(house)
    assert await house.one(QUARANTINES) == 1
    assert read_beside(house.file).mark is None
    assert len(house.replies(message_id)) == 1
    entered_at = await house.one("SELECT entered_at FROM quarantine")
    await house.restart()
    assert await house.one("SELECT entered_at FROM quarantine") == entered_at, "it was recognised a second time"
