"""The quotas page: what people may use and have used. Every change is an operation of `QuotaDesk`."""

from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

from channels.errors import Refused
from channels.rules.quota import Balance, Period
from channels.service.quota_desk import LIMITS, read_change
from channels.store.quotas import WindowBalance
from channels.store.transactions.books import Account
from channels.web.admin.people import actor_of
from channels.web.admin.visit import Visit, current_visit
from channels.web.admin.words import Words

NUMBER_CHARACTERS = 15


@dataclass(frozen=True, slots=True)
class Bar:
    """One unit of one window: `share` of `limit` is used or held; no limit, no bar."""

    label: str
    text: str
    share: int
    limit: int | None
    ends_at: int


async def show_quotas(request: web.Request) -> web.Response:
    visit = current_visit()
    return await _draw(visit, said=visit.words["saved"] if "said" in request.query else "")


async def set_limits(_request: web.Request) -> web.Response:
    """Four fields for one person: a number, 0 for no limit, nothing for the default."""
    visit, form = current_visit(), current_visit().form or {}
    person = form.get("person", "").strip()
    if not person:
        raise web.HTTPBadRequest
    try:
        change = read_change({name: _number(form[name]) for name in LIMITS if name in form})
        await visit.desk.quotas.set_limits(actor_of(visit), person, change)
    except Refused as refusal:
        return await _draw(visit, status=409, fault=refusal.user_text, typed=form)
    return web.Response(status=303, headers={"Location": "/admin/quotas?said=saved"})


def _number(text: str) -> int | None:
    """What was typed into a field. Refused as no number that the field takes."""
    typed = text.strip()
    if not typed:
        return None
    if not (typed.isascii() and typed.isdecimal() and len(typed) <= NUMBER_CHARACTERS):
        raise web.HTTPBadRequest
    return int(typed)


async def _draw(
    visit: Visit, *, status: int = 200, said: str = "", fault: str = "", typed: Mapping[str, str] | None = None
) -> web.Response:
    desk, words = visit.desk.quotas, visit.words
    accounts = await desk.accounts()
    return visit.draw(
        "quotas.html",
        status,
        here="quotas",
        default=desk.default,
        limits=[(name, words[f"limit_{name}"]) for name in LIMITS],
        accounts=[(one, _values(one), _bars(one, words)) for one in accounts],
        books=await desk.books(),
        typed=dict.fromkeys(("person", *LIMITS), "") | dict(typed or {}),
        said=said,
        fault=fault,
    )


def _values(account: Account) -> dict[str, str]:
    """What stands in the fields."""
    own = account.own or (None, None, None, None)
    return {name: "" if value is None else str(value) for name, value in zip(LIMITS, own, strict=True)}


def _bars(account: Account, words: Words) -> list[Bar]:
    return [bar for one in account.standing.windows for bar in _of_window(one, words)]


def _of_window(one: WindowBalance, words: Words) -> list[Bar]:
    period: Period = one.window.period
    units = (("turns", one.turns), ("tokens", one.tokens))
    return [
        Bar(
            words[f"limit_{unit}_per_{period}"],
            _balance(balance, words),
            balance.used + balance.held,
            balance.limit,
            one.window.ends_at,
        )
        for unit, balance in units
    ]


def _balance(balance: Balance, words: Words) -> str:
    used = f"{balance.used:,}"
    said = used if balance.limit is None else words["used_of"].format(used, f"{balance.limit:,}")
    return said + (" " + words["and_held"].format(f"{balance.held:,}") if balance.held else "")
