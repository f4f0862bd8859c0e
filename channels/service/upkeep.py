"""Heartbeat and retention."""

import asyncio

from channels.logs import LOOP_FAILED, get_logger
from channels.service.context import Context
from channels.service.standing import Standing
from channels.store.transactions.boot import beat, sweep

HEARTBEAT_S = 5.0
SWEEP_S = 6 * 3600.0

log = get_logger(__name__)


async def keep_beating(context: Context, standing: Standing) -> None:
    """Every few seconds: the clock's floor, the moment we were last connected, and a report for the metrics."""
    while True:
        try:
            alive_at = context.clock.wall_ms() if standing.connected else None
            await context.database.run(beat, context.now(), alive_at)
            standing.beat(await standing.read())
        except Exception:
            log.exception(LOOP_FAILED, loop="heartbeat")
        await asyncio.sleep(HEARTBEAT_S)


async def keep_sweeping(context: Context) -> None:
    """Retention, at start and every six hours."""
    while True:
        try:
            await context.database.run(sweep, context.now())
        except Exception:
            log.exception(LOOP_FAILED, loop="sweep")
        await asyncio.sleep(SWEEP_S)
