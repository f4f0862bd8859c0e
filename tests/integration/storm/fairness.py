"""Fair waiting, measured in turns: how many turns began before mine did.

Everybody writes equally much into a topic of their own, one person after another, while nothing is answered; before
them all one greedy person has written several times as much, into as many topics as messages. Then the answers begin.
"""

from dataclasses import dataclass
from statistics import median

from tests.integration.house import House
from tests.integration.storm.agent import GatedAgent
from tests.integration.storm.town import Town

BEGUN = """
SELECT turns.sender_user_id FROM session_events AS said JOIN turns ON turns.turn_id = said.turn_id
WHERE said.kind = 'user/message' AND turns.seq > :after ORDER BY said.rowid
"""
WAITS = "SELECT count(*) FROM turns WHERE state IN ('queued', 'entered')"
LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Fairness:
    """`ratio`: the longest median wait of those with equal load by the shortest. `greedy_before`: how many turns of the
    greedy person began while all the others still had some waiting."""

    medians: dict[str, float]
    ratio: float
    greedy_before: int
    greedy_asked: int


async def weigh(house: House, agent: GatedAgent, town: Town, each: int, greed: int = 5) -> Fairness:
    """`town.topics` begins with one private topic of every person, in the order of `town.people`."""
    greedy, *others = town.people
    after = await house.one("SELECT coalesce(max(seq), 0) FROM turns")
    agent.gate.clear()
    for number in range(each * greed):
        house.say(f"<greedy {number}>", greedy)
    await house.held(WAITS, each * greed, LIMIT_S)
    for name, topic in zip(town.people, town.topics, strict=False):
        for number in range(each if name in others else 0):
            house.say(f"<{name} {number}>", name, topic.chat_id, thread_id=topic.thread_id)
    await house.held(WAITS, each * (greed + len(others)), LIMIT_S)
    agent.gate.set()
    await house.quiet(LIMIT_S)
    begun = [user_id for (user_id,) in await house.rows(BEGUN, after=after)]
    medians = {}
    for name in others:
        user_id = house.world.person(name).user_id
        medians[name] = float(median(place for place, one in enumerate(begun, 1) if one == user_id))
    user_id = house.world.person(greedy).user_id
    all_wait = min(_last(begun, one) for one in set(begun) - {user_id})
    ratio = max(medians.values()) / min(medians.values())
    return Fairness(medians, ratio, begun[:all_wait].count(user_id), each * greed)


def _last(begun: list[str], user_id: str) -> int:
    """Where this person's last turn began."""
    return max(place for place, one in enumerate(begun) if one == user_id)
