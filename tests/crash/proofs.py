"""C1 and C4 of report 008 as a case: two proofs of one reservation, and somebody else's hold beside it."""

from pathlib import Path

from channels.store.batch import Batch
from channels.store.domain_file import open_domain_file
from channels.store.invariants import look
from tests.crash.executor import Executor
from tests.crash.stage import Violation


async def two_proofs(folder: Path, tree: Path) -> list[Violation]:
    """A turn ends and is settled; then its end is told a second time, under another proof, and claimed as well. The
    same person has another turn that waits: what is held for that one is what a second release would give away."""
    executor = await Executor.start(folder, tree)
    try:
        await executor.ask(do="own")
        ended = await executor.ask(do="admit", message=1, user="alice")
        await executor.ask(do="enter", lease=await executor.ask(do="lease", turn=ended))
        await executor.ask(do="deliver", turn=ended)
        await executor.ask(do="admit", message=2, user="alice")
        first = await executor.ask(do="end", lease=await executor.ask(do="lease", turn=ended), tokens=500)
        await executor.ask(do="settle", key=first["key"], payload_hash=first["payload_hash"])
        await executor.ask(do="evidence", turn=ended, kind="repaired", tokens=900)
        second = await executor.ask(
            do="claim", reservation=f"reservation:{ended}", start_epoch=1, owner=1, kind="repaired"
        )
        if second.get("is") == "Acked":
            await executor.ask(do="settle", key=second["key"], payload_hash=second["payload_hash"])
    finally:
        await executor.end()
    return judge(folder / "channels.db")


def judge(path: Path) -> list[Violation]:
    """What the file shows by itself."""
    file = open_domain_file(path, now_ms=0)
    try:
        found = Batch(file.connection).read(lambda tx: look(tx, 1_000_000))
    finally:
        file.close()
    return [Violation(one.name.partition("_")[0], f"{one.name}: {one.subject} {one.text}") for one in found.violations]
