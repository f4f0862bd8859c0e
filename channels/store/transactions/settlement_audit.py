"""Control over settlements by people: the change and its line in the audit log, in one commit."""

from channels.rules.access import Actor
from channels.rules.settlement import Caller, StopRequest, StopSession
from channels.store import access
from channels.store.transactions.settlement_control import Controlled, pause, resume, stop
from channels.store.transactions.settlement_facts import Refused
from channels.store.tx import Tx


def pause_by(tx: Tx, actor: Actor, caller: Caller, now: int) -> Controlled | Refused:
    return _audited(tx, pause(tx, caller, now), actor, "settlement.paused", "", now)


def resume_by(tx: Tx, actor: Actor, caller: Caller, now: int) -> Controlled | Refused:
    return _audited(tx, resume(tx, caller, now), actor, "settlement.resumed", "", now)


def stop_by(tx: Tx, request: StopRequest, actor: Actor, caller: Caller, now: int) -> Controlled | Refused:
    """By an operator: the reason says by which way."""
    subject = request.session_id if isinstance(request, StopSession) else request.key
    done = stop(tx, request, f"{actor.via}: {actor.user_id}", caller, now)
    return _audited(tx, done, actor, "settlement.stopped", subject, now)


def _audited(
    tx: Tx, done: Controlled | Refused, actor: Actor, action: str, subject: str, now: int
) -> Controlled | Refused:
    if isinstance(done, Controlled) and done.changed:
        access.add_audit(tx, actor, action, subject, f"generation {done.generation}", now)
    return done
