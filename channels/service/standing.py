"""How the service stands: connected or not, loops alive or not, what the file holds. For health, status and /health."""

from collections.abc import Callable
from dataclasses import dataclass, field

from channels.feishu.connection import ConnectionHealth
from channels.service.context import Context
from channels.store.transactions.boot import Report, report

BEAT_LIMIT_S = 30.0  # a heartbeat older than this means that the file cannot be written
OUTBOX_AGE_LIMIT_MS = 5 * 60_000


@dataclass(slots=True)
class Standing:
    """Asked by health, status and commands; told by the heartbeat."""

    context: Context
    health: Callable[[], ConnectionHealth | None]
    version: str
    started_monotonic: float
    beat_monotonic: float = 0.0
    last_report: Report | None = None
    failed_loops: list[str] = field(default_factory=list)

    @property
    def connected(self) -> bool:
        health = self.health()
        return health is not None and health.state == "connected"

    def uptime_ms(self) -> int:
        return int((self.context.clock.monotonic() - self.started_monotonic) * 1000)

    def beat(self, latest: Report) -> None:
        """The heartbeat committed and read this."""
        self.beat_monotonic, self.last_report = self.context.clock.monotonic(), latest

    def reasons(self) -> tuple[str, ...]:
        """Why the service is not ready, in words for people; empty when it is."""
        found = [f"loop ended: {name}" for name in self.failed_loops]
        health = self.health()
        if health is None or health.state != "connected":
            fatal = f": {health.fatal.code} {health.fatal.msg}" if health is not None and health.fatal else ""
            found.append(f"not connected to Feishu{fatal}")
        if not self.context.identified.is_set():
            found.append("Feishu has not told the bot's own id yet")
        if self.context.clock.monotonic() - self.beat_monotonic > BEAT_LIMIT_S:
            found.append("the domain file could not be written for half a minute")
        return tuple(found)

    async def read(self) -> Report:
        """A fresh report of the file."""
        return await self.context.database.read(report)
