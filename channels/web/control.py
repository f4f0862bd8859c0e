"""The control socket: JSON over HTTP on a Unix socket that only this user may open.

`POST /v1/<operation>` with a JSON object answers with a JSON object. A fault is `{"error": {"code", "text"}}`:

  400 invalid_input       the body is not a JSON object, or a value in it is wrong
  404 unknown_operation   with the names that exist
  409 <code>              the service refuses, for a reason that a person may read
  413 input_too_large     over BODY_LIMIT_BYTES
  503 try_later           nothing was done; the same request may come again
  500 internal            a defect; the log has it
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from channels import logs
from channels.errors import ConfigError, Refused, RetryLater
from channels.web.http_log import http_log
from channels.web.socket_file import SocketFile

Operation = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

BODY_LIMIT_BYTES = 1024 * 1024
_CLOSE_LIMIT_S = 2.0

log = logs.get_logger("control")


class ControlServer:
    """Serves `operations` on the Unix socket `path`. `start` before use, `stop` when done."""

    def __init__(self, path: Path, operations: Mapping[str, Operation]) -> None:
        self._file, self._operations = SocketFile(path), dict(operations)
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen with mode 0600. Raises StartRefused when another process listens there, ConfigError when the place
        is unfit."""
        listener = self._file.open()
        app = web.Application(client_max_size=BODY_LIMIT_BYTES)
        app.router.add_post("/v1/{operation}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, logger=http_log("control"), shutdown_timeout=_CLOSE_LIMIT_S)
        await self._runner.setup()
        await web.SockSite(self._runner, listener).start()
        log.info(logs.CONTROL_OPENED, path=str(self._file.path))

    async def stop(self) -> None:
        """Stop listening and remove the socket file, if it is still ours. Harmless when not started."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()
            self._file.remove()

    async def _handle(self, request: web.Request) -> web.Response:
        name = request.match_info["operation"]
        operation = self._operations.get(name)
        if operation is None:
            known = ", ".join(sorted(self._operations))
            return _fault(404, "unknown_operation", f"there is no operation {name!r}; there are: {known}")
        try:
            return web.json_response(await operation(_arguments(await _text_of(request))))
        except web.HTTPRequestEntityTooLarge:
            return _fault(413, "input_too_large", f"at most {BODY_LIMIT_BYTES} bytes")
        except (ValueError, ConfigError) as error:
            return _fault(400, "invalid_input", str(error))
        except Refused as refusal:
            return _fault(409, refusal.code, refusal.user_text)
        except RetryLater as error:
            return _fault(503, "try_later", error.why or str(error))
        except Exception:  # the head of one request: a defect here must not take the others with it
            log.exception(logs.CONTROL_FAILED, operation=name)
            return _fault(500, "internal", "something went wrong inside the service; its log has the details")


async def _text_of(request: web.Request) -> str:
    """The body. Raises ValueError for bytes that are no text in the character set that the request names."""
    try:
        return await request.text()
    except LookupError:
        raise ValueError(f"there is no character set {(request.charset or '')[:40]!r}: send UTF-8") from None


def _arguments(text: str) -> dict[str, Any]:
    """The request's JSON object; an empty body is an empty object. Raises ValueError."""
    try:
        value = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        raise ValueError(f"the body is not JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("the body must be a JSON object")
    return value


def _fault(status: int, code: str, text: str) -> web.Response:
    return web.json_response({"error": {"code": code, "text": text}}, status=status)
