"""Short words for these tests: what lies in the inbox folders, what the agent was given, time that passes."""

from pathlib import Path
from typing import Any

from channels.emulator.ledger import Call
from tests.integration import cards_seen
from tests.integration.house import House

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
HELD = "SELECT count(*) FROM inbox WHERE state = 'held'"
TURNS = "SELECT count(*) FROM turns"
GIVEN = """
SELECT json_extract(body, '$.text') FROM session_events AS said JOIN turns ON turns.turn_id = said.turn_id
WHERE said.kind = 'user/message' AND turns.cause_id = :message_id
"""
WINDOW_S = 4  # longer than any window


def kept(house: House) -> dict[str, bytes]:
    """Every file that lies in an inbox folder, by its name."""
    return {path.name: path.read_bytes() for path in Path(house.folder).rglob("inbox/*") if path.is_file()}


def send(house: House, name: str, data: bytes = PNG, kind: str = "file", user: str = "Alice", **place: Any) -> str:
    """A person sends a file, in the private chat where no other is named."""
    chat_id = place.pop("chat_id", None) or house.world.private_chat(user)
    return house.world.send_file(user, chat_id, name, data, kind, **place)


def downloads(house: House) -> list[Call]:
    return house.calls("im.resource.get")


async def pass_window(house: House, held: int) -> None:
    """Wait until so many messages wait for company, and let the time pass that they wait."""
    await house.held(HELD, held)
    house.advance(WINDOW_S)


async def given(house: House, message_id: str) -> str:
    """What the agent was given in the turn that this message began."""
    return str(await house.held(GIVEN, message_id=message_id))


async def read_alone(house: House, message_id: str) -> tuple[str, str]:
    """Let a message that waits for company be read by itself: what the agent was given, and what the card says."""
    await pass_window(house, 1)
    reply = await house.answered(message_id)
    house.assert_answered_once(message_id)
    return await given(house, message_id), cards_seen.words(house.card(reply.message_id))
