"""What every request passes before a page sees it, and what every answer carries.

In this order: the name it was sent to, where it comes from, its size and speed, its session, whether that person is
(still) an admin, and for a change the session's token. The first that fails is answered; nothing behind it runs.
"""

import asyncio
from collections.abc import Collection

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from channels import logs
from channels.errors import RetryLater
from channels.store.transactions.web import read_login
from channels.web.admin.desk import CONSOLE, Desk
from channels.web.admin.requests import is_from_own_page, is_own_host, language_of
from channels.web.admin.session_secrets import COOKIE, LONGEST_SECRET, hash_secret, is_token_of
from channels.web.admin.visit import STRANGER, Visit, begin, end
from channels.web.admin.words import words_of

log = logs.get_logger("admin")

BODY_LIMIT_S = 5.0
PUBLIC = frozenset({"/admin/login", *(f"/admin/static/admin.{kind}" for kind in ("css", "js", "svg"))})
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser says "Origin: null" even to the page itself
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def make_guard(desk: Desk, names: Collection[str], body_limit_s: float = BODY_LIMIT_S) -> Middleware:
    """The middleware. `names`: host names under which people may reach this service."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        visit = Visit(desk, words_of(language_of(request.headers.get("Accept-Language", ""), desk.language)))
        begun = begin(visit)
        try:
            response = await _pass(request, handler, visit, names, body_limit_s)
        except web.HTTPException as error:
            response = visit.draw_fault(error.status)
        except RetryLater:
            response = visit.draw_fault(503)
        except Exception:  # the head of one request: a defect here must not reach anything else
            log.exception(logs.ADMIN_FAILED, path=request.path[:100])
            response = visit.draw_fault(500)
        finally:
            end(begun)
        response.headers.update(HEADERS)
        return response

    return guard


async def _pass(
    request: web.Request, handler: Handler, visit: Visit, names: Collection[str], body_limit_s: float
) -> web.StreamResponse:
    if not is_own_host(request.headers.get("Host", ""), names):
        raise web.HTTPMisdirectedRequest
    changes = request.method not in ("GET", "HEAD")
    if changes:
        await _read_form(request, visit, body_limit_s)
    if request.path not in PUBLIC:
        await _recognise(request, visit)
        if not visit.user_id:
            return _send_to_login(request, visit)
        if visit.user_id != CONSOLE and not await visit.desk.is_admin(visit.user_id):
            visit.user_id = STRANGER
            raise web.HTTPForbidden
        if changes and not is_token_of(visit.session, (visit.form or {}).get("token", "")):
            raise web.HTTPForbidden
    return await handler(request)


async def _read_form(request: web.Request, visit: Visit, limit_s: float) -> None:
    if not is_from_own_page(request.headers):
        raise web.HTTPForbidden
    if request.content_type != "application/x-www-form-urlencoded":
        raise web.HTTPUnsupportedMediaType
    try:
        async with asyncio.timeout(limit_s):
            fields = await request.post()
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except (ValueError, LookupError):  # bytes that are no text, in the character set that it names; or no such set
        raise web.HTTPBadRequest from None
    visit.form = {name: value for name, value in fields.items() if isinstance(value, str)}


async def _recognise(request: web.Request, visit: Visit) -> None:
    session = request.cookies.get(COOKIE, "")
    if not session or len(session) > LONGEST_SECRET:
        return
    login = await visit.desk.read(read_login, hash_secret(session), visit.desk.now())
    if login is not None:
        visit.session, visit.user_id = session, login.user_id


def _send_to_login(request: web.Request, visit: Visit) -> web.StreamResponse:
    """A person goes to the login page; a script, or a change that came too late, is told."""
    if request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
        return web.Response(status=303, headers={"Location": "/admin/login"})
    return visit.draw_fault(401)
