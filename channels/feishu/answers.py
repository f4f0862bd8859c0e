"""What an HTTP answer means: data, or exactly one of the three errors. Pure.

`RetryLater`: it certainly did not happen (or repeating it under the same uuid is harmless). `ApiRefused`: it certainly
did not happen and repeating it is useless. `OutcomeUnknown`: nobody knows. Whether silence means "unknown" depends on
the call: a read that failed has not happened.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.feishu.codes import classify

RATE_PAUSE_MS = 1000  # when the answer does not say how long
BUSY_PAUSE_MS = 1000  # somebody is pressing a button of the card
LONGEST_RESET_MS = 3_600_000  # a closing update is tried once an hour at least, whatever a gateway says


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One HTTP answer, its body read whole. Header names are lower case."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def log_id(self) -> str:
        """Feishu's id for its support."""
        return self.headers.get("x-tt-logid", "")

    @property
    def reset_ms(self) -> int:
        """How long the server asks us to wait, an hour at most; 0 where it does not say."""
        for name in ("x-ogw-ratelimit-reset", "retry-after"):
            text = self.headers.get(name, "")
            if text.isascii() and text.isdigit() and len(text) < 6:
                return min(int(text) * 1000, LONGEST_RESET_MS)
        return 0

    @property
    def limit_per_window(self) -> int:
        """The limit that was exceeded, where the server says it: 5 is a chat's, 50 and more an API's."""
        text = self.headers.get("x-ogw-ratelimit-limit", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def read_answer(answer: HttpAnswer, call: str, *, effect: bool) -> Mapping[str, Any]:
    """The whole body of a good answer (status 2xx and code 0). Raises RetryLater, ApiRefused or OutcomeUnknown."""
    document = _document(answer.body)
    if document is None:
        _refuse_unreadable(answer, call, effect=effect)
    code, msg = document["code"], _message(document)
    if code != 0 or answer.status >= 300:
        _refuse(answer, call, code, msg)
    return document


def data_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `data` object of an answer; empty where there is none."""
    data = document.get("data")
    return data if isinstance(data, dict) else {}


def _refuse(answer: HttpAnswer, call: str, code: int, msg: str) -> NoReturn:
    kind = classify(answer.status, code, msg, call)
    shown = code or answer.status
    match kind:
        case CodeKind.RATE:
            raise RetryLater(answer.reset_ms or RATE_PAUSE_MS, kind, shown, msg)
        case CodeKind.CARD_BUSY:
            raise RetryLater(BUSY_PAUSE_MS, kind, shown, msg)
        case CodeKind.SERVER:
            raise RetryLater(answer.reset_ms, kind, shown, msg)
        case CodeKind.IN_FLIGHT:  # an earlier request with this uuid is still being carried out: it may yet happen
            raise OutcomeUnknown(f"{call}: {shown}, the same request is being handled [log id {answer.log_id or '-'}]")
        case _:
            raise ApiRefused(kind, shown, msg, answer.log_id)


def _refuse_unreadable(answer: HttpAnswer, call: str, *, effect: bool) -> NoReturn:
    """No JSON object with a code: a proxy's page, an empty or a cut body."""
    if 200 <= answer.status < 300 and effect:
        raise OutcomeUnknown(f"{call}: status {answer.status} with an unreadable body of {len(answer.body)} bytes")
    if answer.status < 400:  # a read, or a redirect to a login page of somebody else's network
        raise RetryLater(0, CodeKind.SERVER, answer.status, "unreadable body")
    _refuse(answer, call, 0, "unreadable body")


def _document(body: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    code = document.get("code") if isinstance(document, dict) else None
    return document if isinstance(code, int) and not isinstance(code, bool) else None


def _message(document: Mapping[str, Any]) -> str:
    msg = document.get("msg")
    return msg[:500] if isinstance(msg, str) else ""
