"""Report 008, C1 to D3: releasing what a turn holds, and whose proof may do it.

The limit is two turns a day; one turn is held for what runs. "Free" is what the report calls the quota.
"""

import asyncio
from typing import Any

from tests.crash.executor import Executor
from tests.crash.trial import Scenario, Trial

FREE = "SELECT min(turns_free) FROM quotas WHERE period = 'day'"
BOOKS = """
SELECT (SELECT count(*) FROM releases), (SELECT count(*) FROM outbox WHERE kind = 'receipt'),
       (SELECT count(*) FROM usage), (SELECT count(*) FROM reservations WHERE state = 'released'),
       (SELECT count(*) FROM settlement_history WHERE state = 'settled')
"""
UNBALANCED = """
SELECT count(*) FROM quotas WHERE turns_limit IS NOT NULL AND turns_free + turns_held + turns_used <> turns_limit
"""
NOTHING, ALL = (0, 0, 0, 0, 0), (1, 1, 1, 1, 1)
# every statement that writes in the commit of a settlement, and the borders of that commit
POINTS = (
    *("BEGIN", "releases.INSERT_RELEASE", "outbox.ADD_RECEIPT", "quotas.GIVE_BACK", "usage.INSERT_USAGE"),
    *("reservations.RELEASE", "settlements.DELETE_PENDING", "settlements.ADD_FACT", "COMMIT"),
)


async def ended(executor: Executor, message: int = 1) -> tuple[str, dict[str, Any]]:
    """A turn from its question to its end: its id, and the handle of its settlement."""
    turn = await executor.ask(do="admit", message=message, limit=2)
    await executor.ask(do="enter", lease=await executor.ask(do="lease", turn=turn))
    handle = await executor.ask(do="end", lease=await executor.ask(do="lease", turn=turn))
    assert handle["is"] == "Acked", handle
    return str(turn), {"key": handle["key"], "payload_hash": handle["payload_hash"]}


def balanced(trial: Trial, when: str) -> None:
    trial.claim(f"free + held + used = limit {when}", trial.one(UNBALANCED), 0)


async def release_and_books_are_one_commit(trial: Trial) -> str:
    """Killed at every statement of the settling commit, one after another; then it is settled, once."""
    owner = await trial.executor()
    await owner.ask(do="own")
    _, handle = await ended(owner)
    reached = []
    for point in POINTS:
        victim = await trial.executor()
        if not await victim.reach(point, do="settle", **handle):
            continue
        reached.append(point)
        await trial.kill(victim)
        trial.claim(f"killed at {point}: nothing of it is there", trial.rows(BOOKS)[0], NOTHING)
        trial.claim(f"killed at {point}: what is held stays held", trial.one(FREE), 1)
        balanced(trial, f"after the kill at {point}")
    trial.claim("every statement of the commit was killed at", reached, list(POINTS))
    for _ in range(3):
        await owner.ask(do="settle", **handle)
    trial.claim("release, receipt, usage, reservation, end: one each", trial.rows(BOOKS)[0], ALL)
    trial.claim("the quota is given back once, the turn used", trial.rows(_MOVES), [(1, 0, 1)])
    return f"{len(reached)} kills inside the commit left nothing; retried three times: free 1, all five rows once"


_MOVES = "SELECT turns_free, turns_held, turns_used FROM quotas WHERE period = 'day'"


async def killed_before_the_commit(trial: Trial) -> str:
    owner, victim = await trial.executor(), await trial.executor()
    await owner.ask(do="own")
    _, handle = await ended(owner)
    trial.claim("it stands before its COMMIT", await victim.reach("COMMIT", do="settle", **handle))
    await trial.kill(victim)
    trial.claim("everything is rolled back", trial.rows(BOOKS)[0], NOTHING)
    done = await (await trial.executor()).ask(do="settle", **handle)
    trial.claim("the next process settles it", (done["is"], done["duplicate"]), ("Settled", False))
    trial.claim("once", trial.rows(BOOKS)[0], ALL)
    balanced(trial, "at the end")
    return "rolled back; retried: free 1, release 1, receipt 1"


async def killed_after_the_commit(trial: Trial) -> str:
    owner, victim = await trial.executor(), await trial.executor()
    await owner.ask(do="own")
    _, handle = await ended(owner)
    trial.claim("it stands behind its COMMIT", await victim.reach("COMMITTED", do="settle", **handle))
    await trial.kill(victim)
    trial.claim("all of it is there, nobody was told", trial.rows(BOOKS)[0], ALL)
    done = await (await trial.executor()).ask(do="settle", **handle)
    trial.claim("the retry is told that it was done", (done["is"], done["duplicate"]), ("Settled", True))
    trial.claim("and nothing moved", (trial.rows(BOOKS)[0], trial.rows(_MOVES)), (ALL, [(1, 0, 1)]))
    return "the answer was lost: the retry reads it back; free still 1"


async def two_proofs_at_once(trial: Trial) -> str:
    """Two kinds of proof about one reservation, two processes, at the same time."""
    owner = await trial.executor()
    await owner.ask(do="own")
    turn, handle = await ended(owner)
    await owner.ask(do="evidence", turn=turn, kind="repaired", tokens=999)
    lease = await owner.ask(do="lease", turn=turn)
    other = {"reservation": f"reservation:{turn}", "start_epoch": lease["start_epoch"], "owner": lease["owner_epoch"]}
    refused = await owner.ask(do="claim", kind="repaired", **other)
    trial.claim("another proof is a conflict", refused.get("code"), "settlement_conflict")
    workers = [await trial.executor() for _ in range(2)]

    async def settle(executor: Executor) -> bool:
        while "error" in (answer := await executor.ask(do="settle", **handle)):
            trial.claim("refused only because the other has the file", "in use" in answer["error"])
        return bool(answer["duplicate"])

    duplicates = await asyncio.gather(*(settle(one) for one in workers))
    trial.claim("one has settled, the other was told so", sorted(duplicates), [False, True])
    trial.claim("one release, one receipt", trial.rows(BOOKS)[0], ALL)
    trial.claim("both proofs are kept", trial.one("SELECT count(*) FROM evidence"), 2)
    trial.claim("the first proof counts", trial.one("SELECT input_tokens FROM usage"), 100)
    balanced(trial, "at the end")
    return "two proofs, two processes: release 1, receipt 1, free 1; both proofs kept"


async def _two_turns_of_one_session(trial: Trial, owner: Executor) -> tuple[str, str]:
    """The same person, the same conversation, the same session: one turn is through, another runs."""
    await owner.ask(do="own")
    first, handle = await ended(owner)
    await owner.ask(do="deliver", turn=first)
    await owner.ask(do="settle", **handle)
    second = await owner.ask(do="admit", message=2, user="person 1", thread="omt_1", limit=2)
    await owner.ask(do="enter", lease=await owner.ask(do="lease", turn=second))
    sessions = trial.rows("SELECT DISTINCT session_id, sender_user_id FROM turns")
    trial.claim("both turns are of one session and person", len(sessions), 1)
    return first, str(second)


async def a_name_releases_nothing(trial: Trial) -> str:
    """The proof of an earlier occupation of the same thing is offered against the new one."""
    owner = await trial.executor()
    first, second = await _two_turns_of_one_session(trial, owner)
    old = await owner.ask(do="lease", turn=first)
    proof = {"start_epoch": old["start_epoch"], "owner": old["owner_epoch"], "kind": "ended"}
    offered = await owner.ask(do="claim", reservation=f"reservation:{second}", **proof)
    trial.claim("refused", offered.get("code"), "invalid_evidence")
    again = await owner.ask(do="claim", reservation=f"reservation:{first}", **proof)
    trial.claim("against its own it is only read back", (again["is"], again["duplicate"]), ("Acked", True))
    held = await owner.ask(do="reservation", turn=second)
    trial.claim("the new one is still held", (held["state"], held["settlement"]), ("held", "none"))
    trial.claim(
        "one release, the old one's", trial.rows("SELECT reservation_id FROM releases"), [(f"reservation:{first}",)]
    )
    balanced(trial, "at the end")
    return "same session, same person: the old proof is refused, the new reservation is still held"


async def the_whole_identity(trial: Trial) -> str:
    """Another reservation's, another start's, another executor's proof, and one that nobody gave."""
    owner = await trial.executor()
    first, second = await _two_turns_of_one_session(trial, owner)
    lease = await owner.ask(do="lease", turn=second)
    done = await owner.ask(do="end", lease=lease)
    assert done["is"] == "Acked"
    third = await owner.ask(do="admit", message=3, user="person 3", limit=2)
    await owner.ask(do="enter", lease=await owner.ask(do="lease", turn=third))
    await owner.ask(do="evidence", turn=third, kind="ended", start_epoch=7)
    start, mine = lease["start_epoch"], lease["owner_epoch"]
    offers = {
        "another reservation's": {"start_epoch": start, "owner": mine, "kind": "ended", "reservation": third},
        "another start's": {"start_epoch": 7, "owner": mine, "kind": "ended", "reservation": third},
        "another executor's": {"start_epoch": start, "owner": mine + 1, "kind": "ended", "reservation": third},
        "one that nobody gave": {"start_epoch": start, "owner": mine, "kind": "stale", "reservation": second},
    }
    for whose, offer in offers.items():
        answer = await owner.ask(do="claim", **(offer | {"reservation": f"reservation:{offer['reservation']}"}))
        trial.claim(f"{whose} proof is refused", answer.get("code"), "invalid_evidence")
    held = await owner.ask(do="reservation", turn=third)
    trial.claim("the new one is still held", held["state"], "held")
    trial.claim("nothing but the first is released", trial.one("SELECT count(*) FROM releases"), 1)
    assert first
    return "four proofs of other identities refused; the new reservation is still held"


async def an_old_fact_after_the_takeover(trial: Trial) -> str:
    """The deposed owner comes with what it knows: it is kept, and gives no right; the new owner releases once."""
    old, new = await trial.executor(), await trial.executor()
    await old.ask(do="own")
    turn = await old.ask(do="admit", message=1, limit=2)
    stale = await old.ask(do="lease", turn=turn)
    await old.ask(do="enter", lease=stale)
    await new.ask(do="own")
    refused = await old.ask(do="end", lease=stale, tokens=55)
    trial.claim("the old owner ends nothing", refused, None)
    trial.claim("what it said is kept", trial.rows("SELECT input_tokens, kind FROM evidence"), [(55, "ended")])
    trial.claim("nothing was released by it", trial.rows(BOOKS)[0], NOTHING)
    handle = await new.ask(do="repair", turn=turn)
    trial.claim("the new owner ends it by its own proof", handle["is"], "Acked")
    values = {"key": handle["key"], "payload_hash": handle["payload_hash"]}
    denied = await old.ask(do="settle", owner=stale["owner_epoch"], **values)
    trial.claim("the old owner may not settle it either", denied.get("code"), "settlement_stale_control")
    for _ in range(2):
        await new.ask(do="settle", **values)
    trial.claim("released once", trial.rows(BOOKS)[0], ALL)
    trial.claim("both facts are there", trial.one("SELECT count(*) FROM evidence"), 2)
    balanced(trial, "at the end")
    return "the old owner is refused, its fact is kept, the new owner releases once"


SCENARIOS = (
    Scenario("C1", "quota given back apart from the release", "free 2 after a retry", release_and_books_are_one_commit),
    Scenario("C2", "killed before the atomic commit", "rolled back; free 1", killed_before_the_commit),
    Scenario("C3", "killed after the commit, before the answer", "read back; free 1", killed_after_the_commit),
    Scenario("C4", "two proofs at once", "one release by reservation; free 1", two_proofs_at_once),
    Scenario(
        "D1", "matched by the resource's name", "an old proof released a new reservation", a_name_releases_nothing
    ),
    Scenario("D2", "matched by the whole identity", "refused; still held", the_whole_identity),
    Scenario(
        "D3", "an old fact after the take-over", "fact kept, right refused, one release", an_old_fact_after_the_takeover
    ),
)
