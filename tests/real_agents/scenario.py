"""What every agent must show, in this order, in one topic."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from channels.rules.turn import Phase
from tests.conformance.agents.fake_openai import FakeOpenAi
from tests.real_agents.house import WORDS, DidNotHappen, House, Question
from tests.real_agents.mind import WRITTEN
from tests.real_agents.model import Model
from tests.real_agents.processes import Running, running

BEFORE = "as it was before"


@dataclass(slots=True)
class Step:
    name: str
    ok: bool
    seconds: float
    said: str


@dataclass(slots=True)
class Scenario:
    """One agent's steps. A step that fails ends the scenario; the rest counts as failed, too."""

    house: House
    model: Model
    server: FakeOpenAi
    home: Path
    next_minute: bool = False
    steps: list[Step] = field(default_factory=list)
    memory: list[Running] = field(default_factory=list)
    _first: Question | None = None

    async def run(self) -> None:
        await self.house.start()
        for name, step in (
            ("question answered", self._question),
            ("edit allowed on its card", self._allowed),
            ("edit denied on its card", self._denied),
            ("stopped in mid-answer", self._stopped),
            ("service killed in mid-answer, started again", self._killed),
            ("session loaded, conversation remembered", self._loaded),
            ("killed while a card asks", self._killed_asking),
            ("ended when idle, loaded with the next message", self._idle),
            ("ends with the service", self._gone),
        ):
            if not await self._take(name, step):
                break

    async def _take(self, name: str, step: Callable[[], Awaitable[str]]) -> bool:
        started = time.monotonic()
        try:
            ok, said = True, await step()
        except (AssertionError, TimeoutError) as error:
            ok, said = False, f"{type(error).__name__}: {error}"
        self.steps.append(Step(name, ok, round(time.monotonic() - started, 1), said))
        self._keep_cards(name)
        return ok

    def _keep_cards(self, step: str) -> None:
        """What the person saw at the end of the step, for looking at it afterwards."""
        folder = self.house.base.parent / "cards"
        folder.mkdir(exist_ok=True)
        shown = [reply["card"] for question in self.house.asked[-1:] for reply in question.replies]
        (folder / f"{len(self.steps)} {step}.json").write_text(json.dumps(shown, ensure_ascii=False, indent=1))

    async def _question(self) -> str:
        self._first = await self.house.say("Please remember: plum")
        _expect(await self.house.ended(self._first), Phase.DONE, self._first)
        _contains(self._first, "I shall remember plum.")
        self.memory = await asyncio.to_thread(running, self.home)
        figures = (await self.house.status())["agents"]
        shown = [each for each in figures.values() if len(each["processes"]) == 1 and each["memory_bytes"] > 2**20]
        if not shown:
            raise DidNotHappen(f"`channels status` does not show the process: {figures}")
        return " ".join(self._first.said.split())

    async def _allowed(self) -> str:
        note = self._note("allowed.txt")
        question, cards, phase = await self._edit(note, WORDS.allow_once)
        _expect(phase, Phase.DONE, question)
        if note.read_text().strip() != WRITTEN:
            raise DidNotHappen(f"the file was not changed: {note.read_text()!r}")
        return f"{cards} permission card(s), the file is changed"

    async def _denied(self) -> str:
        note = self._note("denied.txt")
        _, cards, phase = await self._edit(note, WORDS.reject_once)
        if note.read_text() != BEFORE:
            raise DidNotHappen(f"the file was changed although it was denied: {note.read_text()!r}")
        return f"{cards} permission card(s), the file is as before, the card ended as {phase}"

    async def _edit(self, note: Path, label: str) -> tuple[Question, int, Phase]:
        """Ask for the edit, press this button of every permission card, until the turn has ended."""
        question = await self.house.say(f"edit: {note}", self._first)
        pressed: set[str] = set()

        def waits(one: Question) -> list[tuple[str, str, dict[str, Any]]] | bool:
            fresh = [each for each in one.buttons("permit") if each[0] not in pressed and each[1] == label]
            return fresh or one.has_ended

        while buttons := await self.house.seen(question, waits, "a permission card"):
            if isinstance(buttons, bool):
                break
            pressed.add(buttons[0][0])
            await self.house.press(buttons[0])
        if not pressed:
            raise DidNotHappen("nobody was asked")
        return question, len(pressed), await self.house.ended(question)

    async def _stopped(self) -> str:
        question, goings = await self._counting(), self.server.goings
        started = time.monotonic()
        await self.house.press(question.buttons("stop")[0])
        _expect(await self.house.ended(question), Phase.STOPPED, question)
        shown_s = time.monotonic() - started
        await self.house.until(lambda: self.server.goings > goings, "the end of the agent's work at the model")
        over_s = time.monotonic() - started
        return f"{shown_s:.1f} s from the click to the stopped card, {over_s:.1f} s to the end of the work"

    async def _counting(self) -> Question:
        """A long answer that is running."""
        question = await self.house.say("count: 4000", self._first)
        await self.house.seen(question, lambda one: "1 2 3 4 5 " in one.said, "the beginning of a long answer")
        return question

    async def _killed(self) -> str:
        question = await self._counting()
        await self.house.kill()
        left = await asyncio.to_thread(running, self.home)
        await self._another_minute()
        await self.house.start()
        _expect(await self.house.ended(question), Phase.INTERRUPTED, question)
        gone = await self.house.until(lambda: not _alive(self.home, left), "the end of the old processes")
        return f"{len(left)} process(es) alive right after the kill, none after the next boot" if gone else ""

    async def _loaded(self) -> str:
        heard = len(self.model.heard)
        question = await self.house.say("recall: all", self._first)
        _expect(await self.house.ended(question), Phase.DONE, question)
        _contains(question, "I remember: plum.")
        if "shall remember" in question.said:
            raise DidNotHappen(f"the answer repeats the past: {question.said!r}")
        conversation = self.model.heard[heard]
        if "plum" in conversation.said[-1]:
            raise DidNotHappen("the earlier conversation came in our words, not in the agent's session")
        return f"the model heard {len(conversation.orders)} orders of this conversation again"

    async def _killed_asking(self) -> str:
        note = self._note("killed.txt")
        question = await self.house.say(f"edit: {note}", self._first)
        await self.house.seen(question, lambda one: one.buttons("permit"), "a permission card")
        await self.house.kill()
        await self._another_minute()
        await self.house.start()
        _expect(await self.house.ended(question), Phase.INTERRUPTED, question)
        await self.house.seen(question, lambda one: not one.buttons("permit"), "the end of the permission card")
        if note.read_text() != BEFORE:
            raise DidNotHappen(f"the file was changed although nobody decided: {note.read_text()!r}")
        return "the card has no buttons any more, the file is as before"

    async def _idle(self) -> str:
        question = await self.house.say("remember: pear", self._first)
        _expect(await self.house.ended(question), Phase.DONE, question)
        await self.house.until(lambda: not running(self.home), "the end of the idle process")
        await self._another_minute()
        question = await self.house.say("recall: all", self._first)
        _expect(await self.house.ended(question), Phase.DONE, question)
        _contains(question, "plum, pear.")
        return " ".join(question.said.split())

    async def _gone(self) -> str:
        code = await self.house.stop()
        left = await asyncio.to_thread(running, self.home)
        if code != 0 or left:
            raise DidNotHappen(f"exit code {code}, {len(left)} process(es) left: {left}")
        return "exit code 0, no process left"

    async def _another_minute(self) -> None:
        """Gemini CLI overwrites a session that is opened twice in one minute of the clock: a defect of its own."""
        if self.next_minute:
            await asyncio.sleep(61 - time.time() % 60)

    def _note(self, name: str) -> Path:
        note = self.house.folder() / name
        note.write_text(BEFORE)
        return note


def _alive(home: Path, those: list[Running]) -> bool:
    return bool({each.pid for each in running(home)} & {each.pid for each in those})


def _expect(phase: Phase, wanted: Phase, question: Question) -> None:
    if phase is not wanted:
        raise DidNotHappen(f"the card ended as {phase}, not as {wanted}: {' '.join(question.said.split())[-200:]!r}")


def _contains(question: Question, words: str) -> None:
    if words not in question.said:
        raise DidNotHappen(f"{words!r} is not in the answer {' '.join(question.said.split())[-200:]!r}")
