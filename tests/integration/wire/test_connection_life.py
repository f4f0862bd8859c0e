"""How the long connection is kept, lost, refused, rebuilt and stopped, against the emulator."""

import asyncio
import contextlib
from dataclasses import replace

import aiohttp
import pytest

from channels.clock import SystemClock
from channels.emulator import Emulator, Fault
from channels.feishu.api import FeishuApi
from channels.feishu.connection import ConnectionSettings, ConnectionState, LongConnection
from channels.feishu.credentials import Credentials
from channels.feishu.limits import Limits
from channels.feishu.reconnect import Fatal
from tests.integration.wire.desk import ENDPOINT, QUICK, Desk, acked, acks, connected, fact, say
from tests.unit.feishu.clocks import SetRng


async def test_it_pings_at_once_and_then_as_often_as_the_pong_says(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    emulator.sockets.behaviour.pong_config = {"PingInterval": 1, "ReconnectNonce": "junk"}
    async with connected(emulator, session, desk) as connection:
        (socket,) = emulator.sockets.connections.values()
        await emulator.until(lambda: socket.pings >= 2)
        assert connection.health.last_pong_at is not None


@pytest.mark.parametrize("config", [{}, {"PingInterval": 0}, {"PingInterval": 1.5, "ReconnectNonce": None}])
async def test_a_strange_client_config_hurts_nothing(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk, config: dict[str, object]
) -> None:
    emulator.sockets.behaviour.client_config = config
    async with connected(emulator, session, desk):
        await acked(emulator, say(emulator, "hi"), 200)


SHARP = replace(QUICK, ping_interval_s=0.05, missed_pongs=2, grace_s=0.1)


async def test_a_half_open_socket_is_found_by_its_silence(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    async with connected(emulator, session, desk, SHARP) as connection:
        await fact(lambda: connection.health.last_pong_at)
        emulator.sockets.behaviour.pongs = False
        await fact(lambda: connection.health.last_loss == "silence")
        emulator.sockets.behaviour.pongs = True
        await emulator.until(lambda: connection.health.connections >= 2)
        await emulator.connected()
        await acked(emulator, say(emulator, "back"), 200)


async def test_pongs_alone_keep_it_and_rebuild_replaces_it(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    async with connected(emulator, session, desk, SHARP) as connection:
        emulator.sockets.mute_present()
        lost = say(emulator, "into the void")
        (socket,) = emulator.sockets.connections.values()
        await emulator.until(lambda: socket.pings >= 10)
        assert connection.health.connections == 1
        assert acks(emulator, lost) == [None]
        connection.rebuild("history shows a message that never came")
        await fact(lambda: connection.health.connections == 2)
        await emulator.until(lambda: socket not in emulator.sockets.connections.values())
        assert connection.health.last_loss == "rebuilt"
        await acked(emulator, say(emulator, "heard"), 200)


async def test_a_cut_socket_is_replaced_and_unacked_events_come_again(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    states: list[ConnectionState] = []
    async with connected(emulator, session, desk, on_change=lambda health: states.append(health.state)) as connection:
        gate = desk.hold("cut me")
        message_id = say(emulator, "cut me")
        await fact(lambda: desk.begun)
        emulator.sockets.cut()
        await fact(lambda: connection.health.connections == 2)
        assert states[:4] == [
            ConnectionState.CONNECTING,
            ConnectionState.CONNECTED,
            ConnectionState.WAITING,
            ConnectionState.CONNECTING,
        ]
        gate.set()
        await fact(lambda: desk.done == ["cut me"])  # what was begun is finished, though nobody can be told
        assert acks(emulator, message_id) == [None]
        emulator.advance(4)
        emulator.advance(16)
        await acked(emulator, message_id, None, 200)


@pytest.mark.parametrize("code", [403, 514, 1000040350, 1000040351, 99])
async def test_a_fatal_code_is_shown_and_tried_again(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk, code: int
) -> None:
    emulator.faults.add(Fault(match=ENDPOINT, kind="error", code=code, status=200, times=2))
    seen: list[Fatal | None] = []
    async with connected(
        emulator, session, desk, wait=False, on_change=lambda health: seen.append(health.fatal)
    ) as connection:
        await fact(lambda: connection.health.fatal)
        assert connection.health.fatal is not None
        assert connection.health.fatal.code == code
        await emulator.connected()
        await fact(lambda: connection.health.state is ConnectionState.CONNECTED)
        assert connection.health.fatal is None
        assert connection.health.attempts == 3
        await acked(emulator, say(emulator, "recovered"), 200)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(match=ENDPOINT, kind="html", status=502, times=3),
        Fault(match=ENDPOINT, kind="empty", status=200, times=3),
        Fault(match=ENDPOINT, kind="drop", times=3),
        Fault(match=ENDPOINT, kind="mute", times=2),
        Fault(match=ENDPOINT, kind="error", code=1000040343, status=200, times=3),
    ],
    ids=lambda fault: fault.kind,
)
async def test_discovery_trouble_is_outlived(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk, fault: Fault
) -> None:
    fault.seen = 0
    emulator.faults.add(fault)
    settings = replace(QUICK, discovery_timeout_s=0.1)
    async with connected(emulator, session, desk, settings, wait=False) as connection:
        await emulator.connected()
        await fact(lambda: connection.health.state is ConnectionState.CONNECTED)
        assert connection.health.fatal is None
        assert connection.health.attempts == (fault.times or 0) + 1


async def test_too_many_connections_at_the_handshake(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    emulator.settings.max_connections = 0
    async with connected(emulator, session, desk, wait=False) as connection:
        await fact(lambda: connection.health.fatal)
        assert connection.health.fatal is not None
        assert connection.health.fatal.code == 1000040350
        emulator.settings.max_connections = 50
        await emulator.connected()


async def test_nobody_there_is_tried_for_ever(session: aiohttp.ClientSession, desk: Desk) -> None:
    """Field report 9."""
    emulator = Emulator()
    url = await emulator.start()
    port = int(url.rpartition(":")[2])
    await emulator.stop()
    async with connected(emulator, session, desk, wait=False) as connection:
        await fact(lambda: connection.health.attempts >= 5)
        assert connection.health.state in (ConnectionState.WAITING, ConnectionState.CONNECTING)
        back = Emulator()
        await back.start(port=port)
        await back.connected()
        await acked(back, say(back, "there you are"), 200)
        await back.stop()


async def test_only_so_many_at_a_time(emulator: Emulator, session: aiohttp.ClientSession, desk: Desk) -> None:
    async with connected(emulator, session, desk, replace(QUICK, most_in_flight=2, ack_limit_s=5.0)) as connection:
        gates = [desk.hold(str(number)) for number in range(5)]
        ids = [say(emulator, str(number)) for number in range(5)]
        await fact(lambda: len(desk.begun) == 2)
        (socket,) = emulator.sockets.connections.values()
        assert (connection.health.in_flight, len(desk.begun)) == (2, 2)
        for gate in gates:
            gate.set()
        for message_id in ids:
            await acked(emulator, message_id, 200)
        assert socket in emulator.sockets.connections.values()


async def test_stop_reads_no_more_and_lets_running_handlers_ack(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    credentials = Credentials("cli_emulator", "secret", emulator.url)
    connection = LongConnection(session, credentials, desk, SystemClock(), SetRng(), settings=QUICK)
    running = asyncio.create_task(connection.run())
    await emulator.connected()
    gate = desk.hold("busy")
    first = say(emulator, "busy")
    await fact(lambda: desk.begun == ["busy"])
    stopping = asyncio.create_task(connection.stop())
    await fact(lambda: connection.health.state is ConnectionState.DRAINING)
    second = say(emulator, "too late")
    gate.set()
    await stopping
    await running
    await acked(emulator, first, 200)
    assert (acks(emulator, second), desk.begun) == ([None], ["busy"])
    await emulator.until(lambda: not emulator.sockets.connections)
    assert connection.health.state is ConnectionState.STOPPED


async def test_stop_waits_only_so_long(emulator: Emulator, session: aiohttp.ClientSession, desk: Desk) -> None:
    credentials = Credentials("cli_emulator", "secret", emulator.url)
    settings = replace(QUICK, drain_s=0.05)
    connection = LongConnection(session, credentials, desk, SystemClock(), SetRng(), settings=settings)
    running = asyncio.create_task(connection.run())
    await emulator.connected()
    desk.hold("for ever")
    message_id = say(emulator, "for ever")
    await fact(lambda: desk.begun)
    await connection.stop()
    await running
    assert acks(emulator, message_id) == [None]
    assert desk.done == []


@pytest.mark.parametrize("where", ["pause", "discovery", "before"])
async def test_stop_ends_a_connection_that_is_not_there(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk, where: str
) -> None:
    kind = {"pause": "drop", "discovery": "mute", "before": "drop"}[where]
    fault = emulator.faults.add(Fault(match=ENDPOINT, kind=kind, times=None))
    credentials = Credentials("cli_emulator", "secret", emulator.url)
    settings = ConnectionSettings(longest_pause_s=1000.0)
    connection = LongConnection(session, credentials, desk, SystemClock(), SetRng(0.99), settings=settings)
    running = asyncio.create_task(connection.run())
    if where == "pause":
        await fact(lambda: connection.health.last_loss)
    elif where == "discovery":
        await fact(lambda: fault.seen)
    async with asyncio.timeout(2):
        await connection.stop()
        await running


async def test_the_environments_proxy_is_ignored(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "ws_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with connected(emulator, session, desk):
        await acked(emulator, say(emulator, "direct"), 200)


async def test_an_explicit_proxy_carries_discovery_and_socket(
    emulator: Emulator, session: aiohttp.ClientSession, desk: Desk
) -> None:
    passed = bytearray()
    proxy = await asyncio.start_server(lambda reader, writer: _relay(reader, writer, passed), "127.0.0.1", 0)
    address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    async with connected(emulator, session, desk, proxy=address):
        await acked(emulator, say(emulator, "around the corner"), 200)
    proxy.close()
    await proxy.wait_closed()
    assert f"POST {emulator.url}/callback/ws/endpoint".encode() in passed
    assert b"GET ws://127.0.0.1" in passed, "the handshake of the socket"


async def test_an_explicit_proxy_carries_calls(
    emulator: Emulator, session: aiohttp.ClientSession, credentials: Credentials
) -> None:
    passed = bytearray()
    relay = await asyncio.start_server(lambda reader, writer: _relay(reader, writer, passed), "127.0.0.1", 0)
    address = f"http://127.0.0.1:{relay.sockets[0].getsockname()[1]}"
    api = FeishuApi(session, credentials, clock := SystemClock(), Limits(clock), proxy=address)
    assert (await api.bot_info()).name == "Emulator Bot"
    await api.close()
    relay.close()
    await relay.wait_closed()
    assert f"POST {emulator.url}/open-apis/auth/".encode() in passed
    assert f"GET {emulator.url}/open-apis/bot/".encode() in passed


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passed: bytearray) -> None:
    """A forward proxy for one connection: reads the address in the request line, then passes bytes both ways."""
    line = await reader.readline()
    passed += line
    host, port = line.split()[1].partition(b"://")[2].partition(b"/")[0].decode().split(":")
    up_reader, up_writer = await asyncio.open_connection(host, int(port))
    up_writer.write(line)
    await asyncio.gather(_pass(reader, up_writer, passed), _pass(up_reader, writer, bytearray()))


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passed: bytearray) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            passed += data
            writer.write(data)
    writer.close()
