"""Since when nobody can be sure that events reached us: what a gap has to cover.

A connection that stands is worth nothing here before the gap in front of it is committed: until then `alive_ms` does
not move, so that a crash in between loses no stretch of time. Alive means the last frame or pong that was heard, not
the socket: the moment of a cut is the last thing heard before it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from channels.clock import FlooredClock
from channels.feishu.connection import ConnectionHealth, ConnectionState
from channels.service.signals import Signal


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A connection stands, and what came before it has no gap yet. `since_ms` None: nobody was ever listening."""

    since_ms: int | None
    reason: str  # boot | reconnect
    connection: int  # its number in this boot


class Liveness:
    """Told by the connection, asked by the heartbeat, by the stop and by the keeper of gaps."""

    def __init__(
        self, clock: FlooredClock, health: Callable[[], ConnectionHealth], last_alive_ms: int | None = None
    ) -> None:
        self._clock, self._health = clock, health
        self._since_ms, self._reason = last_alive_ms, "boot"
        self._covered = 0  # the number of the connection whose gap is committed; 0 while there is none
        self.connected_ms = 0  # when the present (or last) connection was made
        self.changed = Signal()

    def note(self, health: ConnectionHealth) -> None:
        """The connection's state has changed."""
        if health.state is ConnectionState.CONNECTED:
            self.connected_ms = self._clock.wall_ms()
        elif self._covered:
            self._since_ms, self._reason, self._covered = self._heard_ms(), "reconnect", 0
        self.changed.ring()

    @property
    def is_covered(self) -> bool:
        """Whether a connection stands and what came before it has its gap."""
        return self._covered != 0

    def uncovered(self) -> Uncovered | None:
        """What a gap must be opened for now."""
        health = self._health()
        if health.state is not ConnectionState.CONNECTED or self._covered == health.connections:
            return None
        return Uncovered(self._since_ms, self._reason, health.connections)

    def cover(self, done: Uncovered) -> None:
        """Its gap is committed; unless it was cut meanwhile, what this connection brings counts from here on."""
        health = self._health()
        if health.state is ConnectionState.CONNECTED and health.connections == done.connection:
            self._covered = done.connection

    def alive_ms(self) -> int | None:
        """The last wall time up to which nothing was missed without a gap; None when nobody was ever listening."""
        return self._heard_ms() if self._covered else self._since_ms

    def _heard_ms(self) -> int:
        """The last frame or pong; a connection that stands was heard when it was made."""
        heard = self._health().last_heard_at
        if heard is None:
            return self.connected_ms
        return max(self.connected_ms, self._clock.wall_ms() - int((self._clock.monotonic() - heard) * 1000))
