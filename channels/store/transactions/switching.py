"""/agent: which agent answers in a place, and what the agent of a session that was left has to hear."""

from dataclasses import dataclass, replace

from channels.ids import SessionId, UserId
from channels.rules.message import Message
from channels.store import chosen_agents, inbox, routes, sessions, turns
from channels.store.transactions.admit import Decided
from channels.store.transactions.converse import Answer, answered, renew_route, route_of
from channels.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Here:
    """Which agent answers in a place: `session`'s where there is a conversation, else the one that was `chosen` for
    new ones; both "" where neither is."""

    session: str = ""
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """The agent that is to answer, and what is said: in a conversation that begins anew; where every message begins
    one; where it answers already."""

    agent: str
    spare: SessionId
    renewed: Answer
    chosen: Answer
    already: Answer


def find_agent(tx: Tx, message: Message) -> Here:
    """Whose answers this message's place gets."""
    route = route_of(tx, message)
    session = sessions.find_session(tx, route.session_id) if route else None
    return Here(session.agent if session else "", chosen_agents.find_choice(tx, message.envelope.chat_key))


def switch_agent(tx: Tx, message: Message, switch: Switch, default: str, now: int) -> Decided:
    """A conversation goes on with another agent in a fresh session; the old one stays, for /resume. Outside topics the
    choice also holds for every conversation that this person will begin in this chat. `default`: who answers where
    nobody chose."""
    if not inbox.is_accepted(tx, message.envelope.message_id):
        return Decided("decided_before")
    if routes.is_tombstoned(tx, message.envelope.conversation):
        return answered(tx, message, "command:agent", switch.already, now)
    here, route = find_agent(tx, message), route_of(tx, message)
    current = here.session if route is not None else here.chosen or default
    if current == switch.agent:
        return answered(tx, message, "command:agent", switch.already, now)
    if route is None or not route.is_thread:
        chosen_agents.put_choice(tx, message.envelope.chat_key, switch.agent, now)
    if route is None:
        return answered(tx, message, "command:agent", switch.chosen, now)
    user_id: UserId = message.envelope.sender.user_id
    renew_route(tx, route, switch.spare, switch.agent, user_id, now)
    return replace(answered(tx, message, "command:agent", switch.renewed, now), left=route.session_id)


@dataclass(frozen=True, slots=True)
class Left:
    """A session that was left. `is_over`: nothing of it runs or waits; `agent`: who is to hear of it."""

    agent: str
    is_over: bool


def read_left(tx: Tx, session_id: SessionId) -> Left | None:
    """None: some conversation still belongs to this session, or there is none such."""
    session = sessions.find_session(tx, session_id)
    if session is None or routes.find_route_of_session(tx, session_id) is not None:
        return None
    return Left(session.agent, not turns.is_session_busy(tx, session_id))
