"""Taking the domain file over: as the one that ran here last, or as one that was put back."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from channels import __version__
from channels.agents.acp.orphans import end_orphans
from channels.agents.protocol import Agent, MarksProcesses, ProcessMark
from channels.clock import FlooredClock, Ids
from channels.errors import StartRefused
from channels.logs import ANCHOR_FAILED, LOOP_FAILED, ORPHANS_UNSEEN, OWNER_RAISED, QUARANTINE_ENTERED, get_logger
from channels.rules.anchor import Anchor
from channels.store.anchor import anchor_path, read_beside, remove_mark, write_anchor
from channels.store.database import Database
from channels.store.transactions.boot import Ownership, take_ownership
from channels.store.transactions.quarantine import (
    read_anchor,
    read_standing,
    read_suspicion,
    take_restored,
)

ANCHOR_PAUSE_S = 5.0

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Owned:
    """The file is ours. `in_quarantine`: it was put back, now or earlier, and is not through with history yet. `mark`
    is what the processes of this boot's agents bear."""

    ownership: Ownership
    mark: ProcessMark
    in_quarantine: bool


async def take_file(database: Database, clock: FlooredClock, ids: Ids, *, replay_pending: bool) -> Owned:
    """The boot commit, and the anchor that goes with it. Raises StartRefused where no anchor can be written.

    A new file gets its anchor first: one that is killed after its first commit must not look like a copy.
    """
    path, db_uuid = database.path, ids.uuid()
    beside = read_beside(path)
    file, why = await database.read(read_anchor), await database.read(read_suspicion, beside)
    if why is None:
        if file is None:
            await _write(path, Anchor(db_uuid, 0, 0))
        ownership = await database.run(
            take_ownership, db_uuid, __version__, clock.now_ms(), replay_pending=replay_pending
        )
    else:
        epoch = beside.anchor.epoch if beside.anchor is not None else 0
        wall_ms, now = clock.wall_ms(), clock.now_ms()
        ownership = await database.run(take_restored, db_uuid, __version__, why, epoch, wall_ms, now)
        log.warning(QUARANTINE_ENTERED, why=why, epoch=ownership.epoch)
    log.info(OWNER_RAISED, epoch=ownership.epoch, requeued_turns=ownership.requeued, unknown_turns=ownership.deposed)
    current = await database.read(read_anchor)
    assert current is not None
    await _write(path, current)
    remove_mark(path)  # after the anchor: what the mark said is in the file by now
    standing = await database.read(read_standing)
    mark = ProcessMark(current.db_uuid, ownership.epoch)
    return Owned(ownership, mark, standing is not None and standing.quarantine.is_open)


async def own_processes(agents: Collection[Agent], mark: ProcessMark) -> None:
    """What agents of earlier boots have left running is ended, before any session may run again; what this boot starts
    bears its mark. Where processes cannot be looked for (no /proc), the watchdog alone stands in, and the log says so.
    """
    for agent in agents:
        if isinstance(agent, MarksProcesses):
            agent.owned_by(mark)
    ended = await asyncio.to_thread(end_orphans, mark)
    if not ended.looked and any(agent.kind == "acp" for agent in agents):
        log.warning(ORPHANS_UNSEEN)


class AnchorKeeper:
    """Writes the anchor again every few seconds, when the file has moved."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._written: Anchor | None = None

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(ANCHOR_PAUSE_S)
            try:
                await self.write()
            except Exception:
                log.exception(LOOP_FAILED, loop="anchor")

    async def write(self) -> None:
        """Now: what is committed, and never anything that is not. A disk that takes none is logged."""
        current = await self._database.read(read_anchor)
        if current is None or current == self._written:
            return
        try:
            await asyncio.to_thread(write_anchor, self._database.path, current)
        except OSError as error:
            log.error(ANCHOR_FAILED, error=str(error))
        else:
            self._written = current


async def _write(path: Path, anchor: Anchor) -> None:
    try:
        await asyncio.to_thread(write_anchor, path, anchor)
    except OSError as error:
        raise StartRefused(
            f"{anchor_path(path)} cannot be written ({error.strerror}): without it a restored backup would not be "
            "noticed; make the folder writable and free some room"
        ) from error
