"""Starting a subprocess in a way that may be cancelled.

asyncio's own `subprocess_exec`, cancelled before the pipes are connected, waits for ever for the end of a process whose
pipes it never connected (seen with 100 sessions that went away at once, tests/conformance/agents/test_acp_crowd.py). So
it is left to finish in the background, for the moment that it takes, and what it has started is then killed.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

P = TypeVar("P", bound=asyncio.SubprocessProtocol)


async def spawn(protocol: Callable[[], P], *command: str, too_late: Callable[[P | None], None], **options: Any) -> P:
    """Start `command`. Raises OSError. When the caller is cancelled, `too_late` gets the protocol as soon as the
    process is there, or None when it could not be started."""
    loop = asyncio.get_running_loop()
    starting = loop.create_task(loop.subprocess_exec(protocol, *command, **options), name=f"spawn-{command[0]}")
    try:
        return (await asyncio.shield(starting))[1]
    except asyncio.CancelledError:
        starting.add_done_callback(lambda done: too_late(None if done.exception() is not None else done.result()[1]))
        raise
