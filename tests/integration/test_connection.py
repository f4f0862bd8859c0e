"""The long connection as the whole service lives with it: half-open sockets, refusals that only people can mend."""

import aiohttp
import pytest

from tests.integration.conftest import OpenHouse

PINGS = {"ping_interval_s": 0.2, "missed_pongs": 2, "grace_s": 0.2}


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def test_a_half_open_socket_is_found(open_house: OpenHouse) -> None:
    """Nothing comes over it any more; the watchdog builds a new one, and the platform's redelivery brings the event."""
    house = await open_house(platform={"ack_timeout_s": 0.3}, connection=PINGS)
    service = house.service
    assert service is not None
    health = service.parts.connection.health
    sockets = house.emulator.sockets
    sockets.behaviour.pongs = False
    sockets.mute_present()
    message_id = house.say("hello")
    before = list(sockets.connections)
    await house.seen(lambda: sockets.connections and before[0] not in sockets.connections)
    sockets.behaviour.pongs = True
    await house.answered(message_id)
    house.assert_answered_once(message_id)
    assert health.last_loss == "silence"
    assert health.connections >= 2
    deliveries = house.ledger.deliveries(message_id)
    assert deliveries[0].ack_code is None
    await house.seen(lambda: deliveries[-1].ack_code == 200 or house.acks(message_id)[-1] == 200)


async def test_a_cut_socket_is_replaced(open_house: OpenHouse) -> None:
    house = await open_house()
    house.emulator.sockets.cut()
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)


@pytest.mark.parametrize("code", [1000040351, 514, 403])
async def test_a_fatal_refusal_is_shown_and_outlived(open_house: OpenHouse, code: int) -> None:
    house = await open_house(start=False, web={"enabled": True})
    house.fault("ws.endpoint", "error", code=code, times=None)
    service = await house.start(connected=False)
    await house.seen(lambda: len(house.calls("ws.endpoint")) >= 3)
    status = await service.figures.status()
    assert str(code) in status["connection"]["fatal"]
    assert status["state"] == "degraded"
    assert any("not connected to Feishu" in reason and str(code) in reason for reason in status["reasons"])
    ready, words = await get(f"{service.web_url}/readyz")
    assert ready == 503
    assert str(code) in words
    assert (await get(f"{service.web_url}/healthz"))[0] == 200
    house.emulator.faults.clear()
    await house.emulator.connected()
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)
    assert (await service.figures.status())["connection"]["fatal"] is None
    assert (await get(f"{service.web_url}/readyz"))[0] == 200


async def test_a_fatal_refusal_while_it_runs_ends_nothing(open_house: OpenHouse) -> None:
    """The official client stops for good here."""
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}})
    message_id = house.say("work 1 second")
    await house.shown(message_id)
    house.fault("ws.endpoint", "error", code=1000040350, times=3)
    house.emulator.sockets.cut()
    await house.answered(message_id)
    house.assert_answered_once(message_id)
    await house.emulator.connected()
    again, _ = await house.ask("hello")
    house.assert_answered_once(again)
