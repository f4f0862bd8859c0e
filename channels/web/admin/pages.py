"""The pages that only look: health, sessions, one conversation, turns, outbox."""

from typing import Any

from aiohttp import web

from channels.ids import SessionId
from channels.store.transactions.web import (
    NO_END,
    list_intents,
    list_sessions,
    list_turns,
    read_conversation,
)
from channels.web.admin.figures import as_json, health_groups
from channels.web.admin.folding import fold
from channels.web.admin.visit import current_visit

ROWS = 50
LOG_ENTRIES = 400
SAID = {"archived": "session_archived", "unarchived": "session_unarchived"}
STATES = ("pending", "unknown", "done", "gone", "refused", "expired", "superseded")


async def show_health(request: web.Request) -> web.Response:
    visit = current_visit()
    status = await visit.desk.status()
    groups = health_groups(status, visit.words)
    return visit.draw("health.html", here="health", groups=groups, reasons=status.get("reasons", []))


async def tell_health(request: web.Request) -> web.Response:
    """The same numbers for the page's script."""
    visit = current_visit()
    status = await visit.desk.status()
    return web.json_response(as_json(health_groups(status, visit.words), status.get("reasons", [])))


async def show_sessions(request: web.Request) -> web.Response:
    visit = current_visit()
    at, _, session_id = request.query.get("before", "").partition("_")
    before_at, before_id = (_number(at), session_id) if session_id else (NO_END, "")
    found = await visit.desk.read(list_sessions, before_at, before_id, ROWS + 1)
    said = visit.words["session_deleted"] if request.query.get("said") == "deleted" else ""
    rows, last = found[:ROWS], found[ROWS - 1] if len(found) > ROWS else None
    older = f"/admin/sessions?before={last.last_at}_{last.session.session_id}" if last else ""
    paged = "before" in request.query
    return visit.draw("sessions.html", here="sessions", rows=rows, older=older, paged=paged, said=said)


async def show_session(request: web.Request) -> web.Response:
    said = SAID.get(request.query.get("said", ""), "")
    return await draw_session(request, said=current_visit().words[said] if said else "")


async def draw_session(
    request: web.Request, *, status: int = 200, said: str = "", fault: str = "", asks: bool = False
) -> web.Response:
    """One conversation. `said`: what was just done; `asks`: whether it is really to be deleted."""
    visit, session_id = current_visit(), SessionId(request.match_info["session_id"])
    before = _before(request)
    found = await visit.desk.read(read_conversation, session_id, before, LOG_ENTRIES)
    if found is None:
        raise web.HTTPNotFound
    pieces = fold(found.entries)
    earlier = found.entries[0].number if found.earlier else 0
    return visit.draw(
        "session.html",
        status,
        here="sessions",
        said=said,
        fault=fault,
        asks=asks,
        session=found.session,
        pieces=pieces,
        earlier=earlier,
        is_part=before != NO_END,
    )


async def show_turns(request: web.Request) -> web.Response:
    visit = current_visit()
    found = await visit.desk.read(list_turns, _before(request), ROWS + 1)
    older = f"/admin/turns?before={found[ROWS - 1].place}" if len(found) > ROWS else ""
    return visit.draw(
        "turns.html",
        here="turns",
        rows=found[:ROWS],
        older=older,
        paged="before" in request.query,
        now=visit.desk.now(),
    )


async def show_outbox(request: web.Request) -> web.Response:
    visit, state = current_visit(), request.query.get("state", "")
    if state not in ("", *STATES):
        raise web.HTTPBadRequest
    found = await visit.desk.read(list_intents, state, _before(request), ROWS + 1)
    older = f"/admin/outbox?state={state}&before={found[ROWS - 1].seq}" if len(found) > ROWS else ""
    values: dict[str, Any] = {"rows": found[:ROWS], "older": older, "paged": "before" in request.query}
    return visit.draw("outbox.html", here="outbox_page", state=state, states=STATES, **values)


def _before(request: web.Request) -> int:
    text = request.query.get("before", "")
    return _number(text) if text else NO_END


def _number(text: str) -> int:
    """A place in a list. Refused as no number that a link of ours has."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise web.HTTPBadRequest
    return int(text)
