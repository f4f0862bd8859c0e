"""What ends and begins for an agent, told to the settlement scheduler: two adapters over the one core.

| moment | agents inside this process (demo, openai) | agents in processes of their own (acp) |
|---|---|---|
| the service is ready, a turn has ended | the status is read anew | the same |
| a session is archived or deleted | it is stopped, by the handle of what waits | the same |
| a session is left (/new, /agent, /resume) | nothing: it may be gone on with | exactly the old id is stopped |
| shutdown, a crash, an agent taken out of the settings | this process schedules no more; rows stay | the same |

A session that was put away while the process died is found by the next one: the status and the truth about each session
are read together, and what contradicts is stopped then.
"""

from channels.agents.protocol import Agent
from channels.ids import SessionId
from channels.service.context import Context
from channels.service.settling import Settling
from channels.store.sessions import Session
from channels.store.transactions.settlement import Acked
from channels.store.transactions.settlement_facts import Refused

OUTSIDE = frozenset({"acp"})  # kinds of agents whose processes keep sessions of their own
LEFT = "session left"


class InsideAgents:
    """The life cycle of agents that live in this process."""

    def __init__(self, settling: Settling) -> None:
        self._settling = settling

    def ready(self) -> None:
        self._settling.wake()

    def turn_ended(self, settlement: Acked | Refused | None) -> None:
        self._settling.turn_ended(settlement)

    def put_away(self, session: Session) -> None:
        """Archived or deleted: what waits of it is stopped by its handle."""
        self._settling.wake()

    def left(self, session_id: SessionId, agent: str) -> None:
        """A conversation goes on without it: its settlements are as good as before."""


class OutsideAgents(InsideAgents):
    """The life cycle of agents with processes of their own: leaving a session ends it there for good."""

    def left(self, session_id: SessionId, agent: str) -> None:
        """The boundary of a session: exactly this id is stopped, and no other."""
        self._settling.owe_stop(session_id, agent, LEFT)


class LifeCycles:
    """Chooses the adapter by the agent; one that is not configured any more counts as inside."""

    def __init__(self, context: Context, settling: Settling) -> None:
        self._context = context
        self.inside, self.outside = InsideAgents(settling), OutsideAgents(settling)

    def of(self, agent: str) -> InsideAgents:
        found: Agent | None = self._context.agents.get(agent)
        return self.outside if found is not None and found.kind in OUTSIDE else self.inside

    def put_away(self, session: Session) -> None:
        self.of(session.agent).put_away(session)

    def left(self, session_id: SessionId, agent: str) -> None:
        self.of(agent).left(session_id, agent)
