"""Groups and topics on the chat page: mentions, side panel, quotes, topic groups."""

import json

from playwright.async_api import Page, expect

from channels.emulator import GROUP, PLAIN, TOPICS, Emulator
from tests.browser.conftest import Picture
from tests.browser.gestures import next_of, open_chat, say
from tests.browser.scripted_bot import ScriptedBot, reply_card


async def test_a_topic_opens_beside_the_group_and_takes_replies(
    page: Page, bot: ScriptedBot, emulator: Emulator, take_picture: Picture
) -> None:
    emulator.world.say("Bob", GROUP, "今天下午三点评审，别忘了 [THUMBSUP]", push=False)
    await open_chat(page, GROUP)
    await page.type(".chat-pane .compose-text", "@Emu")
    await page.press(".chat-pane .compose-text", "Enter")  # takes the offered bot
    await page.type(".chat-pane .compose-text", "日报在哪里？")
    await page.press(".chat-pane .compose-text", "Enter")
    message = await next_of(bot.messages)
    assert json.loads(message["content"]) == {"text": "@_user_1 日报在哪里？"}
    assert message["mentions"][0]["id"]["open_id"] == emulator.world.bot.open_id

    await bot.reply_card(
        message["message_id"],
        reply_card("在 **共享文件夹** 里。", running=False, summary="在共享文件夹里。"),
        in_thread=True,
    )
    await expect(page.locator(".topic-pane .card-title")).to_have_text("已完成")  # opened by itself
    await expect(page.locator(".chat-pane .topic-line")).to_contain_text("在共享文件夹里。")
    await say(page, "谢谢，还有上周的吗？", ".topic-pane")
    reply = await next_of(bot.messages)
    root = emulator.world.message(message["message_id"])
    assert (reply["thread_id"], reply["root_id"]) == (root.thread_id, root.message_id)
    await expect(page.locator(".topic-pane .row")).to_have_count(3)
    await expect(page.locator(".chat-pane .row")).to_have_count(2)  # the topic's replies stay in the topic
    await expect(page.locator(".topic-foot")).to_have_text("2 条回复")
    await take_picture(page, "topic")


async def test_a_person_opens_a_topic_and_quotes(page: Page, bot: ScriptedBot, emulator: Emulator) -> None:
    first = emulator.world.say("Alice", GROUP, "方案发了", push=False)
    await open_chat(page, GROUP)
    row = page.locator(f'.chat-pane [data-message-id="{first}"]')
    await row.locator(".bubble").hover()
    await row.get_by_role("button", name="在话题中回复").click()
    await say(page, "我看看", ".topic-pane")
    in_topic = await next_of(bot.messages)
    assert in_topic["root_id"] == first and in_topic["thread_id"]

    other = emulator.world.say("Bob", GROUP, "收到", push=False)
    row = page.locator(f'.chat-pane [data-message-id="{other}"]')
    await row.locator(".bubble").hover()
    await row.get_by_role("button", name="回复", exact=True).click()
    await say(page, "好的")
    quoting = await next_of(bot.messages)
    assert quoting["parent_id"] == other and "thread_id" not in quoting
    await expect(page.locator(".chat-pane .quote")).to_have_text("回复 Bob：收到")


async def test_a_group_without_threads_offers_no_topic(page: Page, emulator: Emulator) -> None:
    emulator.world.say("Alice", PLAIN, "通知", push=False)
    await open_chat(page, PLAIN)
    await page.locator(".chat-pane .bubble").hover()
    await expect(page.get_by_role("button", name="回复", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="在话题中回复")).to_have_count(0)


async def test_a_topic_group_shows_topics(page: Page, emulator: Emulator, take_picture: Picture) -> None:
    world = emulator.world
    for text, replies in (("升级到 3.12 之后测试变慢", ["我也遇到了", "先锁住版本"]), ("下周的发布计划", ["我来写"])):
        root = world.message(world.say("Alice", TOPICS, text, push=False))
        for number, reply in enumerate(replies):
            world.say(("Bob", "张三")[number % 2], TOPICS, reply, thread_id=root.thread_id, push=False)
    await open_chat(page, TOPICS)
    await expect(page.locator(".chat-pane .row")).to_have_count(2)
    await expect(page.locator(".topic-foot")).to_have_text(["2 条回复", "1 条回复"])
    await page.locator(".topic-box").first.click()
    await expect(page.locator(".topic-pane .row")).to_have_count(3)
    await take_picture(page, "topic-group")
