"""`python -m tests.real_agents [--agent NAME]… [--cache FOLDER] [--keep FOLDER] [--record FILE] [--shared]`

Installs the agents into the cache (`AGENTS_CACHE` or build/real-agents), runs the scenario with each, writes the
record. Exit code 0: every step of every agent held; 1 otherwise.
"""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.conformance.agents.fake_openai import FakeOpenAi
from tests.real_agents.catalogue import CATALOGUE, Candidate
from tests.real_agents.handshake import introduce
from tests.real_agents.house import House, agent_section
from tests.real_agents.install import CannotInstall, install
from tests.real_agents.model import Model
from tests.real_agents.record import AgentRecord, say, write_record
from tests.real_agents.scenario import Scenario


async def run_agent(candidate: Candidate, cache: Path, folder: Path, shared: bool) -> AgentRecord:
    """Install it and take it through the scenario. What goes wrong stands in the record."""
    record = AgentRecord(candidate, shared)
    try:
        record.installed = installed = await asyncio.to_thread(install, candidate, cache)
    except CannotInstall as error:
        record.trouble = f"cannot be installed: {error}"
        return record
    words = "installed" if installed.fresh else "was installed already:"
    say(f"{candidate.name}: {words} {candidate.requirement} ({installed.megabytes} MB, {installed.seconds} s)")
    home, model = folder / "home", Model()
    home.mkdir(parents=True)
    async with FakeOpenAi(answer=model) as server:
        environment = {"HOME": str(home), **candidate.environment(home, server.base_url.removesuffix("/v1"))}
        command = [str(installed.program), *candidate.arguments]
        settings = [*candidate.settings, *(['processes = "shared"'] if shared else [])]
        record.introduction = await introduce(command, environment, home)
        house = House(folder / "product", agent_section(candidate.name, command, environment, settings))
        scenario = Scenario(house, model, server, home, candidate.next_minute)
        try:
            await scenario.run()
        except (AssertionError, TimeoutError) as error:
            record.trouble = f"{type(error).__name__}: {error}"
        finally:
            await house.close()
    record.steps = scenario.steps
    record.memory_mb = {f"{each.pid} {each.program[-80:]}": each.resident_mb for each in scenario.memory}
    return record


async def run(names: list[str], cache: Path, keep: Path | None, record: Path | None, shared: bool) -> int:
    agents: list[AgentRecord] = []
    place = keep or Path(tempfile.mkdtemp(prefix="real-agents-"))
    for name in names:
        agents.append(await run_agent(CATALOGUE[name], cache, place / name, shared))
        for line in agents[-1].lines():
            say(line)
    say(f"record: {write_record(agents, record)}")
    failed = not all(each.ok for each in agents)
    if keep is None and not failed:
        shutil.rmtree(place, ignore_errors=True)
    elif failed:
        say(f"what the service wrote is kept in {place}")
    return 1 if failed else 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.real_agents")
    parser.add_argument(
        "--agent", action="append", choices=CATALOGUE, help="this one alone; may be given several times"
    )
    cache = Path(os.environ.get("AGENTS_CACHE", "build/real-agents"))
    parser.add_argument("--cache", type=Path, default=cache, help="where agents are installed; kept for the next time")
    parser.add_argument("--keep", type=Path, help="an empty folder for what the product writes; kept")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--shared", action="store_true", help="one process for all sessions instead of one for each")
    given = parser.parse_args()
    names = given.agent or list(CATALOGUE)
    sys.exit(asyncio.run(run(names, given.cache.absolute(), given.keep, given.record, given.shared)))


if __name__ == "__main__":
    main()
