"""What tests of restored files do again and again: keep a copy, put it back in one of three ways, wait for the end."""

import shutil
from collections.abc import Callable
from pathlib import Path

from channels.store.anchor import anchor_path
from channels.store.copies import put_back
from tests.integration.house import House

PutBack = Callable[[House, Path], None]
OPEN = "SELECT count(*) FROM quarantine WHERE left_at IS NULL"
LEFT = "SELECT count(*) FROM quarantine WHERE left_at IS NOT NULL"
TURNS = "SELECT count(*) FROM turns"


async def keep_copy(house: House) -> Path:
    """The file as it is now, as a tool that knows nothing of it would keep it."""
    assert house.service is not None
    target = house.folder / "kept.db"
    await house.service.parts.context.database.backup(target)
    return target


def copy_over(house: House, copy: Path) -> None:
    """As a person does it by hand, with the service stopped: the anchor stays and shows that the file is old."""
    for side in ("-wal", "-shm"):
        house.file.with_name(house.file.name + side).unlink(missing_ok=True)
    shutil.copyfile(copy, house.file)


def copy_without_anchor(house: House, copy: Path) -> None:
    """Onto a fresh disk: nothing stands beside the file."""
    copy_over(house, copy)
    anchor_path(house.file).unlink()


def restore(house: House, copy: Path) -> None:
    """`channels restore`."""
    put_back(copy, house.file, house.clock.wall_ms())


WAYS = {"by hand": copy_over, "without its anchor": copy_without_anchor, "with channels restore": restore}


async def compared(house: House) -> None:
    """Wait until quarantine was left: everything of the time before is compared with history."""
    await house.held(LEFT, 1)


def redeliver(house: House, message_id: str) -> None:
    """Feishu sends the event of this message once more, as it does up to seven hours later."""
    house.world.push_message(house.world.message(message_id))
