"""K3: the service is killed again and again while several people write and answers stream, over sockets."""

import asyncio
import contextlib
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.crash.checker import check
from tests.crash.children import KILLED, WarmParent
from tests.crash.sometimes import count_sometimes
from tests.crash.stage import Stage, Violation

PEOPLE = 5
REDELIVERY_S = (0.5,) * 400
MOST_FILE_BYTES, FILE_BYTES_PER_MESSAGE = 2_000_000, 60_000
MOST_RSS_KB = 300_000
TEXTS = ("steps 6", "hello", "steps 3", "long answer")
CALM_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class StormResult:
    kills: int
    killed_before_ready: int
    messages: int
    file_bytes: int
    rss_kb: int
    violations: tuple[Violation, ...]
    sometimes: dict[str, int]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"violations": [[each.rule, each.text] for each in self.violations]}


async def rage(parent: WarmParent, kills: int, seed: int, keep: Path | None = None) -> StormResult:
    """Kill `kills` times, then let it come to rest and check everything."""
    started, chance = time.monotonic(), random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="storm-"))
    stage = Stage(parent, folder, platform={"redelivery_s": REDELIVERY_S, "ack_timeout_s": 1.0})
    try:
        async with stage:
            over = asyncio.Event()
            people = [asyncio.create_task(_write(stage, f"Person {number}", over)) for number in range(PEOPLE)]
            await _kill_often(stage, kills, chance)
            over.set()
            _, late = await asyncio.wait(people, timeout=CALM_LIMIT_S)
            for task in late:
                task.cancel()
                stage.violations.append(Violation("L1", "somebody waits for an answer in vain"))
            await asyncio.gather(*people, return_exceptions=True)
            await stage.finish()
            violations = (*check(stage), *_outgrown(stage))
            if violations and keep is not None:
                shutil.copytree(folder, keep / f"storm-{seed}", ignore=shutil.ignore_patterns("line"))
            return StormResult(
                kills=sum(boot.code == KILLED for boot in stage.boots),
                killed_before_ready=sum(boot.code == KILLED and not boot.ready.is_set() for boot in stage.boots),
                messages=len(stage.said),
                file_bytes=stage.file.stat().st_size,
                rss_kb=stage.boot.rss_kb,
                violations=violations,
                sometimes=dict(count_sometimes(stage)),
                seconds=round(time.monotonic() - started, 1),
            )
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


async def _kill_often(stage: Stage, kills: int, chance: random.Random) -> None:
    """SIGKILL at random moments: most boots live for a while, some die before they are ready."""
    for count in range(1, kills + 1):
        await _wait(stage, partial(_has_boots, stage, count), 60)
        boot = stage.boot
        if chance.random() > 0.15:
            with contextlib.suppress(TimeoutError):
                await _wait(stage, boot.ready.is_set, 20)
        await asyncio.wait({boot.ended}, timeout=chance.random() * 0.6)
        with contextlib.suppress(ProcessLookupError):
            if boot.alive:
                os.kill(boot.pid, signal.SIGKILL)
        await asyncio.wait({boot.ended})


async def _wait(stage: Stage, fact: Callable[[], bool], limit_s: float) -> None:
    await stage.ledger.until(fact, limit_s)


def _has_boots(stage: Stage, count: int) -> bool:
    return len(stage.boots) >= count


def _outgrown(stage: Stage) -> list[Violation]:
    found, size = [], stage.file.stat().st_size
    if size > MOST_FILE_BYTES + FILE_BYTES_PER_MESSAGE * len(stage.said):
        found.append(Violation("size", f"the file has {size} bytes after {len(stage.said)} messages"))
    if stage.boot.rss_kb > MOST_RSS_KB:
        found.append(Violation("size", f"the last boot used {stage.boot.rss_kb} KB"))
    return found
