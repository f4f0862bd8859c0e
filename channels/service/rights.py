"""The button on which a person asks for the right to have code changed."""

from channels.cards.gate_texts import gate_texts
from channels.feishu.connection import Answer
from channels.feishu.events import CardClicked
from channels.ids import TurnId
from channels.logs import CARD_CLICKED, get_logger
from channels.rules.access import Actor
from channels.service.context import Context
from channels.service.toasts import toast
from channels.store.transactions.rights import ask_right

log = get_logger(__name__)


async def press_ask_right(context: Context, click: CardClicked) -> Answer:
    """An access request, committed and shown to the admins; a toast says so."""
    operator = click.operator
    outcome = await context.database.run(
        ask_right,
        click.event_id,
        TurnId(str(click.value.get("turn", ""))),
        Actor(operator.user_id, operator.open_id, "card"),
        click.message_id,
        context.ids.new("ask"),
        context.policy.access,
        context.now(),
    )
    log.info(CARD_CLICKED, event_id=click.event_id, action="ask_right", outcome=outcome)
    context.access.ring()
    words = gate_texts(context.preferences.language)
    said = {
        "asked": words.toast_asked,
        "already": words.toast_asked_already,
        "has_right": words.toast_has_right,
        "cooling": words.toast_right_cooling,
        "not_yours": words.toast_not_asker,
    }
    kinds = {"asked": "success", "not_yours": "warning"}
    return toast(kinds.get(outcome, "info"), said.get(outcome, words.toast_unknown))
