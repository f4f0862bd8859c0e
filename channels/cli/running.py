"""`channels run`: settings, logs, the service in one loop, signals, systemd."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from channels import logs
from channels.cli.importing import no_collector
from channels.cli.notify import Notifier
from channels.cli.signals import stop_on_signals
from channels.config import Settings, check_secrets, load_settings
from channels.errors import ConfigError


def read_settings(config: Path | None, environ: Mapping[str, str]) -> Settings:
    """Settings from the file and the environment; without a file, the error says how to give one."""
    try:
        return load_settings(config, environ)
    except ConfigError as error:
        if config is None and "is missing" in error.why:
            raise ConfigError(error.key, f"{error.why}; no settings file was given (--config FILE)") from None
        raise


def run_service(config: Path | None, environ: Mapping[str, str]) -> None:
    """Run until a signal. Raises ConfigError and StartRefused before anything was changed."""
    settings = read_settings(config, environ)
    check_secrets(settings, environ)
    logs.configure(settings.log.level, settings.log.format)
    with no_collector():  # before the loop runs, which it would hold up
        from channels.app import serve

    asyncio.run(_serve(serve, settings, Notifier(environ)))


class Serve(Protocol):
    """`channels.app.serve`: runs until `stop` is set, and calls `ready` once with words for people."""

    async def __call__(
        self, settings: Settings, *, stop: asyncio.Event, ready: Callable[[str], None] | None = None
    ) -> None: ...


async def _serve(serve: Serve, settings: Settings, notifier: Notifier) -> None:
    stop = asyncio.Event()
    with stop_on_signals(stop, notifier.stopping):
        async with notifier.watchdog():
            await serve(settings, stop=stop, ready=notifier.ready)
