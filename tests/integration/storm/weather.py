"""What a long connection does to events: sent again after a good ack, lost, refused by a full disk, out of order."""

import asyncio
import random
import sqlite3
from collections.abc import Sequence
from typing import Any

from tests.integration.house import House
from tests.integration.taps import Failing

ACK_TIMEOUT_S = 1.0
REDELIVERY_S = (0.3,) * 60
PLATFORM: dict[str, Any] = {"redelivery_s": REDELIVERY_S, "ack_timeout_s": ACK_TIMEOUT_S}

KINDS = ("calm", "calm", "calm", "cut", "deaf", "refused", "refused", "refused")


class Weather:
    """Pushes the events of messages that were written, each burst in another weather."""

    def __init__(self, house: House, chance: random.Random) -> None:
        self._house, self._chance, self._sockets = house, chance, house.emulator.sockets
        self._coming: list[str] = []

    async def push(self, message_ids: Sequence[str]) -> None:
        """All of these, shuffled; some get lost at first, some come again."""
        chance, behaviour, world = self._chance, self._sockets.behaviour, self._house.world
        behaviour.duplicates, behaviour.duplicate_after_s = chance.choice((0, 0, 1, 2)), chance.random() * 0.3
        behaviour.new_event_ids = chance.random() < 0.5
        order = list(message_ids)
        chance.shuffle(order)
        kind = self._next_kind()
        if kind == "refused":
            await self._house.seen(lambda: self._sockets.connections)
        failing = self._refuse(chance.randint(1, len(order))) if kind == "refused" else None
        if kind == "deaf":
            self._sockets.mute_present()
        for message_id in order:
            world.push_message(world.message(message_id))
            if chance.random() < 0.2:
                await asyncio.sleep(0)
        if kind in ("cut", "deaf"):
            self._sockets.cut()
        if failing is not None:
            await self._house.passed(lambda: failing.left == 0)
            self._house.tap.listeners.remove(failing)

    def calm(self) -> None:
        """From now on everything comes once."""
        self._sockets.behaviour.duplicates = 0

    def _next_kind(self) -> str:
        """Every kind comes as often as it should, in another order each time."""
        if not self._coming:
            self._coming = list(KINDS)
            self._chance.shuffle(self._coming)
        return self._coming.pop()

    def _refuse(self, times: int) -> Failing:
        """The next so many messages cannot be written: they are acked 500 and come again."""
        failing = Failing("INSERT INTO inbox", lambda: sqlite3.OperationalError("disk I/O error"), times)
        self._house.tap.listeners.append(failing)
        return failing
