"""A little service to be killed: an agent at work, its children, and words on standard output about who is who.

python -m tests.conformance.agents.orphan_service FOLDER DB_UUID EPOCH
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from channels.agents.acp.agent import AcpAgent
from channels.agents.acp.guardian import Guardian
from channels.agents.protocol import ProcessMark, TurnRequest
from channels.ids import SessionId, TurnId, UserId
from channels.logs import configure
from tests.conformance.agents.acp_signals import Signals
from tests.conformance.agents.rigs import fake_preset


async def main(folder: Path, db_uuid: str, epoch: int) -> None:
    guardian = Guardian()
    async with Signals(folder / "signals") as signals:
        agent = AcpAgent(fake_preset(folder, signals), guardian)
        agent.owned_by(ProcessMark(db_uuid, epoch))
        turn = TurnRequest(TurnId("t"), SessionId("s"), "family", UserId("u"), folder=folder)
        run = asyncio.create_task(_consume(agent, turn))
        await signals.until(lambda _: signals.count("child") == 2)
        children = [line.split()[2] for line in signals.lines if line.split()[1] == "child"]
        agent_pid = signals.lines[0].split()[0]
        if "--watchdog-dies" in sys.argv:
            await renew(agent, guardian, folder)
        print("ready", guardian.pid, agent_pid, *children, flush=True)
        await run


async def renew(agent: AcpAgent, guardian: Guardian, folder: Path) -> None:
    """The watchdog is killed; the next process brings another one."""
    first = guardian.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await asyncio.to_thread(os.waitid, os.P_PID, first, os.WEXITED | os.WNOWAIT)
    await _consume(agent, TurnRequest(TurnId("t2"), SessionId("s2"), "plain", UserId("u"), folder=folder))
    assert guardian.pid != first


async def _consume(agent: AcpAgent, turn: TurnRequest) -> None:
    async for _ in agent.run(turn):
        pass


if __name__ == "__main__":
    configure()  # the log goes to standard error
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
