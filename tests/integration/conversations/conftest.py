"""What the tests of conversations share: reading cards, verdicts and places."""

import subprocess
from pathlib import Path

from tests.integration import cards_seen
from tests.integration.house import House

DAY_S = 24 * 3600.0


def read(house: House, message_id: str) -> str:
    """Everything the first answer to this message says."""
    card = house.card(house.replies(message_id)[0].message_id)
    return f"{cards_seen.title(card)}\n{cards_seen.words(card)}"


async def say(house: House, text: str, user: str = "Alice", chat_id: str | None = None, **more: object) -> str:
    """Write, wait until it is dealt with, and read the answer."""
    message_id, _ = await house.ask(text, user, chat_id, **more)
    return read(house, message_id)


async def verdict(house: House, message_id: str) -> str:
    """What was decided about a message."""
    return str(await house.held("SELECT verdict FROM inbox WHERE message_id = :message_id", message_id=message_id))


def workspace(house: House, place: str = "p2p/u_alice") -> Path:
    """Somebody's workspace on the disk."""
    return house.folder / "workspace" / place


def make_repository(folder: Path) -> None:
    """A Git repository with one commit."""
    folder.mkdir(parents=True)
    for arguments in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message=first"]):
        subprocess.run(
            ["git", "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments], cwd=folder, check=True
        )


def names_in(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())
