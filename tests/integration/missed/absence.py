"""What tests of missed messages do again and again: be away while people write, and read the pending cards."""

from collections.abc import Callable, Sequence
from typing import Any

from channels.cards.texts import texts
from channels.emulator.messages import Message
from tests.integration import cards_seen
from tests.integration.house import House

WORDS = texts("en")
TITLES = (WORDS.missed_title, WORDS.missed_handled_title, WORDS.missed_ignored_title)
MINUTE_S, HOUR_S = 60.0, 3600.0
OPEN_GAPS = "SELECT count(*) FROM missed_gaps WHERE closed_at IS NULL"
GAPS = "SELECT count(*) FROM missed_gaps WHERE reason IN ('boot', 'reconnect')"
ASKED = "SELECT count(*) FROM inbox WHERE state = 'asked'"
UNDRAWN = "SELECT count(*) FROM missed_batches WHERE drawn < version"

Step = Callable[[], str]


async def write_while_away(house: House, seconds: float, steps: Sequence[Step]) -> list[str]:
    """Stop the service, let people write with equal pauses over this time, start it again: their message ids."""
    await house.stop()
    written = []
    for step in steps:
        house.advance(seconds / (len(steps) + 1))
        written.append(step())
    house.advance(seconds / (len(steps) + 1))
    await house.start()
    return written


async def all_read(house: House, gaps: int = 1) -> None:
    """Wait until so many gaps were opened and every one is read."""
    await house.held(f"SELECT ({GAPS}) >= {gaps} AND ({OPEN_GAPS}) = 0 AND ({UNDRAWN}) = 0", 1)


async def answered(house: House, message_id: str) -> None:
    """Wait for the one answer to this message; other messages may still wait for a person."""
    await house.seen(
        lambda: house.has_ended(message_id) and house.ledger.reactions(message_id) == ["DONE"],
    )
    house.assert_answered_once(message_id)


def pending_cards(house: House, chat_id: str) -> list[Message]:
    """Cards about missed messages in this chat, whatever has become of them."""
    said = [each for each in house.world.timeline.in_chat(chat_id) if each.by_bot and not each.reply_to]
    return [each for each in said if house.states(each.message_id) and title(house, each) in TITLES]


def title(house: House, card: Message) -> str:
    return cards_seen.title(house.card(card.message_id))


async def asked_about(house: House, chat_id: str, count: int) -> Message:
    """Wait for the chat's one pending card, which names so many messages."""
    await house.seen(lambda: pending_cards(house, chat_id))
    lead = WORDS.missed_lead.format(count=count)
    await house.seen(lambda: lead in cards_seen.words(house.card(pending_cards(house, chat_id)[0].message_id)))
    (card,) = pending_cards(house, chat_id)
    assert title(house, card) == WORDS.missed_title
    return card


def button(house: House, card: Message, do: str) -> dict[str, Any]:
    """What the card's button carries."""
    for part in cards_seen.parts(house.card(card.message_id)):
        for behaviour in part.get("behaviors", ()):
            if behaviour.get("value", {}).get("do") == do:
                return dict(behaviour["value"])
    raise KeyError(do)


async def press(house: House, card: Message, do: str, user: str = "Alice") -> str:
    """A person presses *Handle all* (missed_handle) or *Ignore* (missed_ignore); returns the toast."""
    shown = await house.world.click(user, card.message_id, button(house, card, do))
    return str((shown["toast"] or {}).get("content", ""))


async def became(house: House, card: Message, wanted: str) -> None:
    """Wait until the card has this title and no buttons."""
    await house.seen(lambda: title(house, card) == wanted)
    assert not [part for part in cards_seen.parts(house.card(card.message_id)) if part["tag"] == "button"]


async def turns_of(house: House, message_ids: Sequence[str]) -> list[str]:
    """The messages among these that have a turn, in the order in which their turns were admitted."""
    rows = await house.rows("SELECT cause_id FROM turns ORDER BY seq")
    return [row[0] for row in rows if row[0] in message_ids]
