"""Limits of people and what they have used: for the command line, the page and /usage.

Faults are `Refused(code, text)`: unknown_person and ambiguous_person, as names go, and invalid_input.
"""

from typing import Any, Protocol

from channels.errors import Refused
from channels.ids import UserId
from channels.logs import QUOTA_CHANGED, get_logger
from channels.rules.access import Actor
from channels.rules.quota import Balance, Limits, Period, window_of
from channels.rules.routing import Policy
from channels.service.access_desk import AccessDesk
from channels.store.database import Database
from channels.store.quotas import WindowBalance
from channels.store.transactions.books import Account, Books, read_account, read_accounts, read_books, read_used
from channels.store.transactions.reserve import LimitChange, set_limits
from channels.store.usage import Used

LIMITS = ("turns_per_day", "turns_per_month", "tokens_per_day", "tokens_per_month")
MOST = 10**15

log = get_logger(__name__)


class Surroundings(Protocol):
    """What the desk needs of a boot. A `Context` is one; so is the file of a service that does not run."""

    database: Database
    policy: Policy

    def now(self) -> int: ...


class QuotaDesk:
    """`people` knows whom a name means."""

    def __init__(self, context: Surroundings, people: AccessDesk) -> None:
        self._context, self._people = context, people

    @property
    def default(self) -> Limits:
        """What holds for everybody for whom nobody set anything."""
        return self._context.policy.quota.limits

    async def accounts(self) -> list[Account]:
        """Who has limits of their own, and who has used anything this month."""
        context = self._context
        return await context.database.read(read_accounts, context.policy.quota, self._start_of("month"), context.now())

    async def account(self, user_id: UserId) -> Account:
        """One person; their use of this month."""
        context = self._context
        return await context.database.read(
            read_account, user_id, context.policy.quota, self._start_of("month"), context.now()
        )

    async def find_account(self, name: str) -> Account:
        """The person whom this name or id means."""
        return await self.account((await self._people.find_person(name)).user_id)

    async def used(self, user_id: UserId, since: int) -> Used:
        """What was asked since then for this person, and has been used, booked or not yet."""
        return await self._context.database.read(read_used, user_id, since)

    async def books(self) -> dict[str, Books]:
        """Everybody together: today, this month, altogether."""
        read = self._context.database.read
        return {
            "day": await read(read_books, self._start_of("day"), "agent", "model"),
            "month": await read(read_books, self._start_of("month"), "agent", "model"),
            "all": await read(read_books, 0),  # of years: no parts
        }

    async def set_limits(self, actor: Actor, name: str, change: LimitChange) -> Account:
        """From now on these limits hold for this person; the others stay as they are."""
        context = self._context
        person = await self._people.find_person(name)
        await context.database.run(set_limits, person.user_id, change, actor, context.policy.quota, context.now())
        log.info(QUOTA_CHANGED, user_id=person.user_id, via=actor.via)
        return await self.account(person.user_id)

    async def clear_limits(self, actor: Actor, name: str) -> Account:
        """Everything is as the settings say again."""
        return await self.set_limits(actor, name, LimitChange(None, None, None, None))

    def _start_of(self, period: Period) -> int:
        context = self._context
        return window_of(period, context.now(), context.policy.quota.zone).starts_at


def read_change(values: dict[str, Any]) -> LimitChange:
    """{"turns_per_day": number, 0 or None, …}: what is not named stays. Raises Refused("invalid_input")."""
    named = {name: values[name] for name in LIMITS if name in values}
    if not named:
        raise Refused("invalid_input", f"name a limit: {', '.join(LIMITS)}")
    for name, value in named.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST):
            raise Refused("invalid_input", f"{name} must be a whole number from 0 (no limit), or nothing (the default)")
    return LimitChange(**named)


def account_json(account: Account) -> dict[str, Any]:
    """One person as JSON values."""
    own = account.own or (None, None, None, None)
    return {
        "user_id": account.user_id,
        "name": account.name,
        "own": dict(zip(LIMITS, own, strict=True)),
        "limits": limits_json(account.standing.limits),
        "windows": [_window_json(one) for one in account.standing.windows],
        "used_this_month": used_json(account.used),
    }


def limits_json(limits: Limits) -> dict[str, Any]:
    return {name: getattr(limits, name) for name in LIMITS}


def used_json(used: Used) -> dict[str, Any]:
    return {
        "turns": used.turns,
        "sessions": used.sessions,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cached_tokens": used.cached_tokens,
    }


def books_json(books: dict[str, Books]) -> dict[str, Any]:
    """Everybody's use as JSON values, as `channels status` shows it."""
    return {
        period: used_json(one.all)
        | {"not_booked_yet": used_json(one.waiting)}
        | {f"by_{by}": {name: used_json(used) for name, used in parts.items()} for by, parts in one.by.items()}
        for period, one in books.items()
    }


def _window_json(one: WindowBalance) -> dict[str, Any]:
    values: dict[str, Any] = {"period": one.window.period, "ends_at": one.window.ends_at}
    return values | {"turns": _balance_json(one.turns), "tokens": _balance_json(one.tokens)}


def _balance_json(balance: Balance) -> dict[str, Any]:
    return {"limit": balance.limit, "held": balance.held, "used": balance.used, "free": balance.free}
