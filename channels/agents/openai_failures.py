"""What a failed request to an OpenAI-compatible server means: why, and whether the same request may be sent again."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx2
import openai

from channels.agents.chat_stream import DamagedStream, error_text
from channels.agents.failures import (
    BrokenStream,
    ContextTooLong,
    CreditUsedUp,
    Failure,
    Filtered,
    KeyRefused,
    NoSuchModel,
    NotAnApi,
    RateLimited,
    RequestRefused,
    ServerDown,
    TooSlow,
    Unreachable,
)
from channels.agents.presets import OpenAiPreset
from channels.logs import redact_text

# What may come out of the package and of the HTTP client below it; anything else is a fault of ours.
WIRE_ERRORS: Final = (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, DamagedStream, OSError)

_CONTEXT = re.compile(
    r"context.?(length|window|size)|maximum.?(context|prompt)|too (long|many tokens)|reduce the length|input length",
    re.I,
)
_CREDIT = re.compile(r"insufficient_quota|insufficient.?balance|billing|credit|arrear", re.I)
_FILTER = re.compile(r"content_filter|content management policy|data_inspection_failed", re.I)
_SAID_CHARACTERS: Final = 160


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a request failed. `retry`: it may be sent again, after `wait_s` where the server says so. `status` is 0
    where there was no HTTP answer."""

    failure: Failure
    retry: bool = False
    wait_s: float = 0.0
    status: int = 0


def read_trouble(error: Exception, preset: OpenAiPreset) -> Trouble:
    """What `error`, one of WIRE_ERRORS, means for a request of this agent of which nothing has been shown yet."""
    match error:
        case openai.APIStatusError():
            return _refusal(error, preset)
        case openai.APITimeoutError() | httpx2.TimeoutException():
            return Trouble(TooSlow("connect", preset.limits.connect_s), retry=True)
        case openai.APIConnectionError() | httpx2.ConnectError() | httpx2.ProxyError():
            return Trouble(_connection(error, preset), retry=True)
        case _:
            return Trouble(BrokenStream(begun=False), retry=True)


def address_of(base_url: str) -> str:
    """Host and port for people: no path, no user, no password."""
    parts = urlsplit(base_url)
    return f"{parts.hostname or ''}:{parts.port}" if parts.port else parts.hostname or ""


def clean_said(text: str, preset: OpenAiPreset) -> str:
    """A server's own words, fit to be shown: one short line without anything secret. Web pages say nothing."""
    if "<" in text and ">" in text:
        return ""
    if preset.api_key:
        text = text.replace(preset.api_key, "***")
    line = " ".join(redact_text(text).split())
    return line if len(line) <= _SAID_CHARACTERS else line[:_SAID_CHARACTERS] + " …"


def _connection(error: Exception, preset: OpenAiPreset) -> Failure:
    """A connection that stood and was then lost is another thing than one that never came about."""
    cause = error.__cause__
    if isinstance(cause, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError):
        return BrokenStream(begun=False)
    return Unreachable(address_of(preset.base_url))


def _refusal(error: openai.APIStatusError, preset: OpenAiPreset) -> Trouble:
    status = error.status_code
    said = error_text(error.body)
    everything = f"{said} {error.code or ''} {error.type or ''}"
    wait_s = _wait_s(error)
    if status == 402 or (status == 429 and _CREDIT.search(everything)):
        return Trouble(CreditUsedUp(), status=status)
    if status == 429:
        return Trouble(RateLimited(round(wait_s)), retry=True, wait_s=wait_s, status=status)
    if status in (401, 403):
        return Trouble(KeyRefused(status), status=status)
    if status == 404:
        return Trouble(NoSuchModel(preset.model), status=status)
    if status in (408, 409, 425) or status >= 500:
        return Trouble(ServerDown(status), retry=True, wait_s=wait_s, status=status)
    if status in (400, 413, 422) and _CONTEXT.search(everything):
        return Trouble(ContextTooLong(), status=status)
    if _FILTER.search(everything):
        return Trouble(Filtered(), status=status)
    if status < 400 or status == 405:
        return Trouble(NotAnApi(), status=status)
    return Trouble(RequestRefused(status, clean_said(said, preset)), status=status)


def _wait_s(error: openai.APIStatusError) -> float:
    """What the server asks for, in seconds; 0 when it says nothing usable."""
    headers = error.response.headers
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers.get(name, "")) * unit_s)
        except ValueError:
            continue
    return 0.0
