"""How a turn ends: from the prompt's answer to usage and `Ended`."""

from collections.abc import Iterator

from channels.agents.acp.desk import TurnDesk
from channels.agents.acp.failures import AgentSaid, Declined, ProcessFailure, StepsUsedUp, sentence
from channels.agents.acp.host import Host
from channels.agents.acp.opening import lost_failure, refusal_of
from channels.agents.acp.peer import Answered, Lost, RefusedBy
from channels.agents.acp.updates import read_usage
from channels.agents.protocol import TurnRequest
from channels.rules.agent_event import AgentEvent, Ended, Outcome

_OUTCOMES = {"end_turn": Outcome.COMPLETED, "max_tokens": Outcome.MAX_TOKENS, "cancelled": Outcome.STOPPED}
_FAILURES: dict[str, ProcessFailure] = {"refusal": Declined(), "max_turn_requests": StepsUsedUp()}


def ending_of(desk: TurnDesk, host: Host, turn: TurnRequest) -> Iterator[AgentEvent]:
    """The last events of a turn whose stream is over."""
    result = desk.reply.result if isinstance(desk.reply, Answered) else {}
    usage = read_usage(result) or desk.context
    if usage is not None:
        yield usage
    yield _end(desk, host, turn)


def _end(desk: TurnDesk, host: Host, turn: TurnRequest) -> Ended:
    match desk.reply:
        case None:
            return Ended(Outcome.MAX_TOKENS)  # longer than we let it be: it is being cancelled
        case Answered(result):
            reason = str(result.get("stopReason"))
            if (outcome := _OUTCOMES.get(reason)) is not None:
                return Ended(outcome)
            failure = _FAILURES.get(reason) or AgentSaid()
        case Lost():
            failure = lost_failure(host)
        case RefusedBy():
            failure = refusal_of(desk.reply, host.preset)
    return Ended(Outcome.FAILED, sentence(failure, host.preset.name, turn.language))
