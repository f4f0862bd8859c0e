"""The tenant access token: fetched once for all who wait, renewed early, dropped when Feishu rejects it.

While an old token still serves, a new one is fetched in the background; nobody waits for that. A failed renewal is
tried again after a pause, and becomes an error only when the old token is over.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from channels import logs
from channels.clock import Clock
from channels.errors import ChannelsError

_log = logs.get_logger("feishu.tokens")

EARLY_SHARE, EARLY_S = 0.1, 300.0  # renew in the last tenth of a token's life, at least 5 minutes before its end
_PAUSE_S = 5.0  # between failed renewals
_MARGIN_S = 3.0  # a token this close to its end may be over when the request arrives


@dataclass(frozen=True, slots=True)
class Token:
    """What Feishu gave: the value, and for how long it is good."""

    value: str
    lifetime_s: float


class Tokens:
    """`fetch` asks Feishu for a token; its errors reach everybody who waits."""

    def __init__(self, fetch: Callable[[], Awaitable[Token]], clock: Clock) -> None:
        self._fetch, self._clock = fetch, clock
        self._value = ""
        self._renew_at_s = self._over_at_s = float("-inf")
        self._fetching: asyncio.Task[str] | None = None
        self._not_before_s = float("-inf")

    async def get(self) -> str:
        """A token that is good now. Raises what `fetch` raises when there is none."""
        now_s = self._clock.monotonic()
        if self._value and now_s < self._over_at_s:
            if now_s >= self._renew_at_s and now_s >= self._not_before_s:
                self._start_fetching()
            return self._value
        return await asyncio.shield(self._start_fetching())  # a caller that gives up must not end it for the others

    def drop(self, value: str) -> None:
        """Feishu rejected `value`: never give it out again. A newer token stays."""
        if self._value == value:
            self._value = ""
            _log.info(logs.TOKEN_DROPPED)

    async def close(self) -> None:
        """End a renewal that is under way."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait({self._fetching})

    def _start_fetching(self) -> asyncio.Task[str]:
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.get_running_loop().create_task(self._renew())
            self._fetching.add_done_callback(_notice)
        return self._fetching

    async def _renew(self) -> str:
        try:
            token = await self._fetch()
        except ChannelsError:
            self._not_before_s = self._clock.monotonic() + _PAUSE_S
            raise
        now_s, life_s = self._clock.monotonic(), token.lifetime_s
        early_s = min(max(EARLY_SHARE * life_s, EARLY_S), life_s / 2)
        self._value = token.value
        self._renew_at_s = now_s + life_s - early_s
        self._over_at_s = now_s + life_s - min(_MARGIN_S, life_s / 4)
        _log.debug(logs.TOKEN_FETCHED, lifetime_s=life_s)
        return self._value


def _notice(task: asyncio.Task[str]) -> None:
    """Read a background failure, so that it is not reported as never retrieved: the next `get` meets it itself."""
    if not task.cancelled():
        task.exception()
