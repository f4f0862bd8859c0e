"""Logging in with a one-time link, and out.

The link's secret stands behind the # of the address: browsers keep that part to themselves, so neither a proxy's log
nor the preview that a chat makes of the link ever has it, and opening the address uses nothing up. The page's script
puts it into the form; a person without scripts pastes it.
"""

from aiohttp import web

from channels import logs
from channels.store.transactions.web import SESSION_LIFE_MS, log_out, use_link
from channels.web.admin.attempts import Attempts
from channels.web.admin.session_secrets import COOKIE, LONGEST_SECRET, hash_secret
from channels.web.admin.visit import current_visit

log = logs.get_logger("admin")


class Entering:
    """The routes /admin/login and /admin/logout. `secure`: people come over TLS, so that the cookie may go no other
    way."""

    def __init__(self, *, secure: bool) -> None:
        self._secure, self._attempts = secure, Attempts()

    async def show(self, request: web.Request) -> web.Response:
        return current_visit().draw("login.html", fault="")

    async def enter(self, request: web.Request) -> web.Response:
        visit, place = current_visit(), request.remote or ""
        now = visit.desk.now()
        if wait_ms := self._attempts.wait_ms(place, now):
            wait_s = wait_ms // 1000 + 1
            response = visit.draw("login.html", 429, fault=visit.words["login_wait"].format(wait_s))
            response.headers["Retry-After"] = str(wait_s)
            return response
        code = (visit.form or {}).get("code", "").strip().rpartition("#")[2]
        session = visit.desk.secret()
        user_id = None
        if 0 < len(code) <= LONGEST_SECRET:
            user_id = await visit.desk.run(use_link, hash_secret(code), hash_secret(session), now)
        if user_id is None:
            self._attempts.count_failure(place, now)
            log.warning(logs.ADMIN_REFUSED, place=place)
            return visit.draw("login.html", 403, fault=visit.words["login_failed"])
        log.info(logs.ADMIN_ENTERED, user_id=user_id, place=place)
        response = _see_other("/admin/")
        response.set_cookie(
            COOKIE,
            session,
            max_age=SESSION_LIFE_MS // 1000,
            path="/admin",
            httponly=True,
            samesite="Strict",
            secure=self._secure,
        )
        return response

    async def leave(self, request: web.Request) -> web.Response:
        visit = current_visit()
        await visit.desk.run(log_out, hash_secret(visit.session), visit.desk.now())
        log.info(logs.ADMIN_LEFT, user_id=visit.user_id)
        response = _see_other("/admin/login")
        response.del_cookie(COOKIE, path="/admin")
        return response


def _see_other(place: str) -> web.Response:
    return web.Response(status=303, headers={"Location": place})
