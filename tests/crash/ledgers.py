"""Workloads of the ledger: quotas that are used up, settlements that are paused, stopped, cut off, and too late."""

from typing import Any

from channels.emulator.accounts import GROUP
from tests.crash.stage import Expect, Stage, read_copy

HOURS = 3600.0
HELD = """
SELECT 1 FROM reservations JOIN turns USING (turn_id) WHERE reservations.state = 'held' AND turns.state = 'ended'
"""
STRANGERS = 66  # one session more may be stopped than there is room for, and one more


async def quota_used_up(stage: Stage) -> None:
    """Two questions a day: the third is refused, and so is one that comes in two pieces; the day after both go."""
    for text in ("the first", "the second"):
        await stage.answered(stage.say(text))
    await stage.answered(stage.say("one too many", expect=Expect.NOTICE))
    await stage.answered(stage.say("another person", "Bob"))
    await stage.answered(stage.say("/usage", expect=Expect.NOTICE))
    await stage.quiet()
    await stage.advance(25 * HOURS)
    await stage.answered(stage.say("the day after"))
    await _given_back(stage)


async def limits_of_one_person(stage: Stage) -> None:
    """An admin sets a limit for one person, lowers it below what is used, and takes it back."""
    await stage.answered(stage.say("hello", "Bob"))
    set_to = await _operate(stage, "quota_set", user="id:u_bob", turns_per_day=1, tokens_per_day=50_000)
    if "refused" in set_to:
        raise AssertionError(set_to)
    await stage.answered(stage.say("too many", "Bob", expect=Expect.NOTICE))
    await _operate(stage, "quota_set", user="id:u_bob", tokens_per_day=1)
    await _operate(stage, "quota_show", user="id:u_bob")
    await _operate(stage, "quota_list")
    await _operate(stage, "quota_clear", user="id:u_bob")
    await stage.answered(stage.say("and now", "Bob"))
    await _given_back(stage)


async def paused(stage: Stage) -> None:
    """Paused by an admin: turns end, nothing settles, restarts change nothing; resumed, everything does."""
    await stage.answered(stage.say("/pause", expect=Expect.NOTICE))
    for text in ("while it is paused", "and again"):
        await stage.answered(stage.say(text))
    await stage.quiet()
    if any(state == "settled" for (state,) in read_copy(stage.file, "SELECT settlement FROM reservations")):
        raise AssertionError("something settled although it was paused")
    for text in ("/settlement", "/usage"):
        await stage.answered(stage.say(text, expect=Expect.NOTICE))
    await _operate(stage, "quota_list")
    await stage.answered(stage.say("/resume-settlement", expect=Expect.NOTICE))
    await _given_back(stage)


async def stop_races_settle(stage: Stage) -> None:
    """Sessions are stopped while their turns run, as they end, and after they have settled."""
    first, second = stage.say("steps 8"), stage.say("steps 4", "Bob")
    await stage.until(lambda: stage.replies(first) and stage.replies(second))
    await _stop_session_of(stage, first)
    await stage.answered(first)
    await _stop_session_of(stage, second)
    await stage.answered(second)
    third = stage.say("hello", chat_id=GROUP, mention_bot=True)
    await stage.answered(third)
    await _given_back(stage)
    await _stop_session_of(stage, third)
    topic = stage.world.message(third).thread_id
    await stage.answered(stage.say("once more", chat_id=GROUP, thread_id=topic))
    await _given_back(stage)


async def many_stops(stage: Stage) -> None:
    """More sessions are stopped than there is room for: the oldest that binds nothing gives way."""
    await stage.answered(stage.say("hello"))
    await _given_back(stage)
    for number in range(STRANGERS):
        await _operate(stage, "settlement_stop", session_id=f"stranger_{number}")
    status = await _operate(stage, "settlement_status")
    if len(status["stops"]) != 64:
        raise AssertionError(f"{len(status['control']['stops'])} stops")


async def settled_after_a_restart(stage: Stage) -> None:
    """The first boot dies in the middle of settling; the next one settles, once."""
    await stage.answered(stage.say("hello"))
    await _given_back(stage)


async def archived_while_it_waits(stage: Stage) -> None:
    """The conversation is put away before its last turn has settled."""
    await stage.answered(stage.say("/pause", expect=Expect.NOTICE))
    await stage.answered(stage.say("hello"))
    await stage.answered(stage.say("/archive", expect=Expect.NOTICE))
    await stage.answered(stage.say("/resume-settlement", expect=Expect.NOTICE))
    await _given_back(stage)


async def _given_back(stage: Stage) -> None:
    """Wait until nothing is held for a turn that has ended."""
    await stage.until(lambda: not read_copy(stage.file, HELD))


async def _stop_session_of(stage: Stage, message_id: str) -> None:
    def session() -> list[tuple[Any, ...]]:
        return read_copy(stage.file, f"SELECT session_id FROM turns WHERE cause_id = '{message_id}'")

    await stage.until(session)
    await _operate(stage, "settlement_stop", session_id=session()[0][0])


async def _operate(stage: Stage, operation: str, **arguments: Any) -> dict[str, Any]:
    """Ask the running service until it has answered."""
    while True:
        await stage.ready()
        answer = await stage.line.ask(do="operate", operation=operation, arguments=arguments)
        if answer is not None:
            return dict(answer)
        await stage.moved()
