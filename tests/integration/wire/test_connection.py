"""Frames, events and acks of the long connection, against the emulator."""

import json
from dataclasses import replace

import aiohttp
import pytest

from channels.emulator import Emulator
from channels.feishu.frames import DATA, Frame, encode
from tests.integration.wire.desk import QUICK, Desk, acked, acks, connected, fact, say


async def test_the_ack_leaves_only_after_the_handler_returned(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    async with connected(emulator, session, desk) as connection:
        gate = desk.hold("wait")
        first = say(emulator, "wait")
        await fact(lambda: desk.begun == ["wait"])
        second = say(emulator, "go")
        await acked(emulator, second, 200)  # a slow handler blocks no other event
        assert acks(emulator, first) == [None]
        assert connection.health.in_flight == 1
        gate.set()
        await acked(emulator, first, 200)
        assert desk.done == ["go", "wait"]
        assert (connection.health.frames, connection.health.acks_ok, connection.health.in_flight) == (2, 2, 0)


async def test_a_failing_handler_is_acked_500_and_the_event_comes_again(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    async with connected(emulator, session, desk):
        desk.errors["oops"] = RuntimeError("broken")
        message_id = say(emulator, "oops")
        await acked(emulator, message_id, 500)
        emulator.advance(16)
        await acked(emulator, message_id, 500, 200)
        assert desk.done == ["oops"]


async def test_a_late_handler_is_acked_500_goes_on_and_its_result_is_dropped(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    async with connected(emulator, session, desk, replace(QUICK, ack_limit_s=0.05)) as connection:
        gate = desk.hold("slow")
        message_id = say(emulator, "slow")
        await acked(emulator, message_id, 500)
        assert desk.done == []
        gate.set()
        await fact(lambda: desk.done == ["slow"])
        other = say(emulator, "after")
        await acked(emulator, other, 200)
        assert acks(emulator, message_id) == [500]
        assert (connection.health.acks_late, connection.health.in_flight) == (1, 0)


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
async def test_chunks_in_any_order_and_repeated_are_one_event(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk, order: str
) -> None:
    behaviour = emulator.sockets.behaviour
    behaviour.chunk_bytes, behaviour.chunk_order, behaviour.chunk_repeats = 50, order, 3
    async with connected(emulator, session, desk):
        message_id = say(emulator, "x" * 500)
        await acked(emulator, message_id, 200)
        other = say(emulator, "y")
        await acked(emulator, other, 200)
        assert desk.done == ["x" * 500, "y"]


async def test_a_chunked_event_that_was_refused_completes_again(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    emulator.sockets.behaviour.chunk_bytes = 100
    emulator.sockets.behaviour.chunks_missing = 1
    async with connected(emulator, session, desk):
        message_id = say(emulator, "z")
        desk.errors["z"] = RuntimeError("once")
        emulator.advance(4)
        emulator.advance(16)
        await acked(emulator, message_id, None, 500)
        emulator.advance(301)
        await acked(emulator, message_id, None, 500, 200)


async def test_a_refused_event_may_complete_again_under_the_same_frame_id(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    payload = json.dumps({"header": {"event_type": "x"}}).encode()
    halves = (payload[:9], payload[9:])
    async with connected(emulator, session, desk) as connection:
        (socket,) = emulator.sockets.connections.values()

        def send_all() -> None:
            for seq, half in enumerate(halves):
                headers = (("type", "event"), ("message_id", "same"), ("sum", "2"), ("seq", str(seq)))
                socket.send(encode(Frame(method=DATA, headers=headers, payload=half)))

        desk.errors["UnknownEvent"] = RuntimeError("once")
        send_all()
        await fact(lambda: connection.health.acks_failed == 1)
        send_all()
        await fact(lambda: connection.health.acks_ok == 1)
        assert desk.begun == ["UnknownEvent", "UnknownEvent"]


async def test_a_bad_frame_is_skipped(emulator: Emulator, session: aiohttp.ClientSession, desk: Desk) -> None:
    async with connected(emulator, session, desk) as connection:
        (socket,) = emulator.sockets.connections.values()
        for junk in (b"", b"\xff\xff\xff", b"\x08\x01"):
            socket.send(junk)
        message_id = say(emulator, "still here")
        await acked(emulator, message_id, 200)
        assert connection.health.bad_frames == 3
        assert connection.health.connections == 1


async def test_a_click_gets_its_answer(emulator: Emulator, session: aiohttp.ClientSession, desk: Desk) -> None:
    async with connected(emulator, session, desk):
        message_id = say(emulator, "a card, say")
        answer = await emulator.world.click("Alice", message_id, {"id": "7"})
        assert (answer["code"], answer["toast"]["content"]) == (0, "pressed")
