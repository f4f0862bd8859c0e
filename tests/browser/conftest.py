"""A running emulator and the chat page in real Chromium.

`emulator`, `bot`, `page` (desktop), `english_page` and `phone` may be used by any test below this folder; the pages
fail the test when the browser reported an error. `open_house` puts the real service behind the page instead of the
scripted bot. `take_picture` puts screenshots into a temporary folder (`--basetemp` chooses it); `keep_picture` puts
those that the READMEs show into `pictures/` beside this file when CHANNELS_PICTURES=1 is set.
"""

import logging
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import structlog
from playwright.async_api import Browser, Page, ViewportSize, async_playwright, expect

from channels import logs
from channels.agents.protocol import Agent
from channels.emulator import Emulator, EmulatorSettings
from tests.browser.scripted_bot import ScriptedBot
from tests.integration.house import House  # imports lark_channel, which must happen before any loop runs

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
PICTURES = Path(__file__).parent / "pictures"

expect.set_options(timeout=15_000)  # for a machine that does much else; facts usually come within milliseconds

Picture = Callable[[Page, str], Awaitable[None]]
OpenHouse = Callable[..., Awaitable[House]]


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


@pytest_asyncio.fixture(loop_scope="session")
async def open_house(emulator: Emulator, tmp_path: Path, service_logs: None) -> AsyncIterator[OpenHouse]:
    """`await open_house(pace=1.0, language="zh", turns={…}, …)`: the service with the demo agent on this emulator.

    `pace` 0 answers at once; `agent` answers in the demo agent's place. Sections are those of the settings.
    """
    houses: list[House] = []

    async def open_one(
        *, pace: float = 0.0, language: str = "zh", agent: Agent | None = None, **sections: dict[str, Any]
    ) -> House:
        agents = {"demo": {"kind": "demo", "pace": pace}}
        cards = {"frame_gaps_ms": [0, 250]}  # the usual gaps of seconds spare calls; here they would only cost time
        house = House(tmp_path, emulator, agents=agents, ui={"language": language}, **({"cards": cards} | sections))
        house.agents = {"demo": agent} if agent is not None else None
        houses.append(house)
        await house.start()
        return house

    yield open_one
    for house in houses:
        await house.stop()


@pytest.fixture
def service_logs() -> Iterator[None]:
    """Logs from warning on, in the captured output."""
    handlers, level = logging.root.handlers[:], logging.root.level
    logs.configure("warning", "console")
    yield
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


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
async def english_page(browser: Browser, emulator: Emulator) -> AsyncIterator[Page]:
    """The page in English, as Alice."""
    async for each in opened(browser, emulator.url, phone=False, language="en-US"):
        await each.select_option(".identity", label="Alice")
        yield each


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, emulator: Emulator) -> AsyncIterator[Page]:
    async for each in opened(browser, emulator.url, phone=True):
        yield each


@pytest.fixture
def take_picture(tmp_path: Path) -> Picture:
    return _camera(tmp_path / "pictures")


@pytest.fixture
def keep_picture(tmp_path: Path) -> Picture:
    return _camera(PICTURES if os.environ.get("CHANNELS_PICTURES") == "1" else tmp_path / "pictures")


def _camera(folder: Path) -> Picture:
    folder.mkdir(exist_ok=True)

    async def take(page: Page, name: str) -> None:
        await page.mouse.move(0, 0)  # no button that only shows under the pointer
        await page.evaluate("document.fonts.ready")
        await page.screenshot(path=folder / f"{name}.png", animations="disabled")

    return take
