"""The pending card on the chat page: what came while the service was away, and what a press makes of it."""

import re

from playwright.async_api import Locator, Page, expect

from channels.emulator import GROUP
from tests.browser.conftest import OpenHouse, Picture
from tests.browser.gestures import open_chat
from tests.browser.reading import assert_nothing_raw
from tests.integration.house import House
from tests.integration.missed.absence import HOUR_S, write_while_away

CHINESE = ["帮我看一下昨天的构建为什么失败", "顺便把 **README** 里的 <安装> 一节改一下", "周报什么时候发？"]
ENGLISH = [
    "why did yesterday's build fail?",
    "and mend the <install> part of the **README**",
    "when is the report due?",
]


async def three_questions(house: House, questions: list[str]) -> None:
    """Two people ask in the group while the service is away for three hours."""
    await house.ask("hello", "Alice", GROUP, mention_bot=True)

    def asks(number: int, user: str) -> str:
        return house.say(questions[number], user, GROUP, mention_bot=True, push=False)

    steps = [lambda: asks(0, "Alice"), lambda: asks(1, "Bob"), lambda: asks(2, "Alice")]
    await write_while_away(house, 3 * HOUR_S, steps)


def pending(page: Page, title: str) -> Locator:
    return page.locator(".chat-pane .card").filter(has=page.locator(".card-title", has_text=re.compile(f"^{title}$")))


async def test_the_pending_card_in_chinese(
    page: Page, open_house: OpenHouse, keep_picture: Picture, take_picture: Picture
) -> None:
    house = await open_house(access={"admins": ["u_zhang_san"]})
    await three_questions(house, CHINESE)
    await open_chat(page, GROUP)
    card = pending(page, "离线期间的消息")
    await expect(card).to_contain_text("有 3 条消息没有及时看到")
    await expect(card.locator(".person-tag")).to_have_text(["Alice", "Bob", "Alice"])
    await expect(card).to_contain_text("<安装>")
    await expect(card.locator("time")).to_have_count(6)
    await assert_nothing_raw(page, "<安装>")
    await keep_picture(page, "missed-zh")
    await card.get_by_role("button", name="全部处理").click()
    await expect(page.locator(".toast.success")).to_have_text("正在处理 3 条消息")
    decided = pending(page, "已开始处理")
    await expect(decided.locator(".person-tag").first).to_have_text("张三")
    await expect(decided.get_by_role("button")).to_have_count(0)
    await house.quiet()
    await take_picture(page, "missed-handled-zh")


async def test_the_pending_card_in_english(
    english_page: Page, open_house: OpenHouse, keep_picture: Picture, take_picture: Picture
) -> None:
    page, house = english_page, await open_house(language="en")
    await three_questions(house, ENGLISH)
    await open_chat(page, GROUP)
    card = pending(page, "While I was away")
    await expect(card).to_contain_text("Messages that I did not see in time: 3")
    await keep_picture(page, "missed-en")
    await card.get_by_role("button", name="Ignore").click()
    await expect(page.locator(".toast.success")).to_have_text("Left unanswered.")
    decided = pending(page, "Left unanswered")
    await expect(decided.locator(".person-tag").first).to_have_text("Alice")
    await expect(decided.get_by_role("button")).to_have_count(0)
    await take_picture(page, "missed-ignored-en")


async def test_the_pending_card_in_a_private_chat_on_a_phone(
    phone: Page, open_house: OpenHouse, take_picture: Picture
) -> None:
    """One person: no names are needed."""
    house = await open_house()
    await house.ask("你好", "张三")
    steps = [lambda text=text: house.say(text, "张三", push=False) for text in CHINESE]
    await write_while_away(house, 3 * HOUR_S, steps)
    await open_chat(phone, house.world.private_chat("张三"))
    card = pending(phone, "离线期间的消息")
    await expect(card.locator(".person-tag")).to_have_count(0)
    await take_picture(phone, "missed-private-zh")
