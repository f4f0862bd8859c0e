"""JSON-RPC 2.0 with one agent, line by line. No task: answers resolve futures, everything else calls the listener.

A future always gets a value, never an exception, so that nobody has to wait for one: what the agent answered, that it
refused, or that it is gone. Lines that are no message are counted and left; agents do log to their standard output.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from channels.agents.acp.framing import Oversized

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
AUTH_REQUIRED: Final = -32000


@dataclass(frozen=True, slots=True)
class Answered:
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RefusedBy:
    """The agent answered with an error. `said` is its own text, to be cleaned before anybody sees it."""

    code: int
    said: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The process is gone, or what it said cannot be read any more."""


Reply = Answered | RefusedBy | Lost
Respond = Callable[[Mapping[str, Any] | None], None]
Refuse = Callable[[int, str], None]


class Listener(Protocol):
    """Who hears what the agent says by itself."""

    def notified(self, method: str, params: Mapping[str, Any]) -> None: ...

    def requested(self, method: str, params: Mapping[str, Any], respond: Respond, refuse: Refuse) -> None: ...

    def damaged(self, line: bytes | Oversized) -> None: ...


class Peer:
    """Our end of the conversation with one process."""

    def __init__(self, write: Callable[[bytes], None], listener: Listener) -> None:
        self._write, self._listener = write, listener
        self._pending: dict[int, asyncio.Future[Reply]] = {}
        self._number = 0
        self._lost = False

    def request(self, method: str, params: Mapping[str, Any]) -> "asyncio.Future[Reply]":
        """Ask; the future's result comes in any case, at the latest when the process ends."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if self._lost:
            future.set_result(Lost())
            return future
        self._number += 1
        self._pending[self._number] = future
        self._send({"id": self._number, "method": method, "params": params})
        return future

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def take(self, line: bytes | Oversized) -> None:
        """Read one line of the agent's."""
        message = None if isinstance(line, Oversized) else _message(line)
        if message is None:
            if isinstance(line, Oversized) or line.strip():
                self._listener.damaged(line)
            return
        method, params, number = message.get("method"), message.get("params"), message.get("id")
        params = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            self._answered(number, message)
        elif number is None:
            self._listener.notified(method, params)
        else:
            self._requested(method, params, number)

    def lose(self) -> None:
        """Nothing more will come: every open question is answered with Lost."""
        self._lost = True
        pending, self._pending = self._pending, {}
        for future in pending.values():
            if not future.done():
                future.set_result(Lost())

    def _requested(self, method: str, params: Mapping[str, Any], number: Any) -> None:
        answered = False

        def send(part: Mapping[str, Any]) -> None:
            nonlocal answered
            if not answered:
                answered = True
                self._send({"id": number, **part})

        self._listener.requested(
            method,
            params,
            lambda result: send({"result": result}),
            lambda code, why: send({"error": {"code": code, "message": why}}),
        )

    def _answered(self, number: Any, message: Mapping[str, Any]) -> None:
        future = self._pending.pop(number, None) if isinstance(number, int) else None
        if future is None or future.done():
            return
        error = message.get("error")
        if error:
            error = error if isinstance(error, dict) else {"message": str(error)}
            code = error.get("code")
            future.set_result(RefusedBy(code if isinstance(code, int) else INTERNAL_ERROR, _said(error)))
        else:
            result = message.get("result")
            future.set_result(Answered(result if isinstance(result, dict) else {}))

    def _send(self, part: Mapping[str, Any]) -> None:
        if not self._lost:
            text = json.dumps({"jsonrpc": "2.0", **part}, ensure_ascii=False, separators=(",", ":"))
            self._write(text.encode("utf-8", "replace") + b"\n")


def _message(line: bytes) -> dict[str, Any] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _said(error: Mapping[str, Any]) -> str:
    """The error's own words: what stands in `data` says more than the message, where it is text."""
    data = error.get("data")
    if isinstance(data, dict):
        data = data.get("details") or data.get("message") or data.get("error")
    message = str(error.get("message") or "")
    return f"{message}: {data}" if isinstance(data, str) and data and data not in message else message
