"""Workloads with access on approval: strangers wait, admins decide, an owner claims the bot and looks at its page."""

import asyncio
import re
from typing import Any

import aiohttp

from channels.cli.control_client import call_service
from channels.errors import ChannelsError
from tests.crash.stage import Expect, Stage

DAYS = 24 * 3600.0


async def approval(stage: Stage) -> None:
    """One stranger is let in and answered, one is denied, one is never decided about; commands change it all."""
    admin = stage.world.private_chat("Alice")
    await stage.answered(stage.say("hello, I am the admin"))
    let_in = stage.say("may I?", "Bob", expect=Expect.PENDING)
    await stage.decide(admin, "access_allow")
    await stage.answered(let_in)
    denied = stage.say("and me?", "\u5f20\u4e09", expect=Expect.TAKEN_BACK)
    await stage.decide(admin, "access_deny")
    stage.say("please!", "\u5f20\u4e09", expect=Expect.TAKEN_BACK)
    for text in ("/users", "/requests", "/revoke u_bob", "/grant u_bob", "/grant u_bob wiki_read"):
        await stage.answered(stage.say(text, expect=Expect.NOTICE))
    await stage.answered(stage.say("again", "Bob", expect=Expect.NOTICE))
    stage.world.add_person("Carol")
    undecided = stage.say("anybody?", "Carol", expect=Expect.TAKEN_BACK)
    await stage.until(lambda: stage.button_in_chat(admin, "access_allow"))
    await stage.advance(9 * DAYS)
    await stage.quiet()
    assert denied != undecided


async def owned(stage: Stage) -> None:
    """Nobody looks after the bot: a code makes an owner, who asks for a link, looks around and sets something."""
    code = str((await ask(stage, "access_claim_code"))["code"])
    await stage.answered(stage.say("ABCD-EFGH-IJKL-MNOP", "Bob", expect=Expect.NOTICE))
    await stage.answered(stage.say(code, expect=Expect.NOTICE))
    await stage.answered(stage.say(code, "Bob", expect=Expect.NOTICE))
    await stage.answered(stage.say("hello, I am the owner"))
    await stage.answered(stage.say("/web", expect=Expect.NOTICE))
    await ask(stage, "access_audit")
    while not await looked(stage):
        await stage.breathe()
    await stage.answered(stage.say("/users", expect=Expect.NOTICE))


async def ask(stage: Stage, operation: str, **arguments: Any) -> Any:
    """The control socket's answer, asked for again by somebody whose service has just died."""
    while True:
        try:
            return await asyncio.to_thread(call_service, stage.folder / "channels.db.sock", operation, arguments)
        except ChannelsError:
            await stage.breathe()


async def looked(stage: Stage) -> bool:
    """One visit at the admin page from login to logout; False when it was cut off somewhere."""
    address, _, code = str((await ask(stage, "web_link"))["url"]).partition("/admin/login#")
    try:
        async with aiohttp.ClientSession(address, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
            await _send(browser, "POST", "/admin/login", code=code)
            for page in ("people", "turns", "outbox", "sessions"):
                said = await _send(browser, "GET", f"/admin/{page}")
            for session in re.findall(r"/admin/sessions/session_\w+", said)[:1]:
                await _send(browser, "GET", session)
            token = re.findall(r'name="token" value="(\w+)"', await _send(browser, "GET", "/admin/settings"))[0]
            await _send(browser, "POST", "/admin/settings", token=token, access_mode="approval")
            await _send(browser, "POST", "/admin/logout", token=token)
    except (aiohttp.ClientError, TimeoutError):
        return False
    return True


async def _send(browser: aiohttp.ClientSession, method: str, path: str, **fields: str) -> str:
    async with browser.request(method, path, data=fields or None, headers={"Accept": "text/html"}) as response:
        response.raise_for_status()
        return await response.text()
