"""What a child does: one boot of the service on a real file, led by the driver over a Unix socket.

From the driver, one JSON line each: {"do": "state"}, {"do": "advance", "seconds"}, {"do": "backup", "path"},
{"do": "operate", "operation", "arguments"}, {"do": "trace"}, {"do": "stop"}.
To the driver: {"ready"}, {"committed"} (coalesced), {"advanced": seconds}, {"answer": …} in the order of the questions,
and {"rss_kb"} at the end. The service ends when the driver goes away.
"""

import asyncio
import json
import os
import resource
import traceback
from pathlib import Path
from typing import Any

from channels import logs
from channels.app import Ports, Service
from channels.app.operations import ControlOperations
from channels.clock import SystemIds, SystemRng
from channels.config import build_settings
from channels.errors import Refused, RetryLater
from channels.store.tx import Tx
from tests.crash.agent import RecordingAgent
from tests.crash.tapping import PointTap
from tests.integration.taps import MovableClock

# what still has to happen without any person
OPEN_ROWS = """
SELECT (SELECT count(*) FROM inbox WHERE terminal_at IS NULL AND state NOT IN ('asked', 'kept'))
     + (SELECT count(*) FROM outbox WHERE state = 'pending') + (SELECT count(*) FROM turns WHERE state <> 'ended')
     + (SELECT count(*) FROM inflight) + (SELECT count(*) FROM establishing WHERE state = 'open')
     + (SELECT count(*) FROM missed_batches WHERE drawn < version)
     + (SELECT count(*) FROM missed_gaps WHERE closed_at IS NULL)
     + (SELECT count(*) FROM quarantine WHERE left_at IS NULL)
     + (SELECT count(*) FROM permission_requests WHERE state = 'pending' OR drawn < version)
     + (SELECT count(*) FROM reservations JOIN turns USING (turn_id)
        WHERE reservations.state = 'held' AND turns.state = 'ended'
        AND NOT EXISTS (SELECT 1 FROM settlement_control WHERE user_paused = 1))
"""
# the next moment at which something falls due that is put off
NEXT_DUE = """
SELECT min(at) FROM (
  SELECT next_attempt_at AS at FROM outbox WHERE state = 'pending'
  UNION ALL SELECT due_at FROM inbox WHERE terminal_at IS NULL
  UNION ALL SELECT due_at FROM establishing WHERE state = 'open'
  UNION ALL SELECT next_attempt_at FROM settlement_pending UNION ALL SELECT deadline FROM settlement_pending
  UNION ALL SELECT :now + 61000 FROM reservations WHERE state = 'held') WHERE at > :now
"""


def trace_path(folder: Path, number: int) -> Path:
    """Where the n-th boot leaves the names of the points that it passed."""
    return folder / f"passed-{number}"


def run_child(job: dict[str, Any]) -> None:
    """The whole life of a child. `job`: name, number, socket, settings, folder, advanced_s, kill."""
    log = os.open(Path(job["folder"]) / "child.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    logs.configure(job.get("log_level", "warning"), "console")
    try:
        asyncio.run(Boot(job).live())
    except BaseException:
        traceback.print_exc()
        raise


class Boot:
    """One boot and its line to the driver."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job, self._folder = job, Path(job["folder"])
        kill = job.get("kill")
        self._tap = PointTap((kill[0], kill[1]) if kill else None, self._leave_trace)
        self._clock = MovableClock()
        self._clock.advance(job["advanced_s"])
        self._stop = asyncio.Event()
        self._told = False
        self._writer: asyncio.StreamWriter | None = None
        self._service: Service | None = None

    async def live(self) -> None:
        self._loop = asyncio.get_running_loop()
        reader, self._writer = await asyncio.open_unix_connection(self._job["socket"], limit=2**24)
        self._say({"hello": self._job["number"], "pid": os.getpid()})
        listening = asyncio.create_task(self._listen(reader))
        record, number = self._folder / "provider.jsonl", self._job["number"]
        agents = {
            name: RecordingAgent(name, record, number, self._tap.passes, self._let_time_pass)
            for name in ("demo", "coder")
        }
        ports = Ports(self._clock, SystemRng(), SystemIds(), hook=self._hook, probe=self._tap.call, agents=agents)
        service = Service(build_settings(self._job["settings"], self._folder), ports)
        await service.start()
        self._service = service
        try:
            await service.run(self._stop, lambda words: self._say({"ready": words}))
        finally:
            await service.stop()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self._leave_trace(self._tap.passed)
        self._say({"rss_kb": usage.ru_maxrss})
        await self._writer.drain()
        listening.cancel()
        self._writer.close()

    def _hook(self, sql: str) -> None:
        if sql in (OPEN_ROWS, NEXT_DUE):
            return  # our own questions are no points
        self._tap.statement(sql)
        if sql == "COMMITTED" and not self._told:
            self._told = True
            self._loop.call_soon_threadsafe(self._tell_committed)

    def _leave_trace(self, passed: list[str]) -> None:
        """The points of this boot, in a file that outlives it."""
        trace_path(self._folder, self._job["number"]).write_text("\n".join(passed))

    def _tell_committed(self) -> None:
        self._told = False
        self._say({"committed": True})

    def _let_time_pass(self, seconds: float) -> None:
        self._clock.advance(seconds)
        self._say({"advanced": seconds})

    def _say(self, value: dict[str, Any]) -> None:
        assert self._writer is not None
        self._writer.write(json.dumps(value).encode() + b"\n")

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Carry out what the driver says; when it is gone there is nothing to live for."""
        while line := await reader.readline():
            order = json.loads(line)
            match order["do"]:
                case "state":
                    self._say({"answer": await self._state()})
                case "advance":
                    self._advance(order["seconds"])
                    self._say({"answer": None})
                case "backup":
                    self._say({"answer": await self._back_up(Path(order["path"]))})
                case "operate":
                    self._say({"answer": await self._operate(order["operation"], order["arguments"])})
                case "trace":
                    self._leave_trace(self._tap.passed)
                    self._say({"answer": None})
                case "stop":
                    self._stop.set()
        if not self._stop.is_set():
            os._exit(3)

    async def _state(self) -> dict[str, Any]:
        """What still has to happen: open rows, and in how many ms the next one that is put off falls due."""
        if self._service is None or self._service.figures.parts is None:
            return {"open": -1, "wait_ms": None}
        context = self._service.parts.context
        return await context.database.read(_state, context.now())

    async def _operate(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """What the control socket would answer; None while there is nobody to ask, or it is to be asked again."""
        if self._service is None or self._service.figures.parts is None:
            return None
        try:
            return await ControlOperations(self._service.figures).table()[operation](arguments)
        except Refused as refusal:
            return {"refused": refusal.code}
        except RetryLater:
            return None

    async def _back_up(self, target: Path) -> bool:
        if self._service is None or self._service.figures.parts is None:
            return False
        await self._service.parts.context.database.backup(target)
        return True

    def _advance(self, seconds: float) -> None:
        self._clock.advance(seconds)
        if self._service is not None and self._service.figures.parts is not None:
            context = self._service.parts.context
            bells = (
                context.inbox,
                context.turns,
                context.outbox,
                context.missed,
                context.permissions,
                context.settling,
            )
            for signal in bells:
                signal.ring()


def _state(tx: Tx, now: int) -> dict[str, Any]:
    open_rows, due = tx.row(OPEN_ROWS), tx.row(NEXT_DUE, {"now": now})
    assert open_rows is not None and due is not None
    return {"open": open_rows[0], "wait_ms": due[0] - now if due[0] is not None else None}
