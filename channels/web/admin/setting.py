"""The settings page: what an admin may set over the settings file."""

from typing import Any

from aiohttp import web

from channels import logs
from channels.errors import ConfigError
from channels.store.transactions.web import read_changes, read_overlay
from channels.web.admin.visit import Visit, current_visit

log = logs.get_logger("admin")

CHANGES_SHOWN = 20
FIELDS = {"base_dir": "workspace.base_dir", "access_mode": "access.mode"}  # form field → setting


async def show_settings(request: web.Request) -> web.Response:
    visit = current_visit()
    said = request.query.get("said", "")
    return await _draw(visit, said=visit.words[said] if said in ("saved", "unchanged") else "")


async def save_settings(request: web.Request) -> web.Response:
    """An empty field gives the settings file its say back."""
    visit = current_visit()
    form = visit.form or {}
    wanted = {key: form[field].strip() or None for field, key in FIELDS.items() if field in form}
    try:
        changed = await visit.desk.change_settings(wanted, visit.user_id)
    except ConfigError as error:
        return await _draw(visit, status=422, fault=f"{error.key}: {error.why}", typed=form)
    log.info(logs.SETTINGS_CHANGED, keys=changed, user_id=visit.user_id)
    return web.Response(status=303, headers={"Location": f"/admin/settings?said={'saved' if changed else 'unchanged'}"})


async def _draw(visit: Visit, *, status: int = 200, typed: Any = None, said: str = "", fault: str = "") -> web.Response:
    overlay = await visit.desk.read(read_overlay)
    values = {field: overlay.get(key, "") for field, key in FIELDS.items()} | dict(typed or {})
    in_force = visit.desk.settings()
    return visit.draw(
        "settings.html",
        status,
        here="settings",
        values=values,
        in_force={field: in_force[key] for field, key in FIELDS.items()},
        changes=await visit.desk.read(read_changes, CHANGES_SHOWN),
        said=said,
        fault=fault,
    )
