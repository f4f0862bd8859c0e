"""Measures of the wire beside the official client: starting, memory, acks."""

from collections.abc import Iterator
from contextlib import ExitStack

from tests.bench.contestants import Ring, say
from tests.bench.figures import Figure, middle, percentile
from tests.bench.processes import Bot, Stage
from tests.bench.sizes import Sizes


def measure_starts(ring: Ring, sizes: Sizes) -> Iterator[Figure]:
    """Process start → first ping, and the memory of a bot that has nothing to do."""
    ours: list[Bot] = []
    theirs: list[Bot] = []
    used: dict[str, list[float]] = {"ours": [], "theirs": []}
    memory: dict[str, list[float]] = {"ours": [], "theirs": []}
    for number in range(sizes.starts):
        say(f"start {number + 1} of {sizes.starts}")
        for side, open_bot, bots in (("ours", ring.service, ours), ("theirs", ring.official, theirs)):
            with open_bot() as running:
                bots.append(running)
                used[side].append(running.cpu_ms())
                memory[side].append(running.resident_kb() / 1024)
    samples = tuple(each.connected_ms for each in ours)
    yield Figure(
        "process start to connected",
        "ms",
        middle(samples),
        middle(each.connected_ms for each in theirs),
        800,
        samples=samples,
    )
    yield Figure("processor time until connected", "ms", middle(used["ours"]), middle(used["theirs"]))
    yield Figure("memory when connected and idle", "MB", middle(memory["ours"]), middle(memory["theirs"]), 90)


def measure_acks(ring: Ring, sizes: Sizes) -> Iterator[Figure]:
    """Acks with our commit beside acks without one: a burst, then one event now and then."""
    with ExitStack() as bots:
        bots.enter_context(ring.service())
        bots.enter_context(ring.official())
        sides = {"ours": ring.ours, "theirs": ring.theirs}
        for side in sides.values():
            side.call("burst", count=min(50, sizes.burst))  # the first events warm both
        yield _burst_figure(sides, sizes)
        yield from _latency_figures(sides, sizes)


def _burst_figure(sides: dict[str, Stage], sizes: Sizes) -> Figure:
    rates: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(sizes.rounds):
        say(f"burst of {sizes.burst} events, round {number + 1} of {sizes.rounds}")
        for side, stage in sides.items():
            rates[side].append(sizes.burst / stage.call("burst", count=sizes.burst))
    return Figure(
        f"acks in a burst of {sizes.burst}, ours with a durable commit",
        "1/s",
        middle(rates["ours"]),
        middle(rates["theirs"]),
        2,
        "more",
        True,
        tuple(rates["ours"]),
    )


def _latency_figures(sides: dict[str, Stage], sizes: Sizes) -> Iterator[Figure]:
    latencies: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(sizes.rounds):
        say(f"one event every {sizes.gap_ms:g} ms, round {number + 1} of {sizes.rounds}")
        for side, stage in sides.items():
            latencies[side] += stage.call("trickle", count=sizes.trickle, gap_ms=sizes.gap_ms)
    ours, theirs = latencies["ours"], latencies["theirs"]
    yield Figure("push to ack at low load, p50", "ms", middle(ours), middle(theirs), 1, samples=tuple(ours))
    yield Figure("push to ack at low load, p99", "ms", percentile(ours, 0.99), percentile(theirs, 0.99))
