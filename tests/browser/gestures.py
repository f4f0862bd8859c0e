"""What a person does on the page, and waiting for what the bot gets to see of it."""

import asyncio

from playwright.async_api import Page

from tests.browser.scripted_bot import Json


async def next_of(queue: asyncio.Queue[Json]) -> Json:
    return await asyncio.wait_for(queue.get(), 10)


async def say(page: Page, text: str, pane: str = ".chat-pane") -> None:
    await page.fill(f"{pane} .compose-text", text)
    await page.press(f"{pane} .compose-text", "Enter")


async def open_chat(page: Page, chat_id: str) -> None:
    await page.click(f".chat-item[data-chat-id={chat_id}]")
