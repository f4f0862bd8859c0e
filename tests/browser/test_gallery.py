"""Every card that the product makes, drawn as Feishu draws it: the golden files on the emulator's gallery page."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from channels.emulator import Emulator
from tests.browser.conftest import Picture, opened
from tests.browser.reading import assert_nothing_raw

GOLDEN = Path(__file__).parents[1] / "unit" / "cards" / "golden"
LANGUAGES = ["zh", "en"]
# what people wrote, on the cards that list their messages
QUOTED = ["<安装>", "<install>", "**README**", "<构建>", "<build>", "<1>", "*deploy*", "<b>now</b>"]


@pytest_asyncio.fixture(loop_scope="session", params=LANGUAGES)
async def gallery(browser: Browser, emulator: Emulator, request: pytest.FixtureRequest) -> AsyncIterator[Page]:
    emulator.settings.gallery_folder = GOLDEN
    locale = {"zh": "zh-CN", "en": "en-US"}[request.param]
    async for page in opened(browser, f"{emulator.url}/gallery", phone=False, language=locale):
        yield page


async def test_every_card_is_drawn_whole(gallery: Page, take_picture: Picture) -> None:
    language = "zh" if await gallery.get_by_role("button", name="English").count() else "en"
    names = sorted(path.name for path in GOLDEN.glob(f"*.{language}.json"))
    assert len(names) > 20
    await expect(gallery.locator(".gallery-item h2")).to_have_text(names)
    await expect(gallery.locator(".gallery-error")).to_have_count(0)
    await assert_nothing_raw(gallery, *QUOTED)
    for name in names:
        card = json.loads((GOLDEN / name).read_text(encoding="utf-8"))["card"]
        drawn = gallery.locator(f".gallery-item[data-name='{name}'] .card")
        if header := card.get("header"):
            await expect(drawn.locator(".card-title")).to_have_text(header["title"]["content"])
    clipped = await gallery.eval_on_selector_all(
        ".card, .card-button, .card-title, .panel-title",
        "(nodes) => nodes.filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.innerText)",
    )
    assert clipped == []
    await gallery.set_viewport_size({"width": 1400, "height": 800})
    height = await gallery.evaluate("document.documentElement.scrollHeight")
    await gallery.set_viewport_size({"width": 1400, "height": height})
    await take_picture(gallery, f"gallery-{language}")


async def test_the_other_language_is_one_press_away(gallery: Page) -> None:
    zh = gallery.locator(".gallery-item h2", has_text=".zh.json")
    en = gallery.locator(".gallery-item h2", has_text=".en.json")
    before = await zh.count(), await en.count()
    assert 0 in before and max(before) > 20
    await gallery.click(".language")
    await expect(zh).to_have_count(before[1])
    await expect(en).to_have_count(before[0])
