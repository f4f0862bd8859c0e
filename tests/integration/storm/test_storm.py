"""Small storms; `python -m tests.integration.storm` (or `make storm`) runs the whole size."""

import random

import pytest

from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.storm.agent import GatedAgent
from tests.integration.storm.fairness import weigh
from tests.integration.storm.storm import SECTIONS, Storm
from tests.integration.storm.town import build_town, open_topics
from tests.integration.storm.weather import PLATFORM

MESSAGES = 200
MOST_RATIO = 2.0  # of a small sample on a busy machine; the whole size (`make storm`) holds to 1.5
RUNNING, EACH = 8, 4


async def furnish(open_house: OpenHouse) -> tuple[House, GatedAgent]:
    """A running house whose agent can be held back."""
    house, agent = await open_house(start=False, platform=PLATFORM, **SECTIONS), GatedAgent()
    house.agents = {"demo": agent}
    await house.start()
    return house, agent


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", [1, 2])
async def test_every_message_is_answered_once_and_in_order(open_house: OpenHouse, seed: int) -> None:
    house, agent = await furnish(open_house)
    result = await Storm(house, agent, MESSAGES, seed).rage()
    assert result.violations == (), result.as_json()
    assert result.deliveries > result.messages * 1.2, "no weather"
    assert result.refused, "nothing was refused"


@pytest.mark.timeout(240)
async def test_nobody_waits_much_longer_than_others_with_as_much_to_do(open_house: OpenHouse) -> None:
    house, agent = await furnish(open_house)
    town = build_town(house, random.Random(1), people=12, groups=0)
    await open_topics(house, town, topics=12)
    fairness = await weigh(house, agent, town, EACH)
    assert fairness.ratio <= MOST_RATIO, fairness
    assert fairness.greedy_before <= RUNNING + EACH + 1, fairness  # those that ran already, then its own turn a round
