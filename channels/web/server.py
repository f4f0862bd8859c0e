"""The health web: /healthz, /readyz and /metrics over plain HTTP, on the loopback unless configured otherwise."""

import errno
from collections.abc import Callable
from typing import Any

from aiohttp import web

from channels import logs
from channels.errors import ConfigError
from channels.web.http_log import http_log
from channels.web.metrics import CONTENT_TYPE, Metrics
from channels.web.operations import Health, Operations

log = logs.get_logger("web")

_CLOSE_LIMIT_S = 2.0
_BODY_LIMIT_BYTES = 64 * 1024


class WebServer:
    """Serves one `Operations` on `host`:`port` (0: any free port). `start` before use, `stop` when done.

    `extend` puts more on the application before it is served: the admin page.
    """

    def __init__(
        self, operations: Operations, host: str, port: int, extend: Callable[[web.Application], None] | None = None
    ) -> None:
        self._operations, self._host, self._port, self._extend = operations, host, port, extend
        self._metrics = Metrics(operations.numbers)
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self) -> None:
        """Listen. Raises ConfigError when the port is taken or the address is not this machine's."""
        runner = web.AppRunner(self._app(), access_log=None, logger=http_log("web"), shutdown_timeout=_CLOSE_LIMIT_S)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port).start()
        except OSError as error:
            await runner.cleanup()
            raise _cannot_listen(error, self._host, self._port) from None
        self._runner = runner
        host, port = runner.addresses[0][:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        log.info(logs.WEB_OPENED, url=self.url)

    async def stop(self) -> None:
        """Stop listening; running requests get a moment to end. Harmless when not started."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=_BODY_LIMIT_BYTES)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._render_metrics)
        if self._extend is not None:
            self._extend(app)
        return app

    async def _healthz(self, _request: web.Request) -> web.Response:
        health = self._operations.health()
        return _answer("live", health.live, health)

    async def _readyz(self, _request: web.Request) -> web.Response:
        health = self._operations.health()
        return _answer("ready", health.live and health.ready, health)

    async def _render_metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})


def _answer(word: str, good: bool, health: Health) -> web.Response:
    body: dict[str, Any] = {word: good}
    if not good:
        body["reasons"] = list(health.reasons)
    return web.json_response(body, status=200 if good else 503)


def _cannot_listen(error: OSError, host: str, port: int) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        return ConfigError("web.port", f"{port} on {host} is in use by another program; choose a free port (0: any)")
    if error.errno == errno.EACCES:
        return ConfigError("web.port", f"{port} may not be opened by this user; choose one above 1023")
    return ConfigError("web.host", f'cannot listen on "{host}": {error.strerror or error}')
