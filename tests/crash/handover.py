"""B2 of report 008 as a case: an owner that was deposed is still alive and goes on as if nothing had happened."""

from pathlib import Path

from tests.crash.executor import Executor
from tests.crash.stage import Violation, read_copy, read_provider

TURNS = "SELECT turn_id, state, start_epoch, owner_epoch, outcome FROM turns"


async def hand_over(folder: Path, tree: Path) -> list[Violation]:
    """The old owner tries to enter a turn while it is queued under the new one, and to end one that the new one has
    taken over; then the new one enters. Both are real processes. What comes out is judged by the records alone."""
    old, new = await Executor.start(folder, tree), await Executor.start(folder, tree)
    try:
        await old.ask(do="own")
        queued, running = await old.ask(do="admit", message=1), await old.ask(do="admit", message=2)
        stale = {turn: await old.ask(do="lease", turn=turn) for turn in (queued, running)}
        await old.ask(do="enter", lease=stale[running])
        await new.ask(do="own")
        current = await new.ask(do="lease", turn=queued)
        await old.ask(do="enter", lease=stale[queued])
        await old.ask(do="save", lease=stale[running])
        await old.ask(do="finish", lease=stale[running])
        await new.ask(do="enter", lease=current)
        return judge(folder, queued, running)
    finally:
        for executor in (old, new):
            await executor.end()


def judge(folder: Path, queued: str, running: str) -> list[Violation]:
    """S2 and S10 of the two records."""
    turns = {row[0]: row for row in read_copy(folder / "channels.db", TURNS)}
    entered = [line for line in read_provider(folder) if line["turn_id"] == queued]
    found = []
    if len(entered) != 1:
        found.append(Violation("S2", f"the handed-over turn entered {len(entered)} times"))
    for line in entered:
        _, _, start_epoch, owner_epoch, _ = turns[queued]
        if (line["start_epoch"], line["owner_epoch"]) != (start_epoch, owner_epoch):
            found.append(Violation("S10", f"start {line['start_epoch']} of owner {line['owner_epoch']} has entered"))
    _, state, _, _, outcome = turns[running]
    if state != "unknown":
        found.append(Violation("S10", f"a deposed owner has ended a turn: {state}, {outcome}"))
    return found
