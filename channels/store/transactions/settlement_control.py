"""Control over settlements: stop one session for ever, pause all, resume. Every change moves the generation."""

from dataclasses import dataclass, replace

from channels.rules import settlement as rules
from channels.rules.settlement import Caller, Code, StopKey, StopRequest, StopSession, Terminal
from channels.store import owners, reservations, settlement_control, settlements
from channels.store.settlement_control import Control, Stop
from channels.store.settlements import Fact, PendingRow
from channels.store.transactions.settlement_facts import Refused, find_fact, open_outbox, refusing_unreadable, retire
from channels.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Controlled:
    """Control as it stands now. `changed`: this call changed it; `retired`: so many pending rows ended with it."""

    generation: int
    user_paused: bool
    changed: bool
    retired: int = 0


@refusing_unreadable
def stop(tx: Tx, request: StopRequest, reason: str, caller: Caller, now: int) -> Controlled | Refused:
    """Stop exactly one session for ever: its tombstone, the end of its pending rows, and a new generation. By raw
    session id, or by a settlement of the caller's own, whose session is looked up here."""
    opened = open_outbox(tx)
    if isinstance(opened, Refused):
        return opened
    control = opened.control
    if caller.epoch != owners.current_epoch(tx):
        return Refused(Code.STALE_CONTROL, control.generation)
    match request:
        case StopSession(session_id):
            session_hash = rules.session_hash(session_id)
        case StopKey(key, payload_hash):
            known = _session_of(tx, key, payload_hash, caller)
            if isinstance(known, Code):
                return Refused(known, control.generation, key)
            session_hash = known
    if settlement_control.is_stopped(tx, session_hash):
        return Controlled(control.generation, control.user_paused, False)
    bound = settlements.pending_of_session(tx, session_hash)
    if not _make_room(tx, now):
        return Refused(Code.STOP_CAPACITY, control.generation)
    moved = replace(control, generation=control.generation + 1)
    settlement_control.insert_stop(tx, Stop(session_hash, reason[:64], moved.generation, now))
    for row in bound:
        retire(tx, row, Terminal.STOPPED, Code.STOPPED, row.attempts, now)
    settlement_control.set_control(tx, moved, now)
    return Controlled(moved.generation, moved.user_paused, True, len(bound))


def pause(tx: Tx, caller: Caller, now: int) -> Controlled | Refused:
    """Nothing settles until somebody resumes, restarts included. Deadlines stay what they are."""
    return _set_paused(tx, True, caller, now)


def resume(tx: Tx, caller: Caller, now: int) -> Controlled | Refused:
    """The one way out of a pause. What has run past its deadline meanwhile will say so when it is applied."""
    return _set_paused(tx, False, caller, now)


def _session_of(tx: Tx, key: str, payload_hash: str, caller: Caller) -> str | Code:
    """Whose settlement this is: one that waits or has ended, of the caller's own."""
    row: PendingRow | Fact | None = settlements.find_pending(tx, key) or find_fact(tx, key)
    if row is None or not row.session_hash or (caller.owner is not None and caller.owner != row.owner):
        return Code.UNKNOWN_KEY
    return row.session_hash if row.payload_hash == payload_hash else Code.CONFLICT


def _make_room(tx: Tx, now: int) -> bool:
    """Room for one more stop. Only one that can bind nothing any more gives way, the oldest first: no row of its
    session waits, and no valid receipt is its session's or nobody's."""
    stops = settlement_control.read_stops(tx)
    if len(stops) < rules.STOPS_MOST:
        return True
    for one in stops:
        bound = settlements.has_pending_of_session(tx, one.session_hash)
        if not bound and not reservations.has_live_receipt(tx, one.session_hash, now):
            settlement_control.delete_stop(tx, one.session_hash)
            return True
    return False


@refusing_unreadable
def _set_paused(tx: Tx, paused: bool, caller: Caller, now: int) -> Controlled | Refused:
    opened = open_outbox(tx)
    if isinstance(opened, Refused):
        return opened
    control = opened.control
    if caller.epoch != owners.current_epoch(tx):
        return Refused(Code.STALE_CONTROL, control.generation)
    if control.user_paused == paused:
        return Controlled(control.generation, paused, False)
    moved = Control(control.generation + 1, paused)
    settlement_control.set_control(tx, moved, now)
    return Controlled(moved.generation, paused, True)
