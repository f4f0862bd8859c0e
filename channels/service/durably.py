"""Commits that must come, sooner or later: the disk may be full for a while, and nothing must be half-booked."""

import asyncio
from collections.abc import Awaitable, Callable
from sqlite3 import OperationalError
from typing import TypeVar

from channels.logs import LOOP_FAILED, get_logger
from channels.rules.retry import backoff_ms
from channels.service.context import Context

T = TypeVar("T")

CAP_MS = 10_000
DEFECTS_AT_MOST = 4  # times that a commit may fail for a reason that no disk has

log = get_logger(__name__)


async def commit_surely(context: Context, commit: Callable[[], Awaitable[T]]) -> T:
    """Try `commit` until it succeeds, with growing waits up to ten seconds. It must be a guarded transaction: one
    that did commit although it raised changes nothing the second time. What is not the disk's fault would fail for
    ever: it is raised after a few tries."""
    attempts = defects = 0
    while True:
        try:
            return await commit()
        except Exception as error:
            attempts, defects = attempts + 1, defects + (not isinstance(error, OperationalError))
            if defects >= DEFECTS_AT_MOST:
                raise
            log.exception(LOOP_FAILED, loop="commit", attempts=attempts)
            await asyncio.sleep(backoff_ms(attempts, context.rng.random(), CAP_MS) / 1000)
