"""Creating an app by scanning a code (device flow): the endpoint that the official client polls."""

import secrets

from channels.emulator.gateway import Operation, Request, Services
from channels.emulator.views import Json

PATH = "/oauth/v1/app/registration"


def register(services: Services, request: Request) -> Json:
    """`action` init, begin or poll, as a form. What the person decided stands in `world.registration`."""
    state = services.world.registration
    match request.body.get("action"):
        case "init":
            return {"nonce": secrets.token_hex(8), "supported_auth_methods": ["client_secret"]}
        case "begin":
            state.begin(secrets.token_hex(16))
            return {
                "device_code": state.device_code,
                "verification_uri": f"{state.address}/page/launcher",
                "verification_uri_complete": f"{state.address}/page/launcher?ticket={state.ticket}",
                "user_code": state.ticket,
                "interval": state.interval_s,
                "expires_in": state.expires_s,
            }
        case "poll":
            return _poll(services, str(request.body.get("device_code", "")))
    return {"error": "invalid_request", "error_description": "unknown action"}


def _poll(services: Services, device_code: str) -> Json:
    state, settings = services.world.registration, services.world.settings
    if not state.device_code or device_code != state.device_code:
        return {"error": "invalid_grant", "error_description": "unknown device_code"}
    match state.decision:
        case "approved":
            user = {"open_id": state.open_id, "tenant_brand": state.brand}
            return {"client_id": settings.app_id, "client_secret": settings.app_secret, "user_info": user}
        case "denied":
            return {"error": "access_denied", "error_description": "the person refused"}
        case "expired":
            return {"error": "expired_token", "error_description": "the code has expired"}
        case "slow_down":
            return {"error": "slow_down", "error_description": "polling too fast"}
    return {"error": "authorization_pending", "error_description": "not decided yet"}


OPERATIONS = [Operation("POST", PATH, "app.registration", register, auth=False, flat=True, form=True)]
