"""What a person sees of an agent that asks: question, press, refusal, the missing right, the lost session."""

import pytest
from playwright.async_api import Page, expect

from channels.cards.gate_texts import gate_texts
from channels.cards.texts import texts
from tests.browser.conftest import OpenHouse, Picture
from tests.browser.gestures import say
from tests.browser.reading import assert_nothing_raw, see
from tests.integration.gate.agent import AskingAgent

ADMINS = {"access": {"admins": ["u_zhang_san", "u_alice"]}}


@pytest.fixture(params=["zh", "en"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shown(language: str, page: Page, english_page: Page) -> Page:
    """The page of somebody who reads this language."""
    return page if language == "zh" else english_page


async def test_a_press_lets_the_agent_go_on(
    shown: Page, language: str, open_house: OpenHouse, keep_picture: Picture
) -> None:
    words, said = gate_texts(language), texts(language)
    house = await open_house(language=language, agent=AskingAgent(), **ADMINS)
    await say(shown, "plan edit execute")
    card = await see(shown, words.title_pending.format(agent="demo"))
    await see(shown, said.phase_asking, 0)
    await expect(card.locator("pre")).to_contain_text("+new")
    await expect(card.get_by_role("button")).to_contain_text([words.allow_once, words.allow_always, words.reject_once])
    await assert_nothing_raw(shown)
    await keep_picture(shown, f"permission-{language}")
    await card.get_by_role("button", name=words.allow_once).click()
    await expect(shown.locator(".toast.success")).to_have_text(words.toast_allowed)
    await expect(shown.locator(".topic-pane .card-title")).to_have_text(
        [said.phase_asking, words.title_allowed, words.title_pending.format(agent="demo")]
    )
    card = await see(shown, words.title_pending.format(agent="demo"))
    await expect(card.locator("pre")).to_contain_text("make test")
    await card.get_by_role("button", name=words.reject_once).click()
    await expect(shown.locator(".topic-pane .card-title")).to_have_text(
        [said.phase_done, words.title_allowed, words.title_denied]
    )
    main = await see(shown, said.phase_done, 0)
    await main.locator(".panel-title").last.click()
    await expect(main.locator(".panel-body").last).to_contain_text("⊘ make test")
    await assert_nothing_raw(shown)
    await keep_picture(shown, f"denied-{language}")
    await house.quiet()


async def test_what_a_restart_cut_off_is_said_to_be_unknown(
    shown: Page, language: str, open_house: OpenHouse, keep_picture: Picture
) -> None:
    said = texts(language)
    house = await open_house(language=language, agent=AskingAgent(), **ADMINS)
    await say(shown, "read stuck")
    main = await see(shown, said.phase_replying)
    await expect(main.locator(".panel-title").last).to_contain_text("2")
    await house.restart()
    main = await see(shown, said.phase_interrupted)
    await expect(main.locator(".panel-title").last).to_have_text(said.tools_unknown.format(count=2, unknown=1))
    await main.locator(".panel-title").last.click()
    await expect(main.locator(".panel-body").last).to_contain_text("? make deploy")
    await expect(main.get_by_role("button", name=said.button_continue)).to_be_visible()
    await assert_nothing_raw(shown)
    await keep_picture(shown, f"cut-off-{language}")
    await house.quiet()


async def test_who_lacks_the_right_can_ask_for_it(
    shown: Page, language: str, open_house: OpenHouse, keep_picture: Picture
) -> None:
    words, said = gate_texts(language), texts(language)
    house = await open_house(language=language, agent=AskingAgent())
    await say(shown, "edit")
    main = await see(shown, said.phase_done)
    await expect(main).to_contain_text(said.lacks_right)
    await main.get_by_role("button", name=said.ask_right).click()
    await see(shown, words.asked_title)
    await assert_nothing_raw(shown)
    await keep_picture(shown, f"right-{language}")
    await house.quiet()


async def test_a_lost_session_begins_afresh_by_a_press(
    shown: Page, language: str, open_house: OpenHouse, keep_picture: Picture
) -> None:
    words, said = gate_texts(language), texts(language)
    house = await open_house(language=language, agent=AskingAgent())
    await say(shown, "open")
    await see(shown, said.phase_done)
    await house.quiet()
    await say(shown, "lost", ".topic-pane")
    failed = await see(shown, said.phase_failed)
    await expect(failed).to_contain_text(said.fresh_offer)
    await keep_picture(shown, f"lost-{language}")
    await failed.get_by_role("button", name=words.fresh_button).click()
    await expect(shown.locator(".topic-pane .card-title")).to_have_text([said.phase_done, said.phase_done])
    await house.quiet()
