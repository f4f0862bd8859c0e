"""How the long connection is kept and built anew: settings, and the pause before the next try. Pure.

The first try after a loss waits a random part of the nonce that Feishu sends (thousands of clients lose their
connection in the same moment), bounded by our own setting. Further tries wait 1, 2, 4 … seconds, capped, with a little
jitter. A fatal refusal (wrong secret, wrong domain, too many connections) is tried again slowly: people mend such
things without restarting us. There is no last try.
"""

from dataclasses import dataclass
from typing import assert_never


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Seconds, unless the name says otherwise. `ping_interval_s` = 0 takes what Feishu says."""

    discovery_timeout_s: float = 10.0
    handshake_timeout_s: float = 10.0
    ping_interval_s: float = 0.0
    missed_pongs: int = 2  # silence for this many ping intervals …
    grace_s: float = 10.0  # … and this much more means that the socket is dead
    first_pause_s: float = 5.0  # the most that Feishu's nonce may make us wait after a loss
    longest_pause_s: float = 60.0
    fatal_pause_s: float = 300.0
    ack_limit_s: float = 2.5  # Feishu gives 3 s
    drain_s: float = 5.0  # for the handlers that run when stop is asked for
    most_in_flight: int = 1000


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection was open and is gone. `proved`: a frame or pong had come over it."""

    why: str
    proved: bool


@dataclass(frozen=True, slots=True)
class TryAgain:
    """No connection this time; `code` is 0 where there was none."""

    why: str
    code: int = 0


@dataclass(frozen=True, slots=True)
class Fatal:
    """Feishu will refuse us until a person changes something."""

    code: int
    msg: str


End = Lost | TryAgain | Fatal


def count_failures(failures: int, end: End) -> int:
    """How many tries in a row have failed, after this end. Only a connection that proved itself starts anew: a server
    that accepts and drops at once must not be called in a tight loop."""
    return 0 if isinstance(end, Lost) and end.proved else failures + 1


def pause_s(end: End, failures: int, fraction: float, nonce_s: float, settings: ConnectionSettings) -> float:
    """Seconds before the next try. `failures` as `count_failures` gives it, `fraction` uniform in [0, 1)."""
    match end:
        case Fatal():
            return settings.fatal_pause_s * (0.9 + 0.2 * fraction)
        case Lost() | TryAgain():
            if failures == 0:
                return fraction * min(nonce_s, settings.first_pause_s)
            doubled = 2.0 ** min(failures - 1, 16)
            return min(doubled * (0.8 + 0.4 * fraction), settings.longest_pause_s)
        case _:
            assert_never(end)


def silence_limit_s(ping_interval_s: float, settings: ConnectionSettings) -> float:
    """Nothing heard for this long: the socket is half-open, build a new one."""
    return ping_interval_s * settings.missed_pongs + settings.grace_s
