"""A running emulator and the chat page in real Chromium.

`emulator`, `bot`, `page` (desktop) and `phone` may be used by any test below this folder; `page` and `phone` fail the
test when the browser reported an error. `take_picture` keeps screenshots: in a temporary folder, or with
CHANNELS_PICTURES=1 in `pictures/` beside this file.
"""

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, async_playwright, expect

from channels.emulator import Emulator, EmulatorSettings
from tests.browser.scripted_bot import ScriptedBot

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
PICTURES = Path(__file__).parent / "pictures"

Picture = Callable[[Page, str], Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="session")
async def emulator() -> AsyncIterator[Emulator]:
    running = Emulator(EmulatorSettings(rate_limits=False))
    await running.start()
    yield running
    await running.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def bot(emulator: Emulator) -> AsyncIterator[ScriptedBot]:
    async with ScriptedBot(emulator) as connected:
        yield connected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here runs in one loop and shares one browser: starting Chromium takes longer than most tests."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no Chromium on this machine")
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        await running.close()


async def opened(browser: Browser, url: str, *, phone: bool, language: str = "zh-CN") -> AsyncIterator[Page]:
    """A page of its own context on the emulator, ready for input; afterwards it must have reported no error."""
    context = await browser.new_context(
        viewport=PHONE if phone else DESKTOP, has_touch=phone, locale=language, device_scale_factor=2 if phone else 1
    )
    page = await context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    await page.goto(url)
    await expect(page.locator("body")).to_have_attribute("data-ready", "yes")
    yield page
    await context.close()
    assert errors == []


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, emulator: Emulator) -> AsyncIterator[Page]:
    async for each in opened(browser, emulator.url, phone=False):
        yield each


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, emulator: Emulator) -> AsyncIterator[Page]:
    async for each in opened(browser, emulator.url, phone=True):
        yield each


@pytest.fixture
def take_picture(tmp_path: Path) -> Picture:
    folder = PICTURES if os.environ.get("CHANNELS_PICTURES") == "1" else tmp_path
    folder.mkdir(exist_ok=True)

    async def take(page: Page, name: str) -> None:
        await page.evaluate("document.fonts.ready")
        await page.screenshot(path=folder / f"{name}.png", animations="disabled")

    return take
