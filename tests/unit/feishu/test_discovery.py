import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.feishu.discovery import Endpoint, ServerConfig, read_discovery, read_refusal
from channels.feishu.reconnect import Fatal, TryAgain
from tests.unit.feishu.test_events import JSON

URL = "ws://127.0.0.1:1/ws?device_id=d&service_id=33&ticket=hidden"


def found(status: int = 200, **document: Any) -> object:
    return read_discovery(status, json.dumps(document).encode())


def test_the_address_is_dialled_as_given() -> None:
    endpoint = found(code=0, data={"URL": URL, "ClientConfig": {"PingInterval": 90, "ReconnectNonce": 7}})
    assert endpoint == Endpoint(URL, 33, ServerConfig(90.0, 7.0))
    assert "hidden" not in repr(endpoint)


@pytest.mark.parametrize(
    "config",
    [
        None,
        {},
        [],
        7,
        {"PingInterval": 0},
        {"PingInterval": -1},
        {"PingInterval": "120"},
        {"PingInterval": None},
        {"PingInterval": True},
        {"PingInterval": 1e400},
        {"PingInterval": 0.2},
        {"PingInterval": 10**9},
        {"ReconnectNonce": 0},
    ],
)
def test_a_useless_client_config_changes_nothing(config: Any) -> None:
    assert ServerConfig().updated(config) == ServerConfig()


def test_a_broken_number_of_seconds_is_taken() -> None:
    assert ServerConfig().updated({"PingInterval": 12.5}) == ServerConfig(12.5, 30.0)


@pytest.mark.parametrize("url", ["wss://h/p", "ws://h/p?service_id=", "ws://h/p?service_id=x"])
def test_a_missing_service_id_is_zero(url: str) -> None:
    endpoint = found(code=0, data={"URL": url})
    assert isinstance(endpoint, Endpoint)
    assert endpoint.service_id == 0


@pytest.mark.parametrize("code", [403, 514, 1000040350, 1000040351, 77])
def test_fatal_codes(code: int) -> None:
    assert found(code=code, msg="why") == Fatal(code, "why")


@pytest.mark.parametrize("code", [1, 1000040343])
def test_busy_codes(code: int) -> None:
    again = found(code=code, msg="busy")
    assert isinstance(again, TryAgain)
    assert again.code == code


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"{}"),
        (404, b""),
        (302, b""),
        (200, b"<html>"),
        (200, b""),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"code":"0"}'),
        (200, b'{"code":0}'),
        (200, b'{"code":0,"data":{"URL":5}}'),
        (200, b'{"code":0,"data":{"URL":"http://h"}}'),
        (200, b'{"code":0,"data":{"URL":"ws://[h"}}'),
        (200, b'{"code":0,"data":{"URL":"ws://"}}'),
    ],
)
def test_everything_else_is_tried_again(status: int, body: bytes) -> None:
    assert isinstance(read_discovery(status, body), TryAgain)


@given(st.integers(100, 599), JSON)
def test_junk_never_raises(status: int, document: Any) -> None:
    read_discovery(status, json.dumps(document).encode())
    read_discovery(200, json.dumps({"code": 0, "data": document}).encode())


@pytest.mark.parametrize(
    ("headers", "code", "fatal"),
    [
        ({"Handshake-Status": "403", "Handshake-Msg": "m"}, 403, True),
        ({"Handshake-Status": "514", "Handshake-Msg": "m", "Handshake-Autherrcode": "1000040350"}, 1000040350, True),
        ({"Handshake-Status": "514", "Handshake-Msg": "m", "Handshake-Autherrcode": "5"}, 5, False),
        ({"Handshake-Status": "500", "Handshake-Msg": "m"}, 500, False),
        ({"Handshake-Status": "junk"}, 502, False),
        ({}, 502, False),
    ],
)
def test_a_refused_handshake(headers: dict[str, str], code: int, fatal: bool) -> None:
    refusal = read_refusal(502, headers)
    assert isinstance(refusal, Fatal if fatal else TryAgain)
    assert refusal.code == code
