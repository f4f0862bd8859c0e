"""Workloads with agents that ask: a person decides, nobody does, somebody stops; a right is asked for; a session is
lost."""

from typing import Any

from tests.crash.stage import Stage

PATIENCE_S = 400.0  # more than a question waits for its answer


async def decide(
    stage: Stage, message_id: str, option: str, seen: set[str], user: str = "Alice"
) -> dict[str, Any] | None:
    """Press this option of the next question below a message; None when the answer ends without one. `seen`: tokens of
    questions that were decided before."""

    def is_new(value: dict[str, Any]) -> bool:
        return value.get("option") == option and value.get("token") not in seen

    value = await stage.press_value(message_id, "permit", user, is_new)
    if value is not None:
        seen.add(str(value["token"]))
    return value


async def asked(stage: Stage) -> None:
    """One question is allowed, one refused, by presses that come twice; nobody answers a third; a fourth is stopped."""
    seen: set[str] = set()
    first = stage.say("ask edit execute")
    value = await decide(stage, first, "0", seen)
    await decide(stage, first, "1", seen)
    await stage.answered(first)
    if value is not None:
        await stage.press_again(first, value, "Bob")
        await stage.press_again(first, value)
    topic = stage.world.message(first).thread_id
    late = stage.say("ask other", thread_id=topic)
    await stage.until(lambda: stage.button(late, "permit") or stage.has_ended(late))
    await stage.advance(PATIENCE_S)
    await stage.answered(late)
    stopped = stage.say("ask delete", thread_id=topic)
    await stage.until(lambda: stage.button(stopped, "permit") or stage.has_ended(stopped))
    await stage.press(stopped, "stop")
    await stage.answered(stopped)


async def rights(stage: Stage) -> None:
    """Bob may not have code changed, asks for the right, gets it, and tries again."""
    refused = stage.say("ask edit", "Bob")
    await stage.answered(refused)
    if await stage.press(refused, "ask_right", "Bob"):
        await stage.decide(stage.world.private_chat("Alice"), "access_allow")
        again = stage.say("ask move", "Bob")
        await decide(stage, again, "0", set(), "Bob")
        await stage.answered(again)


async def lost_session(stage: Stage) -> None:
    """The agent opens a session of its own, cannot load it later, and begins a fresh one for the same question."""
    first = stage.say("open")
    await stage.answered(first)
    lost = stage.say("lost", thread_id=stage.world.message(first).thread_id)
    await stage.answered(lost)
    if await stage.press(lost, "fresh"):
        await stage.press(lost, "fresh")
    await stage.answered(lost)


async def long_output(stage: Stage) -> None:
    """A command prints more than a card shows: all of it comes as a file. The answer to the upload gets lost once, and
    so does that to its message; a second one cannot be uploaded."""
    stage.fault("im.file.create", "drop_after")
    stage.fault("im.message.reply", "drop_after", contains="file_key")
    first = stage.say("output")
    await stage.answered(first)
    await stage.quiet()
    stage.fault("im.file.create", "error", code=234006)
    await stage.answered(stage.say("output", thread_id=stage.world.message(first).thread_id))
