"""An executor: a process that holds a lease and acts on the domain file when the test says so, over pipes.

`python -m tests.crash.executor FILE PROVIDER` answers one JSON line to each line of its standard input. The file is
opened for one order and closed again, so that two executors that are both alive can take turns, as two owners would
whose lock was lost. What has entered is written into the provider's record before anything else happens.
"""

import asyncio
import itertools
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from channels.ids import OwnerEpoch, SessionId, StartEpoch, TurnId
from channels.rules.quota import Limits, QuotaPolicy
from channels.store import owners
from channels.store.batch import Batch
from channels.store.domain_file import open_domain_file
from channels.store.transactions.boot import take_ownership
from channels.store.transactions.run import Lease, enter_turn, finish_turn, save_progress
from channels.store.tx import StatementHook
from tests.crash.bookkeeping import BOOKS
from tests.crash.children import KILLED, ROOT
from tests.crash.points import name_of_statement
from tests.store.tables import drive
from tests.store.tables.conftest import Store
from tests.store.tables.drive import POLICY, admit, finish_of, lease_of, message


class Desk(Store):
    """The file, open for one order; `epoch` is this executor's own. An order may say when it is (`now`), how many pages
    the file may have (`pages`), and at which point this process stands still until it is let go or killed (`hold`)."""

    def __init__(self, path: Path, epoch: int, order: dict[str, Any]) -> None:
        self._file = open_domain_file(path, now_ms=0)
        self.connection = self._file.connection
        if "pages" in order:
            self.connection.execute(f"PRAGMA max_page_count = {order['pages']}")
        hook = _holding(order["hold"], order.get("nth", 1)) if "hold" in order else None
        self._batch = Batch(self.connection, hook, owners.count_commit)
        self.now, self.epoch = order.get("now", 1_000_000), OwnerEpoch(epoch)


def _holding(point: str, nth: int) -> StatementHook:
    """Says that the point is reached and waits for one line: the test's barrier."""
    left = [nth]

    def hold(sql: str) -> None:
        if name_of_statement(sql) == point:
            left[0] -= 1
            if left[0] == 0:
                _say({"reached": point})
                sys.stdin.readline()

    return hold


def carry_out(order: dict[str, Any], path: Path, provider: Path, epoch: int) -> tuple[Any, int]:
    """The answer, and the epoch that this executor has from now on."""
    desk = Desk(path, epoch, order)
    try:
        if order["do"] in BOOKS:
            return BOOKS[order["do"]](desk, order), epoch
        match order:
            case {"do": "own"}:
                epoch = desk.run(take_ownership, f"uuid-{os.getpid()}", "test", desk.now).epoch
                return epoch, epoch
            case {"do": "admit", "message": number}:
                one = message(number, user=order.get("user", f"person {number}"), thread=order.get("thread"))
                quota = QuotaPolicy(Limits(turns_per_day=order.get("limit")))
                return admit(desk, one, replace(POLICY, quota=quota)), epoch
            case {"do": "lease", "turn": turn_id}:
                return asdict(lease_of(desk, TurnId(turn_id))), epoch
            case {"do": "enter", "lease": values}:
                lease = _lease(values)
                entered = desk.run(enter_turn, lease, "question", desk.now) is not None
                if entered:
                    _record(provider, lease)
                return entered, epoch
            case {"do": "save", "lease": values}:
                return desk.run(save_progress, _lease(values), "some text", (), desk.now), epoch
            case {"do": "finish", "lease": values}:
                return desk.run(finish_turn, _lease(values), finish_of(), desk.now) is not None, epoch
            case _:
                raise ValueError(order)
    finally:
        desk.close()


def _lease(values: dict[str, Any]) -> Lease:
    return Lease(
        TurnId(values["turn_id"]),
        SessionId(values["session_id"]),
        StartEpoch(values["start_epoch"]),
        OwnerEpoch(values["owner_epoch"]),
    )


def _record(provider: Path, lease: Lease) -> None:
    descriptor = os.open(provider, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, json.dumps(asdict(lease)).encode() + b"\n")
    os.close(descriptor)


def main() -> None:
    path, provider, epoch = Path(sys.argv[1]), Path(sys.argv[2]), 0
    drive.NUMBERS = itertools.count(os.getpid() * 1_000)  # no two processes make the same ids
    for line in sys.stdin:
        try:
            answer, epoch = carry_out(json.loads(line), path, provider, epoch)
            reply: dict[str, Any] = {"answer": answer}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        _say(reply)


def _say(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


class Executor:
    """The test's handle of such a process. `tree`: whose code it runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, folder: Path, tree: Path = ROOT) -> "Executor":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.crash.executor",
            str(folder / "channels.db"),
            str(folder / "provider.jsonl"),
            cwd=tree,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        return cls(process)

    async def ask(self, **order: Any) -> Any:
        """What it answers; {"error": …} when the file refused."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        async with asyncio.timeout(30):
            reply = json.loads(await self.process.stdout.readline())
        return reply.get("answer", reply)

    async def reach(self, point: str, **order: Any) -> bool:
        """Let it begin and stand still at a point; False when it came to its end (or refused) without passing there."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(order | {"hold": point}).encode() + b"\n")
        async with asyncio.timeout(30):
            return "reached" in json.loads(await self.process.stdout.readline())

    async def go_on(self) -> Any:
        """Let it go on from where it stands; what it answers."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(b"\n")
        async with asyncio.timeout(30):
            reply = json.loads(await self.process.stdout.readline())
        return reply.get("answer", reply)

    async def kill(self) -> None:
        """SIGKILL, from outside."""
        self.process.kill()
        assert await self.process.wait() == KILLED

    async def end(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()


if __name__ == "__main__":
    main()
