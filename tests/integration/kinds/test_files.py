"""Pictures and files: kept in the session's folder, several at once as one question, what cannot be read is named."""

from pathlib import Path

from tests.integration import cards_seen
from tests.integration.house import House

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def kept(house: House) -> dict[str, bytes]:
    """Every file that lies in an inbox folder, by its name."""
    return {path.name: path.read_bytes() for path in Path(house.folder).rglob("inbox/*")}


async def test_a_picture(house: House) -> None:
    chat = house.world.private_chat("Alice")
    message_id = house.world.send_file("Alice", chat, "", PNG, "image")
    await house.answered(message_id)
    card = house.assert_answered_once(message_id)
    assert "[picture: inbox/picture.png]" in cards_seen.answer(card)
    assert kept(house) == {"picture.png": PNG}
