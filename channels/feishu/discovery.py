"""Where to dial: Feishu names the address, and how it wants to be pinged.

`discover` makes the call; everything that judges an answer is pure and total.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

import aiohttp

from channels.feishu.credentials import Credentials
from channels.feishu.reconnect import Fatal, TryAgain

_PATH = "/callback/ws/endpoint"
_BUSY = frozenset({1, 1000040343})  # "system busy", internal error
TOO_MANY_CONNECTIONS = 1000040350
_FORBIDDEN, _AUTH_FAILED = 403, 514
_LONGEST_S = 86_400
_LARGEST_BODY = 1 << 20


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What Feishu asks for, in seconds."""

    ping_interval_s: float = 120.0
    nonce_s: float = 30.0

    def updated(self, client_config: object) -> "ServerConfig":
        """With the usable numbers of a ClientConfig; missing, zero, negative and absurd values change nothing."""
        if not isinstance(client_config, dict):
            return self
        ping, nonce = _seconds(client_config.get("PingInterval")), _seconds(client_config.get("ReconnectNonce"))
        return replace(self, ping_interval_s=ping or self.ping_interval_s, nonce_s=nonce or self.nonce_s)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address to dial exactly as it is; it holds a ticket, so it is never shown."""

    url: str
    service_id: int
    config: ServerConfig

    def __repr__(self) -> str:
        return f"Endpoint(service_id={self.service_id})"


async def discover(
    session: aiohttp.ClientSession, credentials: Credentials, *, timeout_s: float, proxy: str | None = None
) -> Endpoint | TryAgain | Fatal:
    """Ask Feishu for the address of a long connection. Never raises for what the network or Feishu does."""
    body = {"AppID": credentials.app_id, "AppSecret": credentials.app_secret}
    try:
        async with session.post(
            credentials.base_url + _PATH,
            json=body,
            headers={"locale": "zh"},
            proxy=proxy,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=timeout_s),
        ) as response:
            return read_discovery(response.status, await response.content.read(_LARGEST_BODY))
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return TryAgain(f"discovery: {type(error).__name__}")


def read_discovery(status: int, body: bytes) -> Endpoint | TryAgain | Fatal:
    """What the answer to a discovery call means."""
    if status != 200:
        return TryAgain(f"discovery answered with status {status}", status)
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return TryAgain("discovery answered with something else than JSON")
    if not isinstance(document, dict):
        return TryAgain("discovery answered with something else than an object")
    code = document.get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        return TryAgain("discovery answered without a code")
    if code != 0:
        msg = str(document.get("msg") or "")[:300]
        return TryAgain(f"discovery refused: {msg}", code) if code in _BUSY else Fatal(code, msg)
    data = document.get("data")
    return _endpoint(data if isinstance(data, dict) else {})


def read_refusal(status: int, headers: Mapping[str, str]) -> TryAgain | Fatal:
    """What a refused handshake means. Feishu explains in headers; without them it was somebody in between."""
    code = _digits(headers.get("Handshake-Status", ""))
    msg = headers.get("Handshake-Msg", "")[:300]
    auth_code = _digits(headers.get("Handshake-Autherrcode", ""))
    if code == _FORBIDDEN:
        return Fatal(code, msg)
    if code == _AUTH_FAILED and auth_code == TOO_MANY_CONNECTIONS:
        return Fatal(auth_code, msg)
    return TryAgain(f"handshake refused with status {status}: {msg}", auth_code or code or status)


def _endpoint(data: Mapping[str, object]) -> Endpoint | TryAgain:
    url = data.get("URL")
    if not isinstance(url, str):
        return TryAgain("discovery answered without a URL")
    try:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
    except ValueError:
        return TryAgain("discovery answered with a broken URL")
    if parts.scheme not in ("ws", "wss") or not parts.netloc:
        return TryAgain("discovery answered with a URL that is no WebSocket's")
    service_id = _digits(query.get("service_id", ["0"])[0])
    return Endpoint(url, service_id, ServerConfig().updated(data.get("ClientConfig")))


def _digits(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 else 0


def _seconds(value: object) -> float | None:
    """A whole or broken number of seconds from 1 to a day, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 1 <= value <= _LONGEST_S else None
