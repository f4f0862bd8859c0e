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
        # not wait_for: in Python 3.11 it swallows a cancel that comes together with the ring, and the loop never ends
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        rung = self._event.is_set()
        self._event.clear()
        return rung
