"""Table `releases`: what was held for a turn was given back, once, by whom and by which evidence."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from channels.ids import IntentId, OwnerEpoch, ReservationId, StartEpoch
from channels.rules.settlement import EvidenceRef
from channels.store.tx import Tx

_ROW = (
    "reservation_id, way, settlement_key, payload_hash, start_epoch, executor, kind, owner_epoch, turns_used,"
    " day_tokens_used, month_tokens_used, receipt, released_at, generation"
)
INSERT_RELEASE = f"""
INSERT INTO releases ({_ROW}, state)
VALUES (:reservation_id, :way, :settlement_key, :payload_hash, :start_epoch, :executor, :kind, :owner_epoch,
        :turns_used, :day_tokens_used, :month_tokens_used, :receipt, :now, :generation, 'released')
"""
SELECT_WAYS = """
SELECT settlement_key, way FROM releases WHERE settlement_key IN (SELECT value FROM json_each(:keys))
"""
SELECT_BY_SETTLEMENT_KEY = f"SELECT {_ROW} FROM releases WHERE settlement_key = :key"


@dataclass(frozen=True, slots=True)
class Release:
    """`way`: settled, late, or void; a void one has no evidence and no payload. `receipt` is forgotten with its row.
    `generation`: of control, when it was settled; 0 when it was closed otherwise."""

    reservation_id: ReservationId
    way: str
    settlement_key: str
    payload_hash: str | None
    evidence: EvidenceRef | None
    owner_epoch: OwnerEpoch
    turns_used: int
    day_tokens_used: int
    month_tokens_used: int
    receipt: IntentId | None
    released_at: int
    generation: int = 0


def _from_row(row: tuple[Any, ...]) -> Release:
    ref = EvidenceRef(StartEpoch(row[4]), row[5], row[6]) if row[5] is not None else None
    receipt = IntentId(row[11]) if row[11] else None
    used = {"turns_used": row[8], "day_tokens_used": row[9], "month_tokens_used": row[10]}
    key, owner = {"settlement_key": row[2], "payload_hash": row[3]}, OwnerEpoch(row[7])
    return Release(
        reservation_id=ReservationId(row[0]),
        way=row[1],
        evidence=ref,
        owner_epoch=owner,
        receipt=receipt,
        released_at=row[12],
        generation=row[13],
        **key,
        **used,
    )


def receipt_of(reservation_id: ReservationId) -> IntentId:
    """The outbox row that says that this reservation was released."""
    return IntentId(f"{reservation_id}/receipt")


def insert_release(tx: Tx, release: Release) -> None:
    """Raises sqlite3.IntegrityError for a second one, and wherever the schema sees that it must not be."""
    ref = release.evidence
    tx.execute(
        INSERT_RELEASE,
        {
            "reservation_id": release.reservation_id,
            "way": release.way,
            "settlement_key": release.settlement_key,
            "payload_hash": release.payload_hash,
            "start_epoch": ref.start_epoch if ref else None,
            "executor": ref.executor if ref else None,
            "kind": ref.kind if ref else None,
            "owner_epoch": release.owner_epoch,
            "turns_used": release.turns_used,
            "day_tokens_used": release.day_tokens_used,
            "month_tokens_used": release.month_tokens_used,
            "receipt": release.receipt,
            "now": release.released_at,
            "generation": release.generation,
        },
    )


def ways_of(tx: Tx, keys: Iterable[str]) -> dict[str, str]:
    """How the reservations of these settlements were closed, those that were."""
    return dict(tx.rows(SELECT_WAYS, {"keys": json.dumps(list(keys))}))


def find_by_settlement_key(tx: Tx, key: str) -> Release | None:
    row = tx.row(SELECT_BY_SETTLEMENT_KEY, {"key": key})
    return _from_row(row) if row else None
