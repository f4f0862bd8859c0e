"""Access while no service runs: the same desk, over the domain file itself, under its lock.

What follows from a change (answers to kept messages, cards) waits in the file and is delivered by the next start. A
file that was put back is only looked at: its commits must not catch up with the anchor that shows what it is.
"""

from dataclasses import dataclass, field
from typing import Any

from channels.app.access_operations import READING, AccessOperations
from channels.app.building import policy_from, preferences_from
from channels.app.owning import AnchorKeeper
from channels.clock import FlooredClock, Ids, SystemClock, SystemIds
from channels.config import Settings
from channels.errors import Refused
from channels.rules.routing import Policy
from channels.service.access_desk import AccessDesk
from channels.service.context import Preferences
from channels.service.overlay import overlaid_where_possible
from channels.service.signals import Signal
from channels.store import owners
from channels.store.anchor import read_beside, refuse_half_restored
from channels.store.database import Database
from channels.store.domain_file import true_path
from channels.store.transactions.boot import beat, read_floor
from channels.store.transactions.quarantine import read_suspicion
from channels.store.transactions.web import read_overlay


@dataclass(slots=True)
class ClosedFile:
    """A `service.access_desk.Surroundings` without loops: nobody hears its signals."""

    database: Database
    clock: FlooredClock
    ids: Ids
    preferences: Preferences
    policy: Policy
    inbox: Signal = field(default_factory=Signal)
    access: Signal = field(default_factory=Signal)

    def now(self) -> int:
        return self.clock.now_ms()


async def ask_closed_file(settings: Settings, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One operation of `AccessOperations`, answered as the control socket would.

    Raises Refused with the operation's code, `invalid_input`, `no_file` or `restored`; StartRefused where another
    process has the file.
    """
    path = true_path(settings.store.path)
    refuse_half_restored(path)
    if not path.exists():
        raise _no_file(settings)
    database = await Database.open(path, before_commit=owners.count_commit)
    try:
        return await _ask(settings, database, operation, arguments)
    finally:
        await database.close()


async def _ask(settings: Settings, database: Database, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if not await database.read(owners.current_epoch):
        raise _no_file(settings)
    why = await database.read(read_suspicion, read_beside(database.path))
    if why is not None and operation not in READING:
        raise Refused("restored", f"{why}: start the service first, it has to compare the file with Feishu's history")
    settings = overlaid_where_possible(settings, await database.read(read_overlay))
    clock = FlooredClock(SystemClock(), await database.read(read_floor))
    around = ClosedFile(database, clock, SystemIds(), preferences_from(settings), policy_from(settings))
    desk = AccessDesk(around)
    try:
        answer = await AccessOperations(lambda: desk).table()[operation](arguments)
    except ValueError as error:
        raise Refused("invalid_input", str(error)) from None
    if operation not in READING:
        await database.run(beat, around.now(), None)
        await AnchorKeeper(database).write()
    return answer


def _no_file(settings: Settings) -> Refused:
    return Refused(
        "no_file",
        f"{settings.store.path} has not been used yet: start the service once with `channels run`; "
        "people named in [access] admins are admins from the first moment",
    )
