"""The settlement contract: bounds, codes, identities, and the order of the checks. Pure.

A settlement is frozen when it is acknowledged: who, which receipt (the turn's reservation), which evidence, until when.
Nothing of it changes afterwards but the count of attempts, the last error and the moment of the next attempt. It ends
in one of five states and is then only read back:

  settled   the usage is booked and the reservation released, in the commit that wrote this
  expired   its deadline passed: min(queued + 5 min, receipt's expiry), which nothing extends
  stopped   its session was stopped
  failed    four attempts came to nothing
  conflict  the facts are others than those that were frozen; they are never overwritten

`decide_apply` asks in this order, the first that answers wins: retired already → read back (whatever else is true);
payload; generation given, generation current; user pause; stop of the session; owner; deadline; attempts; host guard.
Then the trial, in a savepoint: success books and retires in one commit, failure commits the attempt and its code.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from channels.ids import OwnerEpoch, ReservationId, SessionId, StartEpoch, TurnId

FORMAT = 1
PENDING_MOST = 64
HISTORY_MOST = 32
STOPS_MOST = 64
ITEM_BYTES = 4_096
TOTAL_BYTES = 256 * 1024
DEADLINE_MS = 5 * 60_000
ATTEMPTS_MOST = 4
BACKOFF_MS = (250, 1_000, 3_000)
SESSION_ID_CHARACTERS = 200
FIRST_GENERATION = 1


class Code(StrEnum):
    """Why something was not done, or that it was done before. Spelled as the contract spells them."""

    DUPLICATE = "duplicate"
    CONFLICT = "settlement_conflict"
    GENERATION_REQUIRED = "settlement_generation_required"
    STALE_CONTROL = "settlement_stale_control"
    PAUSED = "settlement_paused"
    STOPPED = "settlement_stopped"
    GUARD_REFUSED = "settlement_guard_refused"
    EXPIRED = "settlement_expired"
    FAILED = "settlement_failed"
    RECEIPT_CHANGED = "settlement_receipt_changed"
    NO_RECEIPT = "settlement_no_receipt"
    RECEIPT_EXPIRED = "settlement_receipt_expired"
    OUTBOX_FULL = "settlement_outbox_full"
    ITEM_TOO_LARGE = "settlement_item_too_large"
    STOP_CAPACITY = "settlement_stop_capacity"
    UNKNOWN_KEY = "settlement_unknown_key"
    LOCK_BUSY = "lock_busy"
    EVENT_CONFLICT = "event_conflict"
    INVALID_EVIDENCE = "invalid_evidence"
    INVALID_INPUT = "invalid_input"
    INVALID_OUTBOX = "invalid_settlement_outbox"


class Terminal(StrEnum):
    """How a settlement ended."""

    SETTLED = "settled"
    EXPIRED = "expired"
    FAILED = "failed"
    STOPPED = "stopped"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `owner`: the agent whose life cycle the caller keeps; None: the host itself (an operator), for any
    owner. `epoch`: the owner epoch that the caller runs under."""

    owner: str | None
    epoch: OwnerEpoch


@dataclass(frozen=True, slots=True)
class EvidenceRef:
    """Which evidence: with the reservation this is its whole identity."""

    start_epoch: StartEpoch
    executor: str
    kind: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was accepted for the turn: its reservation, frozen."""

    reservation_id: ReservationId
    turns: int
    tokens: int
    day_starts_at: int
    month_starts_at: int
    reserved_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Item:
    """The frozen coordinates: enough to settle again, and nothing that a person or a model has said."""

    owner: str
    scope: str  # whose quota, as a hash
    environment: str  # db_uuid
    session_hash: str
    turn_hash: str
    receipt: Receipt
    outcome: str
    evidence: EvidenceRef
    evidence_hash: str
    fingerprint: str  # of the receipt: what is held now must be what was held then


@dataclass(frozen=True, slots=True)
class StopSession:
    session_id: SessionId


@dataclass(frozen=True, slots=True)
class StopKey:
    key: str
    payload_hash: str


StopRequest = StopSession | StopKey


def sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def canonical(values: object) -> str:
    """One spelling for equal values."""
    return json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def identify(session_id: object) -> SessionId | None:
    """The session id as it is, if it can be one."""
    if not isinstance(session_id, str) or not 0 < len(session_id) <= SESSION_ID_CHARACTERS:
        return None
    return SessionId(session_id) if session_id.isprintable() and session_id == session_id.strip() else None


def session_hash(session_id: SessionId) -> str:
    """sha256 of its UTF-8, in hex."""
    return sha256_hex(session_id)


def turn_hash(turn_id: TurnId) -> str:
    return sha256_hex(turn_id)


def settlement_key(environment: str, reservation_id: ReservationId) -> str:
    """One per reservation and file."""
    return sha256_hex(canonical(["settlement", environment, reservation_id]))


def fingerprint(receipt: Receipt) -> str:
    """Two receipts with one fingerprint hold the same for the same turn until the same moment."""
    return sha256_hex(canonical(_values(receipt)))


def payload(item: Item) -> str:
    """The frozen coordinates in their one spelling."""
    return canonical(_values(item) | {"receipt": _values(item.receipt), "evidence": _values(item.evidence)})


def _values(value: Item | Receipt | EvidenceRef) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__slots__}


def payload_hash(item: Item) -> str:
    return sha256_hex(payload(item))


def parse_item(text: str) -> Item | None:
    """What `payload` wrote; None for anything else."""
    try:
        values: dict[str, Any] = json.loads(text)
        receipt, ref = Receipt(**values.pop("receipt")), EvidenceRef(**values.pop("evidence"))
        item = Item(receipt=receipt, evidence=ref, **values)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return item if payload(item) == text else None


def is_hash(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and all(letter in "0123456789abcdef" for letter in value)


def parse_stop(values: Mapping[str, object]) -> StopRequest | None:
    """A raw session id, or a key with its payload hash; anything else, or a mixture, is None (`invalid_input`)."""
    given = {name: value for name, value in values.items() if value is not None}
    if set(given) == {"session_id"}:
        session_id = identify(given["session_id"])
        return StopSession(session_id) if session_id is not None else None
    if set(given) == {"key", "payload_hash"} and is_hash(given["key"]) and is_hash(given["payload_hash"]):
        return StopKey(str(given["key"]), str(given["payload_hash"]))
    return None


def deadline_of(queued_at: int, receipt_expires_at: int) -> int:
    """The last moment at which it may settle."""
    return min(queued_at + DEADLINE_MS, receipt_expires_at)


def next_attempt_at(now: int, attempts: int, deadline: int) -> int:
    """After this many attempts; never beyond the deadline, on which the last one sits."""
    wait_ms = BACKOFF_MS[min(max(attempts, 1), len(BACKOFF_MS)) - 1]
    return max(now, min(now + wait_ms, deadline))


@dataclass(frozen=True, slots=True)
class Standing:
    """What is true of a pending item at the moment of an apply."""

    payload_matches: bool
    generation: int
    paused: bool
    stopped: bool
    owner: str
    epoch: OwnerEpoch
    deadline: int
    attempts: int


def decide_apply(standing: Standing, generation: int | None, caller: Caller, now: int) -> Code | None:
    """Why a pending item is not tried, by the order of the contract (the guard comes after); None: try it."""
    checks = (
        (not standing.payload_matches, Code.CONFLICT),
        (generation is None, Code.GENERATION_REQUIRED),
        (generation != standing.generation, Code.STALE_CONTROL),
        (standing.paused, Code.PAUSED),
        (standing.stopped, Code.STOPPED),
        (caller.owner is not None and caller.owner != standing.owner, Code.UNKNOWN_KEY),
        (caller.epoch != standing.epoch, Code.STALE_CONTROL),
        (now > standing.deadline, Code.EXPIRED),
        (standing.attempts >= ATTEMPTS_MOST, Code.FAILED),
    )
    return next((code for holds, code in checks if holds), None)


# What a refusal does to the item: these retire it, the others leave it as it is.
RETIRES: dict[Code, Terminal] = {
    Code.STOPPED: Terminal.STOPPED,
    Code.EXPIRED: Terminal.EXPIRED,
    Code.FAILED: Terminal.FAILED,
}
# What a failed trial does: the facts contradict what was frozen, and trying again cannot help.
CONTRADICTS = frozenset({Code.EVENT_CONFLICT, Code.RECEIPT_CHANGED, Code.NO_RECEIPT})
