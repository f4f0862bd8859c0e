"""The guide card: once for a person, once for every time the bot comes into a group."""

from channels.emulator.accounts import GROUP
from channels.emulator.messages import Message
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

GUIDES = "SELECT count(*) FROM outbox WHERE lane LIKE 'guide:%'"


def guides(house: House, chat_id: str) -> list[Message]:
    """Messages of ours in a chat that show a guide."""
    found = [each for each in house.world.timeline.in_chat(chat_id) if each.by_bot]
    return [each for each in found if "Hello, I am" in cards_seen.title(house.card(each.message_id))]


async def test_a_person_is_greeted_once(house: House) -> None:
    chat_id = house.world.private_chat("Bob")
    for _ in range(3):
        house.world.enter_private_chat("Bob")
    await house.seen(lambda: guides(house, chat_id))
    await house.restart()
    house.world.enter_private_chat("Bob")
    await house.ask("hello", "Bob")
    (guide,) = guides(house, chat_id)
    assert WORDS.guide_private in cards_seen.words(house.card(guide.message_id))
    assert await house.one(GUIDES) == 1


async def test_a_group_is_greeted_whenever_the_bot_comes_in(house: House) -> None:
    for count in (1, 2):
        house.world.add_bot(GROUP)
        await house.seen(lambda: len(guides(house, GROUP)) == count)  # noqa: B023
        house.world.remove_bot(GROUP)
        await house.held("SELECT count(*) FROM events WHERE kind = 'BotRemoved'", count)
    house.world.add_bot(GROUP)
    await house.seen(lambda: len(guides(house, GROUP)) == 3)
    words = cards_seen.words(house.card(guides(house, GROUP)[0].message_id))
    assert WORDS.guide_group in words and WORDS.guide_private not in words


async def test_nobody_is_invited_to_write_where_nobody_is_answered(open_house: OpenHouse) -> None:
    house = await open_house(chat={"dm": "users", "dm_users": ["u_bob"]})
    for user in ("Alice", "Bob"):
        house.world.enter_private_chat(user)
    await house.seen(lambda: guides(house, house.world.private_chat("Bob")))
    await house.held("SELECT count(*) FROM guided_chats", 2)
    assert guides(house, house.world.private_chat("Alice")) == []


async def test_the_guide_survives_a_platform_that_takes_no_card(house: House) -> None:
    """It goes as text then, once."""
    house.fault("POST *v1/messages", "error", code=230099)
    house.world.enter_private_chat("Bob")
    chat_id = house.world.private_chat("Bob")
    await house.seen(lambda: [each for each in house.world.timeline.in_chat(chat_id) if each.message_type == "text"])
    await house.quiet()
    assert len(house.world.timeline.in_chat(chat_id)) == 1
