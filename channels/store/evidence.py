"""Table `evidence`: how a turn ended, as whoever ran it says. Stored first, kept for ever, powerless by itself."""

from dataclasses import dataclass
from typing import Any

from channels.ids import OwnerEpoch, ReservationId, StartEpoch
from channels.rules.settlement import EvidenceRef, canonical, sha256_hex
from channels.store.tx import Tx

_ROW = (
    "reservation_id, start_epoch, executor, kind, owner_epoch, outcome, agent, model, turns, input_tokens,"
    " output_tokens, cached_tokens, hash, stored_at"
)
INSERT_EVIDENCE = f"""
INSERT INTO evidence ({_ROW}) VALUES (:reservation_id, :start_epoch, :executor, :kind, :owner_epoch, :outcome, :agent,
        :model, :turns, :input_tokens, :output_tokens, :cached_tokens, :hash, :now)
ON CONFLICT (reservation_id, start_epoch, executor, kind) DO NOTHING
"""
SELECT_EVIDENCE = f"""
SELECT {_ROW} FROM evidence
WHERE reservation_id = :reservation_id AND start_epoch = :start_epoch AND executor = :executor AND kind = :kind
"""
SELECT_OF_RESERVATION = f"""
SELECT {_ROW} FROM evidence WHERE reservation_id = :reservation_id ORDER BY start_epoch, stored_at, executor, kind
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What the evidence says. `turns`: 1, or 0 for a turn that never began; tokens are 0 where nobody knows."""

    outcome: str
    agent: str
    model: str = ""
    turns: int = 1
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Evidence:
    reservation_id: ReservationId
    ref: EvidenceRef
    owner_epoch: OwnerEpoch
    said: Said
    hash: str
    stored_at: int


def _from_row(row: tuple[Any, ...]) -> Evidence:
    ref = EvidenceRef(StartEpoch(row[1]), row[2], row[3])
    return Evidence(ReservationId(row[0]), ref, OwnerEpoch(row[4]), Said(*row[5:12]), row[12], row[13])


def executor_of(epoch: OwnerEpoch) -> str:
    """Who runs a turn: the boot that owns it."""
    return f"boot:{epoch}"


def hash_of(reservation_id: ReservationId, ref: EvidenceRef, said: Said) -> str:
    """Of everything that the evidence says, and about what."""
    about = [reservation_id, ref.start_epoch, ref.executor, ref.kind]
    tokens = [said.turns, said.input_tokens, said.output_tokens, said.cached_tokens]
    return sha256_hex(canonical([about, said.outcome, said.agent, said.model, tokens]))


def insert_evidence(
    tx: Tx, reservation_id: ReservationId, ref: EvidenceRef, said: Said, owner_epoch: OwnerEpoch, now: int
) -> bool:
    """True when it was not there. What was said first stays, whatever is said later under the same identity."""
    values = {
        "reservation_id": reservation_id,
        "start_epoch": ref.start_epoch,
        "executor": ref.executor,
        "kind": ref.kind,
        "owner_epoch": owner_epoch,
        "outcome": said.outcome,
        "agent": said.agent,
        "model": said.model,
        "turns": said.turns,
        "input_tokens": said.input_tokens,
        "output_tokens": said.output_tokens,
        "cached_tokens": said.cached_tokens,
        "hash": hash_of(reservation_id, ref, said),
        "now": now,
    }
    return tx.execute(INSERT_EVIDENCE, values) == 1


def find_evidence(tx: Tx, reservation_id: ReservationId, ref: EvidenceRef) -> Evidence | None:
    values = {
        "reservation_id": reservation_id,
        "start_epoch": ref.start_epoch,
        "executor": ref.executor,
        "kind": ref.kind,
    }
    row = tx.row(SELECT_EVIDENCE, values)
    return _from_row(row) if row else None


def evidence_of(tx: Tx, reservation_id: ReservationId) -> list[Evidence]:
    """All that was ever said about this turn's end."""
    return [_from_row(row) for row in tx.rows(SELECT_OF_RESERVATION, {"reservation_id": reservation_id})]
