"""Access, sessions, settlement and quotas while no service runs: the same desks, over the domain file itself, under its
lock.

What follows from a change (answers to kept messages, cards) waits in the file and is delivered by the next start. A
file that was put back is only looked at: its commits must not catch up with the anchor that shows what it is.
"""

from dataclasses import dataclass, field
from typing import Any

from channels.app.access_operations import READING as READING_ACCESS
from channels.app.access_operations import AccessOperations
from channels.app.building import policy_from, preferences_from
from channels.app.owning import AnchorKeeper
from channels.app.session_operations import READING as READING_SESSIONS
from channels.app.session_operations import SessionOperations
from channels.app.settlement_operations import READING as READING_BOOKS
from channels.app.settlement_operations import QuotaOperations, SettlementOperations
from channels.cards.settlement_texts import settlement_texts
from channels.clock import FlooredClock, Ids, SystemClock, SystemIds
from channels.config import Settings
from channels.errors import Refused, StartRefused
from channels.ids import OwnerEpoch, SessionId
from channels.rules.routing import Policy
from channels.rules.settlement import Code
from channels.service.access_desk import AccessDesk
from channels.service.context import Preferences
from channels.service.overlay import overlaid_where_possible
from channels.service.quota_desk import QuotaDesk
from channels.service.session_desk import SessionDesk
from channels.service.settlement_desk import SettlementDesk, Shown, status_json
from channels.service.signals import Signal
from channels.store import owners
from channels.store.anchor import read_beside, refuse_half_restored
from channels.store.copies import look_into
from channels.store.database import Database
from channels.store.domain_file import true_path
from channels.store.transactions.boot import beat, read_floor
from channels.store.transactions.quarantine import read_suspicion
from channels.store.transactions.settlement import status
from channels.store.transactions.settlement_facts import Refused as NotDone
from channels.store.transactions.web import read_overlay
from channels.store.tx import Tx
from channels.web.control import Operation

READING = READING_ACCESS | READING_SESSIONS | READING_BOOKS


@dataclass(slots=True)
class ClosedFile:
    """The surroundings of every desk without loops: nobody hears its signals."""

    database: Database
    clock: FlooredClock
    ids: Ids
    preferences: Preferences
    policy: Policy
    epoch: OwnerEpoch
    inbox: Signal = field(default_factory=Signal)
    access: Signal = field(default_factory=Signal)

    def now(self) -> int:
        return self.clock.now_ms()

    def leave(self, session_id: SessionId | None) -> None:
        """No agent runs that would have to hear of it."""


async def ask_closed_file(settings: Settings, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One operation of a desk, answered as the control socket would.

    Raises Refused with the operation's code, `invalid_input`, `no_file` or `restored`; StartRefused where another
    process has the file, which is `lock_busy` for a settlement operation.
    """
    try:
        return await _ask_path(settings, operation, arguments)
    except StartRefused as refusal:
        if not operation.startswith("settlement_") or not isinstance(refusal.__cause__, BlockingIOError):
            raise
        words = settlement_texts(settings.ui.language).codes[Code.LOCK_BUSY]
        raise Refused(str(Code.LOCK_BUSY), f"{words} {refusal}") from refusal


async def _ask_path(settings: Settings, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    path = true_path(settings.store.path)
    refuse_half_restored(path)
    if not path.exists():
        raise _no_file(settings)
    if operation == "settlement_status":  # of a copy: not even an older file is brought up to date by looking
        with look_into(path, SystemClock().wall_ms()) as tx:
            return _status_of(tx, settings)
    database = await Database.open(path, before_commit=owners.count_commit)
    try:
        return await _ask(settings, database, operation, arguments)
    finally:
        await database.close()


async def _ask(settings: Settings, database: Database, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    epoch = await database.read(owners.current_epoch)
    if not epoch:
        raise _no_file(settings)
    why = await database.read(read_suspicion, read_beside(database.path))
    if why is not None and operation not in READING:
        raise Refused("restored", f"{why}: start the service first, it has to compare the file with Feishu's history")
    settings = overlaid_where_possible(settings, await database.read(read_overlay))
    clock = FlooredClock(SystemClock(), await database.read(read_floor))
    around = ClosedFile(database, clock, SystemIds(), preferences_from(settings), policy_from(settings), epoch)
    try:
        answer = await _table(around)[operation](arguments)
    except ValueError as error:
        raise Refused("invalid_input", str(error)) from None
    if operation not in READING:
        await database.run(beat, around.now(), None)
        await AnchorKeeper(database).write()
    return answer


def _table(around: ClosedFile) -> dict[str, Operation]:
    people, settlement = AccessDesk(around), SettlementDesk(around)
    sessions, quotas = SessionDesk(around), QuotaDesk(around, people)
    access, archive = AccessOperations(lambda: people), SessionOperations(lambda: sessions)
    books = SettlementOperations(lambda: settlement).table() | QuotaOperations(lambda: quotas).table()
    return access.table() | archive.table() | books


def _status_of(tx: Tx, settings: Settings) -> dict[str, Any]:
    """At the last moment that the file knows, or now where that is later."""
    found = status(tx, max(SystemClock().wall_ms(), read_floor(tx)))
    if isinstance(found, NotDone):
        words = settlement_texts(settings.ui.language)
        raise Refused(str(found.code), words.codes[found.code])
    return status_json(Shown(found, {}, ()))


def _no_file(settings: Settings) -> Refused:
    return Refused(
        "no_file",
        f"{settings.store.path} has not been used yet: start the service once with `channels run`; "
        "people named in [access] admins are admins from the first moment",
    )
