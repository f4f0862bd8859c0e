"""axe-core finds no serious fault on any page of the admin page (package axe-playwright-python, which carries it)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, OpenHouse
from tests.browser.test_admin import WEB, fill

SPEC = find_spec("axe_playwright_python")
PATHS = ("/", "/sessions", "/turns", "/outbox", "/people", "/settings", "/nowhere")


async def faults(page: Page) -> list[tuple[str, str, list[Any]]]:
    """Serious and critical findings."""
    assert SPEC is not None and SPEC.origin is not None
    await page.evaluate((Path(SPEC.origin).parent / "axe.min.js").read_text(encoding="utf-8"))
    answer = await page.evaluate("axe.run(document)")
    assert answer["passes"], "axe has looked at something"
    serious = [one for one in answer["violations"] if one["impact"] in ("serious", "critical")]
    return [(page.url, one["id"], [node["html"] for node in one["nodes"]]) for one in serious]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("phone", [False, True])
async def test_axe_finds_nothing_serious(open_house: OpenHouse, browser: Browser, phone: bool, scheme: Any) -> None:
    house = await open_house(web=WEB, access={"mode": "open", "admins": ["u_zhang_san"]})
    await fill(house)
    session_id = await house.one("SELECT session_id FROM session_events WHERE kind = 'tool/call' LIMIT 1")
    context = await browser.new_context(viewport=PHONE if phone else DESKTOP, color_scheme=scheme, locale="zh-CN")
    page = await context.new_page()
    assert house.service is not None
    await page.goto((await house.service._desk.link({}))["url"])
    await expect(page.locator("body")).to_have_attribute("data-ready", "yes")
    found = await faults(page)
    await page.get_by_role("button").click()
    await expect(page.locator(".live")).to_have_text("实时")
    for path in (*PATHS, f"/sessions/{session_id}"):
        await page.goto(f"{house.service.web_url}/admin{path}")
        for details in await page.locator("summary").all():
            await details.click()
        found += await faults(page)
    await context.close()
    assert found == []
