"""The whole product around one agent: an emulator process, `channels run` in a process of its own, a person."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from channels.cards.gate_texts import gate_texts
from channels.rules.turn import RUNNING, Phase
from tests.conformance.processes import REPOSITORY, Control, Script
from tests.integration import cards_seen

Json = dict[str, Any]
Found = TypeVar("Found")
PERSON, PERSON_ID = "张三", "u_zhang_san"
LOOK_S, LIMIT_S, IDLE_S = 0.1, 180.0, 10.0
WORDS = gate_texts("en")


class DidNotHappen(AssertionError):
    """What was waited for did not come."""


@dataclass(slots=True)
class Question:
    """A message of the person's, and what stands below it."""

    message_id: str
    text: str
    replies: list[Json] = field(default_factory=list)

    @property
    def cards(self) -> list[Json]:
        return [each["card"] for each in self.replies if each["card"]]

    @property
    def card(self) -> Json:
        """The turn's main card; {} while there is none."""
        return next((card for card in self.cards if cards_seen.phase(card) is not None), {})

    @property
    def main_id(self) -> str:
        return str(next(each["message_id"] for each in self.replies if each["card"] is self.card))

    @property
    def thread_id(self) -> str | None:
        return next((each["thread_id"] for each in self.replies if each["thread_id"]), None)

    @property
    def phase(self) -> Phase | None:
        return cards_seen.phase(self.card)

    @property
    def said(self) -> str:
        """The answer, over all of its cards."""
        return "\n".join(cards_seen.answer(card) for card in self.cards)

    @property
    def has_ended(self) -> bool:
        return self.phase is not None and self.phase not in RUNNING

    def buttons(self, do: str) -> list[tuple[str, str, Json]]:
        """Those that do this: the card's message, what stands on the button, its value."""
        found = []
        for reply in self.replies:
            for part in cards_seen.parts(reply["card"]):
                for behaviour in part.get("behaviors", ()):
                    if behaviour.get("value", {}).get("do") == do:
                        label = str(part.get("text", {}).get("content", ""))
                        found.append((str(reply["message_id"]), label, dict(behaviour["value"])))
        return found


class House:
    """Start, kill and stop the service; write, read cards and press buttons as the person does."""

    def __init__(self, folder: Path, agent_section: str) -> None:
        folder.mkdir(parents=True)
        self._emulator = Script("emulator_process.py")
        self.control = Control(self._emulator.line()["url"])
        self.base = folder / "work"
        self._log = folder / "service.log"
        self._config = folder / "channels.toml"
        self._config.write_text(_config(self.control.url, agent_section))
        self._service: asyncio.subprocess.Process | None = None
        self.asked: list[Question] = []
        people = self.control.get("state")["people"]
        self._chat = self._private_chat(next(each for each in people if each["name"] == PERSON))

    async def start(self) -> None:
        """A service that is connected."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CHANNELS_")}
        with self._log.open("ab") as log:
            self._service = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "channels", "run", "--config", str(self._config)),
                cwd=REPOSITORY,
                env=environment | {"APP_SECRET": "secret"},
                stdout=log,
                stderr=log,
            )
        await self.until(
            lambda: any(each["pings"] for each in self.control.get("state")["connections"]), "a connection"
        )

    async def kill(self) -> None:
        assert self._service is not None
        self._service.kill()
        await self._service.wait()
        await self.until(lambda: not self.control.get("state")["connections"], "the end of the connection")

    async def stop(self) -> int | None:
        """SIGTERM; the exit code."""
        if self._service is None or self._service.returncode is not None:
            return None
        self._service.send_signal(signal.SIGTERM)
        async with asyncio.timeout(LIMIT_S):
            return await self._service.wait()

    async def status(self) -> Json:
        """What `channels status` says."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "channels", "status", "--json", "--config", str(self._config)),
            cwd=REPOSITORY,
            env=os.environ | {"APP_SECRET": "secret"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        said, _ = await process.communicate()
        return dict(json.loads(said))

    async def close(self) -> None:
        if self._service is not None and self._service.returncode is None:
            self._service.kill()
            await self._service.wait()
        await asyncio.to_thread(self._emulator.stop)

    async def say(self, text: str, after: Question | None = None) -> Question:
        """The person writes, in the topic of an earlier question where one is given."""
        more = {"thread_id": after.thread_id} if after is not None and after.thread_id else {}
        said = await asyncio.to_thread(self.control.say, PERSON, self._chat, text, **more)
        self.asked.append(Question(said, text))
        return self.asked[-1]

    async def look(self, question: Question) -> Question:
        ledger = await asyncio.to_thread(self.control.ledger, question.message_id)
        question.replies = [each for each in ledger["visible_replies"] if not each["recalled"]]
        return question

    async def seen(self, question: Question, fact: Callable[[Question], Found], what: str) -> Found:
        """Look again and again until it is so."""
        limit = time.monotonic() + LIMIT_S
        while not (found := fact(await self.look(question))):
            if time.monotonic() > limit:
                shown = f"{question.phase}: {' '.join(cards_seen.words(question.card).split())[-300:]!r}"
                raise DidNotHappen(f"{what} did not come within {LIMIT_S:.0f} s; the card shows {shown}")
            await asyncio.sleep(LOOK_S)
        return found

    async def ended(self, question: Question) -> Phase:
        await self.seen(question, lambda one: one.has_ended, f"the end of {question.text[:20]!r}")
        assert question.phase is not None
        return question.phase

    async def press(self, button: tuple[str, str, Json]) -> Json:
        message_id, _, value = button
        return dict(
            await asyncio.to_thread(self.control.world, "click", user=PERSON, message_id=message_id, value=value)
        )

    async def until(self, fact: Callable[[], Found], what: str) -> Found:
        limit = time.monotonic() + LIMIT_S
        while not (found := await asyncio.to_thread(fact)):
            if self._service is not None and self._service.returncode not in (None, -signal.SIGKILL):
                raise DidNotHappen(f"the service ended with code {self._service.returncode}; its log: {self._log}")
            if time.monotonic() > limit:
                raise DidNotHappen(f"{what} did not come within {LIMIT_S:.0f} s")
            await asyncio.sleep(LOOK_S)
        return found

    def folder(self) -> Path:
        """Where the session works: the only topic's folder."""
        (found,) = self.base.glob("**/topics/*")
        return found

    def _private_chat(self, person: Json) -> str:
        chats = self.control.get(f"snapshot?user={person['open_id']}")["chats"]
        return str(next(each["chat_id"] for each in chats if each["kind"] == "p2p"))


def _config(domain: str, agent_section: str) -> str:
    return (
        f'[feishu]\napp_id = "cli_emulator"\napp_secret = "env:APP_SECRET"\ndomain = "{domain}"\nrate_limits = false\n'
        '[store]\npath = "data/channels.db"\n[ui]\nlanguage = "en"\n[web]\nenabled = false\n'
        f'[access]\nadmins = ["{PERSON_ID}"]\n[workspace]\nbase_dir = "work"\n[connection]\nfirst_pause_s = 0.1\n'
        f"[turns]\npermission_timeout_s = 50.0\n{agent_section}"
    )


def agent_section(name: str, command: list[str], environment: dict[str, str], settings: Iterable[str]) -> str:
    """The [agents.NAME] table for a program; values that TOML and JSON write alike."""
    pairs = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in environment.items())
    lines = [f"[agents.{name}]", 'kind = "acp"', f"command = {json.dumps(command)}", f"env = {{ {pairs} }}"]
    return "\n".join([*lines, f"idle_s = {IDLE_S}", *settings]) + "\n"
