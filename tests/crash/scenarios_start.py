"""Report 008, A1 to B5: accepting a message and starting its turn."""

import asyncio
from typing import Any

from tests.crash.children import ROOT
from tests.crash.executor import Executor
from tests.crash.handover import hand_over
from tests.crash.stage import RECEIVED, Expect
from tests.crash.trial import Scenario, Trial

TURNS = "SELECT turn_id, state, start_epoch, owner_epoch, outcome FROM turns"
ACCEPTED = "COMMITTED inbox.REGISTER+inbox.INSERT_ROW+cursors.MOVE_CURSOR"


async def no_ack_before_the_commit(trial: Trial) -> str:
    """Killed in the accepting transaction; the platform's next delivery is answered."""
    stage = await trial.stage({1: ("inbox.INSERT_ROW", 1)})
    message_id = stage.say("hello")
    await trial.killed(stage)
    trial.claim("no ack has left", trial.acks(stage, message_id), [None])
    trial.claim("no row is there", trial.rows("SELECT * FROM inbox WHERE owner_epoch = 1"), [])
    await stage.answered(message_id)
    await trial.finish(stage)
    trial.claim("the next delivery is acked", trial.acks(stage, message_id)[-1], 200)
    trial.claim("the agent worked once", len(stage.provider()), 1)
    return "killed in the accepting commit: no row, no ack; sent again, answered once"


async def memory_is_not_the_only_way(trial: Trial) -> str:
    """Killed between the accepting commit and every wake-up; nobody sends it again, history is not read."""
    stage = await trial.stage({1: (ACCEPTED, 1)}, redelivery_s=())
    message_id = stage.say("hello")
    await trial.killed(stage)
    trial.claim("no ack has left", trial.acks(stage, message_id), [None])
    await stage.answered(message_id)
    await trial.finish(stage)
    trial.claim("it was delivered once", len(stage.ledger.deliveries(message_id, RECEIVED)), 1)
    trial.claim("the agent worked once", len(stage.provider()), 1)
    return "killed before every wake-up: the next boot finds the row and answers, once"


async def queued_work_goes_on(trial: Trial) -> str:
    """Killed with the turn queued and its effects as intents: the next boot runs that very turn."""
    stage = await trial.stage({1: ("turns.ENTER", 1)}, redelivery_s=())
    message_id = stage.say("hello")
    await trial.killed(stage)
    ((turn_id, state, *_),) = trial.rows(TURNS)
    trial.claim("the turn waits under its key", state in ("queued", "entered"))
    await stage.answered(message_id)
    await trial.finish(stage)
    entered = [(each["turn_id"], each["boot"]) for each in stage.provider()]
    trial.claim("that very turn has run, once, in the next boot", entered, [(turn_id, 2)])
    return "killed before entering: the scan finds the turn under its own key; effects 1"


async def nothing_starts_unregistered(trial: Trial) -> str:
    """Whatever has reached the agent stands in the file as entered before."""
    stage = await trial.stage({1: ("turns.ENTER", 1), 2: ("agent after_effect", 1)})
    message_id = stage.say("hello")
    await trial.killed(stage, 2)
    (entered,) = stage.provider()
    states = {row[0]: row[1] for row in trial.rows(TURNS)}
    trial.claim("what ran is registered", states[entered["turn_id"]] in ("entered", "unknown", "ended"))
    await stage.answered(message_id)
    await trial.finish(stage)
    trial.claim("a restart runs nothing again", len(stage.provider()), 1)
    return "killed before and after the start: effects 1 over three boots; the second start is not a blind one"


async def a_deposed_owner_enters_nothing(trial: Trial) -> str:
    """The old executor asks after the take-over and before the new one enters."""
    found = await hand_over(trial.folder, ROOT)
    trial.processes += 2
    trial.claim("nothing entered or ended under a stale epoch", [f"{one.rule}: {one.text}" for one in found], [])
    trial.claim("the old owner's own turn and the new owner's one", len(trial.provider()), 2)
    return "still queued, under the next epoch: the old executor is refused, the new one enters, once"


async def one_start_of_two(trial: Trial) -> str:
    """Two processes hold the same lease and race for it."""
    first, second = await trial.executor(), await trial.executor()
    await first.ask(do="own")
    turn_id = await first.ask(do="admit", message=1)
    lease = await first.ask(do="lease", turn=turn_id)

    async def enter(executor: Executor) -> Any:
        while isinstance(answer := await executor.ask(do="enter", lease=lease), dict):
            trial.claim("refused only because the other has the file", "in use" in answer["error"])
        return answer

    entered = await asyncio.gather(enter(first), enter(second))
    trial.claim("one of the two has entered", sorted(entered), [False, True])
    trial.claim("the agent was reached once", len(trial.provider()), 1)
    return "two processes with one lease: one entered, one refused; effects 1"


async def _entered_and_killed(trial: Trial, point: str, effects: int) -> str:
    stage = await trial.stage({1: (point, 1)}, redelivery_s=())
    message_id = stage.say("hello", expect=Expect.ANSWER)
    await trial.killed(stage)
    before = [row[1] for row in trial.rows(TURNS)]
    await stage.answered(message_id)
    await stage.until(lambda: stage.button(message_id, "continue"))
    await trial.finish(stage)
    trial.claim("the file said entered", before, ["entered"])
    trial.claim("so many effects, and none more", len(stage.provider()), effects)
    trial.claim("it ended as interrupted", [row[4] for row in trial.rows(TURNS)], ["interrupted"])
    trial.claim("the person is asked with a button", stage.button(message_id, "continue") is not None)
    return f"entered, killed with {effects} effects: not run again, shown as interrupted, the person is asked"


async def entered_without_effect(trial: Trial) -> str:
    return await _entered_and_killed(trial, "agent before", 0)


async def entered_with_effect(trial: Trial) -> str:
    return await _entered_and_killed(trial, "agent after_effect", 1)


SCENARIOS = (
    Scenario("A1", "acknowledged before the commit", "acked, killed, 0 rows, 0 effects", no_ack_before_the_commit),
    Scenario(
        "A2", "work that only memory knows", "accepted, nothing to dispatch, 0 effects", memory_is_not_the_only_way
    ),
    Scenario("A3", "work that is durable and scanned", "the same key goes on, 1 effect", queued_work_goes_on),
    Scenario("B1", "started, then registered", "a blind restart: 2 effects", nothing_starts_unregistered),
    Scenario(
        "B2", "an old executor after the epoch moved", "refused while still queued", a_deposed_owner_enters_nothing
    ),
    Scenario("B3", "two starts under one epoch", "one entered, one refused, 1 effect", one_start_of_two),
    Scenario("B4", "entered, killed before the effect", "not replayed: unknown, 0 effects", entered_without_effect),
    Scenario("B5", "entered, killed after the effect", "not replayed: unknown, 1 effect", entered_with_effect),
)
