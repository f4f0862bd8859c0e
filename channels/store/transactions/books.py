"""What was used: the one function behind /usage, the page, and `channels status`.

The sum of what is booked and of what ended turns have used that is not booked yet: while settlement is paused, or in
the moment between a turn's end and its settlement, people see what is true all the same. Both come from the same
evidence, so that booking it moves no sum.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from channels.ids import SessionId, UserId
from channels.rules.quota import QuotaPolicy
from channels.store import access, quotas, reservations, turns, usage
from channels.store.reservations import Reservation
from channels.store.transactions.closing import own_evidence
from channels.store.transactions.reserve import Standing, read_standing
from channels.store.tx import Tx
from channels.store.usage import By, Used

LISTED = 200


@dataclass(frozen=True, slots=True)
class Books:
    """Everybody's use since a moment: altogether, of which not booked yet, and in parts, such as by agent."""

    all: Used
    waiting: Used
    by: dict[By, dict[str, Used]]


@dataclass(frozen=True, slots=True)
class Account:
    """One person: what an admin has set (None: as the settings say, 0: no limit), what holds, what is used."""

    user_id: UserId
    name: str
    own: tuple[int | None, int | None, int | None, int | None] | None
    standing: Standing
    used: Used


def read_used(tx: Tx, user_id: UserId | None, since: int) -> Used:
    """What was asked since then (`queued_at`) for this person, None for everybody, and has been used."""
    return _altogether(tx, user_id, since, _waiting(tx, user_id, since))


def _altogether(tx: Tx, user_id: UserId | None, since: int, found: list[tuple[SessionId, Used]]) -> Used:
    booked = usage.sum_of_all(tx, since) if user_id is None else usage.sum_of_person(tx, user_id, since)
    if not found:
        return booked
    sessions = usage.sessions_of(tx, user_id, since) | {session_id for session_id, _ in found}
    return replace(booked.plus(_sum(used for _, used in found)), sessions=len(sessions))


def read_books(tx: Tx, since: int, *parts: By) -> Books:
    """For those who look after the bot. What is not booked yet is in the sum of all, not in the parts."""
    found = _waiting(tx, None, since)
    waiting = _sum(used for _, used in found)
    return Books(_altogether(tx, None, since, found), waiting, {by: usage.sums_by(tx, by, since) for by in parts})


def read_accounts(tx: Tx, policy: QuotaPolicy, since: int, now: int) -> list[Account]:
    """People with limits of their own and people who have used anything since then, who used most first."""
    sums = {UserId(user_id): used for user_id, used in usage.sums_by(tx, "user", since).items()}
    people = {row.user_id for row in quotas.all_limits(tx)} | sums.keys()
    people |= {one.user_id for one in reservations.held_since(tx, since)}
    most = sorted(people, key=lambda user_id: (-sums.get(user_id, Used()).tokens, user_id))[:LISTED]
    found = [read_account(tx, user_id, policy, since, now) for user_id in most]
    return sorted(found, key=lambda one: (-one.used.tokens, -one.used.turns, one.user_id))


def read_account(tx: Tx, user_id: UserId, policy: QuotaPolicy, since: int, now: int) -> Account:
    """One person's limits and use."""
    person = access.find_user(tx, [user_id])
    return Account(
        user_id,
        person.name if person else "",
        quotas.find_limits(tx, user_id),
        read_standing(tx, user_id, policy, now),
        read_used(tx, user_id, since),
    )


def _waiting(tx: Tx, user_id: UserId | None, since: int) -> list[tuple[SessionId, Used]]:
    """Ended turns whose use is known and not booked, with their sessions."""
    held = reservations.held_since(tx, since) if user_id is None else reservations.held_of_person(tx, user_id, since)
    found = (_use_of(tx, one, since) for one in held)
    return [each for each in found if each is not None]


def _use_of(tx: Tx, reservation: Reservation, since: int) -> tuple[SessionId, Used] | None:
    stored, turn = own_evidence(tx, reservation), turns.find_turn(tx, reservation.turn_id)
    if stored is None or turn is None or turn.queued_at < since:
        return None
    said = stored.said
    return turn.session_id, Used(said.turns, 0, said.input_tokens, said.output_tokens, said.cached_tokens)


def _sum(parts: Iterable[Used]) -> Used:
    total = Used()
    for one in parts:
        total = total.plus(one)
    return total
