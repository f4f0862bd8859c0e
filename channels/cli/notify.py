"""What systemd wants to hear from a service of Type=notify: ready, alive, stopping. Silent where nobody listens."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping


class Notifier:
    """Speaks to the socket that NOTIFY_SOCKET names. Every method is harmless without one, and when it is gone."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._watchdog_s = _watchdog_seconds(environ)

    def say(self, text: str) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(text.encode(), self._address)

    def ready(self, what: str) -> None:
        self.say(f"READY=1\nSTATUS={what}")

    def stopping(self) -> None:
        self.say("STOPPING=1\nSTATUS=stopping: turns finish up to their limit")

    @contextlib.asynccontextmanager
    async def watchdog(self) -> AsyncIterator[None]:
        """Inside, the loop says that it is alive twice per watchdog interval: a stalled loop says nothing."""
        task = asyncio.create_task(self._feed(self._watchdog_s / 2)) if self._watchdog_s else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()

    async def _feed(self, interval_s: float) -> None:
        while True:
            self.say("WATCHDOG=1")
            await asyncio.sleep(interval_s)


def _watchdog_seconds(environ: Mapping[str, str]) -> float:
    text = environ.get("WATCHDOG_USEC", "")
    return int(text) / 1_000_000 if text.isdigit() else 0.0
