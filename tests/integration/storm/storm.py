"""A storm: many people write in many places at once, over a long connection in bad weather.

The first half is answered while it comes in. Then the agent stops answering, the second half comes, and every message
of it has to show that it waits. Then the agent goes on. `checks.check` says what did not hold.
"""

import random
import time
from dataclasses import dataclass
from typing import Any

from tests.integration.house import House
from tests.integration.storm.agent import GatedAgent
from tests.integration.storm.checks import Checks, Said
from tests.integration.storm.town import Place, Town, build_town, open_topics
from tests.integration.storm.weather import Weather

SECTIONS: dict[str, dict[str, Any]] = {"turns": {"queue_limit": 1000, "drain_s": 0.0}}
MOST_OPEN = 120  # messages that may wait for their answer in the first half
KINDS = {"topic": 66, "private": 12, "mention": 10, "silent": 6, "command": 6}
LIMIT_S = 900.0


@dataclass(frozen=True, slots=True)
class StormResult:
    seed: int
    messages: int
    deliveries: int
    refused: int  # deliveries that were acked 500
    unanswered: int  # deliveries that were not acked at all
    slowest_ack_ms: int
    waiting_at_once: int
    violations: tuple[str, ...]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class Storm:
    """One storm in one house. `rage` runs it to its end."""

    def __init__(self, house: House, agent: GatedAgent, messages: int, seed: int) -> None:
        self.house, self.agent, self.messages, self.seed = house, agent, messages, seed
        self.chance = random.Random(seed)
        self.town: Town = build_town(house, self.chance)
        self.said: dict[str, Said] = {}
        self._weather = Weather(house, self.chance)
        self._replied: set[str] = set()
        self._done, self._changes_read = 0, 0
        self._waiting_at_once = 0
        house.world.observe(self._note)

    async def rage(self) -> StormResult:
        """Everything; at the end the house is quiet."""
        started = time.monotonic()
        for number, message_id in enumerate(await open_topics(self.house, self.town)):
            self.said[message_id] = Said(message_id, f"<opening {number}>", "answer")
        half = self.messages // 2
        await self._write(half, keep_open=MOST_OPEN)
        self.agent.gate.clear()
        await self._write(self.messages - half, keep_open=None)
        violations = await self._see_that_all_wait()
        self.agent.gate.set()
        self._weather.calm()
        await self.house.seen(lambda: self._open() == 0, LIMIT_S)
        await self.house.quiet(LIMIT_S)
        violations += await Checks(self.house, self.agent, self.said).check()
        return self._result(violations, time.monotonic() - started)

    async def _write(self, count: int, keep_open: int | None) -> None:
        """So many messages in bursts; a burst begins when no more than `keep_open` wait for their answer."""
        left = count
        while left > 0:
            burst = [self._say(self._kind()) for _ in range(min(left, self.chance.randint(1, 30)))]
            left -= len(burst)
            await self._weather.push(burst)
            if keep_open is not None:
                await self.house.seen(lambda: self._open() <= keep_open, LIMIT_S)

    def _kind(self) -> str:
        return self.chance.choices(list(KINDS), list(KINDS.values()))[0]

    def _say(self, kind: str) -> str:
        """Somebody writes; the event is not pushed yet."""
        chance, town, token = self.chance, self.town, f"<{len(self.said)}>"
        places = {"topic": town.topics, "command": town.topics, "private": town.private}
        place: Place = chance.choice(places.get(kind, town.groups))
        user = chance.choice(place.people)
        message_id = self.house.say(
            "/status" if kind == "command" else token,
            user,
            place.chat_id,
            thread_id=place.thread_id,
            mention_bot=kind == "mention",
            push=False,
        )
        expects = {"silent": "silence", "command": "notice"}.get(kind, "answer")
        self.said[message_id] = Said(message_id, token, expects)
        return message_id

    async def _see_that_all_wait(self) -> list[str]:
        """While nothing is answered, each message that wants an answer shows a card that says so."""
        wanted = [each.message_id for each in self.said.values() if each.expects == "answer"]
        await self.house.seen(lambda: self._replied.issuperset(wanted), LIMIT_S)
        running = [message_id for message_id in wanted if not self.house.has_ended(message_id)]
        self._waiting_at_once = len(running)
        queued = await self.house.one("SELECT count(*) FROM turns WHERE state IN ('queued', 'entered')")
        return [] if queued == len(running) else [f"{len(running)} cards wait, but {queued} turns do"]

    def _note(self, change: dict[str, Any]) -> None:
        """Whose messages have a visible answer: an observer of the platform."""
        if change["type"] == "message":
            message = self.house.world.message(change["message_id"])
            if message.by_bot:
                self._replied.add(message.reply_to)

    def _open(self) -> int:
        """How many answers have not come to their end; reads only what has changed since it was asked last."""
        changes = self.house.ledger.reaction_changes
        self._done += sum(each.emoji_type == "DONE" and each.added for each in changes[self._changes_read :])
        self._changes_read = len(changes)
        return sum(each.expects == "answer" for each in self.said.values()) - self._done

    def _result(self, violations: list[str], seconds: float) -> StormResult:
        deliveries = self.house.ledger.deliveries(event_type="im.message.receive_v1")
        acks = [each.ack_code for each in deliveries]
        return StormResult(
            seed=self.seed,
            messages=len(self.said),
            deliveries=len(deliveries),
            refused=acks.count(500),
            unanswered=acks.count(None),
            slowest_ack_ms=round(max(each.latency_ms or 0 for each in deliveries)),
            waiting_at_once=self._waiting_at_once,
            violations=tuple(violations),
            seconds=round(seconds, 1),
        )
