"""What the long connection says about itself: for readiness, metrics, the watchdog of missed messages and people."""

from dataclasses import dataclass
from enum import StrEnum

from channels.feishu.reconnect import Fatal


class ConnectionState(StrEnum):
    """Where the connection is in its life."""

    CONNECTING = "connecting"  # discovery or handshake under way
    CONNECTED = "connected"
    WAITING = "waiting"  # pausing before the next try
    DRAINING = "draining"  # reads no more; running handlers may still ack
    STOPPED = "stopped"


@dataclass(slots=True)
class ConnectionHealth:
    """Live numbers; read them, never write them. Times called `_at` are monotonic seconds, `_ms` wall time.

    Liveness is `last_heard_at` (frame or pong), not the state: a half-open socket is CONNECTED. `fatal` stays until a
    connection stands again.
    """

    state: ConnectionState = ConnectionState.WAITING
    connected_at_ms: int | None = None
    last_frame_at: float | None = None
    last_pong_at: float | None = None
    last_loss: str = ""
    fatal: Fatal | None = None
    attempts: int = 0
    connections: int = 0
    frames: int = 0
    bad_frames: int = 0
    acks_ok: int = 0
    acks_failed: int = 0
    acks_late: int = 0
    in_flight: int = 0

    @property
    def last_heard_at(self) -> float | None:
        """When anything last came over the socket."""
        heard = [at for at in (self.last_frame_at, self.last_pong_at) if at is not None]
        return max(heard, default=None)
