"""The card renderer on the preview page: right cards look right, wrong cards look wrong."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from channels.emulator import Emulator

Json = dict[str, Any]

TABLE = {
    "tag": "table",
    "page_size": 2,
    "columns": [
        {"name": "who", "display_name": "客户", "data_type": "text"},
        {
            "name": "sum",
            "display_name": "金额",
            "data_type": "number",
            "format": {"symbol": "¥", "precision": 2, "separator": True},
        },
        {"name": "tags", "display_name": "规模", "data_type": "options"},
        {"name": "note", "display_name": "备注", "data_type": "lark_md"},
    ],
    "rows": [
        {"who": "甲", "sum": 1234.5, "tags": [{"text": "S2", "color": "blue"}], "note": "**急** # 一"},
        {"who": "乙", "sum": 2, "tags": "S1", "note": ""},
        {"who": "丙", "sum": 3},
    ],
}


@pytest_asyncio.fixture(loop_scope="session")
async def gallery(browser: Browser, emulator: Emulator) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, locale="zh-CN")
    page = await context.new_page()
    await page.goto(f"{emulator.url}/gallery")
    yield page
    await context.close()


async def shown(gallery: Page, card: Json) -> Locator:
    await gallery.fill(".gallery-paste", json.dumps(card))
    return gallery.locator(".gallery-item .card")


def v2(*elements: Json, **more: Any) -> Json:
    return {"schema": "2.0", "body": {"elements": list(elements)}, **more}


async def test_header_with_tags_and_languages(gallery: Page) -> None:
    tag = {"tag": "text_tag", "text": {"tag": "plain_text", "content": "标签"}, "color": "red"}
    title = {"tag": "plain_text", "content": "标题", "i18n_content": {"en_us": "Title"}}
    header = {
        "title": title,
        "subtitle": {"tag": "plain_text", "content": "副标题"},
        "template": "green",
        "text_tag_list": [tag] * 4,
    }
    card = await shown(gallery, v2(header=header))
    await expect(card.locator(".card-title")).to_have_text("标题")
    await expect(card.locator(".card-subtitle")).to_have_text("副标题")
    await expect(card.locator(".text-tag")).to_have_count(3)  # Feishu shows three at most
    await expect(card.locator(".card-header")).to_have_css("background-color", "rgb(208, 245, 206)")
    await gallery.click(".language")
    await expect(card.locator(".card-title")).to_have_text("Title")


async def test_a_table_draws_its_types_a_page_at_a_time(gallery: Page) -> None:
    card = await shown(gallery, v2(TABLE))
    await expect(card.locator("th")).to_have_text(["客户", "金额", "规模", "备注"])
    await expect(card.locator("td")).to_have_text(["甲", "¥1,234.50", "S2", "急 # 一", "乙", "¥2.00", "S1", ""])
    await card.get_by_role("button", name="next page").click()
    await expect(card.locator("td")).to_have_text(["丙", "¥3.00", "", ""])


@pytest.mark.parametrize(
    "element",
    [
        {"tag": "no_such_thing"},
        {"tag": "note", "elements": []},  # gone in schema 2.0
        {"tag": "action", "actions": []},  # gone in schema 2.0
        {
            "tag": "collapsible_panel",
            "expanded": True,
            "header": {"title": {"tag": "plain_text", "content": "x"}},
            "elements": [TABLE],
        },
        {"tag": "column_set", "columns": [{"tag": "column", "elements": [TABLE]}]},
    ],
)
async def test_what_feishu_does_not_draw_asks_for_an_upgrade(gallery: Page, element: Json) -> None:
    card = await shown(gallery, v2(element))
    await expect(card.locator(".card-upgrade")).to_have_text("请升级至最新版本客户端，以查看内容")


async def test_schema_1_in_its_basic_parts(gallery: Page) -> None:
    button = {"tag": "button", "text": {"tag": "plain_text", "content": "好"}, "type": "primary", "value": {"k": "v"}}
    elements = [
        {"tag": "div", "text": {"tag": "lark_md", "content": "**粗** `raw`"}},
        {"tag": "markdown", "content": "# raw"},
        {"tag": "note", "elements": [{"tag": "plain_text", "content": "备注"}]},
        {"tag": "action", "actions": [button]},
    ]
    card = await shown(gallery, {"elements": elements})
    await expect(card.locator(".card-div")).to_have_text("粗 `raw`")
    await expect(card.locator(".card-markdown")).to_have_text("# raw")
    await expect(card.locator(".card-note")).to_have_text("备注")
    await expect(card.locator(".card-button.primary")).to_have_text("好")
    await expect(card.locator(".card-upgrade")).to_have_count(0)


async def test_content_never_becomes_markup(gallery: Page) -> None:
    evil = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
    panel = {
        "tag": "collapsible_panel",
        "expanded": True,
        "header": {"title": {"tag": "markdown", "content": evil}},
        "elements": [],
    }
    texts: list[Json] = [
        {"tag": "markdown", "content": evil},
        {"tag": "div", "text": {"tag": "plain_text", "content": evil}},
        panel,
    ]
    link = {
        "tag": "markdown",
        "content": "<a href='javascript:window.pwned=1'>x</a> <font color='red;background:url(x)'>y</font>",
    }
    card = await shown(gallery, v2(*texts, link, header={"title": {"tag": "plain_text", "content": evil}}))
    await expect(card).to_contain_text("onerror=window.pwned=1")
    await expect(card.locator("img, script, a")).to_have_count(0)
    assert await gallery.evaluate("window.pwned") is None


async def test_files_are_shown_by_name_and_bad_ones_say_so(gallery: Page) -> None:
    good = json.dumps({"card": v2({"tag": "markdown", "content": "好"})}).encode()
    files: list[Any] = [
        {"name": "b.json", "mimeType": "application/json", "buffer": b"{"},
        {"name": "a.json", "mimeType": "application/json", "buffer": good},
    ]
    await gallery.set_input_files("input[type=file]", files)
    await expect(gallery.locator(".gallery-item h2")).to_have_text(["a.json", "b.json"])
    await expect(gallery.locator(".card-markdown")).to_have_text("好")
    await expect(gallery.locator(".gallery-error")).to_have_count(1)
