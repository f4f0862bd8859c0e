"""Commits that must come, sooner or later: the disk may be full for a while, and nothing must be half-booked."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from channels.logs import LOOP_FAILED, get_logger
from channels.rules.retry import backoff_ms
from channels.service.context import Context

T = TypeVar("T")

CAP_MS = 10_000

log = get_logger(__name__)


async def commit_surely(context: Context, commit: Callable[[], Awaitable[T]]) -> T:
    """Try `commit` until it succeeds, with growing waits up to ten seconds. It must be a guarded transaction: one
    that did commit although it raised changes nothing the second time."""
    attempts = 0
    while True:
        try:
            return await commit()
        except Exception:
            attempts += 1
            log.exception(LOOP_FAILED, loop="commit", attempts=attempts)
            await asyncio.sleep(backoff_ms(attempts, context.rng.random(), CAP_MS) / 1000)
