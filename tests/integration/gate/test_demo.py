"""What a newcomer sees: the demo as `channels demo` sets it up, and the word that makes it ask."""

import pytest

from channels.cards.texts import texts
from channels.cli.demo import demo_settings
from channels.config import Secret
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.gate.asking import ADMIN, ADMINS, WORDS, asked, became, finished, main_card, press
from tests.integration.house import House


@pytest.fixture
async def demo(open_house: OpenHouse) -> House:
    return await open_house(**ADMINS)


async def test_the_demo_has_an_admin_among_the_emulators_people(demo: House) -> None:
    settings = demo_settings(demo.emulator.url, demo.folder, Secret("x"), "en")
    assert list(settings.access.admins) == ADMINS["access"]["admins"]
    people = {person.user_id for person in demo.world.directory.people.values()}
    assert set(settings.access.admins) <= people


@pytest.mark.parametrize(("label", "says"), [(WORDS.allow_once, "I was allowed"), (WORDS.reject_once, "not allowed")])
async def test_the_admin_is_asked(demo: House, label: str, says: str) -> None:
    message_id = demo.say("ask permission", ADMIN)
    card = await asked(demo, message_id)
    await press(demo, card, label, ADMIN)
    assert says in cards_seen.answer(await finished(demo, message_id))
    await became(demo, card, WORDS.title_allowed if label == WORDS.allow_once else WORDS.title_denied)


async def test_anybody_else_may_ask_for_the_right(demo: House) -> None:
    message_id = demo.say("请求许可")
    card = await finished(demo, message_id)
    assert "你没有改代码的权限" in cards_seen.answer(card)
    assert texts("en").ask_right in cards_seen.words(main_card(demo, message_id))
