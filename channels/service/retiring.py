"""The TTL sweep: conversations that have been silent for too long, and snapshots that can no longer be shown.

Each is one commit of its own; one that fails is logged and skipped, and looked at again by the next sweep.
"""

import asyncio

from channels.logs import LOOP_FAILED, ROUTE_RETIRED, SNAPSHOT_DROPPED, get_logger
from channels.service.context import Context
from channels.service.liveness import Liveness
from channels.store.transactions.retire import Retired, drop_stale_turn, retire_route, stale_routes, stale_turns

SWEEP_S = 6 * 3600.0
POLL_S = 2.0
ROUTES_PER_SWEEP = 10_000
TURNS_PER_SWEEP = 10_000

log = get_logger(__name__)


async def keep_retiring(context: Context, liveness: Liveness) -> None:
    """Sweep routes once everything that was missed before this connection is read, and every six hours, for ever."""
    due_s = 0.0
    while True:
        try:
            monotonic = context.clock.monotonic()
            if monotonic >= due_s and liveness.is_covered and await retire_routes(context) is not None:
                due_s = monotonic + SWEEP_S
        except Exception:
            log.exception(LOOP_FAILED, loop="retiring")
        await asyncio.sleep(POLL_S)


async def retire_routes(context: Context) -> int | None:
    """Retire what has been silent for longer than the settings allow; returns how many, None when it is not the time.
    TTL 0: nothing; tombstones that are there stay."""
    ttl_ms, now = context.preferences.route_ttl_ms, context.now()
    if ttl_ms == 0:
        return 0
    before, count = now - ttl_ms, 0
    stale = await context.database.read(stale_routes, before, ROUTES_PER_SWEEP)
    if stale is None:
        return None
    for route in stale:
        try:
            retired = await context.database.run(retire_route, route.key, before, context.now())
        except Exception:
            log.exception(LOOP_FAILED, loop="sweep.route", key=route.key)
            continue
        if retired is not Retired.KEPT:
            count += 1
            context.leave(route.session_id)
            log.info(ROUTE_RETIRED, key=route.key, session_id=route.session_id, how=retired.value)
    return count


async def drop_stale_turns(context: Context) -> int:
    """Before anything of an older boot is taken up again: what is too old for its card ends without a word."""
    count, ttl_ms = 0, context.preferences.route_ttl_ms
    for turn_id in await context.database.read(stale_turns, ttl_ms, context.now(), TURNS_PER_SWEEP):
        try:
            dropped = await context.database.run(drop_stale_turn, turn_id, context.epoch, context.now())
        except Exception:
            log.exception(LOOP_FAILED, loop="sweep.turn", turn_id=turn_id)
            continue
        if dropped:
            count += 1
            log.info(SNAPSHOT_DROPPED, turn_id=turn_id)
    return count
