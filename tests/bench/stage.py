"""The emulator of a bench, alone in its process: pushes, watches and measures where the platform would.

One JSON object a line on standard input, `{"do": name, …arguments}`, one on standard output, `{"value": …}`; it ends
with its input. All durations come from this process's own clock, so that the bot under test is timed from outside;
moments that another process compares are CLOCK_MONOTONIC seconds, which Linux shares.
"""

import asyncio
import contextlib
import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from channels.emulator import Emulator, EmulatorSettings
from channels.emulator.frames import Frame
from channels.emulator.messages import Message

Json = dict[str, Any]

GROUP, WRITER = "oc_group", "Alice"
ACK_LIMIT_S = 120.0  # nothing is delivered twice because the bot under test was slow
SETTLE_S = 0.3  # how long nothing may have moved before the platform counts as quiet


class Stage:
    """The commands; each public method is one."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator, self.world, self.ledger = emulator, emulator.world, emulator.ledger
        self._connected_s = self._moved_s = 0.0
        self._acked = 0
        self._last_ack_s = 0.0
        self._worst_own_ms = 0  # by the bot's own clock, as its acks say: frame read → ack written
        self._first_seen: dict[str, float] = {}  # message id → when its first reply or reaction was visible
        self._people: list[str] = []
        acknowledge = emulator.deliveries.acknowledge
        emulator.sockets.on_frame = lambda frame: self._note_ack(acknowledge, frame)
        self.world.observe(self._note_change)

    async def connected(self, limit_s: float) -> float | None:
        """When the bot's connection stood (its first ping was there); None when that does not come in time."""
        with contextlib.suppress(TimeoutError):
            await self.ledger.until(self._pinged, limit_s)
            return self._connected_s
        return None

    async def left(self, limit_s: float = 30.0) -> None:
        """Wait until nobody is connected."""
        await self.ledger.until(lambda: not self.emulator.sockets.connections, limit_s)
        self._connected_s = 0.0

    async def burst(self, count: int, limit_s: float = 90.0) -> float:
        """Group talk that nobody asked the bot: seconds from the first push to the last ack.

        All frames are encoded before the first one goes out: the writer gets its turn when this function waits.
        """
        target = self._acked + count
        for number in range(count):
            self.world.say(WRITER, GROUP, f"talk {number}")
        gc.collect()
        started_s = time.perf_counter()
        await self.ledger.until(lambda: self._acked >= target, limit_s)
        return self._last_ack_s - started_s

    async def trickle(self, count: int, gap_ms: float) -> list[float]:
        """The same talk, one message every `gap_ms`: milliseconds from push to ack, one for each."""
        said = []
        for number in range(count):
            said.append(self.world.say(WRITER, GROUP, f"talk {number}"))
            await asyncio.sleep(gap_ms / 1000)
        return await self._latencies_ms(said)

    async def ask(self, text: str, whole_text: str, limit_s: float = 60.0) -> Json:
        """One private question: milliseconds to ack, first request, first sign and whole text; its calls."""
        calls, pushed_ms, started_s = len(self.ledger.calls()), self.emulator.clock.now_ms(), time.perf_counter()
        message_id = self.world.say(WRITER, self.world.private_chat(WRITER), text)
        await self.ledger.until(lambda: len(self.ledger.calls()) > calls, limit_s)
        first_request_ms = (time.perf_counter() - started_s) * 1000
        await self.ledger.until(lambda: message_id in self._first_seen, limit_s)
        await self.ledger.until(lambda: self._whole_at(message_id, whole_text), limit_s)
        await self._settle(limit_s)
        made = [call.kind for call in self.ledger.calls()[calls:] if call.kind != "auth.token"]
        [ack_ms] = await self._latencies_ms([message_id])
        return {
            "ack_ms": ack_ms,
            "first_request_ms": first_request_ms,
            "first_visible_ms": (self._first_seen[message_id] - started_s) * 1000,
            "whole_ms": (self._whole_at(message_id, whole_text) or 0) - pushed_ms,
            "calls": len(made),
            "kinds": {kind: made.count(kind) for kind in sorted(set(made))},
        }

    async def crowd(
        self, people: int, text: str, whole_text: str, talk: int = 0, gap_ms: float = 0, limit_s: float = 90.0
    ) -> Json:
        """Everybody asks at the same moment, and `talk` group messages come meanwhile: seconds until all have their
        whole answer, the acks' milliseconds, and the calls that it took."""
        while len(self._people) < people:
            self._people.append(self.world.add_person(f"Person {len(self._people)}").open_id)
        calls, started_s, self._worst_own_ms = len(self.ledger.calls()), time.perf_counter(), 0
        asked = [self.world.say(who, self.world.private_chat(who), text) for who in self._people[:people]]
        spoken = []
        for number in range(talk):
            await asyncio.sleep(gap_ms / 1000)
            spoken.append(self.world.say(WRITER, GROUP, f"talk {number}"))
        waiting = set(asked)
        await self.ledger.until(lambda: self._all_whole(waiting, whole_text), limit_s)
        seconds = time.perf_counter() - started_s
        latencies = await self._latencies_ms([*asked, *spoken])
        await self._settle(limit_s)
        calls = len(self.ledger.calls()) - calls
        return {"seconds": seconds, "acks_ms": latencies, "worst_own_ms": self._worst_own_ms, "calls": calls}

    async def history(self, keep: bool) -> None:
        """Whether every state of every card is kept; what is there now stays."""
        self.world.settings.keep_history = self.ledger.keep_history = keep

    # Watching

    def _pinged(self) -> bool:
        there = any(connection.pings for connection in self.emulator.sockets.connections.values())
        if there and not self._connected_s:
            self._connected_s = time.monotonic()
        return there

    def _note_ack(self, acknowledge: Callable[[Frame], None], frame: Frame) -> None:
        self._acked += 1
        self._last_ack_s = time.perf_counter()
        self._worst_own_ms = max(self._worst_own_ms, int(frame.headers.get("biz_rt", 0)))
        acknowledge(frame)

    def _note_change(self, change: Json) -> None:
        self._moved_s = time.perf_counter()
        message_id = change.get("message_id")
        if change["type"] == "reaction" and message_id:
            self._first_seen.setdefault(message_id, self._moved_s)
        elif change["type"] == "message":
            message = self.world.message(change["message_id"])
            if message.by_bot and message.reply_to:
                self._first_seen.setdefault(message.reply_to, self._moved_s)

    async def _latencies_ms(self, message_ids: list[str]) -> list[float]:
        """How long each first delivery took to be acked; fails when one was refused."""
        first = [self.ledger.deliveries(message_id)[0] for message_id in message_ids]
        await self.ledger.until(lambda: all(each.latency_ms is not None for each in first), ACK_LIMIT_S)
        assert all(each.ack_code == 200 for each in first), "an event was refused"
        return [each.latency_ms or 0.0 for each in first]

    def _whole_at(self, message_id: str, whole_text: str) -> int | None:
        """When a person could read the whole answer, in the emulator's milliseconds."""
        found = [self._whole_reply_at(reply, whole_text) for reply in self.ledger.visible_replies(message_id)]
        return min((at for at in found if at is not None), default=None)

    def _whole_reply_at(self, reply: Message, whole_text: str) -> int | None:
        states = self.ledger.card_states(reply.message_id)
        return next((state.at_ms for state in states if whole_text in state.text), None)

    def _all_whole(self, waiting: set[str], whole_text: str) -> bool:
        """Whether nobody waits any more; who has the whole answer is taken out of `waiting`."""
        while waiting:
            message_id = next(iter(waiting))
            if self._whole_at(message_id, whole_text) is None:
                return False
            waiting.discard(message_id)
        return True

    async def _settle(self, limit_s: float) -> None:
        """Until nothing has become visible for a while: what belongs to an answer has come by then."""
        async with asyncio.timeout(limit_s):
            while time.perf_counter() < self._moved_s + SETTLE_S:  # noqa: ASYNC110 (it waits for nothing to happen)
                await asyncio.sleep(SETTLE_S / 10)


async def _lines() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def main() -> None:
    emulator = Emulator(EmulatorSettings(rate_limits=False, ack_timeout_s=ACK_LIMIT_S))
    url = await emulator.start()
    emulator.sockets.behaviour.client_config |= {"ReconnectNonce": 1, "ReconnectInterval": 1}
    stage, lines = Stage(emulator), await _lines()
    _say({"value": url})
    while line := await lines.readline():
        command = json.loads(line)
        try:
            _say({"value": await getattr(stage, command.pop("do"))(**command)})
        except Exception as error:  # the bench shows it and goes on with its next measure
            _say({"error": f"{type(error).__name__}: {error}"})
    with contextlib.suppress(Exception):
        await emulator.stop()


def _say(line: Json) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
