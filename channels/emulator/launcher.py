"""The page behind the code that `channels init` shows: what Feishu would ask the person who has scanned it."""

from html import escape

from aiohttp import web

from channels.emulator.tenant import AppRegistration
from channels.emulator.world import World

PATH = "/page/launcher"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
DECISIONS = {
    "pending": "不做决定 · Not decided",
    "approved": "已允许：应用已创建。 · Allowed: the app is made.",
    "denied": "已拒绝。 · Refused.",
    "expired": "二维码已过期。 · The code has expired.",
}
BUTTONS = """<form method="post">
<button name="decision" value="approved">允许 · Allow</button>
<button name="decision" value="denied">拒绝 · Refuse</button>
</form>"""


class Launcher:
    """One emulator's page for creating its app."""

    def __init__(self, world: World) -> None:
        self._world = world

    def add_routes(self, app: web.Application) -> None:
        app.router.add_get(PATH, self._show)
        app.router.add_post(PATH, self._decide)

    async def _show(self, request: web.Request) -> web.Response:
        state = self._world.registration
        if not _is_asked_for(request, state):
            return _page("没有正在等待的二维码。 · No such code is waiting.", 404)
        if state.decision not in ("pending", "slow_down"):
            return _page(DECISIONS[state.decision])
        name = escape(self._world.settings.app_name)
        return _page(f"要创建应用“{name}”吗？ · Make the app “{name}”?</p>{BUTTONS}<p>")

    async def _decide(self, request: web.Request) -> web.Response:
        state, decision = self._world.registration, str((await request.post()).get("decision", ""))
        if not _is_asked_for(request, state) or decision not in ("approved", "denied"):
            return _page("没有正在等待的二维码。 · No such code is waiting.", 404)
        state.decision = decision
        return _page(DECISIONS[decision])


def _is_asked_for(request: web.Request, state: AppRegistration) -> bool:
    return bool(state.device_code) and request.query.get("ticket") == state.ticket


def _page(said: str, status: int = 200) -> web.Response:
    text = f'<!doctype html><html lang="zh"><meta charset="utf-8"><title>Emulator</title><p>{said}</p>'
    return web.Response(text=text, status=status, content_type="text/html", headers=HEADERS)
