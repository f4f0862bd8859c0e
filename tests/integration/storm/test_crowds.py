"""Conversations that wait or take their time hold up no other one."""

import os
import subprocess
from pathlib import Path

from tests.integration.conftest import OpenHouse
from tests.integration.house import House

CROWD, EACH = 30, 20  # more rows than one pass of the dispatcher takes
ACCEPTED = "SELECT count(*) FROM inbox WHERE state = 'accepted'"
QUEUED = "SELECT count(*) FROM turns WHERE state = 'queued'"
LOOK, TICK = "PARTITION BY conversation", "FROM establishing WHERE state = 'open' AND due_at <= :now"
MOST_LOOKS = 12  # at the inbox, in two to three seconds in which nothing happens


def said(house: House, words: str) -> list[bool]:
    """Grows with every statement that has these words."""
    seen: list[bool] = []
    house.tap.listeners.append(lambda name: seen.append(True) if words in name else None)
    return seen


async def test_a_crowd_that_waits_for_its_sessions_hides_nobody(open_house: OpenHouse) -> None:
    """Thirty people whose first replies are on their way: what they write meanwhile hides no other person's message,
    and is not looked at again and again."""
    house = await open_house(feishu={"request_timeout_s": 15.0})
    slow = house.fault("im.message.reply", "delay", seconds=15.0, times=CROWD)
    crowd = [house.world.add_person(f"Person {number}").name for number in range(CROWD)]
    for name in crowd:
        house.say("hello", name)
    await house.seen(lambda: slow.seen == CROWD)
    for number in range(EACH):
        for name in crowd:
            house.say(f"and {number}", name)
    await house.held(ACCEPTED, EACH * CROWD)
    message_id = house.say("hello", "Alice")
    await house.seen(lambda: house.has_ended(message_id), 10)
    assert await house.one(ACCEPTED) == EACH * CROWD
    looks, ticks = said(house, LOOK), said(house, TICK)
    await house.passed(lambda: len(ticks) >= 3)
    assert len(looks) <= MOST_LOOKS


async def test_a_command_that_takes_its_time_holds_up_nobody(open_house: OpenHouse) -> None:
    """Bob's new worktree does not come to an end; his /cd in another topic waits for it; the next person does not."""
    house = await open_house(workspace={"worktrees": True})
    _, reply = await house.ask("hello", "Bob")
    pipe = repository(house.folder / "workspace" / "p2p" / "u_bob")
    house.say("hello again", "Bob")
    writer = await reached(house, pipe)
    try:
        places = said(house, "kind = 'working-directory/change'")
        command = house.say("/cd ~", "Bob", thread_id=reply.thread_id)
        await house.passed(lambda: places)
        message_id = house.say("hello", "Alice")
        await house.seen(lambda: house.has_ended(message_id), 10)
        assert house.replies(command) == []
    finally:  # the thread that reads must come to its end
        pipe.unlink()
        os.write(writer, b"/topics/\n")
        os.close(writer)
    await house.shown(command)
    await house.quiet()


def repository(workspace: Path) -> Path:
    """A Git repository; reading what it excludes takes until somebody has written into the pipe."""
    workspace.mkdir(parents=True, exist_ok=True)
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    for words in (("init", "--quiet"), ("commit", "--quiet", "--allow-empty", "--message=first")):
        subprocess.run(["git", *identity, "-C", str(workspace), *words], check=True)
    pipe = workspace / ".git" / "info" / "exclude"
    pipe.unlink(missing_ok=True)
    pipe.parent.mkdir(exist_ok=True)
    os.mkfifo(pipe)
    return pipe


async def reached(house: House, pipe: Path) -> int:
    """Wait until somebody reads the pipe; the other end of it."""
    found: list[int] = []

    def is_read() -> bool:
        try:
            found.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    await house.passed(is_read)
    return found[0]
