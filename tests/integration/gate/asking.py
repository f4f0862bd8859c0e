"""What tests of permissions do again and again: read the cards of questions, press their buttons, wait."""

from typing import Any

from channels.cards.gate_texts import gate_texts
from channels.emulator.messages import Message
from tests.integration import cards_seen
from tests.integration.gate.agent import AskingAgent
from tests.integration.house import House

WORDS = gate_texts("en")
ADMIN, SECOND = "张三", "Bob"  # an admin, and somebody who is none
ADMINS: dict[str, Any] = {"access": {"admins": ["u_zhang_san"]}}
PENDING = "SELECT count(*) FROM permission_requests WHERE state = 'pending'"
STATE = "SELECT state FROM permission_requests ORDER BY created_at DESC, token LIMIT 1"


def with_agent(house: House) -> AskingAgent:
    """The house's next boot has this agent."""
    agent = AskingAgent()
    agent.changed = house.ledger.changed
    house.agents = {"demo": agent}
    return agent


def permit_cards(house: House, message_id: str) -> list[Message]:
    """Cards of questions below this message, oldest first."""
    return [each for each in house.replies(message_id) if _is_permit(house, each)]


async def asked(house: House, message_id: str, count: int = 1) -> Message:
    """Wait for so many questions below this message; the newest."""
    await house.seen(lambda: len(permit_cards(house, message_id)) >= count)
    return permit_cards(house, message_id)[-1]


def title(house: House, card: Message) -> str:
    return cards_seen.title(house.card(card.message_id))


def said(house: House, card: Message) -> str:
    return cards_seen.words(house.card(card.message_id))


def labels(house: House, card: Message) -> list[str]:
    """What the card's buttons say."""
    found = [part for part in cards_seen.parts(house.card(card.message_id)) if part["tag"] == "button"]
    return [str(part["text"]["content"]) for part in found]


def buttons(house: House, card: Message) -> list[dict[str, Any]]:
    """What the card's buttons carry."""
    found = [part.get("behaviors", ()) for part in cards_seen.parts(house.card(card.message_id))]
    return [dict(one["value"]) for behaviours in found for one in behaviours]


async def became(house: House, card: Message, wanted: str) -> None:
    await house.seen(lambda: title(house, card) == wanted)


async def press(house: House, card: Message, label: str, user: str = "Alice") -> str:
    """Press the button of this label; returns the toast."""
    value = buttons(house, card)[labels(house, card).index(label)]
    return await click(house, card, value, user)


async def click(house: House, card: Message, value: dict[str, Any], user: str = "Alice") -> str:
    """A person sends this value from this card, whatever it shows by now."""
    shown = await house.world.click(user, card.message_id, value)
    return str((shown["toast"] or {}).get("content", ""))


def main_card(house: House, message_id: str) -> dict[str, Any]:
    """The card of the turn as it looks now."""
    cards = [house.card(each.message_id) for each in house.replies(message_id) if house.states(each.message_id)]
    return next(card for card in cards if cards_seen.phase(card) is not None)


async def finished(house: House, message_id: str) -> dict[str, Any]:
    """Wait until the turn of this message has ended and everything is said; its main card."""
    await house.seen(lambda: house.has_ended(message_id) and "Typing" not in house.ledger.reactions(message_id))
    await house.quiet()
    return main_card(house, message_id)


def _is_permit(house: House, message: Message) -> bool:
    titles = (
        WORDS.title_pending.format(agent="demo"),
        WORDS.title_allowed,
        WORDS.title_denied,
        WORDS.title_expired,
        WORDS.title_ended,
    )
    return bool(house.states(message.message_id)) and title(house, message) in titles
