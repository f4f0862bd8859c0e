"""What every loop is given: the file, the wire, the ports, and who we are."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from channels.agents.protocol import Agent
from channels.clock import FlooredClock, Ids, Rng
from channels.feishu.api import FeishuApi
from channels.ids import OwnerEpoch, SendUuid, SessionId, UserId
from channels.rules.gate import ToolPolicy
from channels.rules.pace import FRAME_GAPS_MS
from channels.rules.routing import Policy
from channels.service.signals import Signal
from channels.store.database import Database
from channels.store.transactions.settlement import Acked
from channels.store.transactions.settlement_facts import Refused

TurnEnded = Callable[[str, Acked | Refused | None], None]  # the agent's name, and what became of its settlement


@dataclass(frozen=True, slots=True)
class Preferences:
    """The settings that loops look at while they run."""

    language: str = "zh"
    agent: str = "demo"
    agent_private: str = ""  # "": as `agent`
    agent_group: str = ""
    admins: frozenset[UserId] = frozenset()
    max_running: int = 8
    time_limit_s: float = 1800.0
    drain_s: float = 20.0
    streaming: bool = True
    frame_gaps_ms: Sequence[int] = FRAME_GAPS_MS
    replay_pending: bool = True
    replay_interrupted: str = "ask"  # ask | off
    recalled: str = "stop"  # stop | answer
    base_dir: str = ""  # below which workspaces lie
    worktrees: bool = False
    notify_after_s: float = 60.0  # 0: never
    route_ttl_ms: int = 0  # 0: never
    tools: Mapping[str, ToolPolicy] = field(default_factory=dict)  # by agent
    permission_timeout_ms: int = 300_000
    permission_timeouts_ms: Mapping[str, int] = field(default_factory=dict)  # by agent, where one has its own

    def agent_for(self, chat_type: str) -> str:
        """The agent of new conversations in such a chat, where nobody chose another."""
        return (self.agent_private if chat_type == "p2p" else self.agent_group) or self.agent

    def decision_time_ms(self, agent: str) -> int:
        """How long a person has to answer this agent's questions."""
        return self.permission_timeouts_ms.get(agent, self.permission_timeout_ms)


@dataclass(slots=True)
class Context:
    """One boot of the service. `policy` gets the bot's own open_id once Feishu has told it (`identified`)."""

    database: Database
    feishu: FeishuApi
    clock: FlooredClock
    ids: Ids
    rng: Rng
    epoch: OwnerEpoch
    agents: Mapping[str, Agent]
    preferences: Preferences
    policy: Policy
    identified: asyncio.Event = field(default_factory=asyncio.Event)
    bot_name: str = ""
    inbox: Signal = field(default_factory=Signal)
    turns: Signal = field(default_factory=Signal)
    outbox: Signal = field(default_factory=Signal)
    missed: Signal = field(default_factory=Signal)
    access: Signal = field(default_factory=Signal)
    leaving: Signal = field(default_factory=Signal)
    settling: Signal = field(default_factory=Signal)
    turn_ended: TurnEnded = field(default=lambda agent, settlement: None)  # told of every end that is committed
    left: set[SessionId] = field(default_factory=set)  # conversations went on without these sessions
    permissions: Signal = field(default_factory=Signal)

    def now(self) -> int:
        return self.clock.now_ms()

    def uuids(self, count: int) -> tuple[SendUuid, ...]:
        return tuple(SendUuid(self.ids.uuid()) for _ in range(count))

    def answering(self, name: str, chat_type: str) -> Agent:
        """The agent of that name; where it is not configured any more, the one for such a chat."""
        return self.agents.get(name) or self.agents[self.preferences.agent_for(chat_type)]

    def leave(self, session_id: SessionId | None) -> None:
        """A conversation goes on without this session: its agent is to hear of it (service.leaving)."""
        if session_id is not None:
            self.left.add(session_id)
            self.leaving.ring()

    def identify(self, bot_open_id: str, name: str) -> None:
        """Mentions can be understood from here on."""
        self.policy = replace(self.policy, bot_open_id=bot_open_id)
        self.bot_name = name
        self.identified.set()
