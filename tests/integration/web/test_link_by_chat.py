"""/web: the bot sends an admin a one-time link, in a private chat and nowhere else."""

import re

import pytest

from channels.emulator import GROUP
from channels.store.transactions.web import FRESH_LINKS_AT_MOST, LINK_LIFE_MS
from tests.integration.access.gate import ADMIN, WORDS, command
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.web.visitor import PAGE, Visitor

LINK = re.compile(r"\]\((http[^)]+/admin/login#[^)]+)\)")
LINKS = "SELECT count(*) FROM web_logins"
OWNED = {"access": {"mode": "approval", "admins": ["u_zhang_san"]}}


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    return await open_house(**PAGE, **OWNED)


def link_in(said: str) -> str:
    found = LINK.search(said)
    assert found is not None, said
    return found[1]


async def test_an_admin_gets_in_with_it_once(house: House, stranger: Visitor) -> None:
    said = await command(house, "/web")
    link = link_in(said)
    assert WORDS.web_only_there in said and "within 10 minutes" in said
    assert (await stranger.post("/admin/login", code=link))[0] == 303
    assert "u_zhang_san" in (await stranger.get("/admin/"))[1]
    async with Visitor(house) as thief:
        assert (await thief.post("/admin/login", code=link))[0] == 403
    lines = await house.rows("SELECT actor, via, action, subject FROM audit ORDER BY seq")
    assert lines == [
        ("u_zhang_san", "chat", "page.link_made", "u_zhang_san"),
        ("u_zhang_san", "page", "page.entered", "u_zhang_san"),
    ]
    await house.quiet()
    code = link.partition("#")[2]
    assert await house.one("SELECT count(*) FROM sent_cards WHERE text LIKE '%' || :code || '%'", code=code) == 0


async def test_nobody_else_gets_one(house: House) -> None:
    assert await command(house, "/web", "Alice") == WORDS.not_admitted
    await command(house, "/grant", mentions=["Alice"])
    assert await command(house, "/web", "Alice") == WORDS.admins_only
    await command(house, "/grant admin", mentions=["Alice"])
    assert link_in(await command(house, "／管理页面", "Alice"))
    await command(house, "/revoke Alice admin")
    assert await command(house, "/web", "Alice") == WORDS.admins_only
    assert await house.one(LINKS) == 1


async def test_in_a_group_it_says_where_instead(house: House) -> None:
    assert await command(house, "/web", chat_id=GROUP, mention_bot=True) == WORDS.web_private
    assert await house.one(LINKS) == 0


async def test_where_the_page_is_off_it_says_so(open_house: OpenHouse) -> None:
    house = await open_house(**OWNED)
    assert await command(house, "/web") == WORDS.web_off
    assert await house.one(LINKS) == 0


async def test_links_are_few(house: House) -> None:
    for _ in range(FRESH_LINKS_AT_MOST):
        link_in(await command(house, "/web"))
    assert await command(house, "/web") == WORDS.web_too_many
    house.advance(LINK_LIFE_MS / 1000 + 1)
    link_in(await command(house, "/web"))


async def test_behind_a_public_address(open_house: OpenHouse) -> None:
    house = await open_house(web=PAGE["web"] | {"public_url": "https://bot.example.com"}, **OWNED)
    said = await command(house, "/web")
    assert link_in(said).startswith("https://bot.example.com/admin/login#")
    assert WORDS.web_only_there not in said


async def test_cards_refused_the_link_is_not_sent_as_text(house: House) -> None:
    house.fault("im.message.reply", "error", code=230099)
    message_id = house.say("/web", ADMIN)
    reply = await house.shown(message_id)
    assert WORDS.web_text in reply.content and "/admin/login#" not in reply.content


async def test_who_is_known_by_open_id_alone_is_let_in_too(house: House) -> None:
    """The record moves to the user_id later; the link is for the id under which this person is an admin now."""
    open_id = house.world.person("Alice").open_id
    await command(house, f"/grant id:{open_id} admin")
    house.sections["access"] = {"mode": "open", "admins": ["u_zhang_san"]}
    await house.restart()
    assert await house.one("SELECT user_id FROM access_users") == f"open:{open_id}"
    link = link_in(await command(house, "/web", "Alice"))
    async with Visitor(house) as visitor:
        assert (await visitor.post("/admin/login", code=link))[0] == 303
        assert open_id in (await visitor.get("/admin/"))[1]


async def test_nobody_in_a_chat_is_the_console(house: House) -> None:
    """A tenant may give somebody the user_id "console"."""
    guest = house.world.add_person("Guest")
    guest.user_id = "console"
    await command(house, "/grant id:console admin")
    assert await command(house, "/web", "Guest") == WORDS.admins_only
    assert await house.one(LINKS) == 0
