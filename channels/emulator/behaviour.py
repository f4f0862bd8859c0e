"""How the long connection behaves: chunks, pongs, duplicates, half-open sockets. Changed by tests while it runs."""

from dataclasses import dataclass, field
from typing import Any


def _client_config() -> dict[str, Any]:
    return {"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30, "PingInterval": 120}


@dataclass(slots=True, kw_only=True)
class SocketBehaviour:
    client_config: dict[str, Any] = field(default_factory=_client_config)  # given at discovery
    pong_config: dict[str, Any] | None = None  # sent in pongs when set
    chunk_bytes: int = 0  # events longer than this come in chunks; 0: whole
    chunk_order: str = "forward"  # forward, reverse or random
    chunk_repeats: int = 0  # how often the first chunk sent is sent again at the end
    chunks_missing: int = 0  # the next so many chunked attempts lose one chunk
    muted: bool = False  # half-open: pings are answered, events go nowhere
    pongs: bool = True
    cut_after_events: int | None = None  # every connection is cut after its n-th event frame
    new_event_ids: bool = False  # a redelivery carries a new event_id
    duplicates: int = 0  # how often an event comes again after a good ack
    duplicate_after_s: float = 0
    ack_delay_s: float = 0  # acks reach the platform this much later
