"""`python -m tests.integration.storm [--messages 2000] [--seed N] [--each 10]`: a storm of any size, then fair waiting.

Prints one JSON line for each; exits 1 when anything did not hold. The same seed writes the same messages in the same
weather; what the machine makes of it differs.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from pathlib import Path

from channels import logs
from channels.emulator import Emulator
from tests.integration.house import House, emulator_settings
from tests.integration.storm.agent import GatedAgent
from tests.integration.storm.fairness import weigh
from tests.integration.storm.storm import SECTIONS, Storm
from tests.integration.storm.weather import PLATFORM

MOST_RATIO = 1.5


async def rage(messages: int, seed: int, each: int, folder: Path) -> bool:
    """One storm in a house of its own, and the fair waiting after it; whether everything held."""
    emulator, agent = Emulator(emulator_settings(**PLATFORM)), GatedAgent()
    await emulator.start()
    emulator.sockets.behaviour.client_config |= {"ReconnectNonce": 1, "ReconnectInterval": 1}
    house = House(folder, emulator, **SECTIONS)
    house.agents = {"demo": agent}
    try:
        await house.start()
        storm = Storm(house, agent, messages, seed)
        result = await storm.rage()
        print(json.dumps(result.as_json(), ensure_ascii=False), flush=True)
        fairness = await weigh(house, agent, storm.town, each)
        print(json.dumps({"ratio": round(fairness.ratio, 2), "greedy_before": fairness.greedy_before}), flush=True)
        return not result.violations and fairness.ratio <= MOST_RATIO
    finally:
        await house.stop()
        await emulator.stop()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.integration.storm")
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None, help="default: a random one, which is printed")
    parser.add_argument("--each", type=int, default=10, help="how much everybody writes for the fair waiting")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(1_000_000)
    print(f"seed {seed}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="storm-") as folder, Path(folder, "log").open("w") as stream:
        logs.configure("warning", "console", stream=stream)  # the weather makes many
        return 0 if asyncio.run(rage(arguments.messages, seed, arguments.each, Path(folder))) else 1


if __name__ == "__main__":
    sys.exit(main())
