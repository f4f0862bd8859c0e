"""A1 … B5 of report 008 by name, over the product: real processes, a real file, SIGKILL.

A1, A2 and B1 show that the product does not have that fault; the others that it has that protection. The world is the
emulator's ledger, the provider the agent's own record, the authority the domain file; checked by the one checker.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.crash.checker import check
from tests.crash.children import KILLED, ROOT, WarmParent
from tests.crash.executor import Executor
from tests.crash.handover import hand_over
from tests.crash.stage import RECEIVED, Expect, Stage, read_copy, read_provider

pytestmark = pytest.mark.timeout(120)
ALONE: dict[str, Any] = {"missed": {"enabled": False}}  # nothing but the file may bring the work back
TURNS = "SELECT turn_id, state, start_epoch, owner_epoch, outcome FROM turns"

OpenStage = Callable[..., Awaitable[Stage]]


@pytest_asyncio.fixture
async def open_stage(tmp_path: Path) -> AsyncIterator[OpenStage]:
    """Makes a stage whose n-th boot dies at the given point; the first is waited for."""
    parent = await WarmParent.start()
    stages: list[Stage] = []

    async def open_one(kills: dict[int, tuple[str, int]], **platform: Any) -> Stage:
        stage = Stage(parent, tmp_path, kills, platform=platform, sections=ALONE)
        stages.append(await stage.__aenter__())
        await stage.ready()
        return stage

    yield open_one
    for stage in stages:
        await stage.__aexit__(None, None, None)
    await parent.stop()


async def killed(stage: Stage, count: int = 1) -> None:
    """Wait until so many boots have died."""
    await stage.until(lambda: sum(boot.code == KILLED for boot in stage.boots) >= count)


def acks(stage: Stage, message_id: str) -> list[int | None]:
    return [each.ack_code for each in stage.ledger.deliveries(message_id, RECEIVED)]


async def finish(stage: Stage) -> None:
    await stage.finish()
    assert check(stage) == []


async def test_a1_no_ack_before_the_commit(open_stage: OpenStage) -> None:
    """Killed in the accepting transaction: no row, and no ack has left; the platform's next delivery is answered."""
    stage = await open_stage({1: ("inbox.INSERT_ROW", 1)})
    message_id = stage.say("hello")
    await killed(stage)
    assert acks(stage, message_id) == [None]
    assert read_copy(stage.file, "SELECT * FROM inbox WHERE owner_epoch = 1") == []
    await stage.answered(message_id)
    await finish(stage)
    assert acks(stage, message_id)[-1] == 200
    assert len(stage.provider()) == 1


async def test_a2_memory_is_not_the_only_way_forward(open_stage: OpenStage) -> None:
    """Killed between the accepting commit and every wake-up; the platform never sends it again, history is not read."""
    stage = await open_stage({1: ("COMMITTED inbox.REGISTER+inbox.INSERT_ROW+cursors.MOVE_CURSOR", 1)}, redelivery_s=())
    message_id = stage.say("hello")
    await killed(stage)
    assert acks(stage, message_id) == [None]
    await stage.answered(message_id)
    await finish(stage)
    assert len(stage.ledger.deliveries(message_id, RECEIVED)) == 1
    assert len(stage.provider()) == 1


async def test_a3_queued_work_goes_on_under_its_own_key(open_stage: OpenStage) -> None:
    """Killed with the turn queued and its effects as intents: the scan of the next boot runs that very turn, once."""
    stage = await open_stage({1: ("turns.ENTER", 1)}, redelivery_s=())
    message_id = stage.say("hello")
    await killed(stage)
    ((turn_id, state, *_),) = read_copy(stage.folder / "channels.db", TURNS)
    assert state in ("queued", "entered")
    await stage.answered(message_id)
    await finish(stage)
    (entered,) = stage.provider()
    assert (entered["turn_id"], entered["boot"]) == (turn_id, 2)


async def test_b1_nothing_starts_before_it_is_registered(open_stage: OpenStage) -> None:
    """Whatever has reached the agent stands in the file as entered; a start that is not registered has no effect."""
    stage = await open_stage({1: ("turns.ENTER", 1), 2: ("agent after_effect", 1)})
    message_id = stage.say("hello")
    await killed(stage, 2)
    (entered,) = stage.provider()
    turns = {row[0]: row[1] for row in read_copy(stage.file, TURNS)}
    assert turns[entered["turn_id"]] in ("entered", "unknown", "ended")
    await stage.answered(message_id)
    await finish(stage)
    assert len(stage.provider()) == 1


async def test_b2_a_deposed_owner_enters_nothing(tmp_path: Path) -> None:
    """The old executor asks after the take-over and before the new one enters: still queued, under another epoch."""
    assert await hand_over(tmp_path, ROOT) == []
    assert len(read_provider(tmp_path)) == 2  # the one that the old owner had entered in time, and the new owner's


async def test_b3_two_starts_under_one_epoch_enter_once(tmp_path: Path) -> None:
    """Two processes hold the same lease and race for it."""
    first, second = await Executor.start(tmp_path), await Executor.start(tmp_path)
    try:
        await first.ask(do="own")
        turn_id = await first.ask(do="admit", message=1)
        lease = await first.ask(do="lease", turn=turn_id)

        async def enter(executor: Executor) -> bool:
            while isinstance(answer := await executor.ask(do="enter", lease=lease), dict):
                assert "in use" in answer["error"]  # the other one has the file open just now
            return bool(answer)

        assert sorted(await asyncio.gather(enter(first), enter(second))) == [False, True]
    finally:
        await first.end()
        await second.end()
    assert len(read_provider(tmp_path)) == 1


@pytest.mark.parametrize(("point", "effects"), [("agent before", 0), ("agent after_effect", 1)], ids=["b4", "b5"])
async def test_b4_b5_entered_and_killed_is_not_run_again(open_stage: OpenStage, point: str, effects: int) -> None:
    """The file says the same whether the agent did something or not: nothing is run again, the person is asked."""
    stage = await open_stage({1: (point, 1)}, redelivery_s=())
    message_id = stage.say("hello", expect=Expect.ANSWER)
    await killed(stage)
    await stage.answered(message_id)
    await stage.until(lambda: stage.button(message_id, "continue"))
    await finish(stage)
    assert len(stage.provider()) == effects
    assert [row[4] for row in read_copy(stage.file, TURNS)] == ["interrupted"]
