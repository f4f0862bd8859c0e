"""The whole life of a bot's access, as people live it: real processes, a real terminal, the platform on the other side.

From a scan to a bot with an owner, strangers, decisions, the page, and back to nobody; once in peace, and once with the
service killed between any two steps.
"""

import asyncio
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from channels.cards.texts import texts
from channels.emulator import Emulator, EmulatorSettings
from channels.emulator.messages import Message
from tests.integration import cards_seen
from tests.integration.outside.scanning import ROOT, SECRET, Stage, clean

WORDS = texts("en")
LIMIT_S = 40.0
REDELIVERY_S = (0.2, 0.4, 0.8, 1.6, 3.2, 6.4)


class Life(Stage):
    """One machine with its settings, its service and its platform. `killed`: the service dies between any two steps."""

    def __init__(self, emulator: Emulator, folder: Path, *, killed: bool) -> None:
        super().__init__(emulator, folder)
        self.world, self.ledger, self._killed = emulator.world, emulator.ledger, killed
        self.service: Process | None = None

    async def command(self, *arguments: str, code: int = 0) -> str:
        """`channels …` on this machine; what it printed, and what it complained about."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "channels", *arguments, "--config", str(self.config)),
            cwd=ROOT,
            env=clean(),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == code, (arguments, out.decode(), err.decode())
        return out.decode() + err.decode()

    async def start(self) -> None:
        """`channels run`, until it is connected."""
        with (self.folder / "log").open("ab") as log:
            self.service = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "channels", "run", "--config", str(self.config)),
                cwd=ROOT,
                env=clean(),
                stdin=DEVNULL,
                stderr=log,
            )
        await self.seen(lambda: self.emulator.sockets.connections)

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.service is not None and self.service.returncode is None:
            self.service.send_signal(how)
            await self.service.wait()
        await self.seen(lambda: not self.emulator.sockets.connections)

    async def step(self) -> None:
        """Between two steps."""
        if self._killed:
            await self.stop(signal.SIGKILL)
            await self.start()

    async def seen(self, fact: Any) -> None:
        await self.ledger.until(fact, LIMIT_S)

    def say(self, text: str, user: str) -> str:
        return self.world.say(user, self.world.private_chat(user), text)

    async def title(self, message_id: str, wanted: str, place: int = 0) -> Message:
        """Wait until the reply in this place to this message has this title."""

        def shown() -> bool:
            replies = self.ledger.visible_replies(message_id)
            return len(replies) > place and cards_seen.title(self.card(replies[place])) == wanted

        await self.seen(shown)
        return self.ledger.visible_replies(message_id)[place]

    async def answer(self, text: str, user: str) -> str:
        """What the card that answers this command says."""
        message_id = self.say(text, user)
        await self.seen(lambda: self.ledger.visible_replies(message_id))
        return cards_seen.words(self.card(self.ledger.visible_replies(message_id)[0]))

    def card(self, message: Message) -> dict[str, Any]:
        return self.ledger.card_json(message.message_id)

    async def request(self, admin: str, name: str) -> Message:
        """Wait for the undecided request in this admin's private chat that shows these words."""

        def found() -> list[Message]:
            said = self.world.timeline.in_chat(self.world.private_chat(admin))
            cards = [one for one in said if one.by_bot and self.ledger.card_states(one.message_id)]
            return [
                one
                for one in cards
                if cards_seen.title(self.card(one)) == WORDS.access_title and name in cards_seen.words(self.card(one))
            ]

        await self.seen(found)
        return found()[-1]

    async def press(self, card: Message, do: str, user: str) -> str:
        values = [
            behaviour["value"]
            for part in cards_seen.parts(self.card(card))
            for behaviour in part.get("behaviors", ())
            if behaviour.get("value", {}).get("do") == do
        ]
        shown = await self.world.click(user, card.message_id, values[0])
        return str((shown["toast"] or {}).get("content", ""))


@pytest.fixture(params=[False, True], ids=["in peace", "killed between the steps"])
async def life(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Life]:
    emulator = Emulator(EmulatorSettings(app_secret=SECRET, redelivery_s=REDELIVERY_S, rate_limits=False))
    await emulator.start()
    life = Life(emulator, tmp_path, killed=request.param)
    yield life
    for terminal in life.terminals:
        terminal.close()
    if life.service is not None and life.service.returncode is None:
        life.service.kill()
        await life.service.wait()
    await emulator.stop()


async def scan(life: Life) -> None:
    """`channels init`: a code is scanned and allowed; then the settings that this bot is to have."""
    terminal = life.init()
    await terminal.until("Which? [1]")
    terminal.type("\n")
    await terminal.until("Waiting until")
    link = re.search(r"http\S+/page/launcher\S+", terminal.text)
    assert link is not None
    async with aiohttp.ClientSession() as browser, browser.post(link[0], data={"decision": "approved"}) as allowed:
        assert allowed.status == 200
    await terminal.until("channels access claim-code --config")
    assert await terminal.ended() == 0
    text = life.config.read_text()
    for was, wanted in (
        ('# mode = "open"', 'mode = "approval"'),
        ('# language = "zh"', 'language = "en"'),
        ("# port = 8787", "port = 0"),
        ("# admin = false", "admin = true"),
        ("# pace = 1.0", "pace = 0.0"),
    ):
        assert text.count(was) == 1, was
        text = text.replace(was, wanted)
    life.config.write_text(text)
    await life.command("check-config")


async def claim(life: Life) -> None:
    """The code that the command prints makes Alice the owner; a second person is told that it was used."""
    code = (await life.command("access", "claim-code")).splitlines()[0]
    await life.step()
    assert await life.answer(code, "Alice") == WORDS.claim_done
    await life.step()
    assert await life.answer(code, "Bob") == WORDS.claim_used
    assert "chat, wiki_read, wiki_write, code_write, admin" in await life.command("access", "list")


async def let_in(life: Life) -> None:
    """Bob asks, Alice agrees, Bob's message is answered."""
    message_id = life.say("hello", "Bob")
    card = await life.request("Alice", "hello")
    await life.title(message_id, WORDS.kept_title)
    await life.step()
    assert WORDS.toast_access_allowed.format(who="") in await life.press(card, "access_allow", "Alice")
    await life.step()
    await life.title(message_id, WORDS.kept_approved_title)
    await life.title(message_id, WORDS.phase_done, 1)
    assert len(life.ledger.visible_replies(message_id)) == 2


async def look_at_the_page(life: Life) -> None:
    """The bot sends Alice a link; behind it she sees Bob."""
    said = await life.answer("/web", "Alice")
    found = re.search(r"\]\((http[^)#]+)/admin/login#([^)]+)\)", said)
    assert found is not None
    address, code = found[1], found[2]
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.post(f"{address}/admin/login", data={"code": code}) as entered:
            assert entered.status == 200
        async with browser.get(f"{address}/admin/people") as people:
            assert "u_bob" in await people.text()


async def take_back(life: Life) -> None:
    """Bob is revoked and asks again; the service is stopped, somebody agrees on its machine, the next start answers."""
    assert "nothing" in await life.command("access", "revoke", "u_bob")
    await life.step()
    message_id = life.say("once more", "Bob")
    await life.title(message_id, WORDS.kept_title)
    await life.request("Alice", "once more")
    await life.stop()
    assert "was let in; messages answered now: 1" in await life.command("access", "approve", "Bob", "--messages", "1")
    await life.start()
    await life.title(message_id, WORDS.phase_done, 1)
    last = life.say("and again", "Bob")
    await life.title(last, WORDS.kept_title)


@pytest.mark.timeout(400)  # forty processes, each of which imports everything
async def test_from_a_scan_to_a_bot_with_an_owner(life: Life) -> None:
    await scan(life)
    assert "no_file" in await life.command("access", "list", code=3)
    await life.start()
    for part in (claim, let_in, look_at_the_page, take_back):
        await part(life)
        await life.step()
    await life.command("doctor", "--invariants")
    await life.stop()
    await life.command("doctor", "--invariants")
    assert "nothing to change" in (await life.script("--yes", "--no-doctor", domain=""))[1]
