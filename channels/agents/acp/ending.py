"""How a turn ends: from the prompt's answer to usage and `Ended`."""

import asyncio
from collections.abc import Iterator

from channels.agents.acp.desk import TurnDesk
from channels.agents.acp.failures import AgentSaid, Declined, GaveUp, NotLoaded, ProcessFailure, StepsUsedUp, sentence
from channels.agents.acp.host import HeldSession, Host
from channels.agents.acp.opening import lost_failure, refusal_of
from channels.agents.acp.peer import Answered, Lost, RefusedBy
from channels.agents.acp.updates import read_usage, since
from channels.agents.protocol import TurnRequest
from channels.rules.agent_event import AgentEvent, Ended, Outcome

_OUTCOMES = {"end_turn": Outcome.COMPLETED, "max_tokens": Outcome.MAX_TOKENS}
_FAILURES: dict[str, ProcessFailure] = {
    "refusal": Declined(),
    "max_turn_requests": StepsUsedUp(),
    "cancelled": GaveUp(),  # nobody asked for it: a turn that we cancel has its end already
}


def ending_of(desk: TurnDesk, host: Host, held: HeldSession, turn: TurnRequest) -> Iterator[AgentEvent]:
    """The last events of a turn whose stream is over."""
    result = desk.reply.result if isinstance(desk.reply, Answered) else {}
    usage = read_usage(result)
    if usage is not None and host.preset.adds_up:
        usage, held.spent = since(usage, held.spent), usage
    if usage := usage or desk.context:
        yield usage
    held.unproven = held.unproven and not desk.begun
    ended = _end(desk, host, held, turn)
    if ended.outcome is Outcome.COMPLETED:
        yield from desk.book.settle_untold(asyncio.get_running_loop().time())
    yield ended


def _end(desk: TurnDesk, host: Host, held: HeldSession, turn: TurnRequest) -> Ended:
    lost = False
    match desk.reply:
        case None:
            return Ended(Outcome.MAX_TOKENS)  # longer than we let it be: it is being cancelled
        case Answered(result):
            reason = str(result.get("stopReason"))
            if reason == "cancelled" and desk.permissions.refused:
                return Ended(Outcome.COMPLETED)  # a "no" ends the whole turn of some agents (Codex)
            if (outcome := _OUTCOMES.get(reason)) is not None:
                return Ended(outcome)
            # Hermes says that it has loaded a session that it does not have, and then declines every question
            lost = reason == "refusal" and held.unproven and not desk.begun
            failure = NotLoaded() if lost else _FAILURES.get(reason) or AgentSaid()
        case Lost():
            failure = lost_failure(host)
        case RefusedBy():
            failure = refusal_of(desk.reply, host.preset)
    return Ended(Outcome.FAILED, sentence(failure, host.preset.name, turn.language), lost_session=lost)
