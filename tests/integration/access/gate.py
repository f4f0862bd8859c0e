"""What tests of access do again and again: read the cards of a request, press their buttons, wait for what follows."""

import asyncio
import json
from typing import Any

from typer.testing import CliRunner, Result

from channels.cards.texts import texts
from channels.cli.commands import app
from channels.emulator.messages import Message
from tests.integration import cards_seen
from tests.integration.house import House, settings_of

WORDS = texts("en")
ADMIN, SECOND = "张三", "Bob"  # the admins of these tests; Alice is the stranger
APPROVAL = {"access": {"mode": "approval", "admins": ["u_zhang_san", "u_bob"]}}
TITLES = (
    WORDS.access_title,
    WORDS.access_approved_title,
    WORDS.access_denied_title,
    WORDS.access_expired_title,
    WORDS.access_withdrawn_title,
)
DAY_S = 24 * 3600.0
OPEN = "SELECT count(*) FROM access_requests WHERE state = 'open'"
NAMELESS = "SELECT count(*) FROM access_requests WHERE state = 'open' AND name = ''"
KEPT = "SELECT count(*) FROM inbox WHERE state = 'kept'"


def cards_of(house: House, admin: str) -> list[Message]:
    """Cards of requests in this admin's private chat, oldest first."""
    said = house.world.timeline.in_chat(house.world.private_chat(admin))
    return [each for each in said if each.by_bot and house.states(each.message_id) and title(house, each) in TITLES]


def title(house: House, card: Message) -> str:
    return cards_seen.title(house.card(card.message_id))


async def asked(house: House, admin: str = ADMIN, count: int = 1) -> Message:
    """Wait for so many cards in front of this admin, and until the names of those who ask are known; the newest."""
    await house.seen(lambda: len(cards_of(house, admin)) >= count)
    await house.held(NAMELESS, 0)
    return cards_of(house, admin)[-1]


async def told(house: House, message_id: str, wanted: str) -> Message:
    """Wait until the first reply to this message is a card with this title."""

    def shown() -> bool:
        replies = house.replies(message_id)
        return bool(replies) and title(house, replies[0]) == wanted

    await house.seen(shown)
    return house.replies(message_id)[0]


async def became(house: House, card: Message, wanted: str) -> None:
    await house.seen(lambda: title(house, card) == wanted)


def button(house: House, card: Message, do: str, **more: str) -> dict[str, Any]:
    """What the card's button carries."""
    for part in cards_seen.parts(house.card(card.message_id)):
        for behaviour in part.get("behaviors", ()):
            value = behaviour.get("value", {})
            if value.get("do") == do and more.items() <= value.items():
                return dict(value)
    raise KeyError(do)


async def press(house: House, card: Message, do: str, user: str = ADMIN, **more: str) -> str:
    """An admin presses a button of the card as it looks now; returns the toast."""
    return await click(house, card, button(house, card, do, **more), user)


async def click(house: House, card: Message, value: dict[str, Any], user: str = ADMIN) -> str:
    """A person sends this value from this card, whatever it shows by now."""
    shown = await house.world.click(user, card.message_id, value)
    return str((shown["toast"] or {}).get("content", ""))


async def answered(house: House, message_id: str, *, told_first: bool = True) -> None:
    """Wait for the one answer; a stranger's first message has the card of the request above it."""
    count = 2 if told_first else 1
    await house.seen(lambda: len(house.replies(message_id)) == count and house.has_ended(message_id))
    await house.seen(lambda: house.ledger.reactions(message_id) == ["DONE"])
    await house.quiet()
    assert len(house.replies(message_id)) == count


async def command(house: House, text: str, user: str = ADMIN, **more: Any) -> str:
    """A person sends a command; returns what the answer says."""
    message_id = house.say(text, user, **more)
    await house.seen(lambda: house.replies(message_id))
    return cards_seen.words(house.card(house.replies(message_id)[0].message_id))


async def command_line(house: House, *arguments: str, group: str = "access") -> Result:
    """`channels access …` (or another group's command) as somebody types it on the machine of this house."""
    file = house.folder / "channels.toml"
    file.write_text(_toml(settings_of(house.emulator.url, house.folder, **house.sections)))
    return await asyncio.to_thread(CliRunner().invoke, app, [group, *arguments, "--config", str(file)])


def _toml(settings: dict[str, Any]) -> str:
    lines = []
    for name, section in settings.items():
        nested = {key: value for key, value in section.items() if isinstance(value, dict)}
        lines += [f"[{name}]"] if len(nested) < len(section) else []
        lines += [f"{key} = {json.dumps(value)}" for key, value in section.items() if key not in nested]
        for inner, values in nested.items():
            lines += [f"[{name}.{inner}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines)
