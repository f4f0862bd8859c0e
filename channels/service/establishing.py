"""Claims that wait too long. The registry itself is the table; waiters are woken through the inbox signal."""

import asyncio

from channels.logs import LOOP_FAILED, get_logger
from channels.service.context import Context
from channels.store.routes import overdue_claims
from channels.store.transactions.establish import close_overdue_claims

POLL_S = 1.0

log = get_logger(__name__)


async def watch_claims(context: Context) -> None:
    """Close claims whose reply stayed unknown, once a second, for ever."""
    while True:
        try:
            if await context.database.read(overdue_claims, context.now()):
                await context.database.run(close_overdue_claims, context.now())
                context.inbox.ring()
        except Exception:
            log.exception(LOOP_FAILED, loop="establishing")
        await asyncio.sleep(POLL_S)
