"""Wake-ups between loops. A signal is a hint: whoever waits also looks at its table from time to time."""

import asyncio
import contextlib


class Signal:
    """Rung by anyone, waited for by one loop. Rings while nobody waits are kept as one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        self._event.set()

    async def wait(self, timeout_s: float) -> bool:
        """Until rung, or until the time is over. Says whether it was rung."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), timeout_s)
        rung = self._event.is_set()
        self._event.clear()
        return rung
