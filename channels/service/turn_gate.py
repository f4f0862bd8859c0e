"""The gate of one running turn: what its agent asks goes through here, one question at a time."""

import asyncio
from collections.abc import Callable

from channels.logs import LOOP_FAILED, get_logger
from channels.rules.gate import refused
from channels.rules.permission import PermissionAnswer, PermissionQuestion
from channels.service.permissions import Permissions
from channels.service.signals import Signal
from channels.store.transactions.run import Lease

log = get_logger(__name__)

CARD_LIMIT_S, LOOK_AGAIN_S = 5.0, 0.05

Told = Callable[[PermissionQuestion, PermissionAnswer | None], None]


class TurnGate:
    """An `agents.protocol.Gate`. `told` hears of each question when a person is asked (no answer yet), and of each
    answer; `is_shown` says whether the turn's own card is there, which comes first. After `close` everything is refused
    at once, also what is being asked."""

    def __init__(
        self, permissions: Permissions, lease: Lease, agent: str, told: Told, is_shown: Callable[[], bool]
    ) -> None:
        self._permissions, self._lease, self._agent = permissions, lease, agent
        self._told, self._is_shown = told, is_shown
        self._one = asyncio.Lock()  # a person answers one question after another
        self.signal, self.closed = Signal(), False

    async def ask(self, question: PermissionQuestion) -> PermissionAnswer:
        """What becomes of this question. Never raises but CancelledError."""
        async with self._one:
            answer = await self._answer(question)
        self._told(question, answer)
        return answer

    async def allows(self, kind: str) -> bool:
        """Whether policy and rights let a tool of this kind run that a person has allowed for good. Never raises but
        CancelledError."""
        if self.closed:
            return False
        try:
            return await self._permissions.allows(self._lease, self._agent, kind)
        except Exception as error:  # as in `_answer`
            log.error(LOOP_FAILED, loop="gate", turn_id=self._lease.turn_id, exc_info=error)
            return False

    async def before_asking(self) -> None:
        """A person reads the turn's card before its questions; one that does not come holds up nothing."""
        for _ in range(int(CARD_LIMIT_S / LOOK_AGAIN_S)):
            if self.closed or self._is_shown():
                return
            await self.signal.wait(LOOK_AGAIN_S)

    def asking(self, question: PermissionQuestion) -> None:
        """A person is being asked."""
        self._told(question, None)

    def close(self) -> None:
        """The turn is ending."""
        self.closed = True
        self.signal.ring()

    async def _answer(self, question: PermissionQuestion) -> PermissionAnswer:
        if self.closed:
            return refused(question, "ended")
        try:
            return await self._permissions.consult(self._lease, self._agent, question, self)
        except Exception as error:  # a file that cannot be written: nobody was asked, so nobody has allowed it
            log.error(LOOP_FAILED, loop="gate", turn_id=self._lease.turn_id, exc_info=error)
            return refused(question, "ended")
