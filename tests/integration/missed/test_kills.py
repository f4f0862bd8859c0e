"""A real process, killed by SIGKILL while it deals with what it missed: nothing is lost, nothing comes twice."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from channels.emulator import GROUP
from tests.integration.child import KillPoint
from tests.integration.children import Child
from tests.integration.conftest import OpenHouse
from tests.integration.house import House, settings_of
from tests.integration.missed.absence import WORDS, all_read, answered, asked_about, became, press

StartChild = Callable[..., Awaitable[Child]]

# From the gap to the card; each is passed at least once in this workload
POINTS = (
    "INSERT INTO missed_gaps",
    "INSERT INTO missed_containers",
    "before list_messages",
    "after_answer list_messages",
    "before get_messages",
    "INSERT INTO missed_batches",
    "INSERT INTO missed_batch_messages",
    "UPDATE missed_batches SET version",
    "UPDATE missed_containers SET read_to_ms",
    "UPDATE missed_containers SET state",
    "UPDATE missed_gaps SET closed_at",
    "UPDATE missed_batches SET drawn",
    "UPDATE missed_batches SET card_number",
    "before send_message",
    "after_effect send_message",
    "after_answer send_message",
)


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> House:
    """An emulator, and a service that asks about everything it missed; Alice and Bob have talked with it."""
    house = await open_house(missed={"window_s": 0.0})
    await house.ask("hello", "Alice")
    await house.ask("hello", "Bob", GROUP, mention_bot=True)
    await house.held("SELECT last_alive_at FROM meta")
    await house.stop()
    return house


@pytest_asyncio.fixture
async def start_child(house: House) -> AsyncIterator[StartChild]:
    children: list[Child] = []

    async def start(*kill: KillPoint) -> Child:
        settings = settings_of(house.emulator.url, house.folder, **house.sections)
        children.append(await Child.start(house.folder, settings, *kill))
        return children[-1]

    yield start
    for child in children:
        await child.stop()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.timeout(90)
async def test_killed_on_the_way_to_the_card(house: House, start_child: StartChild, point: str) -> None:
    private = house.world.private_chat("Alice")
    written = [
        house.say("one", "Alice", push=False),
        house.say("two", "Alice", push=False),
        house.say("three", "Bob", GROUP, mention_bot=True, push=False),
    ]
    child = await start_child(KillPoint(point))
    await child.died()
    await house.start()
    cards = [await asked_about(house, private, 2), await asked_about(house, GROUP, 1)]
    await all_read(house)
    assert [house.replies(message_id) for message_id in written] == [[], [], []]
    await press(house, cards[0], "missed_handle")
    await press(house, cards[1], "missed_handle", "Bob")
    for message_id in written:
        await answered(house, message_id)
    for card in cards:
        await became(house, card, WORDS.missed_handled_title)
    await house.quiet()
    for message_id in written:
        house.assert_answered_once(message_id)


@pytest.mark.parametrize(
    "point",
    ["UPDATE missed_batches SET state", "UPDATE inbox SET state = 'accepted'", "COMMITTED", "before patch_card"],
)
@pytest.mark.timeout(90)
async def test_killed_at_the_press(house: House, start_child: StartChild, point: str) -> None:
    """Before the commit the press counts for nothing and may be made again; after it, it counts."""
    written = house.say("one", "Alice", push=False)
    before = [KillPoint("UPDATE missed_batches SET state")] if point != "UPDATE missed_batches SET state" else []
    child = await start_child(*before, KillPoint(point))
    private = house.world.private_chat("Alice")
    card = await asked_about(house, private, 1)
    await press(house, card, "missed_handle")
    await child.died()
    await house.start()
    decided = await house.one("SELECT state FROM missed_batches") == "handled"
    assert decided == (point in ("COMMITTED", "before patch_card"))
    if not decided:
        await press(house, card, "missed_handle")
    await answered(house, written)
    await became(house, card, WORDS.missed_handled_title)
    await house.quiet()
    house.assert_answered_once(written)
