"""Access requests: drawn from the file whenever one has changed, decided by a press of a button, expired in time.

The loop only draws and tends; what people press or type is committed elsewhere and shown here.
"""

from collections.abc import Callable

from channels.cards.access import RequestLine, applicant_card, request_card
from channels.cards.card import Card
from channels.cards.gate_texts import gate_texts
from channels.cards.texts import texts
from channels.feishu.connection import Answer
from channels.feishu.events import CardClicked
from channels.logs import ACCESS_DECIDED, ACCESS_EXPIRED, ACCESS_SHOWN, CARD_CLICKED, LOOP_FAILED, get_logger
from channels.rules.access import DAY_MS, SWITCHES, Actor
from channels.rules.intents import Drawing
from channels.rules.message import Sender
from channels.service.access_desk import AccessDesk
from channels.service.context import Context
from channels.service.people import People
from channels.service.toasts import toast
from channels.store.access_requests import APPLICANT, AccessRequest
from channels.store.transactions.access_requests import (
    CardView,
    Decided,
    NotDecided,
    Verdict,
    cards_to_draw,
    expire_requests,
    has_due,
    name_people,
    nameless_people,
    press_request,
    press_switch,
    put_access_card,
    tend_requests,
)

POLL_S = 1.0
TEND_S = 60.0
DRAWN_AT_ONCE = 100
VERDICTS = {
    "access_allow": Verdict(approve=True),
    "access_allow_day": Verdict(approve=True, for_ms=DAY_MS),
    "access_deny": Verdict(approve=False),
}
SWITCH = "access_switch"
ACTIONS = frozenset({*VERDICTS, SWITCH})

log = get_logger(__name__)


class Approvals:
    """Keeps every card of a request as the request is."""

    def __init__(self, context: Context, desk: AccessDesk, kick: Callable[[tuple[str, ...]], None]) -> None:
        self._context, self._desk, self._kick = context, desk, kick
        self._people = People(context)
        self._tended_at = context.clock.monotonic()

    async def run(self) -> None:
        """For ever: expire, show to new admins, draw; on a ring and once a second."""
        while True:
            try:
                await self._pass()
            except Exception:
                log.exception(LOOP_FAILED, loop="approvals")
            await self._context.access.wait(POLL_S)

    async def _pass(self) -> None:
        context = self._context
        await self._desk.refresh()
        policy, now_s = context.policy.access, context.clock.monotonic()
        if self._desk.admins_changed or now_s - self._tended_at > TEND_S:
            self._desk.admins_changed, self._tended_at = False, now_s
            await context.database.run(tend_requests, policy, context.now())
            context.inbox.ring()
        if await context.database.read(has_due, policy, context.now()):
            count = await context.database.run(expire_requests, policy, context.now())
            log.info(ACCESS_EXPIRED, requests=count)
            context.inbox.ring()
        await self.draw()
        await self._learn_names()

    async def draw(self) -> None:
        """Make every change of a request visible; cards on their way are looked at again later."""
        context = self._context
        for view in await context.database.read(cards_to_draw, DRAWN_AT_ONCE):
            lane = await context.database.run(
                put_access_card, view, self._drawing(view), context.uuids(1)[0], context.now()
            )
            if lane is not None:
                log.info(ACCESS_SHOWN, request_id=view.request.request_id, state=view.request.state)
                self._kick((lane,))

    async def press(self, click: CardClicked) -> Answer:
        """A button of a request's card: committed, shown on every card, answered with a toast."""
        result = await self._commit(click)
        outcome = result.why if isinstance(result, NotDecided) else result.request.state
        log.info(CARD_CLICKED, event_id=click.event_id, action=click.value.get("do"), outcome=outcome)
        words = texts(self._context.preferences.language)
        if isinstance(result, NotDecided):
            refusal = self._desk.refusal(result.why)
            if result.why != "not_admin":
                self._context.access.ring()
            return toast("warning" if result.why == "not_admin" else "info", refusal.user_text)
        await self._desk.settle()
        if click.value.get("do") == SWITCH:
            return toast("success", words.toast_access_switched)
        log.info(ACCESS_DECIDED, request_id=result.request.request_id, state=result.request.state, via="card")
        allowed = (
            words.toast_access_allowed
            if result.request.wants == "chat"
            else gate_texts(self._context.preferences.language).toast_right_given
        )
        said = words.toast_access_denied if outcome == "denied" else allowed
        return toast("success", said.format(who=name_of(result.request)))

    async def may_chat(self, person: Sender) -> bool:
        """Whether this person is let in at this moment."""
        return "chat" in await self._desk.switches_of(person.user_id, person.open_id)

    async def _commit(self, click: CardClicked) -> Decided | NotDecided:
        context, value, operator = self._context, click.value, click.operator
        actor = Actor(operator.user_id, operator.open_id, "card")
        policy, now = context.policy.access, context.now()
        request_id, verdict = str(value.get("request", "")), VERDICTS.get(str(value.get("do")))
        if verdict is not None:
            return await context.database.run(
                press_request, click.event_id, request_id, verdict, actor, click.message_id, policy, now
            )
        switch, to = str(value.get("switch")), value.get("to")
        if switch not in SWITCHES or to not in ("on", "off"):
            request_id = ""
        return await context.database.run(
            press_switch, click.event_id, request_id, switch, to == "on", actor, click.message_id, policy, now
        )

    def _drawing(self, view: CardView) -> Drawing:
        language, request = self._context.preferences.language, view.request
        card: Card
        if view.card.holder == APPLICANT:
            card = applicant_card(language, request.state, request.wants)
        else:
            card = request_card(language, line_of(view))
        return Drawing(card.json, card.text)

    async def _learn_names(self) -> None:
        """Names of people without one, so that commands can be given names; a courtesy."""
        context = self._context
        unnamed = await context.database.read(nameless_people)
        if unnamed and (names := await self._people.names(unnamed)):
            await context.database.run(name_people, names)


def line_of(view: CardView) -> RequestLine:
    """The request as an admin's card shows it."""
    request = view.request
    by = request.decided_by or ""
    return RequestLine(
        request_id=request.request_id,
        state=request.state,
        open_id=request.open_id,
        name=name_of(request),
        excerpt=request.excerpt,
        kept=view.kept,
        switches=request.switches,
        expires_ms=request.expires_at,
        in_group=request.chat_type == "group",
        wants=request.wants,
        decided_by="" if by in ("service", "console") else by.removeprefix("open:"),
    )


def name_of(request: AccessRequest) -> str:
    return request.name or request.user_id.removeprefix("open:")
