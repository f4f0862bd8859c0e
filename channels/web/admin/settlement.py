"""The settlement page: what waits to be booked, what has ended, who is stopped. Every change is an operation of
`SettlementDesk`; pausing and stopping are asked about once more."""

from collections.abc import Mapping

from aiohttp import web

from channels.cards.settlement_texts import settlement_texts
from channels.errors import Refused
from channels.web.admin.people import actor_of
from channels.web.admin.visit import Visit, current_visit

NAMES = ("key", "payload_hash", "session_id")  # of the session that is to be stopped: one form or the other
SAID = {
    "paused": "settlement_paused",
    "resumed": "settlement_resumed",
    "stopped": "settlement_stopped",
    "applied": "settlement_applied",
    "unchanged": "unchanged",
}


async def show_settlement(request: web.Request) -> web.Response:
    visit, said = current_visit(), SAID.get(request.query.get("said", ""), "")
    return await _draw(visit, said=visit.words[said] if said else "")


async def change_settlement(_request: web.Request) -> web.Response:
    """Pause, resume, stop one session, or try one settlement now."""
    visit, form = current_visit(), current_visit().form or {}
    action = form.get("do", "")
    if action in ("pause", "stop") and form.get("sure") != "yes":
        named = {name: form[name].strip() for name in NAMES if form.get(name, "").strip()}
        return await _draw(visit, asks=action, named=named)
    try:
        said = await _carry_out(visit, action)
    except Refused as refusal:
        return await _draw(visit, status=409, fault=f"{refusal.user_text} ({refusal.code})")
    return web.Response(status=303, headers={"Location": f"/admin/settlement?said={said}"})


async def _carry_out(visit: Visit, action: str) -> str:
    desk, form, actor = visit.desk.settlement, visit.form or {}, actor_of(visit)
    named: dict[str, object] = {name: form[name].strip() for name in NAMES if form.get(name, "").strip()}
    match action:
        case "pause":
            return "paused" if (await desk.pause(actor)).changed else "unchanged"
        case "resume":
            return "resumed" if (await desk.resume(actor)).changed else "unchanged"
        case "stop":
            return "stopped" if (await desk.stop(actor, named)).changed else "unchanged"
        case "apply":
            handle = form.get("key", ""), form.get("payload_hash", "")
            await desk.apply(*handle, _generation(form.get("generation", "")))
            return "applied"
        case _:
            raise web.HTTPBadRequest


def _generation(text: str) -> int | None:
    """The control that the page has shown."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 15 else None


async def _draw(
    visit: Visit,
    *,
    status: int = 200,
    said: str = "",
    fault: str = "",
    asks: str = "",
    named: Mapping[str, str] | None = None,
) -> web.Response:
    try:
        shown = await visit.desk.settlement.status()
    except Refused as refusal:  # rows of another version: seen, and left alone
        return visit.draw(
            "settlement.html", 409, here="settlement", shown=None, said="", fault=refusal.user_text, asks=""
        )
    return visit.draw(
        "settlement.html",
        status,
        here="settlement",
        shown=shown,
        states=settlement_texts(visit.words["lang"].partition("-")[0]).states,
        said=said,
        fault=fault,
        asks=asks,
        named=named or {},
    )
