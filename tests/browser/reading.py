"""Reading cards on the page as a demanding person does."""

import re

from playwright.async_api import Locator, Page, expect

SHOWN = ".card-markdown, .card-div, .card-title, .panel-title, .topic-line, .chat-last"
# Marks of Markdown and HTML that people must never see outside of code
RAW = re.compile(r"^#{1,6} |^> |\*\*|~~|```|\|\s*:?-{3,}|\w \| \w|\[[^\]]*\]\(|</?\w+[^>]*>|&#?\w+;", re.MULTILINE)
WORDS_WITHOUT_CODE = """(nodes) => nodes.map((node) => {
  const copy = node.cloneNode(true);
  for (const code of copy.querySelectorAll("pre, code, figure")) code.remove();
  return copy.innerText ?? copy.textContent;
})"""


async def see(page: Page, title: str, number: int = -1) -> Locator:
    """Wait until a main card in the open topic has this title; returns the card (its place, -1: whatever is last)."""
    card = page.locator(".topic-pane .card:has(.card-title)").nth(number)
    await expect(card.locator(".card-title")).to_have_text(title)
    return card


async def see_reactions(page: Page, *emojis: str) -> None:
    """Wait until the first question in the chat has exactly these reactions."""
    reactions = page.locator(".chat-pane .row.mine").first.locator(".reaction")
    await expect(reactions).to_have_count(len(emojis))
    for number, emoji in enumerate(emojis):
        await expect(reactions.nth(number)).to_have_attribute("data-emoji", emoji)


async def words(place: Page | Locator) -> list[str]:
    """What stands outside of code in the cards, topic boxes and list of chats of this place."""
    texts: list[str] = await place.locator(SHOWN).evaluate_all(WORDS_WITHOUT_CODE)
    assert texts
    return texts


async def assert_nothing_raw(page: Page, *meant: str) -> None:
    """No mark of Markdown or HTML is left for people to read outside of code, and nothing asks for an upgrade.

    `meant`: such marks that people have written themselves.
    """
    await expect(page.locator(".card-upgrade")).to_have_count(0)
    texts = await words(page)
    for mark in meant:
        texts = [text.replace(mark, "") for text in texts]
    assert [text for text in texts if RAW.search(text)] == []
