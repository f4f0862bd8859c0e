"""What report 008 names as not yet shown, and what the proof programme adds: E1 to E5."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

from tests.crash.executor import Executor
from tests.crash.scenarios_books import ALL, BOOKS, balanced, ended
from tests.crash.trial import Scenario, Trial

HOUR_MS, NOW, TURNS = 3_600_000, 1_000_000, 24
TURN = "SELECT state, outcome, stop_requested FROM turns"


async def cancel_against_enter(trial: Trial) -> str:
    """*Stop* and the start of the same turn, in two processes: each is let stand in the middle of its commit while the
    other tries; then both orders one after the other."""
    seen = []
    for first, second in (("cancel", "enter"), ("enter", "cancel")):
        folder = trial.folder / first
        folder.mkdir()
        inner = Trial(folder)
        try:
            seen.append(await _race(inner, first, second))
        finally:
            trial.claims += inner.claims
            trial.processes += inner.processes
            await inner.__aexit__(None, None, None)
    trial.claim("stopped first: nothing ran; entered first: it ran once and can only end as stopped", seen, [0, 1])
    return "stopped first: never entered, 0 effects; entered first: 1 effect, it ends as stopped"


async def _race(trial: Trial, first: str, second: str) -> int:
    owner, other = await trial.executor(), await trial.executor()
    epoch = await owner.ask(do="own")
    turn = await owner.ask(do="admit", message=1)
    lease = await owner.ask(do="lease", turn=turn)
    orders: dict[str, dict[str, Any]] = {
        "cancel": {"do": "cancel", "turn": turn, "user": "person 1", "epoch": epoch},
        "enter": {"do": "enter", "lease": lease},
    }
    trial.claim(f"{first} stands before its COMMIT", await owner.reach("COMMIT", **orders[first]))
    refused = await other.ask(**orders[second])
    trial.claim(f"{second} finds the file taken, and changes nothing", "in use" in str(refused.get("error")))
    await owner.go_on()
    await other.ask(**orders[second])
    if second == "cancel":
        await owner.ask(do="end", lease=lease)
    ((state, outcome, stop_requested),) = trial.rows(TURN)
    trial.claim(f"{first} first: it ends as stopped", (state, outcome, stop_requested), ("ended", "stopped", 1))
    return len(trial.provider())


async def an_older_file(trial: Trial) -> str:
    """A copy from before the settlement is put back: nothing is extended, and what it holds is closed once."""
    owner = await trial.executor()
    await owner.ask(do="own")
    _, handle = await ended(owner)
    kept = trial.folder / "kept.db"
    copy_file(trial.file, kept)
    await owner.ask(do="settle", **handle)
    trial.claim("settled after the copy was made", trial.rows(BOOKS)[0], ALL)
    (deadline,) = trial.rows("SELECT deadline FROM settlement_history")[0]
    epoch = trial.one("SELECT max(epoch) FROM owners")
    put_back(kept, trial.file)
    restored = await trial.executor()
    raised = await restored.ask(do="restore", above=epoch, now=NOW + HOUR_MS)
    trial.claim("its owner is above every earlier one", raised > epoch)
    (pending,) = (await restored.ask(do="read"))["pending"]
    trial.claim("the deadline is the old one", pending["deadline"], deadline)
    refused = await restored.ask(do="settle", now=NOW + HOUR_MS, **handle)
    trial.claim("past it nothing settles", refused.get("code"), "settlement_expired")
    for _ in range(2):
        await restored.ask(do="sweep", now=NOW + HOUR_MS)
    trial.claim("what it held is closed once, late", trial.rows("SELECT way FROM releases"), [("late",)])
    trial.claim("and booked once", trial.rows("SELECT input_tokens, late FROM usage"), [(100, 1)])
    balanced(trial, "at the end")
    return "put back an hour later: same deadline, expired, closed late once under a higher owner"


async def claims_under_load(trial: Trial) -> str:
    """Four processes apply the same handles again and again, beside one that ends more turns."""
    owner = await trial.executor()
    await owner.ask(do="own")
    handles = [(await ended(owner, message))[1] for message in range(1, 5)]
    workers = [await trial.executor() for _ in range(4)]

    async def settle_all(executor: Executor) -> list[bool]:
        duplicates = []
        for handle in handles:
            while "error" in (answer := await executor.ask(do="settle", **handle)):
                if "in use" not in answer["error"]:
                    raise AssertionError(answer)
            duplicates.append(bool(answer["duplicate"]))
        return duplicates

    answers = await asyncio.gather(*(settle_all(one) for one in workers))
    firsts = [sum(not duplicate for duplicate in of_one) for of_one in zip(*answers, strict=True)]
    trial.claim("of four claims for each, one has settled and three were told so", firsts, [1, 1, 1, 1])
    trial.claim("four releases, receipts, bookings", trial.rows(BOOKS)[0], (4, 4, 4, 4, 4))
    balanced(trial, "at the end")
    return "16 claims by 4 processes for 4 reservations: 4 releases, 12 read back"


async def clock_back_an_hour(trial: Trial) -> str:
    """The wall clock is put back between the end of a turn and its settlement, and across a boot."""
    owner = await trial.executor()
    await owner.ask(do="own")
    _, handle = await ended(owner)
    deadline = (await owner.ask(do="read"))["pending"][0]["deadline"]
    late = deadline + 1
    await owner.ask(do="raise_floor", now=late)
    rebooted = await trial.executor()
    now = await rebooted.ask(do="floored", wall=late - HOUR_MS)
    trial.claim("a boot with an earlier clock is not before what was stored", now, late)
    await rebooted.ask(do="own", now=now)
    (pending,) = (await rebooted.ask(do="read", now=now))["pending"]
    trial.claim("the deadline has not moved", pending["deadline"], deadline)
    refused = await rebooted.ask(do="settle", now=now, **handle)
    trial.claim("it has expired, whatever the wall says", refused.get("code"), "settlement_expired")
    await rebooted.ask(do="sweep", now=now)
    trial.claim("closed late, once", trial.rows("SELECT way FROM releases"), [("late",)])
    balanced(trial, "at the end")
    return "the clock floor keeps the deadline: expired, closed late once"


async def full_in_the_middle(trial: Trial) -> str:
    """The file may not grow by a page: settlements go on until one is cut off in its middle. Then there is room."""
    owner = await trial.executor()
    await owner.ask(do="own")
    handles = [(await ended(owner, message))[1] for message in range(1, TURNS + 1)]
    pages, settled, failed = await owner.ask(do="fill"), 0, []
    for handle in handles:
        answer = await owner.ask(do="settle", pages=pages, **handle)
        if answer.get("is") == "Settled":
            settled += 1
            continue
        failed.append(handle)
        trial.claim("the file is full, and says so", "full" in str(answer.get("error")))
        trial.claim(f"{settled} are booked, and nothing by half", trial.rows(BOOKS)[0], (settled,) * 5)
        balanced(trial, "while it is full")
    trial.claim("it was full at least once", bool(failed))
    done = [(await owner.ask(do="settle", **handle)).get("is") for handle in failed]
    trial.claim("with room they are settled", set(done), {"Settled"})
    trial.claim("each once", trial.rows(BOOKS)[0], (TURNS,) * 5)
    trial.claim("no attempt was counted", trial.one("SELECT max(attempts) FROM settlement_history"), 0)
    return f"SQLITE_FULL in the middle of {len(failed)} of {TURNS}: nothing half booked; with room each settled once"


def copy_file(file: Path, target: Path) -> None:
    """A copy of a file that nobody has open."""
    shutil.copyfile(file, target)
    for side in ("-wal",):
        source = file.with_name(file.name + side)
        if source.exists():
            shutil.copyfile(source, target.with_name(target.name + side))


def put_back(copy: Path, file: Path) -> None:
    for side in ("-wal", "-shm"):
        file.with_name(file.name + side).unlink(missing_ok=True)
    copy_file(copy, file)


SCENARIOS = (
    Scenario("E1", "cancelling against entering", "not shown by the report", cancel_against_enter),
    Scenario("E2", "an older file put back", "not shown by the report", an_older_file),
    Scenario("E3", "two claims for one reservation, under load", "not shown by the report", claims_under_load),
    Scenario("E4", "the clock back by an hour", "not shown by the report", clock_back_an_hour),
    Scenario("E5", "the disk is full in the middle", "not shown by the report", full_in_the_middle),
)
