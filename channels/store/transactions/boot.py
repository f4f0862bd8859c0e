"""Taking the file over, and what is written regularly while it is held."""

from dataclasses import dataclass

from channels.ids import OwnerEpoch
from channels.store import (
    events,
    inbox,
    outbox,
    owners,
    permission_requests,
    quotas,
    routes,
    sessions,
    snapshots,
    turns,
)
from channels.store.transactions.admit import CLAIM_WAIT_MS
from channels.store.tx import Tx

PROCESSED_RETENTION_MS = 30 * 24 * 3_600_000
PAYLOAD_RETENTION_MS = 72 * 3_600_000
STARTS_AT_MOST = 5  # preparations that a queued turn may have begun: a message must not kill the process for ever
WINDOW_RETENTION_MS = 400 * 24 * 3_600_000  # what was used stays in `usage` for ever
OUTBOX_RETENTION_MS = 14 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Ownership:
    """This boot. `last_alive_at` is the previous instance's, None on the very first boot."""

    epoch: OwnerEpoch
    db_uuid: str
    last_alive_at: int | None
    requeued: int
    deposed: int


def read_floor(tx: Tx) -> int:
    """The highest time that an earlier boot has stored; 0 on a new file."""
    meta = owners.read_meta(tx)
    return meta.clock_floor if meta else 0


def take_ownership(
    tx: Tx, db_uuid: str, version: str, now: int, *, replay_pending: bool = True, above: int = 0
) -> Ownership:
    """The boot commit: a new epoch (over `above`); queued turns and claims come along (without `replay_pending` they
    will end as interrupted), entered turns become unknown, attempts that were begun have an unknown outcome."""
    meta = owners.ensure_meta(tx, db_uuid, now)
    owners.raise_floor(tx, now)
    epoch = owners.raise_epoch(tx, version, now, above=above)
    deposed = turns.depose_entered(tx, epoch)
    if replay_pending:
        deposed += _interrupt_worn_out(tx)
    else:
        deposed += turns.interrupt_queued(tx, epoch)
    requeued = turns.reown_queued(tx, epoch)
    routes.reown_claims(tx, epoch, now + CLAIM_WAIT_MS)
    outbox.doubt_begun(tx)
    permission_requests.end_of_owners(tx, epoch, "restart", now)
    return Ownership(epoch, meta.db_uuid, meta.last_alive_at, requeued, deposed)


def _interrupt_worn_out(tx: Tx) -> int:
    """Queued turns whose preparation was begun too often are not begun again."""
    found = [snapshots.find_snapshot(tx, turn_id) for turn_id in turns.queued_turns(tx)]
    return sum(turns.interrupt(tx, one.turn_id) for one in found if one and one.attempts >= STARTS_AT_MOST)


def beat(tx: Tx, now: int, alive_at: int | None) -> None:
    """Heartbeat: the clock's floor, and the wall time while connected."""
    owners.raise_floor(tx, now)
    if alive_at is not None:
        owners.set_alive(tx, alive_at)


def sweep(tx: Tx, now: int) -> int:
    """Retention: returns how many rows were forgotten or cleared."""
    touched = inbox.forget(tx, now - PROCESSED_RETENTION_MS, now - PAYLOAD_RETENTION_MS)
    touched += events.forget(tx, now - PROCESSED_RETENTION_MS)
    touched += quotas.forget_windows(tx, now - WINDOW_RETENTION_MS)
    touched += permission_requests.forget(tx, now - OUTBOX_RETENTION_MS)
    return touched + outbox.forget_ended(tx, now - OUTBOX_RETENTION_MS)


@dataclass(frozen=True, slots=True)
class Report:
    """Counts for status, health and metrics; ages are moments (ms) of the oldest waiting row."""

    epoch: OwnerEpoch
    commits: int
    inbox: dict[str, tuple[int, int]]
    outbox: dict[str, tuple[int, int]]
    turns: dict[str, int]
    sessions: int
    routes: int
    snapshots: int


def report(tx: Tx) -> Report:
    """Everything `status` shows of the file, from one moment."""
    meta = owners.read_meta(tx)
    return Report(
        epoch=owners.current_epoch(tx),
        commits=meta.commits if meta else 0,
        inbox=inbox.waiting(tx),
        outbox=outbox.waiting(tx),
        turns=turns.count_turns(tx),
        sessions=sessions.count_sessions(tx),
        routes=routes.count_routes(tx),
        snapshots=snapshots.count_snapshots(tx),
    )
