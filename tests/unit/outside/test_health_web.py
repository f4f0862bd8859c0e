"""The health web: what is alive, what is ready and why not, and numbers that Prometheus can read."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from channels.errors import ConfigError
from channels.web.operations import Health, Number, Operations
from channels.web.server import WebServer


class Service:
    """A service whose health and numbers a test sets."""

    def __init__(self) -> None:
        self.now, self.figures = Health(True, True), [Number("inbox_open", 0)]

    async def status(self) -> dict[str, Any]:
        return {}

    def health(self) -> Health:
        return self.now

    def numbers(self) -> Sequence[Number]:
        return self.figures


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
async def server(service: Service) -> AsyncIterator[WebServer]:
    operations: Operations = service
    server = WebServer(operations, "127.0.0.1", 0)
    await server.start()
    yield server
    await server.stop()


async def get(server: WebServer, path: str) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.get(server.url + path) as response:
        is_json = response.content_type == "application/json"
        return response.status, await (response.json() if is_json else response.text())


@pytest.mark.parametrize(
    ("health", "healthz", "readyz"),
    [
        (Health(True, True), (200, {"live": True}), (200, {"ready": True})),
        (
            Health(True, False, ("not connected",)),
            (200, {"live": True}),
            (503, {"ready": False, "reasons": ["not connected"]}),
        ),
        (
            Health(False, True, ("dispatch ended",)),
            (503, {"live": False, "reasons": ["dispatch ended"]}),
            (503, {"ready": False, "reasons": ["dispatch ended"]}),
        ),
    ],
)
async def test_alive_and_ready_are_two_questions(
    server: WebServer, service: Service, health: Health, healthz: tuple[int, Any], readyz: tuple[int, Any]
) -> None:
    service.now = health
    assert await get(server, "/healthz") == healthz
    assert await get(server, "/readyz") == readyz


async def test_numbers_are_read_anew_each_time(server: WebServer, service: Service) -> None:
    service.figures = [
        Number("inbox_open", 3, help="Messages not yet decided"),
        Number("turns_ended_total", 5, {"outcome": "completed"}, "counter"),
        Number("turns_ended_total", 1, {"outcome": "failed"}, "counter"),
    ]
    status, text = await get(server, "/metrics")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert status == 200
    assert families["channels_inbox_open"].type == "gauge"
    assert families["channels_inbox_open"].documentation == "Messages not yet decided"
    ended = {sample.labels["outcome"]: sample.value for sample in families["channels_turns_ended"].samples}
    assert ended == {"completed": 5, "failed": 1}
    assert families["channels_process_resident_memory_bytes"].samples[0].value > 1_000_000
    service.figures = [Number("inbox_open", 4)]
    assert "channels_inbox_open 4.0" in (await get(server, "/metrics"))[1]


async def test_there_is_nothing_else(server: WebServer) -> None:
    assert (await get(server, "/"))[0] == 404


@pytest.mark.parametrize(
    "request_text",
    [
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"NONSENSE\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # somebody speaks TLS
    ],
)
async def test_what_is_no_request_gets_its_answer_and_no_traceback(
    server: WebServer, request_text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    writer.write(request_text)
    answer = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    await writer.wait_closed()
    assert b" 400 " in answer
    assert [record.message for record in caplog.records if record.exc_info] == []
    assert (await get(server, "/healthz"))[0] == 200


async def test_a_port_in_use_is_named(server: WebServer, service: Service) -> None:
    port = int(server.url.rpartition(":")[2])
    second = WebServer(service, "127.0.0.1", port)
    with pytest.raises(ConfigError, match=f"{port} on 127.0.0.1 is in use") as caught:
        await second.start()
    assert caught.value.key == "web.port"
    await second.stop()


async def test_an_address_of_another_machine_is_named(service: Service) -> None:
    with pytest.raises(ConfigError, match="cannot listen") as caught:
        await WebServer(service, "192.0.2.1", 0).start()
    assert caught.value.key == "web.host"


async def test_after_stopping_nobody_listens(service: Service) -> None:
    server = WebServer(service, "127.0.0.1", 0)
    await server.start()
    port = int(server.url.rpartition(":")[2])
    await server.stop()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


async def test_it_listens_on_the_loopback_of_version_six_too(service: Service) -> None:
    server = WebServer(service, "::1", 0)
    await server.start()
    assert (await asyncio.wait_for(get(server, "/healthz"), 5))[0] == 200
    await server.stop()
