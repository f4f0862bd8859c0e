"""Archiving and deleting on a conversation's page. Every change is an operation of `SessionDesk`."""

from aiohttp import web

from channels.errors import Refused
from channels.ids import SessionId
from channels.web.admin.pages import draw_session
from channels.web.admin.people import actor_of
from channels.web.admin.visit import current_visit


async def move_session(request: web.Request) -> web.Response:
    """Archive, take out again, or delete, which is asked about once more. Refused when it still has something to do."""
    visit, session_id = current_visit(), SessionId(request.match_info["session_id"])
    desk, actor, form = visit.desk.sessions, actor_of(visit), visit.form or {}
    try:
        match form.get("move"):
            case "archive":
                await desk.archive(actor, session_id)
                return _to(f"{session_id}?said=archived")
            case "unarchive":
                await desk.unarchive(actor, session_id)
                return _to(f"{session_id}?said=unarchived")
            case "delete" if form.get("sure") != "yes":
                return await draw_session(request, asks=True)
            case "delete":
                await desk.delete(actor, session_id)
                return web.Response(status=303, headers={"Location": "/admin/sessions?said=deleted"})
            case _:
                raise web.HTTPBadRequest
    except Refused as refusal:
        if refusal.code == "unknown_session":
            raise web.HTTPNotFound from None
        return await draw_session(request, status=409, fault=refusal.user_text)


def _to(place: str) -> web.Response:
    return web.Response(status=303, headers={"Location": f"/admin/sessions/{place}"})
