"""The chat page in Chromium against a running emulator, with a scripted bot on the other side."""

import json
import struct
import zlib

from playwright.async_api import FilePayload, Page, expect

from channels.emulator import GROUP, Emulator
from tests.browser.conftest import Picture
from tests.browser.gestures import next_of, open_chat, say
from tests.browser.scripted_bot import ScriptedBot, reply_card

ANSWER = """## 安装
先装好 **Python 3.11**，然后：

1. 克隆仓库
2. 运行 `make demo`

```bash
make demo ARGS='--say hello'
```

| 命令 | 作用 |
| --- | --- |
| `/help` | 帮助 |
| `/new` | 新会话 |
"""


def small_png() -> bytes:
    pixels = b"".join(b"\x00" + b"".join(bytes((51 + x, 112 + y, 255)) for x in range(96)) for y in range(60))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 96, 60, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


async def test_a_message_is_answered_by_a_card_that_streams_to_its_end(
    page: Page, bot: ScriptedBot, take_picture: Picture
) -> None:
    await say(page, "怎么安装？")
    message = await next_of(bot.messages)
    assert json.loads(message["content"]) == {"text": "怎么安装？"}
    typing = await bot.react(message["message_id"], "Typing")
    await expect(page.locator(".reaction[data-emoji=Typing]")).to_be_visible()

    card_id = await bot.reply_card(message["message_id"], reply_card("", running=True, summary="正在回答…"))
    card = page.locator(".card")
    await expect(card).to_have_class("card schema-2 width-default streaming")
    await expect(page.locator(".chat-item.open .chat-last")).to_have_text("正在回答…")
    await bot.stream(card_id, ANSWER[:40])
    await expect(card.locator("h2")).to_have_text("安装")
    await expect(card.locator(".md strong")).to_have_text(["思考过程", "Python 3.11"])
    await bot.stream(card_id, ANSWER[:90])
    await take_picture(page, "streaming")

    await bot.update_card(card_id, reply_card(ANSWER, running=False, summary="安装步骤"))
    await bot.unreact(message["message_id"], typing)
    await bot.react(message["message_id"], "DONE")
    await expect(card).to_have_class("card schema-2 width-default")
    await expect(card.locator(".card-title")).to_have_text("已完成")
    await expect(card.locator("ol > li")).to_have_text(["克隆仓库", "运行 make demo"])
    await expect(card.locator("pre")).to_have_text("make demo ARGS='--say hello'")
    await expect(card.locator("td")).to_have_text(["/help", "帮助", "/new", "新会话"])
    await expect(page.locator(".reaction")).to_have_attribute("data-emoji", "DONE")
    await expect(page.locator(".chat-item.open .chat-last")).to_have_text("安装步骤")
    await take_picture(page, "answered")


async def test_text_grows_letter_by_letter_while_streaming(page: Page, bot: ScriptedBot) -> None:
    await say(page, "讲个故事")
    message = await next_of(bot.messages)
    slow = reply_card("从前", running=True)
    slow["config"]["streaming_config"] = {"print_frequency_ms": {"default": 200}, "print_step": {"default": 1}}
    card_id = await bot.reply_card(message["message_id"], slow)
    answer = page.locator('[data-element-id="answer"]')
    await expect(answer).to_have_text("从前")
    await bot.stream(card_id, "从前有座山，山里有座庙。")
    await expect(answer).to_have_text("从前有")  # a state that only the typewriter shows
    await expect(answer).to_have_text("从前有座山，山里有座庙。")


async def test_a_button_reaches_the_bot_and_its_toast_is_shown(
    page: Page, bot: ScriptedBot, take_picture: Picture
) -> None:
    await say(page, "跑一个长任务")
    message = await next_of(bot.messages)
    await bot.reply_card(message["message_id"], reply_card("已经做完第一步……", running=True))
    bot.click_answer = {"toast": {"type": "warning", "content": "正在停止"}}
    await page.locator(".card").get_by_role("button", name="停止").click()
    click = await next_of(bot.clicks)
    assert click["action"]["value"] == {"do": "stop", "turn": "t1"}
    assert click["operator"]["open_id"] == "ou_zhang_san"
    await expect(page.locator(".toast.warning")).to_have_text("正在停止")
    await take_picture(page, "toast")


async def test_a_press_survives_the_card_changing_under_it(page: Page, bot: ScriptedBot) -> None:
    await say(page, "跑一个长任务")
    message = await next_of(bot.messages)
    card_id = await bot.reply_card(message["message_id"], reply_card("一", running=True))
    box = await page.locator(".card-button").bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 5, box["y"] + 5)
    await page.mouse.down()
    await bot.update_card(card_id, reply_card("一", running=True, title="还在回答"))
    await bot.stream(card_id, "一二")
    await expect(page.locator('[data-element-id="answer"]')).to_have_text("一二")
    await page.mouse.up()
    assert (await next_of(bot.clicks))["action"]["value"]["do"] == "stop"


async def test_an_opened_panel_stays_open_when_the_card_changes(page: Page, bot: ScriptedBot) -> None:
    await say(page, "想一想")
    message = await next_of(bot.messages)
    card = reply_card("好", running=True)
    card_id = await bot.reply_card(message["message_id"], card)
    await page.get_by_role("button", name="思考过程").click()
    card["body"]["elements"][0]["elements"][0]["content"] = "查完了资料。"
    await bot.update_card(card_id, card)
    await expect(page.locator(".panel-body")).to_have_text("查完了资料。")
    await expect(page.locator(".panel-body")).to_be_visible()


async def test_a_dangerous_button_asks_first(page: Page, bot: ScriptedBot) -> None:
    button = {
        "tag": "button",
        "text": {"tag": "plain_text", "content": "删除"},
        "confirm": {
            "title": {"tag": "plain_text", "content": "删除？"},
            "text": {"tag": "plain_text", "content": "不能恢复"},
        },
        "behaviors": [{"type": "callback", "value": {"do": "delete"}}],
    }
    await say(page, "删除")
    message = await next_of(bot.messages)
    await bot.reply_card(message["message_id"], {"schema": "2.0", "body": {"elements": [button]}})
    await page.locator(".card").get_by_role("button", name="删除").click()
    await page.get_by_role("button", name="取消").click()
    await page.locator(".card").get_by_role("button", name="删除").click()
    await page.get_by_role("button", name="确定").click()
    assert (await next_of(bot.clicks))["action"]["value"] == {"do": "delete"}
    assert bot.clicks.empty()  # the cancelled press went nowhere


async def test_a_form_sends_its_fields(page: Page, bot: ScriptedBot) -> None:
    options = [
        {"value": "a", "text": {"tag": "plain_text", "content": "甲"}},
        {"value": "b", "text": {"tag": "plain_text", "content": "乙"}},
    ]
    submit = {
        "tag": "button",
        "name": "ok",
        "form_action_type": "submit",
        "text": {"tag": "plain_text", "content": "提交"},
        "behaviors": [{"type": "callback", "value": {"do": "save"}}],
    }
    form = {
        "tag": "form",
        "name": "request",
        "elements": [
            {"tag": "input", "name": "reason", "required": True, "label": {"tag": "plain_text", "content": "原因"}},
            {"tag": "select_static", "name": "choice", "options": options},
            submit,
        ],
    }
    await say(page, "申请")
    message = await next_of(bot.messages)
    await bot.reply_card(message["message_id"], {"schema": "2.0", "body": {"elements": [form]}})
    await page.locator(".card").get_by_role("button", name="提交").click()  # refused by the required field
    await page.fill(".card-form input", "写文档")
    await page.select_option(".card-form select", "b")
    await page.locator(".card").get_by_role("button", name="提交").click()
    click = await next_of(bot.clicks)
    assert click["action"]["form_value"] == {"reason": "写文档", "choice": "b"}
    assert bot.clicks.empty()


async def test_pictures_and_files_are_sent_and_shown(
    page: Page, bot: ScriptedBot, emulator: Emulator, take_picture: Picture
) -> None:
    files: list[FilePayload] = [
        {"name": "sky.png", "mimeType": "image/png", "buffer": small_png()},
        {"name": "周报.docx", "mimeType": "application/octet-stream", "buffer": b"report" * 400_000},
    ]
    await page.set_input_files(".chat-pane .compose-file", files)
    picture, document = await next_of(bot.messages), await next_of(bot.messages)
    assert (picture["message_type"], document["message_type"]) == ("image", "file")
    assert json.loads(document["content"])["file_name"] == "周报.docx"
    medium = emulator.world.media.find(json.loads(document["content"])["file_key"])
    assert medium is not None and len(medium.data) == 2_400_000
    await expect(page.locator("img.picture")).to_have_js_property("naturalWidth", 96)
    await expect(page.locator(".file-name")).to_have_text("周报.docx")
    await take_picture(page, "files")


async def test_identity_changes_without_a_reload(page: Page, bot: ScriptedBot, emulator: Emulator) -> None:
    await page.evaluate("window.stayed = true")
    await say(page, "我是张三")
    await next_of(bot.messages)
    emulator.world.say("张三", GROUP, "大家好", push=False)
    await page.select_option(".identity", label="Alice")
    await expect(page.locator(".chat-pane .row")).to_have_count(0)  # her own private chat, empty
    group = page.locator(f".chat-item[data-chat-id={GROUP}]")
    await expect(group.locator(".badge")).to_have_text("1")
    await group.click()
    await expect(group.locator(".badge")).to_have_count(0)
    await say(page, "我是 Alice")
    await expect(page.locator(".row.mine .text")).to_have_text("我是 Alice")
    assert emulator.world.timeline.in_chat(GROUP)[-1].sender == "ou_alice"
    await page.select_option(".identity", label="张三")
    await expect(page.locator(".row.mine .text")).to_have_text("大家好")
    assert await page.evaluate("window.stayed") is True


async def test_a_recalled_message_disappears_for_everyone(page: Page, bot: ScriptedBot) -> None:
    await say(page, "发错了")
    message = await next_of(bot.messages)
    row = page.locator(f'[data-message-id="{message["message_id"]}"]')
    await row.locator(".bubble").hover()
    await row.get_by_role("button", name="撤回").click()
    await expect(row).to_have_text("你撤回了一条消息")


async def test_reactions_of_people_toggle(page: Page, bot: ScriptedBot, emulator: Emulator) -> None:
    await say(page, "好消息")
    message = await next_of(bot.messages)
    row = page.locator(f'[data-message-id="{message["message_id"]}"]')
    await row.locator(".bubble").hover()
    await row.get_by_role("button", name="添加表情").click()
    await page.locator(".emoji-menu").get_by_role("button", name="THUMBSUP").click()
    reaction = row.locator(".reaction[data-emoji=THUMBSUP]")
    await expect(reaction).to_have_text("张三")
    await reaction.click()
    await expect(reaction).to_have_count(0)


async def test_after_a_cut_line_the_page_shows_what_it_missed(page: Page, emulator: Emulator) -> None:
    port = int(emulator.url.rpartition(":")[2])
    await emulator.stop()
    await expect(page.locator(".offline")).to_be_visible()
    emulator.world.say("张三", emulator.world.private_chat("张三"), "离线时的消息", push=False)
    await emulator.start(port=port)
    await expect(page.locator(".row .text")).to_have_text("离线时的消息")
    await expect(page.locator(".offline")).to_be_hidden()


async def test_english_and_chinese(page: Page, bot: ScriptedBot, take_picture: Picture) -> None:
    await say(page, "你好")
    message = await next_of(bot.messages)
    await bot.reply_card(message["message_id"], reply_card("Hi", running=True))
    await page.click(".language")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()  # the card's own i18n text
    await expect(page.locator(".self small")).to_have_text("You are")
    await take_picture(page, "english")


async def test_phone_shows_one_pane_at_a_time(phone: Page, bot: ScriptedBot, take_picture: Picture) -> None:
    await expect(phone.locator(".chat-list")).to_be_visible()
    await take_picture(phone, "phone-list")
    await open_chat(phone, "oc_p2p_zhang_san")
    await expect(phone.locator(".chat-list")).to_be_hidden()
    await say(phone, "怎么安装？")
    message = await next_of(bot.messages)
    await bot.reply_card(message["message_id"], reply_card(ANSWER, running=False, summary="安装步骤"), in_thread=True)
    await expect(phone.locator(".topic-box")).to_contain_text("安装步骤")
    await take_picture(phone, "phone-chat")
    await phone.locator(".topic-box").click()
    await expect(phone.locator(".topic-pane .card-title")).to_have_text("已完成")
    width = await phone.evaluate("document.documentElement.scrollWidth")
    assert width <= 390  # nothing sticks out sideways
    await take_picture(phone, "phone-topic")
    await phone.locator(".topic-pane .back").click()
    await phone.locator(".chat-pane .back").click()
    await expect(phone.locator(".chat-list")).to_be_visible()
