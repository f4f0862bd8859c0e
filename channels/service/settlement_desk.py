"""The settlement operations, once: in the process, on the control socket, on the command line, in a chat, on the page.

Faults are `Refused(code, text)` with a code of the contract. Reading writes nothing and wakes nothing; a change of
control is a real moment for the scheduler, where there is one.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from sqlite3 import OperationalError
from typing import Any, NoReturn, Protocol, TypeVar

from channels.cards.settlement_texts import settlement_texts
from channels.errors import Refused
from channels.ids import OwnerEpoch, ReservationId
from channels.logs import SETTLEMENT_CONTROLLED, get_logger
from channels.rules.access import Actor
from channels.rules.settlement import Caller, Code, EvidenceRef, StopKey, StopSession, parse_stop
from channels.service.context import Preferences
from channels.service.settling import Settling
from channels.service.settling_schedule import StopTask, marks
from channels.store.database import Database
from channels.store.settlements import Fact
from channels.store.transactions.settlement import Acked, Pending, Settled, Status, apply, enqueue, status
from channels.store.transactions.settlement_audit import pause_by, resume_by, stop_by
from channels.store.transactions.settlement_control import Controlled
from channels.store.transactions.settlement_facts import Refused as NotDone
from channels.store.transactions.settlement_truth import why_not

T = TypeVar("T")
BUSY = (5, 6)  # SQLITE_BUSY, SQLITE_LOCKED

log = get_logger(__name__)


class Surroundings(Protocol):
    """What the desk needs of a boot. A `Context` is one; so is the file of a service that does not run."""

    database: Database
    preferences: Preferences

    @property
    def epoch(self) -> OwnerEpoch: ...

    def now(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Shown:
    """The public status, and what this process's schedule says of it: a mark by key, and stops that are still owed."""

    status: Status
    marks: Mapping[str, str]
    owed: tuple[StopTask, ...]

    def state_of(self, pending: Pending) -> str:
        """The file's word, or the schedule's where that knows more."""
        mark = self.marks.get(pending.key, "waits")
        return pending.state if mark == "waits" else mark


class SettlementDesk:
    """`settling`: the scheduler of this boot, None where none runs."""

    def __init__(self, context: Surroundings, settling: Settling | None = None) -> None:
        self._context, self._settling = context, settling

    async def status(self) -> Shown:
        """Read-only, in every sense."""
        found = await self._asked(self._context.database.read(status, self._context.now()))
        if isinstance(found, NotDone):
            self._refuse(found)
        if self._settling is None:
            return Shown(found, {}, ())
        schedule = self._settling.schedule
        return Shown(found, marks(schedule), tuple(schedule.stops.values()))

    async def enqueue(self, reservation_id: ReservationId, ref: EvidenceRef) -> Acked:
        """Make the settlement of an ended turn durable, or be told that it is."""
        context = self._context
        done = await self._asked(context.database.run(enqueue, reservation_id, ref, self._caller, context.now()))
        if isinstance(done, NotDone):
            self._refuse(done)
        if self._settling is not None:
            self._settling.wake()
        return done

    async def apply(self, key: str, payload_hash: str, generation: int | None) -> Settled:
        """Try one now, under the generation that the caller has seen."""
        context, guard = self._context, self._settling.guard if self._settling is not None else why_not
        done = await self._asked(
            context.database.run(apply, key, payload_hash, generation, self._caller, guard, context.now())
        )
        if self._settling is not None:
            self._settling.wake()
        if isinstance(done, NotDone):
            self._refuse(done)
        return done

    async def stop(self, actor: Actor, request: Mapping[str, object]) -> Controlled:
        """Stop exactly one session for ever: {"session_id"}, or {"key", "payload_hash"}; never a mixture."""
        parsed = parse_stop(request)
        if parsed is None:
            raise self.refusal(Code.INVALID_INPUT)
        context = self._context
        done = await self._asked(context.database.run(stop_by, parsed, actor, self._caller, context.now()))
        return self._controlled(done, "stop", actor, parsed)

    async def pause(self, actor: Actor) -> Controlled:
        """Nothing is booked until somebody resumes."""
        context = self._context
        done = await self._asked(context.database.run(pause_by, actor, self._caller, context.now()))
        return self._controlled(done, "pause", actor)

    async def resume(self, actor: Actor) -> Controlled:
        """The one way out of a pause."""
        context = self._context
        done = await self._asked(context.database.run(resume_by, actor, self._caller, context.now()))
        return self._controlled(done, "resume", actor)

    async def find_pending(self, beginning: str) -> Pending:
        """The one settlement that waits whose key begins like this."""
        shown = await self.status()
        found = [one for one in shown.status.pending if beginning and one.key.startswith(beginning.lower())]
        if len(found) != 1:
            words = settlement_texts(self._context.preferences.language)
            raise Refused(Code.UNKNOWN_KEY, words.ambiguous.format(key=beginning))
        return found[0]

    def refusal(self, code: str) -> Refused:
        """The code with its sentence."""
        words = settlement_texts(self._context.preferences.language)
        return Refused(str(code), words.codes[code])

    def _controlled(
        self, done: Controlled | NotDone, how: str, actor: Actor, request: StopKey | StopSession | None = None
    ) -> Controlled:
        if isinstance(done, NotDone):
            self._refuse(done)
        if done.changed:
            log.info(SETTLEMENT_CONTROLLED, how=how, via=actor.via, generation=done.generation, retired=done.retired)
        if self._settling is not None:
            self._settling.wake()
        return done

    async def _asked(self, work: Awaitable[T]) -> T:
        """A file that another process has locked was not tried at all, and says so."""
        try:
            return await work
        except OperationalError as error:
            if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in BUSY:
                raise self.refusal(Code.LOCK_BUSY) from error
            raise

    def _refuse(self, done: NotDone) -> NoReturn:
        raise self.refusal(done.code)

    @property
    def _caller(self) -> Caller:
        return Caller(None, self._context.epoch)


def status_json(shown: Shown) -> dict[str, Any]:
    """The status as JSON values; the same for every way of asking."""
    found = shown.status
    return {
        "generation": found.generation,
        "paused": found.user_paused,
        "counts": dict(found.counts),
        "bytes": found.bytes,
        "pending": [
            {
                "key": one.key,
                "payload_hash": one.payload_hash,
                "owner": one.owner,
                "session_hash": one.session_hash,
                "reservation_id": one.reservation_id,
                "queued_at": one.queued_at,
                "deadline": one.deadline,
                "attempts": one.attempts,
                "next_attempt_at": one.next_attempt_at,
                "last_error": one.last_error,
                "state": shown.state_of(one),
            }
            for one in found.pending
        ],
        "history": [fact_json(one) for one in found.history],
        "stops": [
            {
                "session_hash": one.session_hash,
                "reason": one.reason,
                "generation": one.generation,
                "stopped_at": one.stopped_at,
            }
            for one in found.stops
        ],
        "owed_stops": [
            {
                "session_hash": one.session_hash,
                "reason": one.reason,
                "state": one.state,
                "submissions": one.submissions,
                "why": one.why,
            }
            for one in shown.owed
        ],
    }


def fact_json(fact: Fact) -> dict[str, Any]:
    """How a settlement ended."""
    names = ("key", "payload_hash", "owner", "session_hash", "code", "outcome", "attempts", "queued_at", "deadline")
    values = {name: getattr(fact, name) for name in names}
    return values | {"state": str(fact.state), "retired_at": fact.retired_at, "way": fact.way}
