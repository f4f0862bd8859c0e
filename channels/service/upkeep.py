"""Heartbeat and retention."""

import asyncio

from channels.logs import LOOP_FAILED, get_logger
from channels.service.context import Context
from channels.service.liveness import Liveness
from channels.service.standing import Standing
from channels.store.transactions.boot import beat, sweep

SWEEP_S = 6 * 3600.0

log = get_logger(__name__)


async def keep_beating(context: Context, standing: Standing, liveness: Liveness, pause_s: float) -> None:
    """Every few seconds: the clock's floor, the moment up to which nothing was missed, and a report for the metrics."""
    while True:
        try:
            await context.database.run(beat, context.now(), liveness.alive_ms())
            standing.beat(await standing.read())
        except Exception:
            log.exception(LOOP_FAILED, loop="heartbeat")
        await asyncio.sleep(pause_s)


async def keep_sweeping(context: Context) -> None:
    """Retention, at start and every six hours."""
    while True:
        try:
            await context.database.run(sweep, context.now())
        except Exception:
            log.exception(LOOP_FAILED, loop="sweep")
        await asyncio.sleep(SWEEP_S)
