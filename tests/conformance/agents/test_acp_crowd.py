"""A hundred sessions on ten processes: fair, bounded, and nobody's words lost or mixed up."""

import asyncio
import json
import resource
from pathlib import Path

from channels.rules.agent_event import Outcome, SlotAwaited
from tests.conformance.agents.test_acp import bench_in, end, reference, words

SESSIONS, PLACES, PEOPLE = 100, 10, 4
LIMIT_S = 100


async def test_a_hundred_sessions_on_ten_processes(tmp_path: Path) -> None:
    async with bench_in(tmp_path) as bench:
        agent = bench.agent(max_processes=PLACES)
        alive = most = 0
        began: list[str] = []

        async def two_questions(number: int) -> None:
            session, person = f"session-{number}", f"person-{number % PEOPLE if number < 90 else 0}"
            first = await bench.ask(agent, f"{number} plain", session, LIMIT_S, sender_user_id=person)
            began.append(session)
            ahead = [event.ahead for event in first if isinstance(event, SlotAwaited)]
            assert not ahead or ahead[-1] == 0
            told = reference(first)
            again = await bench.ask(agent, "history", session, LIMIT_S, reference=told, sender_user_id=person)
            assert end(again).outcome is Outcome.COMPLETED
            assert json.loads(words(again)) == [f"{number} plain"]

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        async with asyncio.timeout(LIMIT_S):
            await asyncio.gather(*(two_questions(number) for number in range(SESSIONS)))
        for line in bench.signals.lines:
            alive += {"started": 1, "gone": -1}.get(line.split()[1], 0)
            most = max(most, alive)
        assert most <= PLACES
        assert len(began) == SESSIONS
        assert len(agent.processes()) <= PLACES
        assert agent.waiting() == 0
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KB
