"""Tool permissions: asked on a card, decided by a press, refused when the time is over, drawn as they are.

The row of a request is what counts: an agent that waits looks at it again whenever something may have changed, and once
a second. A request for which nobody waits (its agent was cancelled, or has died with an earlier boot) is ended.
"""

from collections.abc import Callable
from typing import Protocol, assert_never

from channels.cards.gate_texts import gate_texts
from channels.cards.permission import PermissionLine, permission_card
from channels.feishu.connection import Answer
from channels.feishu.events import CardClicked
from channels.logs import CARD_CLICKED, LOOP_FAILED, PERMISSION_ASKED, PERMISSION_SETTLED, get_logger
from channels.rules.access import Actor
from channels.rules.gate import Allow, Refuse, ToolPolicy, answer_of, answer_unasked, refused
from channels.rules.intents import Drawing
from channels.rules.permission import PermissionAnswer, PermissionQuestion
from channels.service.context import Context
from channels.service.signals import Signal
from channels.service.toasts import toast
from channels.store import permission_requests
from channels.store.permission_requests import PermissionRequest
from channels.store.transactions.permissions import (
    Asked,
    NotPressed,
    Offer,
    Registered,
    TurnOver,
    has_unsettled,
    judge,
    press_permission,
    put_permission_card,
    register,
    settle_open,
)
from channels.store.transactions.run import Lease

POLL_S = 1.0
DRAWN_AT_ONCE = 100
PERMIT = "permit"  # what a button of these cards does

log = get_logger(__name__)


class Door(Protocol):
    """Where an agent waits for one answer: rung when it may be there, closed when its turn ends."""

    signal: Signal
    closed: bool

    async def before_asking(self) -> None:
        """Wait for what a person has to see first."""

    def asking(self, question: PermissionQuestion) -> None:
        """A person is being asked from here on."""


class Permissions:
    """Keeps every question of this boot's agents, and every card of a question as that is."""

    def __init__(self, context: Context, kick: Callable[[tuple[str, ...]], None]) -> None:
        self._context, self._kick = context, kick
        self._waiting: dict[str, Signal] = {}  # token → who waits for it

    async def run(self) -> None:
        """For ever: settle what is over, draw what has changed; on a ring and once a second."""
        while True:
            try:
                await self._settle()
                await self._draw()
            except Exception:
                log.exception(LOOP_FAILED, loop="permissions")
            await self._context.permissions.wait(POLL_S)

    async def consult(self, lease: Lease, agent: str, question: PermissionQuestion, door: Door) -> PermissionAnswer:
        """The answer to an agent's question: by its policy at once, or by a person."""
        context, policy = self._context, self._context.preferences.tools.get(agent, ToolPolicy())
        access = context.policy.access
        judged = await context.database.read(judge, lease, question, policy, access, context.now())
        if not isinstance(judged, Offer):
            return _unasked(question, judged)
        await door.before_asking()
        token, now = context.ids.new("permit"), context.now()
        due_at = now + context.preferences.decision_time_ms(agent)
        drawing = self._draw_line(PermissionLine(token, agent, judged.question, due_at))
        asked = Asked(token, judged.question, agent, drawing, context.uuids(1)[0], due_at)
        self._waiting[token] = door.signal
        try:
            registered = await context.database.run(register, lease, asked, policy, access, now)
            if not isinstance(registered, Registered):
                return _unasked(question, registered)
            log.info(PERMISSION_ASKED, turn_id=lease.turn_id, token=token, kind=question.kind)
            self._kick((registered.lane,))
            door.asking(question)
            return await self._wait(token, question, door)
        finally:  # also when the agent gave up waiting: the loop ends what nobody waits for
            self._waiting.pop(token, None)
            context.permissions.ring()

    async def allows(self, lease: Lease, agent: str, kind: str) -> bool:
        """Whether a tool of this kind may run, or a person may be asked about it, at this moment."""
        context = self._context
        policy, question = context.preferences.tools.get(agent, ToolPolicy()), PermissionQuestion("", "", kind)
        judged = await context.database.read(judge, lease, question, policy, context.policy.access, context.now())
        return isinstance(judged, Offer | Allow)

    async def press(self, click: CardClicked) -> Answer:
        """A button of a question's card: committed, then answered with a toast."""
        context, operator, value = self._context, click.operator, click.value
        token, option = str(value.get("token", "")), str(value.get("option", ""))
        result = await context.database.run(
            press_permission,
            click.event_id,
            token,
            int(option) if option.isdecimal() and len(option) < 3 else -1,
            Actor(operator.user_id, operator.open_id, "card"),
            click.message_id,
            context.policy.access,
            context.now(),
        )
        outcome = result.why if isinstance(result, NotPressed) else result.request.state
        log.info(CARD_CLICKED, event_id=click.event_id, action=PERMIT, outcome=outcome)
        self._tell(token)
        context.permissions.ring()
        return self._toast(outcome, first=not isinstance(result, NotPressed))

    async def _wait(self, token: str, question: PermissionQuestion, door: Door) -> PermissionAnswer:
        while not door.closed:
            request = await self._context.database.read(permission_requests.find_request, token)
            if request is None:
                break
            if request.state != "pending":
                answer = answer_of(request.question, request.state, request.why, request.choice)
                log.info(PERMISSION_SETTLED, turn_id=request.turn_id, token=token, state=request.state, why=answer.why)
                return answer
            await door.signal.wait(POLL_S)
        return refused(question, "ended")

    async def _settle(self) -> None:
        """`_waiting` itself goes along, not a copy: what is registered meanwhile stands in it before its row does."""
        context = self._context
        if not await context.database.read(has_unsettled, self._waiting.keys(), context.now()):
            return
        for token in await context.database.run(settle_open, self._waiting.keys(), context.now()):
            self._tell(token)

    async def _draw(self) -> None:
        """Make every change visible; cards on their way are looked at again later."""
        context = self._context
        for request in await context.database.read(permission_requests.requests_to_draw, DRAWN_AT_ONCE):
            lane = await context.database.run(
                put_permission_card, request, self._draw_line(_line(request)), context.uuids(1)[0], context.now()
            )
            if lane is not None:
                self._kick((lane,))

    def _draw_line(self, line: PermissionLine) -> Drawing:
        card = permission_card(self._context.preferences.language, line)
        return Drawing(card.json, card.text)

    def _tell(self, token: str) -> None:
        if token in self._waiting:
            self._waiting[token].ring()

    def _toast(self, outcome: str, *, first: bool) -> Answer:
        words = gate_texts(self._context.preferences.language)
        if first:
            return toast("success", words.toast_allowed if outcome == "allowed" else words.toast_denied)
        said = {
            "allowed": words.toast_was_allowed,
            "denied": words.toast_was_denied,
            "no_code_write": words.toast_no_code_write,
            "expired": words.toast_expired,
            "turn": words.toast_turn,
            "restart": words.toast_restart,
            "not_yours": words.toast_not_yours,
        }
        return toast("warning" if outcome == "not_yours" else "info", said.get(outcome, words.toast_unknown))


def _unasked(question: PermissionQuestion, judged: Allow | Refuse | TurnOver) -> PermissionAnswer:
    match judged:
        case TurnOver():
            return refused(question, "ended")
        case Allow() | Refuse():
            return answer_unasked(question, judged)
        case _:
            assert_never(judged)


def _line(request: PermissionRequest) -> PermissionLine:
    return PermissionLine(
        token=request.token,
        agent=request.agent,
        question=request.question,
        due_ms=request.due_at,
        state=request.state,
        why=request.why,
        choice=request.choice,
        decided_by=request.decided_by,
    )
