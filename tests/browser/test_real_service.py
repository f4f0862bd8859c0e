"""The real service with the demo agent behind the chat page: what a person sees of it, from the message to the end.

`house` is the service and the domain file behind it; the page is the witness. Pace 0 answers at once, pace 1 as fast
as a person can follow.
"""

import re

import pytest
from playwright.async_api import FilePayload, Locator, Page, expect

from channels.emulator import GROUP
from channels.rules.command import COMMANDS
from tests.browser.conftest import OpenHouse, Picture
from tests.browser.gestures import open_chat, say
from tests.browser.reading import assert_nothing_raw, see, see_reactions, words

PRIVATE = "oc_p2p_zhang_san"


def cards(page: Page) -> Locator:
    return page.locator(".topic-pane .card")


async def test_a_message_is_answered_by_a_card_that_streams_to_its_end(page: Page, open_house: OpenHouse) -> None:
    house = await open_house(pace=1.5)
    await say(page, "先思考，用工具查一查，再给我看几段代码")
    card = await see(page, "思考中…")
    await expect(card).to_have_class(re.compile("streaming"))
    await see_reactions(page, "Typing")
    await see(page, "回复中…")
    await expect(card.locator("pre").first).to_be_visible()
    await see(page, "已完成")
    await see_reactions(page, "DONE")
    await expect(card).not_to_have_class(re.compile("streaming"))
    await expect(card.get_by_role("button", name="停止")).to_have_count(0)
    await expect(card.locator("pre")).to_have_count(5)
    await assert_nothing_raw(page)
    await expect(cards(page)).to_have_count(1)
    await house.quiet()


async def test_stop_ends_the_answer_at_once(page: Page, open_house: OpenHouse, keep_picture: Picture) -> None:
    house = await open_house(pace=0.5)
    await say(page, "思考一下，慢速给我看几段代码")
    card = await see(page, "回复中…")
    await expect(card.locator("pre").nth(1)).to_contain_text("grep")
    await keep_picture(page, "streaming")
    await card.get_by_role("button", name="停止").click()
    await expect(page.locator(".toast.success")).to_have_text("正在停止…")
    await see(page, "已停止")
    await see_reactions(page)
    await expect(card.locator("pre").nth(1)).to_contain_text("grep")
    await expect(card).to_contain_text("已按你的要求停止。上面的内容已保留。")
    assert await card.locator("pre").count() < 5  # the agent did not write to its end
    await expect(card.get_by_role("button", name="停止")).to_have_count(0)
    await keep_picture(page, "stopped")
    await house.quiet()
    assert await house.one("SELECT outcome FROM turns") == "stopped"


async def test_reasoning_plan_and_tools_fold_and_unfold(
    page: Page, open_house: OpenHouse, keep_picture: Picture
) -> None:
    await open_house()
    await say(page, "先思考，列出计划，再用工具")
    card = await see(page, "已完成")
    heads = card.locator(".panel-title")
    await expect(heads).to_have_text(["思考过程", "计划 4/4", "工具调用 4 次，失败 1 次"])
    await expect(card.locator(".panel-body").filter(visible=True)).to_have_count(0)
    for head in await heads.all():
        await head.click()
    bodies = card.locator(".panel-body")
    await expect(bodies.nth(0)).to_contain_text("先看看对方想要什么")
    await expect(bodies.nth(1)).to_contain_text("检查结果")
    await expect(bodies.nth(2)).to_contain_text("运行测试")
    await keep_picture(page, "tools")
    await heads.nth(2).click()
    await expect(bodies.nth(2)).to_be_hidden()
    await assert_nothing_raw(page)


async def test_a_long_answer_goes_on_in_further_cards_of_one_topic(
    page: Page, open_house: OpenHouse, keep_picture: Picture
) -> None:
    house = await open_house()
    await say(page, "长回答")
    await see(page, "已完成")
    await house.quiet()
    question = house.world.timeline.in_chat(PRIVATE)[0].message_id
    count = len(house.replies(question))
    assert count >= 3
    await expect(cards(page)).to_have_count(count)
    headings = await cards(page).get_by_role("heading").all_inner_texts()
    assert [int(text.partition(".")[0]) for text in headings] == list(range(1, 41))
    for number in range(2, count + 1):
        await expect(cards(page).nth(number - 1).locator(".card-div").first).to_have_text(f"第 {number} 部分")
        await expect(cards(page).nth(number - 2).locator(".card-div").last).to_have_text("下一张卡片继续 ↓")
    await expect(page.locator(".chat-pane .row")).to_have_count(1)  # all of it stays in the topic
    await assert_nothing_raw(page)
    await cards(page).nth(1).evaluate("(card) => card.scrollIntoView()")
    await page.locator(".topic-pane .scroll").evaluate("(pane) => pane.scrollBy(0, -190)")
    await page.set_viewport_size({"width": 1280, "height": 560})
    await keep_picture(page, "long")


async def test_tables_and_code_stay_whole(page: Page, open_house: OpenHouse, take_picture: Picture) -> None:
    house = await open_house()
    await say(page, "代码和 7 个表格")
    await see(page, "已完成")
    await house.quiet()
    tables = cards(page).locator("table")
    await expect(tables).to_have_count(7)
    for table in await tables.all():
        await expect(table.locator("th")).to_have_text(["序号", "名称", "状态", "用时"])
        await expect(table.locator("tbody tr")).to_have_count(5)
    blocks = cards(page).locator("pre")
    await expect(blocks).to_have_count(5)
    await expect(blocks.nth(3)).to_contain_text("|------|----|")
    await expect(blocks.nth(4)).to_contain_text('```json\n{"language": "json"')
    await assert_nothing_raw(page)
    await take_picture(page, "tables")


async def test_a_turn_that_fails_says_what_happened(page: Page, open_house: OpenHouse, take_picture: Picture) -> None:
    house = await open_house()
    await say(page, "格式，然后出错")
    card = await see(page, "出错了")
    await expect(card).to_contain_text("上面的内容已保留。请重新发送消息再试一次，或用 /new 开始新的对话。")
    await expect(card.get_by_role("heading").first).to_have_text("一级标题")
    await house.quiet()
    await expect(page.locator(".chat-pane .reaction[data-emoji=Typing]")).to_have_count(0)
    await take_picture(page, "failed")
    await assert_nothing_raw(page)


async def test_a_file_is_acknowledged(page: Page, open_house: OpenHouse, take_picture: Picture) -> None:
    house = await open_house()
    report: FilePayload = {"name": "周报.docx", "mimeType": "application/octet-stream", "buffer": b"report" * 4000}
    await page.set_input_files(".chat-pane .compose-file", [report])
    card = await see(page, "已完成")
    await expect(card.locator("li")).to_have_text("周报.docx (24000 B)")
    await assert_nothing_raw(page)
    await house.quiet()
    await take_picture(page, "file")


async def test_a_group_needs_a_mention_and_its_topic_none(
    page: Page, open_house: OpenHouse, take_picture: Picture
) -> None:
    house = await open_house()
    await open_chat(page, GROUP)
    await say(page, "大家好")
    await page.type(".chat-pane .compose-text", "@Emu")
    await page.press(".chat-pane .compose-text", "Enter")  # takes the offered bot
    await page.type(".chat-pane .compose-text", "你好")
    await page.press(".chat-pane .compose-text", "Enter")
    card = await see(page, "已完成")
    await expect(card.locator("blockquote")).to_have_text("你好")
    await say(page, "我之前说了什么", ".topic-pane")
    second = await see(page, "已完成", 1)
    await expect(second.locator("ol > li")).to_have_text(["你好"])
    await house.quiet()
    unasked = house.world.timeline.in_chat(GROUP)[0].message_id
    assert house.replies(unasked) == []
    assert await house.one("SELECT count(*) FROM sessions") == 1
    await take_picture(page, "group")


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_commands_are_answered_by_cards(
    page: Page,
    english_page: Page,
    open_house: OpenHouse,
    keep_picture: Picture,
    take_picture: Picture,
    language: str,
) -> None:
    shown = page if language == "zh" else english_page
    await open_house(language=language)
    await say(shown, "/help")
    help_card = shown.locator(".card").first
    title = "使用说明" if language == "zh" else "How to use me"
    await expect(help_card.locator(".card-title")).to_have_text(title)
    await expect(help_card.locator("li strong")).to_have_text([f"/{name}" for name in COMMANDS])
    await shown.locator(".chat-pane .scroll").evaluate("(pane) => pane.scrollTo(0, 0)")
    if language == "en":
        await keep_picture(shown, "help")
    await say(shown, "/status" if language == "zh" else "／status")
    await expect(shown.locator(".card .card-title").nth(1)).to_have_text(
        "状态" if language == "zh" else "Status", timeout=15_000
    )
    await take_picture(shown, f"status-{language}")
    await assert_nothing_raw(shown)


async def test_messages_that_wait_say_so_and_come_next(
    page: Page, open_house: OpenHouse, take_picture: Picture
) -> None:
    house = await open_house(pace=1.0)
    await say(page, "工作 300 秒")
    first = await see(page, "思考中…", 0)
    await say(page, "第二个问题", ".topic-pane")
    second = await see(page, "排队中", 1)
    await expect(second).to_contain_text("前一条消息还在处理，这条已经收下，马上轮到它。")
    await take_picture(page, "waiting")
    await first.get_by_role("button", name="停止").click()
    await see(page, "已停止", 0)
    await see(page, "已完成", 1)
    await expect(second.locator("blockquote")).to_have_text("第二个问题")
    await house.quiet()


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_an_answer_cut_by_a_restart_goes_on_in_the_same_card(
    page: Page,
    english_page: Page,
    open_house: OpenHouse,
    keep_picture: Picture,
    language: str,
) -> None:
    shown = page if language == "zh" else english_page
    chinese = language == "zh"
    house = await open_house(pace=1.0, language=language)
    await say(shown, "慢速写一个长回答" if chinese else "a slow long answer")
    card = await see(shown, "回复中…" if chinese else "Replying…")
    await expect(card.locator(".card-markdown").first).to_contain_text("长连接" if chinese else "long connection")
    await house.stop()
    card = await see(shown, "已中断" if chinese else "Interrupted")
    await expect(card.locator(".card-markdown").first).to_contain_text("长连接" if chinese else "long connection")
    house.sections["agents"] = {"demo": {"kind": "demo", "pace": 0.0}}  # the rest of a slow answer takes half a minute
    await house.start()
    await house.quiet()
    await keep_picture(shown, f"interrupted-{language}")
    await card.get_by_role("button", name="继续" if chinese else "Continue").click()
    await expect(shown.locator(".toast.success")).to_have_text("正在继续" if chinese else "Continuing")
    await see(shown, "已完成" if chinese else "Done")
    await expect(shown.locator(".topic-pane .card-title")).to_have_count(1)  # the rest fills further cards below it
    said = " ".join(await cards(shown).all_inner_texts())
    assert len(re.findall(r"(?<!\d)1\. \w", said)) == 1  # and says nothing twice
    await see_reactions(shown, "DONE")
    await house.quiet()
    await card.locator(".card-title").scroll_into_view_if_needed()
    await keep_picture(shown, f"continued-{language}")


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_one_language_and_nothing_raw(
    page: Page, english_page: Page, open_house: OpenHouse, keep_picture: Picture, language: str
) -> None:
    shown, chinese = (page, True) if language == "zh" else (english_page, False)
    await open_house(pace=1.0, language=language)
    text = "先思考，用工具查一查，再给我 1 个表格" if chinese else "Think it over, use tools, then show me 1 table"
    await say(shown, text)
    card = await see(shown, "已完成" if chinese else "Done")
    await see_reactions(shown, "DONE")
    await expect(card.locator("table")).to_have_count(1)
    await expect(card.locator(".card-div").last).to_have_text(
        re.compile(
            r"^demo · 输入 [\d,]+ / 输出 [\d,]+ tokens · 用时 \d+\.\d 秒$"
            if chinese
            else r"^demo · [\d,]+ tokens in, [\d,]+ out · \d+\.\d s$"
        )
    )
    if not chinese:
        texts = await words(shown.locator(".topic-pane .from-bot"))
        assert [text for text in texts if re.search("[\u4e00-\u9fff]", text)] == []
    await assert_nothing_raw(shown)
    await keep_picture(shown, "answer-zh" if chinese else "answer")


async def test_phone(phone: Page, open_house: OpenHouse, keep_picture: Picture) -> None:
    await open_house()
    await open_chat(phone, PRIVATE)
    await say(phone, "思考一下，然后给我 1 个表格")
    await expect(phone.locator(".topic-box")).to_contain_text("表格 1")
    await see_reactions(phone, "DONE")  # from here on nothing changes under the finger
    await phone.locator(".topic-box").click()
    card = await see(phone, "已完成")
    await expect(card.locator("table")).to_be_visible()
    assert await phone.evaluate("document.documentElement.scrollWidth") <= 390  # nothing sticks out sideways
    await assert_nothing_raw(phone)
    await keep_picture(phone, "phone")
