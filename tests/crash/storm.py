"""K3: the service is killed again and again while several people write and answers stream, over sockets.

Beside what the checker sees, it must stay small: the file grows with what was said and not with the number of boots,
the process does not grow, and a boot reads each place in history once.
"""

import asyncio
import contextlib
import os
import random
import shutil
import signal
import sqlite3
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.crash.checker import check
from tests.crash.children import KILLED, WarmParent
from tests.crash.sometimes import count_sometimes
from tests.crash.stage import Stage, Violation
from tests.integration import cards_seen

PEOPLE = 5
LIST = "im.message.list"
REDELIVERY_S = (0.5,) * 400
MOST_FILE_BYTES, FILE_BYTES_PER_SAID_BYTE = 2_000_000, 8  # an empty file and what is in work; copies, rows, indexes
MOST_FREE = 0.5  # part of the file that may be free pages: what was in work at the same time
MOST_RSS_KB = 150_000
SPARE_LOOKS = 100  # readings of one boot beside one for each place: pages, messages of unknown fate
SAMPLES = 10
TEXTS = ("steps 6", "hello", "steps 3", "long answer")
CALM_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Sample:
    """How large everything is after so many kills; `file_bytes` with the -wal."""

    kills: int
    messages: int
    file_bytes: int
    rss_kb: int


@dataclass(frozen=True, slots=True)
class StormResult:
    """`said_bytes`: questions and answers as people see them; `vacuumed_bytes`: what the file holds; `rss_kb`: the
    largest process; `looks`: readings of history, at most so many by one boot, with so many places to read."""

    kills: int
    killed_before_ready: int
    messages: int
    said_bytes: int
    file_bytes: int
    free_bytes: int
    vacuumed_bytes: int
    bytes_per_message: int
    rss_kb: int
    looks: int
    most_looks_of_a_boot: int
    places: int
    samples: tuple[Sample, ...]
    violations: tuple[Violation, ...]
    sometimes: dict[str, int]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {
            "violations": [[each.rule, each.text] for each in self.violations],
            "samples": [asdict(each) for each in self.samples],
        }


async def rage(parent: WarmParent, kills: int, seed: int, keep: Path | None = None) -> StormResult:
    """Kill `kills` times, then let it come to rest and check everything."""
    started, chance = time.monotonic(), random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="storm-"))
    stage = Stage(parent, folder, platform={"redelivery_s": REDELIVERY_S, "ack_timeout_s": 1.0})
    try:
        async with stage:
            over = asyncio.Event()
            people = [asyncio.create_task(_write(stage, f"Person {number}", over)) for number in range(PEOPLE)]
            samples = await _kill_often(stage, kills, chance)
            over.set()
            _, late = await asyncio.wait(people, timeout=CALM_LIMIT_S)
            for task in late:
                task.cancel()
                stage.violations.append(Violation("L1", "somebody waits for an answer in vain"))
            await asyncio.gather(*people, return_exceptions=True)
            await stage.finish()
            result = _measure(stage, samples, time.monotonic() - started)
            result = replace(result, violations=(*check(stage), *_outgrown(result)))
            if result.violations and keep is not None:
                shutil.copytree(folder, keep / f"storm-{seed}", ignore=shutil.ignore_patterns("line", "*.sock"))
            return result
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _write(stage: Stage, name: str, over: asyncio.Event) -> None:
    """One person: writes, waits for the end of the answer, writes again; now and then without waiting."""
    stage.world.add_person(name)
    number, thread_id = 0, None
    while not over.is_set():
        number += 1
        text = f"{TEXTS[number % len(TEXTS)]} ({name} {number})"
        message_id = stage.say(text, name, thread_id=thread_id)
        if number % 3:
            await _wait(stage, partial(stage.has_ended, message_id), 600)
            thread_id = stage.world.message(message_id).thread_id if number % 5 else None


async def _kill_often(stage: Stage, kills: int, chance: random.Random) -> list[Sample]:
    """SIGKILL at random moments: most boots live for a while, some die before they are ready."""
    samples: list[Sample] = []
    for count in range(1, kills + 1):
        await _wait(stage, partial(_has_boots, stage, count), 60)
        boot = stage.boot
        if chance.random() > 0.15:
            with contextlib.suppress(TimeoutError):
                await _wait(stage, boot.ready.is_set, 20)
        await asyncio.wait({boot.ended}, timeout=chance.random() * 0.6)
        boot.rss_kb = _resident_kb(boot.pid) if boot.alive else 0
        with contextlib.suppress(ProcessLookupError):
            if boot.alive:
                os.kill(boot.pid, signal.SIGKILL)
        await asyncio.wait({boot.ended})
        if count % max(1, kills // SAMPLES) == 0:
            sizes = [side.stat().st_size for side in stage.folder.glob("channels.db*")]
            samples.append(Sample(count, len(stage.said), sum(sizes), max(each.rss_kb for each in stage.boots)))
    return samples


def _resident_kb(pid: int) -> int:
    """The most memory that this process had at any time; 0 when it has just died."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


async def _wait(stage: Stage, fact: Callable[[], bool], limit_s: float) -> None:
    await stage.ledger.until(fact, limit_s)


def _has_boots(stage: Stage, count: int) -> bool:
    return len(stage.boots) >= count


def _measure(stage: Stage, samples: list[Sample], seconds: float) -> StormResult:
    """Everything but the violations; the service has stopped cleanly."""
    connection = sqlite3.connect(stage.file)
    free = connection.execute("PRAGMA freelist_count").fetchone()[0]
    page_size = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.execute("VACUUM INTO ?", (str(stage.folder / "vacuumed.db"),))
    connection.close()
    said = sum(len(each.text.encode()) for each in stage.said.values())
    said += sum(len(cards_seen.answer(card).encode()) for one in stage.said for card in stage.cards(one))
    lists = [call.at_ms for call in stage.ledger.calls(LIST)]
    starts = [boot.started_ms for boot in stage.boots]
    by_boot = Counter(bisect_right(starts, at_ms) for at_ms in lists)
    ours = [each for each in stage.world.timeline if each.by_bot or each.message_id in stage.said]
    places = {each.chat_id for each in ours} | {each.thread_id for each in ours if each.thread_id}
    vacuumed = (stage.folder / "vacuumed.db").stat().st_size
    return StormResult(
        kills=sum(boot.code == KILLED for boot in stage.boots),
        killed_before_ready=sum(boot.code == KILLED and not boot.ready.is_set() for boot in stage.boots),
        messages=len(stage.said),
        said_bytes=said,
        file_bytes=stage.file.stat().st_size,
        free_bytes=free * page_size,
        vacuumed_bytes=vacuumed,
        bytes_per_message=vacuumed // max(1, len(stage.said)),
        rss_kb=max(boot.rss_kb for boot in stage.boots),
        looks=len(lists),
        most_looks_of_a_boot=max(by_boot.values(), default=0),
        places=len(places),
        samples=tuple(samples),
        violations=(),
        sometimes=dict(count_sometimes(stage)),
        seconds=round(seconds, 1),
    )


def _outgrown(result: StormResult) -> list[Violation]:
    found = []
    if result.vacuumed_bytes > MOST_FILE_BYTES + FILE_BYTES_PER_SAID_BYTE * result.said_bytes:
        found.append(f"the file holds {result.vacuumed_bytes} bytes for {result.said_bytes} that were said")
    if result.free_bytes > MOST_FILE_BYTES + MOST_FREE * result.file_bytes:
        found.append(f"{result.free_bytes} of the file's {result.file_bytes} bytes are free")
    if result.rss_kb > MOST_RSS_KB:
        found.append(f"a boot used {result.rss_kb} KB")
    if result.most_looks_of_a_boot > result.places + SPARE_LOOKS:
        found.append(f"a boot read history {result.most_looks_of_a_boot} times, with {result.places} places")
    return [Violation("size", text) for text in found]
