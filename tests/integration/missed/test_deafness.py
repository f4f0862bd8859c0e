"""A socket that answers pings and brings no events; gaps at reconnects; one message by two ways at once."""

import asyncio
import json

import pytest

from channels.emulator import GROUP
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.missed.absence import (
    GAPS,
    HOUR_S,
    MINUTE_S,
    OPEN_GAPS,
    all_read,
    answered,
    asked_about,
)
from tests.integration.taps import Holding

SWEEPS = "SELECT count(*) FROM missed_gaps WHERE reason = 'sweep'"


async def let_pass(house: House, seconds: float, step_s: float = 60.0) -> None:
    """Time passes in steps, each of which every loop sees."""
    while seconds > 0:
        house.advance(min(step_s, seconds))
        seconds -= step_s
        await asyncio.sleep(0)
    assert house.service is not None
    house.service.parts.context.missed.ring()


@pytest.mark.timeout(90)
async def test_a_deaf_connection_is_found_and_built_anew(house: House) -> None:
    """Field report 8: the platform answers pings for ever; history shows four messages."""
    service = house.service
    assert service is not None
    _, reply = await house.ask("hello", "Alice")
    await house.ask("hello", "Bob")
    thread_id = reply.thread_id
    before = list(house.emulator.sockets.connections)
    house.emulator.sockets.mute_present()
    chat = house.world.private_chat("Alice")
    written = [
        house.say("one", "Alice", push=False),
        house.say("two", "Bob", push=False),
        house.say("three", "Alice", push=False),
        house.say("four", "Alice", chat, thread_id=thread_id, push=False),
    ]
    await let_pass(house, 6 * MINUTE_S)
    for message_id in written:
        await answered(house, message_id)
    await house.seen(lambda: house.emulator.sockets.connections and before[0] not in house.emulator.sockets.connections)
    assert service.parts.connection.health.last_loss == "rebuilt"
    live, _ = await house.ask("are you there?")
    house.assert_answered_once(live)
    for message_id in written:
        house.assert_answered_once(message_id)


async def test_a_connection_that_brings_nothing_for_hours_is_built_anew(open_house: OpenHouse) -> None:
    """Somebody who never wrote before is in no chat that a sweep looks at: Feishu's last delivery must be heard."""
    house = await open_house(platform={"redelivery_s": (15, 300, HOUR_S, 6 * HOUR_S)})
    service = house.service
    assert service is not None
    await house.ask("hello", "Alice")
    house.emulator.sockets.mute_present()
    lost = house.say("is anybody there?", "Bob")
    await let_pass(house, 4.9 * HOUR_S, 600.0)
    assert service.parts.connection.health.connections == 1
    await let_pass(house, 0.2 * HOUR_S)
    await house.passed(lambda: service.parts.connection.health.connections == 2)
    assert house.replies(lost) == []
    await let_pass(house, 3 * HOUR_S, 600.0)
    await answered(house, lost)
    assert service.parts.connection.health.last_loss == "rebuilt"


async def test_a_sweep_that_finds_nothing_leaves_the_connection_alone(house: House) -> None:
    service = house.service
    assert service is not None
    await house.ask("hello")
    before = list(house.emulator.sockets.connections)
    await let_pass(house, 6 * MINUTE_S)
    await let_pass(house, 6 * MINUTE_S)
    await house.held(SWEEPS, 1)
    assert list(house.emulator.sockets.connections) == before
    assert service.parts.connection.health.connections == 1


async def test_a_group_whose_talk_is_not_pushed_is_no_sign_of_deafness(house: House) -> None:
    """Without the right to all messages Feishu pushes only what names the bot; history has it all."""
    await house.ask("hello", "Alice", GROUP, mention_bot=True)
    before = list(house.emulator.sockets.connections)
    chatter = house.say("just talking", "Bob", GROUP, push=False)
    await let_pass(house, 6 * MINUTE_S)
    await let_pass(house, 6 * MINUTE_S)
    await house.held("SELECT verdict FROM inbox WHERE message_id = :id", "not_mentioned", id=chatter)
    await house.held(SWEEPS, 1)
    assert list(house.emulator.sockets.connections) == before


async def test_what_was_written_during_a_cut(house: House) -> None:
    """The gap begins at the last thing heard, not when the loss was noticed."""
    await house.ask("hello")
    house.fault("ws.endpoint", "error", code=1, times=3)
    house.emulator.sockets.cut()
    written = house.say("while nobody listened", push=False)
    await answered(house, written)
    await house.held(f"SELECT ({GAPS}) = 1 AND ({OPEN_GAPS}) = 0", 1)
    assert await house.one("SELECT reason FROM missed_gaps") == "reconnect"


async def test_hours_without_a_connection(house: House) -> None:
    await house.ask("hello")
    service = house.service
    assert service is not None
    house.fault("ws.endpoint", "error", code=1, times=None)
    house.emulator.sockets.cut()
    await house.seen(lambda: not house.emulator.sockets.connections)
    house.advance(HOUR_S)
    house.say("old", push=False)
    house.advance(3 * HOUR_S)
    house.emulator.faults.clear()
    await asked_about(house, house.world.private_chat("Alice"), 1)


async def test_the_heartbeat_stands_still_without_a_connection(open_house: OpenHouse) -> None:
    """Also while the socket is open but nothing is heard: what counts is the last frame or pong."""
    house = await open_house(missed={"heartbeat_s": 0.05})
    await house.ask("hello")
    service = house.service
    assert service is not None
    health = service.parts.connection.health
    await house.held("SELECT last_alive_at FROM meta")
    house.advance(90.0)
    heard = service.parts.context.clock.wall_ms() - int(
        (service.parts.context.clock.monotonic() - (health.last_heard_at or 0)) * 1000
    )
    beats = await house.one("SELECT commits FROM meta")
    await house.held(f"SELECT commits > {beats} + 2 FROM meta", 1)
    assert abs(await house.one("SELECT last_alive_at FROM meta") - heard) < 50


async def test_the_same_message_live_and_by_history_at_once(house: House) -> None:
    """Both ways meet at the gate while the first commit is still running."""
    await house.ask("hello")
    house.fault("ws.endpoint", "error", code=1, times=2)
    house.emulator.sockets.cut()
    await house.seen(lambda: not house.emulator.sockets.connections)
    holding = Holding("INSERT INTO inbox")
    house.tap.listeners.append(holding)
    message_id = house.say("hello again")
    service = house.service
    assert service is not None
    await asyncio.to_thread(holding.reached.wait, 10)
    payload = live_event(house, message_id)
    acks = [asyncio.ensure_future(service.parts.intake.handle(payload)) for _ in range(3)]
    await asyncio.sleep(0)
    holding.release()
    assert {answer.code for answer in await asyncio.gather(*acks)} == {200}
    await answered(house, message_id)
    await all_read(house)
    await house.quiet()
    house.assert_answered_once(message_id)
    assert await house.one("SELECT count(*) FROM turns") == 2


def live_event(house: House, message_id: str) -> bytes:
    """The event as the platform pushes it."""
    message = house.world.message(message_id)
    event = house.world.views.received(message, house.world.chat(message.chat_id))
    header = {"event_id": "live", "event_type": "im.message.receive_v1", "create_time": "0", "app_id": "cli_emulator"}
    return json.dumps({"schema": "2.0", "header": header, "event": event}).encode()
