"""The scheduler over a real domain file, with a clock that only moves when it is told to, and no loop of its own.

Every function runs as one committed transaction, inline; `refuse` makes chosen ones fail as a busy or full file would.
"""

from collections import Counter
from collections.abc import Callable
from sqlite3 import OperationalError
from typing import Concatenate, ParamSpec, TypeVar

from channels.ids import OwnerEpoch, SessionId, TurnId
from channels.rules.access import Actor
from channels.service.settling import Settling
from channels.service.settling_schedule import Entry
from channels.service.signals import Signal
from channels.store.transactions.archive import Moved, archive_session, delete_session
from channels.store.tx import Tx
from tests.store.ledger.conftest import Ledger
from tests.store.tables.conftest import Store
from tests.store.tables.drive import deliver_all

P = ParamSpec("P")
T = TypeVar("T")
Function = Callable[..., object]


def busy() -> OperationalError:
    """What SQLite says when another process has the file."""
    error = OperationalError("database is locked")
    error.sqlite_errorcode = 5
    return error


class InlineFile:
    """`settling.DomainFile` over a `Store`. `calls` counts functions by name, failed ones too."""

    def __init__(self, store: Store) -> None:
        self.store, self.calls = store, Counter[str]()
        self.refusals: dict[str, list[Exception]] = {}

    async def run(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.calls[fn.__name__] += 1
        if waiting := self.refusals.get(fn.__name__):
            raise waiting.pop(0)
        return self.store.run(fn, *args, **kwargs)

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.calls[fn.__name__] += 1
        if waiting := self.refusals.get(fn.__name__):
            raise waiting.pop(0)
        return self.store._batch.read(lambda tx: fn(tx, *args, **kwargs))


class Office:
    """A process with a scheduler: `work` is one pass of its loop at the clock's moment."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.store = ledger, ledger.store
        self.database, self.settling_signal = InlineFile(ledger.store), Signal()
        self.epoch: OwnerEpoch = self.store.epoch
        self.settling_ = Settling(self)

    @property
    def settling(self) -> Signal:
        return self.settling_signal

    def now(self) -> int:
        return self.store.now

    def refuse(self, fn: Function, times: int, error: Callable[[], Exception] = busy) -> None:
        """The next so many calls of this function fail."""
        self.database.refusals[fn.__name__] = [error() for _ in range(times)]

    async def work(self, after_ms: int = 0) -> None:
        """Let so much time pass, then one pass."""
        self.store.now += after_ms
        await self.settling_.work()

    async def moment(self) -> None:
        """A real moment of the life cycle, and the pass that follows."""
        self.settling_.wake()
        await self.work()

    def entry(self, key: str) -> Entry:
        return self.settling_.schedule.entries[key]

    @property
    def next_in_ms(self) -> int | None:
        """How long until the schedule has something to do; None: no timer."""
        due = self.settling_.schedule.next_due()
        return None if due is None else due - self.now()

    def restart(self) -> "Office":
        """This process dies, another one takes the file over."""
        self.store.reboot()
        return Office(self.ledger)

    def archive(self, turn_id: TurnId, *, delete: bool = False) -> SessionId:
        """Its session is put away."""
        session_id = self.ledger.session_of(turn_id)
        deliver_all(self.store, f"turn:{turn_id}", thread=f"omt_{turn_id}")
        deliver_all(self.store, f"react:{turn_id}")
        actor = Actor("console", "", "cli")  # type: ignore[arg-type]
        move = delete_session if delete else archive_session
        moved = self.store.run(move, session_id, actor, frozenset(), self.now())
        assert isinstance(moved, Moved)
        return session_id

    def state_of(self, key: str) -> str:
        """How the file says that a settlement stands."""
        rows = self.store.rows("SELECT 'pending' FROM settlement_pending WHERE key = ?", key)
        rows += self.store.rows("SELECT state FROM settlement_history WHERE key = ?", key)
        return str(rows[0][0]) if rows else "nowhere"
