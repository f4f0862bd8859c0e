"""The people page: who asks, who may do what, and who changed it. Every change is an operation of `AccessDesk`."""

from aiohttp import web

from channels.errors import Refused
from channels.ids import OpenId, UserId
from channels.rules.access import SWITCHES, Actor
from channels.service.access_desk import AccessDesk
from channels.store.transactions.access import Person
from channels.store.transactions.access_requests import Verdict
from channels.web.admin.visit import Visit, current_visit

AUDIT_SHOWN = 50
VERDICTS = {"approve": True, "deny": False}


async def show_people(request: web.Request) -> web.Response:
    visit = current_visit()
    return await _draw(visit, said=visit.words["saved"] if "said" in request.query else "")


async def set_switches(_request: web.Request) -> web.Response:
    """The boxes that are ticked, and no others, are this person's switches from now on."""
    visit, form = current_visit(), current_visit().form or {}
    name = form.get("person", "").strip()
    if not name:
        raise web.HTTPBadRequest
    wanted = frozenset(switch for switch in SWITCHES if form.get(switch) == "on")
    try:
        await _set(visit, name, wanted)
    except Refused as refusal:
        return await _draw(visit, status=409, fault=refusal.user_text)
    return _back()


async def decide(_request: web.Request) -> web.Response:
    """Approve or deny a request; the first decision wins, and a later one is told."""
    visit, form = current_visit(), current_visit().form or {}
    verdict = VERDICTS.get(form.get("verdict", ""))
    if verdict is None:
        raise web.HTTPBadRequest
    try:
        await visit.desk.access.decide(actor_of(visit), form.get("request_id", ""), Verdict(verdict))
    except Refused as refusal:
        return await _draw(visit, status=409, fault=refusal.user_text)
    return _back()


def actor_of(visit: Visit) -> Actor:
    """Whoever is logged in, by way of the page."""
    prefix, _, open_id = visit.user_id.partition(":")
    return Actor(visit.user_id, OpenId(open_id if prefix == "open" else ""), "page")


async def _set(visit: Visit, name: str, wanted: frozenset[str]) -> None:
    access = visit.desk.access
    person = await _find(access, UserId(name)) or await access.find_person(name)
    await access.set_switches(actor_of(visit), person, wanted)


async def _find(access: AccessDesk, user_id: UserId) -> Person | None:
    found = next((user for user in await access.people() if user.user_id == user_id), None)
    return Person(found.user_id, found.open_id, found.name) if found is not None else None


async def _draw(visit: Visit, *, status: int = 200, said: str = "", fault: str = "") -> web.Response:
    access = visit.desk.access
    return visit.draw(
        "people.html",
        status,
        here="people",
        requests=await access.requests(),
        people=await access.people(),
        audit=await access.audit(AUDIT_SHOWN),
        switches=SWITCHES,
        said=said,
        fault=fault,
    )


def _back() -> web.Response:
    return web.Response(status=303, headers={"Location": "/admin/people?said=saved"})
