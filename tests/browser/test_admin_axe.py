"""axe-core finds no serious fault on any page of the admin page (package axe-playwright-python, which carries it)."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from channels.rules.access import AccessPolicy
from tests.browser.conftest import DESKTOP, PHONE, OpenHouse, Picture
from tests.browser.test_admin import WEB, assert_fits, fill

SPEC = find_spec("axe_playwright_python")
PATHS = ("/", "/sessions", "/turns", "/outbox", "/people", "/quotas", "/settlement", "/settings", "/nowhere")


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


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("language", ["zh-CN", "en-US"])
async def test_odd_pages_are_fit_for_everybody_too(
    open_house: OpenHouse, browser: Browser, phone: bool, language: str, take_picture: Picture
) -> None:
    """Nothing there yet, somebody waiting with a name that hurts, a refused code, a refused setting, no such page, and
    out for good."""
    house = await open_house(web=WEB, access={"mode": "approval", "admins": ["u_zhang_san"]})
    context = await browser.new_context(viewport=PHONE if phone else DESKTOP, locale=language)
    page, name = await context.new_page(), f"odd-{'phone' if phone else 'desk'}-{language[:2]}"
    assert house.service is not None
    base, found = f"{house.service.web_url}/admin", []

    async def look(title: str) -> None:
        await expect(page.locator("body")).to_have_attribute("data-ready", "yes")
        await expect(page.locator("h1")).to_have_count(1)
        await assert_fits(page)
        await take_picture(page, f"{name}-{title}")
        found.extend(await faults(page))

    await page.goto(f"{base}/login#wrong")
    await page.get_by_role("button").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await look("refused-code")
    await page.goto((await house.service._desk.link({"user": "u_zhang_san"}))["url"])  # a new code, and no new page
    await expect(page.locator("#code")).not_to_have_value("")
    await page.get_by_role("button").click()
    await expect(page.locator(".live")).not_to_be_empty()
    for path in ("sessions", "turns", "outbox", "people", "quotas", "settlement", "settings", "outbox?state=unknown"):
        await page.goto(f"{base}/{path}")
        await look(f"empty-{path.partition('?')[0]}{'-filtered' if '?' in path else ''}")
    stranger = house.world.add_person("<img src=x onerror=alert(1)> \"Robert'); " + "A" * 60)
    house.say("<script>alert(2)</script> " + "please-let-me-in-" * 20, stranger.name)
    await house.held("SELECT count(*) FROM access_requests WHERE state = 'open' AND name <> ''", 1)
    await page.goto(f"{base}/people")
    await expect(page.get_by_text("onerror=alert(1)").first).to_be_visible()
    await look("request")
    await page.goto(f"{base}/settings")
    await page.locator("#base_dir").fill("x" * 900)
    await page.locator("form.narrow button").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await look("refused-setting")
    for path in ("nowhere", "turns?before=x"):
        await page.goto(f"{base}/{path}")
        await look(f"fault-{path.partition('?')[0]}")
    house.service._desk._parts.context.policy = replace(
        house.service._desk._parts.context.policy, access=AccessPolicy(mode="approval")
    )
    await page.goto(f"{base}/people")
    await look("out")
    await context.close()
    assert found == []
