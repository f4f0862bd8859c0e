"""The admin page as an application that the health web carries under /admin."""

from collections.abc import Collection
from functools import cache
from importlib.resources import files

from aiohttp import web

from channels.web.admin import pages, people, putting_away, quotas, setting, settlement
from channels.web.admin.desk import Desk
from channels.web.admin.entering import Entering
from channels.web.admin.guard import BODY_LIMIT_S, make_guard

_STATIC = {"admin.css": "text/css", "admin.js": "text/javascript", "admin.svg": "image/svg+xml"}


def add_admin_page(
    app: web.Application, desk: Desk, names: Collection[str], *, secure: bool, body_limit_s: float = BODY_LIMIT_S
) -> None:
    """Put the page on `app`, whose `client_max_size` bounds what anybody may send here."""
    entering = Entering(secure=secure)
    page = web.Application(middlewares=[make_guard(desk, names, body_limit_s)])
    page.router.add_get("/", pages.show_health)
    page.router.add_get("/health.json", pages.tell_health)
    page.router.add_get("/sessions", pages.show_sessions)
    page.router.add_get("/sessions/{session_id}", pages.show_session)
    page.router.add_post("/sessions/{session_id}", putting_away.move_session)
    page.router.add_get("/turns", pages.show_turns)
    page.router.add_get("/outbox", pages.show_outbox)
    page.router.add_get("/people", people.show_people)
    page.router.add_post("/people", people.set_switches)
    page.router.add_post("/requests", people.decide)
    page.router.add_get("/quotas", quotas.show_quotas)
    page.router.add_post("/quotas", quotas.set_limits)
    page.router.add_get("/settlement", settlement.show_settlement)
    page.router.add_post("/settlement", settlement.change_settlement)
    page.router.add_get("/settings", setting.show_settings)
    page.router.add_post("/settings", setting.save_settings)
    page.router.add_get("/login", entering.show)
    page.router.add_post("/login", entering.enter)
    page.router.add_post("/logout", entering.leave)
    for name in _STATIC:
        page.router.add_get(f"/static/{name}", _give_static)
    app.router.add_get("/admin", _to_page)
    app.add_subapp("/admin", page)


async def _to_page(_request: web.Request) -> web.Response:
    return web.Response(status=303, headers={"Location": "/admin/"})


async def _give_static(request: web.Request) -> web.Response:
    """One of the known files: the name is a route, never a path."""
    name = request.path.rpartition("/")[2]
    return web.Response(body=_read_static(name), content_type=_STATIC[name], charset="utf-8")


@cache
def _read_static(name: str) -> bytes:
    return (files("channels.web") / "templates" / name).read_bytes()
