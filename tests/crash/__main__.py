"""`python -m tests.crash [--size ci|full|small] [--seed N] [--record PATH] [--jobs N] [--workload NAME]…`

`--loop KILLS` runs K3 alone: so many kills in a row under load."""

import argparse
import asyncio
import json
import logging
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.crash.campaign import SIZES, Campaign
from tests.crash.children import WarmParent
from tests.crash.record import Record, write_record, write_values
from tests.crash.storm import rage
from tests.crash.workloads import WORKLOADS


async def loop(arguments: argparse.Namespace) -> int:
    """K3 alone. The exit code: 0 when nothing was violated."""
    parent = await WarmParent.start(arguments.tree.resolve())
    try:
        storm = await rage(parent, arguments.loop, arguments.seed, arguments.keep)
    finally:
        await parent.stop()
    values = {"loop": arguments.loop, "seed": arguments.seed} | storm.as_json()
    print(json.dumps({name: value for name, value in values.items() if name != "samples"}, indent=1))
    write_values(values, arguments.record)
    return 1 if storm.violations else 0


async def run(arguments: argparse.Namespace) -> int:
    """The exit code: 0 when nothing was violated and nothing left out."""
    size = SIZES[arguments.size]
    if arguments.workload:
        size = replace(size, workloads=tuple(arguments.workload))
    started = time.monotonic()
    parent = await WarmParent.start(arguments.tree.resolve())
    try:
        campaign = Campaign(
            parent, size, arguments.seed, lambda line: print(line, flush=True), arguments.jobs, arguments.keep
        )
        await campaign.record()
        await (campaign.kill_everywhere() if size.k1 == "everywhere" else campaign.kill_once())
        await campaign.kill_twice(size.k2)
        storm = await rage(parent, size.k3, arguments.seed, arguments.keep)
        for violation in storm.violations:
            campaign.say(f"VIOLATION {violation.rule} K3: {violation.text}")
    finally:
        await parent.stop()
    record = Record.of(campaign, storm, arguments.size, time.monotonic() - started)
    print(record.table())
    write_record(record, arguments.record)
    return record.exit_code


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("--size", choices=SIZES, default="ci")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="where the folders of cases with violations go")
    parser.add_argument("--tree", type=Path, default=Path.cwd(), help="the tree whose code is killed")
    parser.add_argument("--workload", action="append", choices=WORKLOADS)
    parser.add_argument("--loop", type=int, metavar="KILLS", help="K3 alone: so many kills in a row under load")
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # clients that are killed in the middle of a request
    arguments = parser.parse_args()
    sys.exit(asyncio.run(loop(arguments) if arguments.loop else run(arguments)))


if __name__ == "__main__":
    main()
