"""Settlements in the running service: at the end of a turn, at the borders of sessions, across boots, under load."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from channels.agents.protocol import TurnRequest
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import AgentEvent, Ended, Outcome, TextDelta, UsageReported
from channels.rules.settlement import session_hash
from channels.service.settling import APPLIED_AT_ONCE
from tests.integration.conftest import OpenHouse
from tests.integration.house import LIMIT_S, House
from tests.integration.settling.office import busy
from tests.integration.taps import Failing, Holding

IN_CHAT: dict[str, Any] = {"topics": {"private": "chat", "group": "chat"}}
PENDING = "SELECT count(*) FROM settlement_pending"
SETTLED = "SELECT count(*) FROM settlement_history WHERE state = 'settled'"
HELD = "SELECT count(*) FROM reservations WHERE state = 'held'"


class Counting:
    """An agent that says how many tokens it has used. `kind` acp: it lives outside, and keeps sessions of its own."""

    def __init__(self, kind: str = "demo") -> None:
        self.name, self.kind, self.left = "demo", kind, list[SessionId]()

    async def run(self, turn: TurnRequest) -> AsyncGenerator[AgentEvent, None]:
        yield UsageReported(70, 7, 3)
        yield TextDelta("said")
        yield Ended(Outcome.FAILED, "failed") if "fail" in turn.text else Ended(Outcome.COMPLETED)

    async def stop(self, turn_id: TurnId) -> None:
        """Nothing to do."""

    async def resume(self, session_id: SessionId) -> None:
        """Nothing to do."""

    def help_text(self, language: str) -> str:
        return "counts"

    async def close(self) -> None:
        """Nothing to do."""

    async def leave(self, session_id: SessionId) -> None:
        self.left.append(session_id)

    def processes(self) -> tuple[Any, ...]:
        return ()

    def waiting(self) -> int:
        return 0


async def a_house(open_house: OpenHouse, kind: str = "demo", **sections: Any) -> House:
    house = await open_house(start=False, **(IN_CHAT | sections))
    house.agents = {"demo": Counting(kind)}
    await house.start()
    return house


async def busy_file(house: House) -> Failing:
    """Settling fails as if the file were busy, and nothing else does."""
    failing = Failing("INSERT INTO releases", busy)
    house.tap.listeners.append(failing)
    return failing


async def test_a_defect_in_the_first_try_is_caught_and_the_next_one_settles(open_house: OpenHouse) -> None:
    house = await a_house(open_house)
    house.tap.listeners.append(Failing("INSERT INTO releases", lambda: RuntimeError("a defect"), times=1))
    unseen: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, trouble: unseen.append(trouble))
    await house.ask("hello")
    await house.held(SETTLED, 1)
    gc.collect()  # a task whose error nobody asked for says so when it goes
    assert unseen == []


async def test_the_end_of_a_turn_settles_it(open_house: OpenHouse) -> None:
    house = await a_house(open_house)
    for text in ("hello", "fail please"):
        await house.ask(text)
    await house.held(SETTLED, 2)
    assert await house.one(HELD) == 0
    assert await house.rows("SELECT outcome, input_tokens, output_tokens, late FROM usage ORDER BY queued_at") == [
        ("completed", 70, 7, 0),
        ("failed", 70, 7, 0),
    ]


async def test_a_clean_stop_leaves_what_waits_to_the_next_boot(open_house: OpenHouse) -> None:
    house = await a_house(open_house)
    failing = await busy_file(house)
    await house.ask("hello")
    await house.held(PENDING, 1)
    deadline = await house.one("SELECT deadline FROM settlement_pending")
    await house.stop()
    failing.on = False
    await house.start()
    await house.held(SETTLED, 1)
    assert await house.one("SELECT deadline FROM settlement_history") == deadline


async def test_new_stops_exactly_the_old_session_of_an_outside_agent(open_house: OpenHouse) -> None:
    house = await a_house(open_house, "acp")
    first, _ = await house.ask("hello")
    old = str(await house.one("SELECT session_id FROM turns WHERE cause_id = :id", id=first))
    await house.held(SETTLED, 1)
    await house.ask("/new")
    assert await house.held("SELECT session_hash FROM settlement_stops") == session_hash(SessionId(old))
    await house.ask("hello again")
    await house.held(SETTLED, 2)
    assert await house.one("SELECT count(*) FROM settlement_stops") == 1


async def test_new_stops_nothing_of_an_inside_agent(open_house: OpenHouse) -> None:
    house = await a_house(open_house)
    await house.ask("hello")
    await house.ask("/new")
    await house.ask("hello again")
    await house.held(SETTLED, 2)
    assert await house.one("SELECT count(*) FROM settlement_stops") == 0


@pytest.mark.parametrize("kind", ["demo", "acp"])
async def test_an_archived_session_does_not_settle_any_more(open_house: OpenHouse, kind: str) -> None:
    """What waits of it is stopped, booked late, and nothing stays held."""
    house = await a_house(open_house, kind)
    failing = await busy_file(house)
    await house.ask("hello")
    await house.held(PENDING, 1)
    await house.ask("/archive")
    await house.held("SELECT count(*) FROM settlement_history WHERE state = 'stopped'", 1)
    failing.on = False
    house.advance(61)
    assert await house.held("SELECT way FROM releases") == "late"
    assert await house.one("SELECT input_tokens FROM usage") == 70
    assert await house.one(HELD) == 0


async def test_a_burst_of_settlements_does_not_delay_an_ack(open_house: OpenHouse) -> None:
    """Sixty settlements are ready at once; a message comes: it is accepted before more than one bounded batch."""
    house = await a_house(open_house, turns={"max_running": 60})
    failing = await busy_file(house)
    messages = [house.say(f"hello {number}", user) for number in range(20) for user in ("Alice", "Bob", "张三")]
    for message_id in messages:
        await house.answered(message_id)
    assert await house.one(PENDING) == 60
    await house.stop()
    failing.on = False
    order: list[str] = []
    holding = Holding("INSERT INTO releases")
    house.tap.listeners += [order.append, holding]
    await house.start()
    assert await asyncio.to_thread(holding.reached.wait, LIMIT_S)  # the first is in the middle of its commit
    message_id = house.say("and me?")
    await house.seen(lambda: house.ledger.deliveries(message_id))
    holding.release()
    await house.answered(message_id)
    await house.held(SETTLED, 32)
    accepted = next(at for at, name in enumerate(order) if name.startswith("INSERT INTO inbox"))
    before = sum(name.startswith("INSERT INTO releases") for name in order[:accepted])
    assert 1 <= before <= 2 * APPLIED_AT_ONCE, f"{before} settlements went before the message"
