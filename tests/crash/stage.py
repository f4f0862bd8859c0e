"""One case: an emulator as the world, a domain file, and boots of the service that are killed and come back.

A workload acts on the stage and waits for facts; it does not know whether and when the service is killed. The stage
boots the next child as soon as one has died, and lets time pass here and there when nothing else can happen.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Self

from channels.emulator import Emulator, EmulatorSettings
from channels.emulator.faults import Fault
from channels.emulator.messages import Message
from tests.crash.boot import trace_path
from tests.crash.children import KILLED, Boot, Line, WarmParent
from tests.integration import cards_seen
from tests.integration.house import settings_of

CALM_S = 0.3  # when nothing has happened for so long, time is let pass
LIMIT_S = 60.0
ACK_LIMIT_MS = 3_000
ENDS_AT_MOST = 20  # boots that may end without having been killed, before the case is given up
PATIENT: dict[str, Any] = {"grace_s": 86_400.0}  # time that is let pass at once is no silence of the socket
HASTE: dict[str, dict[str, Any]] = {"cards": {"frame_gaps_ms": [0, 20, 20, 20]}}
RECEIVED = "im.message.receive_v1"
Wanted = Callable[[dict[str, Any]], bool]


def any_value(_value: dict[str, Any]) -> bool:
    """Any button will do."""
    return True


class Expect(Enum):
    """What a person may expect who has written a message."""

    ANSWER = "a finished answer, or a card that says how it ended"
    NOTICE = "a card that answers a command or refuses"
    NOTHING = "no answer"
    PENDING = "an answer, or a pending card of its chat"
    IGNORED = "a pending card, and no answer once somebody has said so"
    UNNOTICED = "nothing: the service need not even know"
    TAKEN_BACK = "at most one answer"


@dataclass(frozen=True, slots=True)
class Violation:
    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    message_id: str
    text: str
    expect: Expect


@dataclass(slots=True)
class Click:
    """A button that a person pressed, and when."""

    at_ms: int
    message_id: str
    value: dict[str, Any]


@dataclass
class Stage:
    """`kills`: for the n-th boot (from 1) the point at which it dies."""

    parent: WarmParent
    folder: Path
    kills: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    platform: dict[str, Any] = field(default_factory=dict)
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    limit_s: float = LIMIT_S
    away_s: float = 0.0  # how long the service stays away after its first death
    said: dict[str, Said] = field(default_factory=dict)
    clicks: list[Click] = field(default_factory=list)
    boots: list[Boot] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    advanced_s: float = 0.0
    restored: bool = False  # an older copy of the file was put back: it does not know everything
    _closing: bool = False
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self.emulator = Emulator(EmulatorSettings(**({"rate_limits": False} | self.platform)))
        await self.emulator.start()
        self.emulator.sockets.behaviour.client_config |= {"ReconnectNonce": 1, "ReconnectInterval": 1}
        self.world, self.ledger = self.emulator.world, self.emulator.ledger
        self.line = Line(self.folder, self.ledger.changed, self._let_world_pass)
        await self.line.open()
        self._may_boot = asyncio.Event()
        self._may_boot.set()
        self._tasks.append(asyncio.create_task(self._keep_booting()))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.boots:
            self._kill()
            await self.boot.ended
        await self.line.close()
        await self.emulator.stop()

    # Boots

    @property
    def boot(self) -> Boot:
        """The latest."""
        return self.boots[-1]

    @property
    def file(self) -> Path:
        return self.folder / "channels.db"

    def passed(self, number: int) -> tuple[str, ...]:
        """The points that the n-th boot has passed; empty when it was killed from outside."""
        trace = trace_path(self.folder, number)
        return tuple(map(sys.intern, trace.read_text().splitlines())) if trace.exists() else ()

    async def down(self) -> None:
        """The service is killed from outside, and stays away until `up`."""
        self._may_boot.clear()
        await self.line.ask(do="trace")
        self._kill()
        await asyncio.wait({self.boot.ended})

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it may be dying by itself at this very moment
            if self.boot.alive:
                os.kill(self.boot.pid, signal.SIGKILL)

    async def back_up(self, target: Path) -> None:
        """`channels backup`: a copy of the file while the service runs."""
        while not await self.line.ask(do="backup", path=str(target)):
            await self._calm(self._pulse())  # a boot that has just died answers nothing, and must be noticed
            await self.ready()

    async def put_back(self, copy: Path) -> None:
        """The service goes down and the copy takes the file's place, by hand; it stays down until `up`. A boot in
        between has written its anchor: the file has lived on since the copy was made."""
        await self.down()
        await self.up()
        await self.ready()
        await self.down()
        self.restored = True
        replace_file(self.file, copy)

    async def up(self) -> None:
        self._may_boot.set()
        number = len(self.boots)
        await self.until(
            lambda: len(self.boots) > number and (self.boot.ready.is_set() or len(self.boots) > number + 1)
        )

    async def _keep_booting(self) -> None:
        odd_ends = 0
        while odd_ends < ENDS_AT_MOST:
            await self._may_boot.wait()
            boot = await self._start_boot()
            code = await asyncio.shield(boot.ended)
            if self._closing:
                return
            if code == KILLED:
                self.violations += check_acked(self)
                if boot.number == 1:
                    self._let_world_pass(self.away_s)
            else:
                odd_ends += 1
                self.violations.append(Violation("L1", f"boot {boot.number} ended by itself with code {code}"))

    async def _start_boot(self) -> Boot:
        number = len(self.boots) + 1
        sections = HASTE | {"connection": PATIENT} | self.sections
        settings = settings_of(self.emulator.url, self.folder, **sections)
        kill = self.kills.get(number)
        job = {
            "number": number,
            "socket": str(self.line.path),
            "settings": settings,
            "folder": str(self.folder),
            "advanced_s": self.advanced_s,
            "kill": kill,
        }
        boot = Boot(number, kill, 0, asyncio.get_running_loop().create_future(), self.now_ms())
        self.line.expect(boot)
        boot.pid, boot.ended = await self.parent.fork(job)
        self.boots.append(boot)
        return boot

    # Time

    def now_ms(self) -> int:
        return self.emulator.clock.now_ms()

    def _let_world_pass(self, seconds: float) -> None:
        """The platform's patience first: what it sends again counts from there."""
        self.advanced_s += seconds
        patience_s = min(seconds, ACK_LIMIT_MS / 1000)
        self.emulator.advance(patience_s)
        self.emulator.advance(seconds - patience_s)

    async def advance(self, seconds: float) -> None:
        """Let time pass here and there."""
        self._let_world_pass(seconds)
        await self.line.ask(do="advance", seconds=seconds)

    async def _nudge(self) -> None:
        """Nothing happens any more: let time pass until the next thing falls due."""
        state = await self.line.ask(do="state")
        if state is None or state["open"] < 0 or not self.boot.ready.is_set():
            return
        waits = [state["wait_ms"]] if state["wait_ms"] is not None else []
        waits += [due - self.now_ms() for due in self._redeliveries()]
        if waits:
            await self.advance(max(1_000, min(waits) + 1) / 1000)

    def _redeliveries(self) -> list[int]:
        """When the platform will send again what was not acked."""
        schedule, found = self.emulator.settings.redelivery_s, []
        for message_id in self.unsettled():
            last = self.ledger.deliveries(message_id, RECEIVED)[-1]
            if last.attempt <= len(schedule):
                found.append(last.at_ms + ACK_LIMIT_MS + int(schedule[last.attempt - 1] * 1000) + 1_000)
        return found

    def unsettled(self) -> list[str]:
        """Messages whose event the platform has not seen acked and will send again."""
        open_ones, most = [], len(self.emulator.settings.redelivery_s) + 1
        for message_id in self.said:
            tries = self.ledger.deliveries(message_id, RECEIVED)
            if tries and not any(each.ack_code == 200 for each in tries) and tries[-1].attempt < most:
                open_ones.append(message_id)
        return open_ones

    # Waiting

    async def until(self, fact: Callable[[], object]) -> None:
        """Wait until `fact()` is true of what the world shows."""
        async with asyncio.timeout(self.limit_s):
            while True:
                before = self._pulse()
                try:
                    await self.ledger.until(fact, CALM_S)
                except TimeoutError:
                    if self._pulse() == before:
                        await self._nudge()
                else:
                    return

    async def ready(self) -> None:
        """Wait until the service is connected and knows its name."""
        await self.until(lambda: bool(self.boots) and self.boot.ready.is_set())

    async def quiet(self) -> bool:
        """Wait until nothing has to happen any more; False (and a violation) when that does not come."""
        try:
            async with asyncio.timeout(self.limit_s):
                while True:
                    before = self._pulse()
                    state = await self.line.ask(do="state") if self.boots and self.boot.ready.is_set() else None
                    if state is not None and state["open"] == 0 and not self.unsettled() and before == self._pulse():
                        return True
                    await self._calm(before)
                    if self._pulse() == before:
                        await self._nudge()
        except TimeoutError:
            self.violations.append(Violation("L1", f"not quiet after {self.limit_s:.0f} s"))
            return False

    async def breathe(self) -> None:
        """Until something happens, or nothing has for a while."""
        await self._calm(self._pulse())

    async def moved(self) -> None:
        """Wait until anything happens; where nothing does, let time pass."""
        before = self._pulse()
        await self._calm(before)
        if self._pulse() == before:
            await self._nudge()

    async def _calm(self, pulse: tuple[int, ...]) -> None:
        """Until something happens, or nothing has for a while."""
        with contextlib.suppress(TimeoutError):
            await self.ledger.until(lambda: self._pulse() != pulse, CALM_S)

    def _pulse(self) -> tuple[int, ...]:
        commits = sum(boot.commits for boot in self.boots)
        return len(self.boots), commits, len(self.ledger.calls()), len(self.ledger.deliveries())

    async def finish(self) -> None:
        """Until it is quiet; then the service goes down cleanly (or is killed over it, and comes back once more), so
        that its file can be read."""
        await self.quiet()
        while await self._stop_boot() == KILLED:
            self._closing = False
            self._tasks.append(asyncio.create_task(self._keep_booting()))
            await self.quiet()

    async def _stop_boot(self) -> int | None:
        """The exit code of the latest boot after it was told to stop."""
        self._closing = True
        self.line.tell_to_stop()
        try:
            async with asyncio.timeout(self.limit_s):
                code = await asyncio.shield(self.boot.ended)
        except TimeoutError:
            self.violations.append(Violation("L1", "the service did not stop"))
            self._kill()
            await self.boot.ended
            return None
        if code == KILLED:
            self.violations += check_acked(self)
        elif code != 0:
            self.violations.append(Violation("L1", f"the clean stop ended with code {code}"))
        return code

    # People

    def say(
        self,
        text: str,
        user: str = "Alice",
        chat_id: str | None = None,
        *,
        expect: Expect = Expect.ANSWER,
        **more: Any,
    ) -> str:
        """A person writes (in the private chat where no other is named); returns the message id."""
        return self.note(self.world.say(user, chat_id or self.world.private_chat(user), text, **more), text, expect)

    def note(self, message_id: str, text: str, expect: Expect = Expect.ANSWER) -> str:
        """Remember what the person who has written this message may expect."""
        self.said[message_id] = Said(message_id, text, expect)
        return message_id

    def provider(self) -> list[dict[str, Any]]:
        """What has reached the agent until now."""
        return read_provider(self.folder)

    def replies(self, message_id: str) -> list[Message]:
        return self.ledger.visible_replies(message_id)

    def cards(self, message_id: str) -> list[dict[str, Any]]:
        """The cards that answer a message, as they look now."""
        states = [self.ledger.card_states(reply.message_id) for reply in self.replies(message_id)]
        return [each[-1].card for each in states if each]

    def has_ended(self, message_id: str) -> bool:
        """Whether the message has an answer, and nothing of it runs any more."""
        replies, cards = self.replies(message_id), self.cards(message_id)
        return bool(replies) and not any(cards_seen.is_running(card) for card in cards)

    async def answered(self, message_id: str) -> None:
        await self.until(lambda: self.has_ended(message_id))

    def button(self, message_id: str, action: str, where: Wanted = any_value) -> tuple[str, dict[str, Any]] | None:
        """A button of this action on a card that answers the message: (the card's message id, its value)."""
        return self._button_on(self.replies(message_id), action, where)

    def button_in_chat(self, chat_id: str, action: str) -> tuple[str, dict[str, Any]] | None:
        """The same on a card that stands in a chat by itself."""
        ours = [each for each in self.world.timeline.in_chat(chat_id) if each.by_bot and not each.recalled]
        return self._button_on(ours, action)

    def _button_on(
        self, messages: Iterable[Message], action: str, where: Wanted = any_value
    ) -> tuple[str, dict[str, Any]] | None:
        for message in messages:
            states = self.ledger.card_states(message.message_id)
            for part in cards_seen.parts(states[-1].card) if states else ():
                for behaviour in part.get("behaviors", ()):
                    if behaviour.get("value", {}).get("do") == action and where(behaviour["value"]):
                        return message.message_id, dict(behaviour["value"])
        return None

    async def decide(self, chat_id: str, action: str, user: str = "Alice") -> None:
        """Press a button of the chat's pending card until it is gone."""
        await self.until(lambda: self.button_in_chat(chat_id, action))
        while found := self.button_in_chat(chat_id, action):
            await self.ready()
            pressed = await self._click(user, *found)
            if pressed:
                await self.until(lambda: not self.button_in_chat(chat_id, action))

    async def press(self, message_id: str, action: str, user: str = "Alice") -> bool:
        """Press a button as soon as it is there and its press is taken; False when the answer ends without it."""
        return await self.press_value(message_id, action, user) is not None

    async def press_value(
        self, message_id: str, action: str, user: str = "Alice", where: Wanted = any_value
    ) -> dict[str, Any] | None:
        """The same for a button whose value is as wanted; what it carried, None when the answer ends without it."""
        while True:
            await self.until(lambda: self.button(message_id, action, where) or self.has_ended(message_id))
            found = self.button(message_id, action, where)
            if found is None:
                return None
            await self.ready()
            self.clicks.append(Click(self.now_ms(), *found))
            if await self._click(user, *found):
                return found[1]

    async def press_again(self, message_id: str, value: dict[str, Any], user: str = "Alice") -> None:
        """Send a value that is on no card any more, from the last card that answers the message, until it is taken."""
        card = self.replies(message_id)[-1].message_id
        while True:
            await self.ready()
            if await self._click(user, card, value):
                return

    async def press_on(self, card: Message, action: str, user: str = "Alice") -> bool:
        """Press a button of this card until the press is taken; False when it has no such button."""
        while found := self._button_on([card], action):
            await self.ready()
            self.clicks.append(Click(self.now_ms(), *found))
            if await self._click(user, *found):
                return True
        return False

    async def _click(self, user: str, message_id: str, value: dict[str, Any]) -> bool:
        """Press; when the service dies over it, the platform's patience is let pass."""
        click = asyncio.ensure_future(self.world.click(user, message_id, value))
        waited: set[asyncio.Future[Any]] = {click, self.boot.ended}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if not click.done():
            await asyncio.wait({click}, timeout=CALM_S)
            self._let_world_pass(ACK_LIMIT_MS / 1000 + 1)
        return int((await click)["code"]) == 0

    def fault(self, match: str, kind: str, **more: Any) -> Fault:
        """Set a fault on the platform."""
        return self.emulator.faults.add(Fault(match=match, kind=kind, **more))


def check_acked(stage: Stage) -> list[Violation]:
    """S11, right after a kill: what was acked is in the file (a copy of it is opened, the file is left alone)."""
    acked = [
        message_id
        for message_id in stage.said
        if any(each.ack_code == 200 for each in stage.ledger.deliveries(message_id, RECEIVED))
    ]
    if not acked or stage.restored:  # an older file does not know what was acked since
        return []
    held = {row[0] for row in read_copy(stage.file, "SELECT message_id FROM inbox")}
    return [
        Violation("S11", f"{message_id} was acked and is not in the file after the kill")
        for message_id in acked
        if message_id not in held
    ]


def replace_file(file: Path, copy: Path) -> None:
    """Put a copy where the domain file was."""
    for side in ("-wal", "-shm"):
        file.with_name(file.name + side).unlink(missing_ok=True)
    shutil.copyfile(copy, file)


def read_copy(file: Path, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a copy of the domain file as it lies there."""
    copy = file.with_name("copy.db")
    for suffix in ("", "-wal"):
        source = file.with_name(file.name + suffix)
        target = copy.with_name(copy.name + suffix)
        target.unlink(missing_ok=True)
        if source.exists():
            shutil.copyfile(source, target)
    connection = sqlite3.connect(copy)
    try:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return connection.execute(sql).fetchall() if "inbox" in tables else []
    finally:
        connection.close()


def read_provider(folder: Path) -> list[dict[str, Any]]:
    """What reached the agent, in order."""
    record = folder / "provider.jsonl"
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
