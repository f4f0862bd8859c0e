"""The other end of the control socket: one request, one answer, no event loop."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any

from channels.cli.faults import CheckFailed
from channels.errors import Refused


class NotRunning(CheckFailed):
    """Nobody listens on the control socket."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("channels", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def call_service(path: Path, operation: str, arguments: dict[str, Any] | None = None, timeout_s: float = 10.0) -> Any:
    """The service's answer. Raises NotRunning, Refused(code, text) with the service's own words, or CheckFailed."""
    connection = _UnixConnection(path, timeout_s)
    try:
        body = json.dumps(arguments or {}).encode()
        connection.request("POST", f"/v1/{operation}", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        status, text = response.status, response.read()
    except (FileNotFoundError, ConnectionRefusedError):
        raise NotRunning(f"no service is running: nobody listens on {path}. Start it with `channels run`.") from None
    except PermissionError:
        raise CheckFailed(f"{path} may be opened only by the user who runs the service; become that user.") from None
    except TimeoutError:
        raise CheckFailed(f"the service did not answer within {timeout_s:g} s; its log may say why.") from None
    except (OSError, http.client.HTTPException) as error:
        raise CheckFailed(f"the service broke off the answer: {error}; its log may say why.") from None
    finally:
        connection.close()
    return _read_answer(status, text)


def _read_answer(status: int, text: bytes) -> Any:
    try:
        answer = json.loads(text)
    except ValueError:
        raise CheckFailed(f"the service gave an answer that is not JSON (HTTP {status})") from None
    if status == 200:
        return answer
    fault = answer.get("error", {}) if isinstance(answer, dict) else {}
    code, words = str(fault.get("code", "unknown")), str(fault.get("text", f"HTTP {status}"))
    if status in (400, 404, 409, 413):
        raise Refused(code, words)
    raise CheckFailed(f"{words} ({code})")
