"""Evidence first, then the release: how what was held for a turn is given back, whichever way the turn ended.

`complete` is the one way to a release. It goes by the reservation id alone; the evidence only says how much was used,
and only if it is about this reservation, this start of the turn and the boot that owned it. In one commit it moves both
quotas, writes the release, its receipt in the outbox and the usage, and ends the reservation. The schema refuses any
part of this without the others.

A receipt is an outbox row that is born with its last state: whoever needs to know reads it there, and nothing of it
goes to Feishu. It is forgotten with other ended rows after two weeks, the release stays.
"""

from dataclasses import dataclass

from channels.ids import OwnerEpoch, ReservationId, StartEpoch
from channels.rules.quota import PERIODS, Consumed, Period, consume
from channels.rules.settlement import Code, EvidenceRef, settlement_key
from channels.store import evidence, outbox, owners, quotas, releases, reservations, sessions, turns, usage
from channels.store.evidence import Evidence, Said, executor_of
from channels.store.reservations import Reservation
from channels.store.turns import Turn
from channels.store.tx import Tx

MOST_TOKENS = 1_000_000_000_000  # what an agent says beyond this is no count
NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Spent:
    """What the agent says that a turn has used; zeros where it has not said."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    agent: str = ""
    model: str = ""

    @property
    def tokens(self) -> tuple[int, int, int]:
        return self.input_tokens, self.output_tokens, self.cached_tokens


@dataclass(frozen=True, slots=True)
class Kept:
    """Evidence that is stored, and whose reservation it is about."""

    reservation_id: ReservationId
    ref: EvidenceRef


class NotSettled(Exception):
    """A trial came to nothing; everything that it did is undone."""

    def __init__(self, code: Code, why: str) -> None:
        super().__init__(f"{code}: {why}")
        self.code, self.why = code, why


@dataclass(frozen=True, slots=True)
class Closing:
    """How a reservation is to be closed: settled (its settlement succeeds), late or void (it had none that did)."""

    way: str
    settlement: str  # the last state of its settlement
    key: str
    payload_hash: str | None
    evidence: Evidence | None
    epoch: OwnerEpoch
    generation: int = 0  # of control, where it settles


def keep_evidence(
    tx: Tx,
    turn: Turn,
    start_epoch: StartEpoch,
    owner_epoch: OwnerEpoch,
    kind: str,
    outcome: str,
    spent: Spent,
    now: int,
) -> Kept | None:
    """Store what this start of the turn says about its end, before anything follows from it; also when it has been
    deposed, for what it says is a fact all the same. None: the turn has no reservation."""
    reservation = reservations.find_by_turn(tx, turn.turn_id)
    if reservation is None:
        return None
    agent = spent.agent or _agent_of(tx, turn)
    began = int(turn.entered_at is not None or kind == "elsewhere")
    tokens = [min(max(0, count), MOST_TOKENS) for count in spent.tokens]
    ref = EvidenceRef(start_epoch, executor_of(owner_epoch), kind)
    said = Said(outcome, agent, spent.model[:NAME_CHARACTERS], began, *tokens)
    evidence.insert_evidence(tx, reservation.reservation_id, ref, said, owner_epoch, now)
    return Kept(reservation.reservation_id, ref)


def _agent_of(tx: Tx, turn: Turn) -> str:
    session = sessions.find_session(tx, turn.session_id)
    return session.agent if session else ""


def is_in_scope(tx: Tx, reservation: Reservation, found: Evidence) -> bool:
    """Whether this evidence is about this reservation, this start of its turn, and the boot that owns that."""
    turn = turns.find_turn(tx, reservation.turn_id)
    return (
        turn is not None
        and turn.state == "ended"
        and found.reservation_id == reservation.reservation_id
        and found.ref.start_epoch == turn.start_epoch
        and found.ref.executor == executor_of(turn.owner_epoch)
    )


def complete(tx: Tx, reservation: Reservation, closing: Closing, now: int) -> None:
    """Book and release, all of it in the caller's commit. Raises NotSettled where the facts do not allow it."""
    if reservation.state != "held":
        raise NotSettled(Code.RECEIPT_CHANGED, "released before")
    if usage.find_usage(tx, reservation.turn_id) is not None:
        raise NotSettled(Code.EVENT_CONFLICT, "booked before")
    found = closing.evidence
    if found is not None and not is_in_scope(tx, reservation, found):
        raise NotSettled(Code.INVALID_EVIDENCE, "about another reservation, start or executor")
    said = found.said if found is not None else Said("interrupted", "", turns=0)
    parts = {period: _consumed(tx, reservation, period, said.tokens) for period in PERIODS}
    _release(tx, reservation, closing, said, parts, now)
    for period in PERIODS:
        move = quotas.GiveBack(reservation.turns, reservation.tokens, said.turns, parts[period].used)
        starts_at = reservation.day_starts_at if period == "day" else reservation.month_starts_at
        quotas.give_back(tx, reservation.user_id, period, starts_at, reservation.reservation_id, move)
    if found is not None:
        _book(tx, reservation, said, parts, closing, now)
    reservations.release(tx, reservation.reservation_id, closing.settlement, now)


def key_of(tx: Tx, reservation_id: ReservationId) -> str:
    """The key under which this reservation settles."""
    meta = owners.read_meta(tx)
    assert meta is not None
    return settlement_key(meta.db_uuid, reservation_id)


def _consumed(tx: Tx, reservation: Reservation, period: Period, tokens: int) -> Consumed:
    starts_at = reservation.day_starts_at if period == "day" else reservation.month_starts_at
    found = quotas.find_window(tx, reservation.user_id, period, starts_at)
    if found is None:
        raise NotSettled(Code.RECEIPT_CHANGED, "its window is gone")
    return consume(tokens, reservation.tokens, found.tokens.free)


def _release(
    tx: Tx, reservation: Reservation, closing: Closing, said: Said, parts: dict[Period, Consumed], now: int
) -> None:
    receipt = releases.receipt_of(reservation.reservation_id)
    release = releases.Release(
        reservation_id=reservation.reservation_id,
        way=closing.way,
        settlement_key=closing.key,
        payload_hash=closing.payload_hash,
        evidence=closing.evidence.ref if closing.evidence else None,
        owner_epoch=closing.epoch,
        turns_used=said.turns,
        day_tokens_used=parts["day"].used,
        month_tokens_used=parts["month"].used,
        receipt=receipt,
        released_at=now,
        generation=closing.generation,
    )
    releases.insert_release(tx, release)
    outbox.add_receipt(tx, receipt, reservation.turn_id, closing.key, closing.way, now)


def _book(
    tx: Tx, reservation: Reservation, said: Said, parts: dict[Period, Consumed], closing: Closing, now: int
) -> None:
    turn = turns.find_turn(tx, reservation.turn_id)
    assert turn is not None and turn.outcome is not None and turn.ended_at is not None
    booked = usage.Booked(
        turn_id=reservation.turn_id,
        reservation_id=reservation.reservation_id,
        user_id=reservation.user_id,
        session_id=turn.session_id,
        agent=said.agent,
        model=said.model,
        outcome=turn.outcome,
        turns=said.turns,
        input_tokens=said.input_tokens,
        output_tokens=said.output_tokens,
        cached_tokens=said.cached_tokens,
        day_overrun=parts["day"].overrun,
        month_overrun=parts["month"].overrun,
        late=closing.way == "late",
        queued_at=turn.queued_at,
        ended_at=turn.ended_at,
        booked_at=now,
    )
    usage.insert_usage(tx, booked)
