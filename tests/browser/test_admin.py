"""The admin page in Chromium: every page and every change, on a desk and on a phone."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from sqlite3 import OperationalError
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from channels.ids import OpenId, UserId
from channels.rules.access import Actor
from channels.store.transactions.access import Person
from channels.store.transactions.reserve import LimitChange
from tests.browser.conftest import DESKTOP, PHONE, OpenHouse, Picture
from tests.integration.house import House
from tests.integration.taps import Failing

WEB = {"enabled": True, "admin": True, "port": 0}
Enter = Callable[..., Awaitable[Page]]


@pytest_asyncio.fixture(loop_scope="session")
async def house(open_house: OpenHouse) -> House:
    return await open_house(language="zh", web=WEB)


@pytest_asyncio.fixture(loop_scope="session")
async def enter(browser: Browser, house: House) -> AsyncIterator[Enter]:
    """`await enter(phone=False, language="zh-CN")`: a page of its own, logged in through a link as a person does it.

    Afterwards no page may have reported an error; a policy that was broken is one.
    """
    contexts: list[Any] = []
    errors: list[str] = []

    async def log_in(*, phone: bool = False, language: str = "zh-CN") -> Page:
        context = await browser.new_context(
            viewport=PHONE if phone else DESKTOP,
            has_touch=phone,
            locale=language,
            device_scale_factor=2 if phone else 1,
        )
        contexts.append(context)
        page = await context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        assert house.service is not None
        answer = await house.service._desk.link({})
        await page.goto(answer["url"])
        await expect(page.locator("body")).to_have_attribute("data-ready", "yes")
        assert "#" not in page.url, "the code does not stay in the address bar"
        await page.get_by_role("button").click()
        await expect(page.locator(".live")).to_have_text("实时" if language == "zh-CN" else "live")
        return page

    yield log_in
    for context in contexts:
        await context.close()
    assert errors == []


async def assert_fits(page: Page) -> None:
    """Nothing sticks out to the side."""
    width, shown = await page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width <= shown, page.url


async def fill(house: House) -> None:
    """Something to look at: long, short, with tools, failed, with markup in it."""
    await house.ask("tools")
    await house.ask("markdown")
    await house.ask("你好，请帮我看看这个 <b>文件</b>", user="Bob")
    await house.ask("error", user="张三")
    await house.ask("a-very-long-word-" * 30, user="Bob")
    await fill_books(house)


async def fill_books(house: House) -> None:
    """Limits that are half used, a stopped session, and a settlement that waits with an error."""
    assert house.service is not None
    ledger, boss = house.service.parts.ledger, Actor(UserId("u_zhang_san"), OpenId(""), "page")
    await house.held("SELECT count(*) FROM reservations WHERE state = 'held'", 0)
    await ledger.quotas.set_limits(boss, "id:u_alice", LimitChange(5, 100, 1_000_000, 0))
    await ledger.quotas.set_limits(boss, "id:u_bob", LimitChange(turns_per_day=2))
    await ledger.desk.stop(boss, {"session_id": "a session of long ago"})
    house.tap.listeners.append(Failing("INSERT INTO releases", lambda: OperationalError("database is locked")))
    await house.ask("books", user="张三")


async def walk(page: Page, house: House, take_picture: Picture, name: str) -> None:
    """Every page, looked at."""
    base = page.url.removesuffix("/")
    tools = await house.one("SELECT session_id FROM session_events WHERE kind = 'tool/call' LIMIT 1")
    formatted = await house.one("SELECT session_id FROM session_events WHERE body LIKE '%markdown%' LIMIT 1")
    paths = {
        "people": "/people",
        "health": "/",
        "sessions": "/sessions",
        "turns": "/turns",
        "outbox": "/outbox",
        "quotas": "/quotas",
        "settlement": "/settlement",
        "settings": "/settings",
    }
    paths |= {"session": f"/sessions/{tools}", "prose": f"/sessions/{formatted}"}
    for title, path in paths.items():
        await page.goto(base + path)
        await expect(page.locator("body")).to_have_attribute("data-ready", "yes")
        await expect(page.locator("h1")).to_have_count(1)
        await assert_fits(page)
        before = page.viewport_size
        assert before is not None
        if before["width"] < DESKTOP["width"]:
            await page.set_viewport_size({"width": 320, "height": 640})  # the narrowest that people carry
            await assert_fits(page)
            await page.set_viewport_size(before)
        await take_picture(page, f"admin-{name}-{title}")


async def test_every_page_on_a_desk(house: House, enter: Enter, take_picture: Picture) -> None:
    await fill(house)
    await walk(await enter(language="zh-CN"), house, take_picture, "desk")


async def test_every_page_on_a_phone(house: House, enter: Enter, take_picture: Picture) -> None:
    await fill(house)
    await walk(await enter(phone=True, language="en-US"), house, take_picture, "phone")


async def test_numbers_change_without_a_reload(house: House, enter: Enter) -> None:
    page = await enter()
    await page.evaluate("window.stayed = true")
    sessions = page.locator("[data-figure=sessions]")
    await expect(sessions).to_have_text("0")
    await house.ask("hello")
    await expect(sessions).to_have_text("1")
    assert await page.evaluate("window.stayed") is True


async def test_a_service_that_does_not_answer_is_said(house: House, browser: Browser) -> None:
    context = await browser.new_context(locale="en-US")  # failed requests are what this test wants to see
    page = await context.new_page()
    assert house.service is not None
    await page.goto((await house.service._desk.link({}))["url"])
    await page.get_by_role("button").click()
    await expect(page.locator(".live")).to_have_text("live")
    await house.stop()
    await expect(page.locator(".live.lost")).to_contain_text("these numbers are old")
    await context.close()


async def test_settings_are_set_and_the_record_shows_it(house: House, enter: Enter, take_picture: Picture) -> None:
    page = await enter(language="en-US")
    await page.get_by_role("link", name="Settings").click()
    folder = str(house.folder / "elsewhere")
    await page.get_by_label("Folder of all workspaces").fill(folder)
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status")).to_have_text("Saved.")
    await expect(page.locator("#base_dir_hint")).to_contain_text(f"In force now: {folder}")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(page.locator("tbody tr")).to_contain_text("console")
    await take_picture(page, "admin-desk-saved")


async def test_people_are_let_in_and_switched(open_house: OpenHouse, browser: Browser, take_picture: Picture) -> None:
    house = await open_house(language="zh", web=WEB, access={"mode": "approval", "admins": ["u_zhang_san"]})
    context = await browser.new_context(viewport=PHONE, has_touch=True, device_scale_factor=2, locale="zh-CN")
    page = await context.new_page()
    assert house.service is not None
    await page.goto((await house.service._desk.link({}))["url"])
    await page.get_by_role("button").click()
    message_id = house.say("可以让我用一下吗？", "Bob")
    await house.held("SELECT count(*) FROM access_requests WHERE state = 'open'", 1)
    await page.get_by_role("link", name="人员").click()
    await assert_fits(page)
    await take_picture(page, "admin-phone-request")
    await page.get_by_role("button", name="同意").click()
    await expect(page.get_by_role("status")).to_have_text("已保存。")
    await expect(page.get_by_text("没有等待决定的申请。")).to_be_visible()
    await house.held("SELECT state FROM inbox WHERE message_id = :message_id", "done", message_id=message_id)
    await page.get_by_label("修改代码").first.check()
    await page.get_by_role("button", name="保存").first.click()
    await expect(page.get_by_label("修改代码").first).to_be_checked()
    await house.held("SELECT code_write FROM access_users WHERE user_id = 'u_bob'", 1)
    await assert_fits(page)
    await take_picture(page, "admin-phone-switched")
    await page.set_viewport_size(DESKTOP)
    await page.get_by_label("其他人").last.scroll_into_view_if_needed()
    await take_picture(page, "admin-desk-people")
    await context.close()


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_page_as_the_readme_shows_it(
    open_house: OpenHouse, browser: Browser, keep_picture: Picture, language: str
) -> None:
    """Somebody waits, somebody was let in, and the audit log says by whom."""
    house = await open_house(language=language, web=WEB, access={"mode": "approval", "admins": ["u_zhang_san"]})
    assert house.service is not None
    boss, access = Actor(UserId("u_zhang_san"), OpenId("ou_zhang_san"), "chat"), house.service._desk.access
    await access.grant(boss, Person(UserId("u_alice"), OpenId("ou_alice"), "Alice"), frozenset({"code_write"}))
    house.say({"zh": "可以让我用一下吗？", "en": "May I ask you something?"}[language], "Bob")
    await house.held("SELECT count(*) FROM access_requests WHERE state = 'open' AND name <> ''", 1)
    context = await browser.new_context(viewport=DESKTOP, locale={"zh": "zh-CN", "en": "en-US"}[language])
    page = await context.new_page()
    await page.goto((await house.service._desk.link({"user": "u_zhang_san"}))["url"])
    await page.get_by_role("button").click()
    await page.get_by_role("link", name={"zh": "人员", "en": "People"}[language]).click()
    await expect(page.locator("body")).to_have_attribute("data-ready", "yes")
    await keep_picture(page, f"admin-{language}")
    await context.close()


async def test_what_does_not_do_is_explained_and_kept_in_the_field(
    house: House, browser: Browser, take_picture: Picture
) -> None:
    context = await browser.new_context(viewport=PHONE, locale="zh-CN")  # Chromium reports every 422 as an error
    page = await context.new_page()
    assert house.service is not None
    await page.goto((await house.service._desk.link({}))["url"])
    await page.get_by_role("button").click()
    await page.get_by_role("link", name="设置").click()
    await page.get_by_label("所有工作目录的根目录").fill("relative")
    await page.get_by_role("button", name="保存").click()
    await expect(page.get_by_role("alert")).to_contain_text("workspace.base_dir")
    await expect(page.get_by_label("所有工作目录的根目录")).to_have_value("relative")
    await take_picture(page, "admin-phone-refused")
    await context.close()


async def test_logging_out_ends_it_everywhere(house: House, enter: Enter, take_picture: Picture) -> None:
    page = await enter(language="en-US")
    other = await page.context.new_page()
    await other.goto(page.url)
    await page.get_by_role("button", name="Log out").click()
    await expect(page).to_have_url(re.compile("/admin/login$"))
    await take_picture(page, "admin-desk-login")
    await other.goto(page.url.replace("login", "turns"))
    await expect(other).to_have_url(re.compile("/admin/login$"))


async def test_a_code_may_be_pasted_where_scripts_are_off(house: House, browser: Browser) -> None:
    context = await browser.new_context(java_script_enabled=False, locale="en-US")
    page = await context.new_page()
    assert house.service is not None
    address = (await house.service._desk.link({}))["url"]
    await page.goto(f"{house.service.web_url}/admin/login")
    await page.get_by_label("Code from your login link").fill(address)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.locator("h1")).to_have_text("Health")
    await expect(page.locator("[data-figure=connection]")).to_have_text("connected")
    await context.close()
