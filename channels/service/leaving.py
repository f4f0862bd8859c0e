"""Sessions that were left: their agents are told, once nothing of them runs or waits any more.

A hint, kept in memory: processes that an agent keeps for its sessions end with the service, and so does this list.
"""

import asyncio

from channels.agents.protocol import KeepsProcesses
from channels.ids import SessionId
from channels.logs import LOOP_FAILED, SESSION_LEFT, get_logger
from channels.service.context import Context
from channels.service.life_cycles import LifeCycles
from channels.store.transactions.switching import read_left

POLL_S = 1.0
LIMIT_S = 10.0

log = get_logger(__name__)


async def keep_leaving(context: Context, cycles: LifeCycles) -> None:
    """Tell agents of the sessions in `context.left`, and who keeps their life cycles, for ever. Turns that still run
    come to their own end first."""
    while True:
        for session_id in list(context.left):
            try:
                if await leave(context, session_id, cycles):
                    context.left.discard(session_id)
            except Exception:
                log.exception(LOOP_FAILED, loop="leaving", session_id=session_id)
                context.left.discard(session_id)
        await context.leaving.wait(POLL_S if context.left else 3600.0)


async def leave(context: Context, session_id: SessionId, cycles: LifeCycles) -> bool:
    """Tell the agent, if it keeps anything for its sessions and nothing came back to this one. False: not yet."""
    left = await context.database.read(read_left, session_id)
    if left is None:
        return True
    if not left.is_over:
        return False
    cycles.left(session_id, left.agent)
    agent = context.agents.get(left.agent)
    if isinstance(agent, KeepsProcesses):
        async with asyncio.timeout(LIMIT_S):
            await agent.leave(session_id)
        log.info(SESSION_LEFT, session_id=session_id, agent=left.agent)
    return True
