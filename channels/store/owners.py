"""Tables `meta` and `owners`: who owns the file, and how far its clock has come."""

from dataclasses import dataclass

from channels.ids import OwnerEpoch
from channels.store.tx import Tx

INSERT_META = """
INSERT INTO meta (one, db_uuid, created_at, last_alive_at, clock_floor) VALUES (1, :db_uuid, :now, NULL, :now)
ON CONFLICT (one) DO NOTHING
"""
SELECT_META = "SELECT db_uuid, created_at, last_alive_at, clock_floor, commits FROM meta WHERE one = 1"
COUNT_COMMIT = "UPDATE meta SET commits = commits + 1 WHERE one = 1"
RAISE_FLOOR = "UPDATE meta SET clock_floor = max(clock_floor, :now) WHERE one = 1"
SET_ALIVE = "UPDATE meta SET last_alive_at = :at WHERE one = 1"
NEXT_EPOCH = "SELECT max(coalesce(max(epoch), 0), :above) + 1 FROM owners"
INSERT_OWNER = "INSERT INTO owners (epoch, booted_at, version) VALUES (:epoch, :now, :version)"
SELECT_BOOTED = "SELECT max(booted_at) FROM owners"
SELECT_EPOCH = "SELECT coalesce(max(epoch), 0) FROM owners"


@dataclass(frozen=True, slots=True)
class Meta:
    """`last_alive_at` is None on a file that no instance has ever been connected with."""

    db_uuid: str
    created_at: int
    last_alive_at: int | None
    clock_floor: int
    commits: int


def ensure_meta(tx: Tx, db_uuid: str, now: int) -> Meta:
    """The file's own row, made on its first boot."""
    tx.execute(INSERT_META, {"db_uuid": db_uuid, "now": now})
    meta = read_meta(tx)
    assert meta is not None
    return meta


def read_meta(tx: Tx) -> Meta | None:
    row = tx.row(SELECT_META)
    return Meta(*row) if row else None


def count_commit(tx: Tx) -> None:
    """One more COMMIT (run once per group commit; the anchor file compares it)."""
    tx.execute(COUNT_COMMIT)


def raise_floor(tx: Tx, now: int) -> None:
    """No later boot may see a time before `now`."""
    tx.execute(RAISE_FLOOR, {"now": now})


def set_alive(tx: Tx, at: int) -> None:
    """Somebody was connected at this wall time."""
    tx.execute(SET_ALIVE, {"at": at})


def raise_epoch(tx: Tx, version: str, now: int, *, above: int = 0) -> OwnerEpoch:
    """This boot's number, at least over `above`; from this commit on every earlier owner is deposed."""
    row = tx.row(NEXT_EPOCH, {"above": above})
    assert row is not None
    tx.execute(INSERT_OWNER, {"epoch": row[0], "now": now, "version": version})
    return OwnerEpoch(row[0])


def current_epoch(tx: Tx) -> OwnerEpoch:
    row = tx.row(SELECT_EPOCH)
    assert row is not None
    return OwnerEpoch(row[0])


def booted_at(tx: Tx) -> int:
    """When this boot took the file over."""
    row = tx.row(SELECT_BOOTED)
    return int(row[0]) if row and row[0] is not None else 0
