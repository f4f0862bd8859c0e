"""Table `reservations`: what is held for one turn, and how far its settlement has come."""

from dataclasses import dataclass
from typing import Any

from channels.ids import ReservationId, TurnId, UserId
from channels.rules.settlement import Receipt
from channels.store.tx import Tx

_ROW = (
    "reservation_id, turn_id, user_id, session_hash, day_starts_at, month_starts_at, turns, tokens, state, settlement,"
    " settlement_key, payload_hash, queued_at, reserved_at, expires_at, released_at"
)
INSERT_RESERVATION = """
INSERT INTO reservations (reservation_id, turn_id, user_id, session_hash, day_starts_at, month_starts_at, turns,
                          tokens, state, settlement, reserved_at, expires_at)
VALUES (:reservation_id, :turn_id, :user_id, :session_hash, :day_starts_at, :month_starts_at, :turns,
        :tokens, 'held', 'none', :now, :expires_at)
"""
SELECT_RESERVATION = f"SELECT {_ROW} FROM reservations WHERE reservation_id = :reservation_id"
SELECT_BY_TURN = f"SELECT {_ROW} FROM reservations WHERE turn_id = :turn_id"
SELECT_BY_KEY = f"SELECT {_ROW} FROM reservations WHERE settlement_key = :key"
SELECT_LINGERING = f"""
SELECT {_ROW} FROM reservations WHERE state = 'held' AND settlement <> 'pending'
AND (reserved_at, reservation_id) > (:after_at, :after_id) ORDER BY reserved_at, reservation_id LIMIT :limit
"""
QUEUE_SETTLEMENT = """
UPDATE reservations SET settlement = 'pending', settlement_key = :key, payload_hash = :payload_hash, queued_at = :now
WHERE reservation_id = :reservation_id AND state = 'held' AND settlement = 'none'
"""
END_SETTLEMENT = """
UPDATE reservations SET settlement = :settlement
WHERE reservation_id = :reservation_id AND settlement = 'pending'
"""
RELEASE = """
UPDATE reservations SET state = 'released', settlement = :settlement, released_at = :now
WHERE reservation_id = :reservation_id AND state = 'held'
"""
HAS_LIVE_OF_SESSION = """
SELECT 1 FROM reservations WHERE state = 'held' AND expires_at > :now AND session_hash = :session_hash LIMIT 1
"""
HAS_LIVE_OF_NOBODY = """
SELECT 1 FROM reservations WHERE state = 'held' AND expires_at > :now AND session_hash IS NULL LIMIT 1
"""
SELECT_HELD = f"SELECT {_ROW} FROM reservations WHERE reserved_at >= :since AND state = 'held'"
SELECT_HELD_OF_PERSON = f"""
SELECT {_ROW} FROM reservations WHERE user_id = :user_id AND reserved_at >= :since AND state = 'held'
"""


@dataclass(frozen=True, slots=True)
class Reservation:
    """`session_hash` None: nobody knows whose it is. `settlement`: none, pending, or how it ended."""

    reservation_id: ReservationId
    turn_id: TurnId
    user_id: UserId
    session_hash: str | None
    day_starts_at: int
    month_starts_at: int
    turns: int
    tokens: int
    state: str
    settlement: str
    settlement_key: str | None
    payload_hash: str | None
    queued_at: int | None
    reserved_at: int
    expires_at: int
    released_at: int | None

    @property
    def receipt(self) -> Receipt:
        """What a settlement freezes of it."""
        return Receipt(
            reservation_id=self.reservation_id,
            turns=self.turns,
            tokens=self.tokens,
            day_starts_at=self.day_starts_at,
            month_starts_at=self.month_starts_at,
            reserved_at=self.reserved_at,
            expires_at=self.expires_at,
        )


def _from_row(row: tuple[Any, ...]) -> Reservation:
    return Reservation(*row)


def reservation_of(turn_id: TurnId) -> ReservationId:
    """A turn has one reservation for its whole life, however often it is started."""
    return ReservationId(f"reservation:{turn_id}")


def insert_reservation(tx: Tx, receipt: Receipt, turn_id: TurnId, user_id: UserId, session_hash: str) -> None:
    """Its holds stand in the quotas already. Raises sqlite3.IntegrityError where they do not."""
    tx.execute(
        INSERT_RESERVATION,
        {
            "reservation_id": receipt.reservation_id,
            "turn_id": turn_id,
            "user_id": user_id,
            "session_hash": session_hash,
            "day_starts_at": receipt.day_starts_at,
            "month_starts_at": receipt.month_starts_at,
            "turns": receipt.turns,
            "tokens": receipt.tokens,
            "now": receipt.reserved_at,
            "expires_at": receipt.expires_at,
        },
    )


def find_reservation(tx: Tx, reservation_id: ReservationId) -> Reservation | None:
    row = tx.row(SELECT_RESERVATION, {"reservation_id": reservation_id})
    return _from_row(row) if row else None


def find_by_turn(tx: Tx, turn_id: TurnId) -> Reservation | None:
    row = tx.row(SELECT_BY_TURN, {"turn_id": turn_id})
    return _from_row(row) if row else None


def find_by_key(tx: Tx, key: str) -> Reservation | None:
    """The reservation whose settlement was queued under this key."""
    row = tx.row(SELECT_BY_KEY, {"key": key})
    return _from_row(row) if row else None


def lingering(tx: Tx, after: tuple[int, str], limit: int) -> list[Reservation]:
    """Held without a settlement that waits, the oldest first, from behind (reserved_at, id) on."""
    rows = tx.rows(SELECT_LINGERING, {"after_at": after[0], "after_id": after[1], "limit": limit})
    return [_from_row(row) for row in rows]


def queue_settlement(tx: Tx, reservation_id: ReservationId, key: str, payload_hash: str, now: int) -> bool:
    """none → pending, once in its life."""
    values = {"reservation_id": reservation_id, "key": key, "payload_hash": payload_hash, "now": now}
    return tx.execute(QUEUE_SETTLEMENT, values) == 1


def end_settlement(tx: Tx, reservation_id: ReservationId, settlement: str) -> bool:
    """pending → expired, failed, stopped or conflict; what is held stays held."""
    return tx.execute(END_SETTLEMENT, {"reservation_id": reservation_id, "settlement": settlement}) == 1


def release(tx: Tx, reservation_id: ReservationId, settlement: str, now: int) -> bool:
    """held → released, with the settlement's last state. Raises sqlite3.IntegrityError unless everything is booked."""
    return tx.execute(RELEASE, {"reservation_id": reservation_id, "settlement": settlement, "now": now}) == 1


def has_live_receipt(tx: Tx, session_hash: str, now: int) -> bool:
    """Whether something valid is still held for this session, or for one that nobody can name."""
    if tx.row(HAS_LIVE_OF_SESSION, {"session_hash": session_hash, "now": now}) is not None:
        return True
    return tx.row(HAS_LIVE_OF_NOBODY, {"now": now}) is not None


def held_since(tx: Tx, since: int) -> list[Reservation]:
    """Everything that was reserved since then and is not released."""
    return [_from_row(row) for row in tx.rows(SELECT_HELD, {"since": since})]


def held_of_person(tx: Tx, user_id: UserId, since: int) -> list[Reservation]:
    """Everything that was reserved for this person since then and is not released."""
    return [_from_row(row) for row in tx.rows(SELECT_HELD_OF_PERSON, {"user_id": user_id, "since": since})]
