"""Access on the control socket: each operation is one call of `service.access_desk`, and gives JSON values.

Whoever may open the socket acts as the console. Arguments: `user` is a name, a user_id or "id:…"; `switches` a list of
names; `hours` and `messages` limit a grant; `request` a request's id or the person who asks.
"""

from collections.abc import Callable
from typing import Any

from channels.ids import OpenId, UserId
from channels.rules.access import CONSOLE, SWITCHES, Actor, Grant
from channels.service.access_desk import AccessDesk
from channels.store.access_requests import AccessRequest
from channels.store.transactions.access import Changed
from channels.store.transactions.access_requests import Verdict
from channels.web.control import Operation

HOUR_MS = 3_600_000
READING = frozenset({"access_list", "access_requests", "access_audit"})  # operations that change nothing
AT_CONSOLE = Actor(UserId(CONSOLE), OpenId(""), "cli")

Json = dict[str, Any]


class AccessOperations:
    """`desk` gives the desk of the running boot, or refuses while there is none."""

    def __init__(self, desk: Callable[[], AccessDesk]) -> None:
        self._desk = desk

    def table(self) -> dict[str, Operation]:
        """Name → operation."""
        return {
            "access_list": self.list_people,
            "access_requests": self.list_requests,
            "access_grant": self.grant,
            "access_revoke": self.revoke,
            "access_approve": self.approve,
            "access_deny": self.deny,
            "access_claim_code": self.make_code,
            "access_audit": self.audit,
        }

    async def list_people(self, _arguments: Json) -> Json:
        """→ {"mode", "admins_by_config", "people"}."""
        desk = self._desk()
        people = [
            {"user_id": user.user_id, "open_id": user.open_id, "name": user.name, **grant_json(user.grant)}
            | {"changed_by": user.changed_by, "changed_at": user.changed_at}
            for user in await desk.people()
        ]
        return {"mode": desk.policy.mode, "admins_by_config": sorted(desk.policy.admins), "people": people}

    async def list_requests(self, _arguments: Json) -> Json:
        """→ {"requests"}: undecided, oldest first."""
        waiting = await self._desk().requests()
        return {"requests": [request_json(one.request) | {"messages": one.kept} for one in waiting]}

    async def grant(self, arguments: Json) -> Json:
        desk = self._desk()
        person = await desk.find_person(_text(arguments, "user"))
        for_ms, messages = _limits(arguments)
        switches = _switches(arguments)
        return changed_json(await desk.grant(AT_CONSOLE, person, switches, for_ms=for_ms, messages=messages))

    async def revoke(self, arguments: Json) -> Json:
        desk = self._desk()
        person = await desk.find_person(_text(arguments, "user"))
        return changed_json(await desk.revoke(AT_CONSOLE, person, _switches(arguments)))

    async def approve(self, arguments: Json) -> Json:
        desk = self._desk()
        request = await desk.find_request(_text(arguments, "request"))
        for_ms, messages = _limits(arguments)
        verdict = Verdict(True, for_ms, messages, _switches(arguments) or None)
        decided = await desk.decide(AT_CONSOLE, request.request_id, verdict)
        return request_json(decided.request) | {"released": decided.released}

    async def deny(self, arguments: Json) -> Json:
        desk = self._desk()
        request = await desk.find_request(_text(arguments, "request"))
        return request_json((await desk.decide(AT_CONSOLE, request.request_id, Verdict(False))).request)

    async def make_code(self, _arguments: Json) -> Json:
        """→ {"code", "expires_at"}; the code is shown this once."""
        code, until_ms = await self._desk().make_code(AT_CONSOLE)
        return {"code": code, "expires_at": until_ms}

    async def audit(self, _arguments: Json) -> Json:
        """→ {"lines"}, the newest first."""
        lines = await self._desk().audit()
        return {
            "lines": [
                {"at": one.at, "actor": one.actor, "via": one.via, "action": one.action}
                | {"subject": one.subject, "detail": one.detail}
                for one in lines
            ]
        }


def grant_json(grant: Grant) -> Json:
    switches = [name for name in SWITCHES if name in grant.switches]
    return {"switches": switches, "until": grant.until_ms, "messages_left": grant.messages_left}


def changed_json(changed: Changed) -> Json:
    return {"user_id": changed.user_id, "name": changed.name, **grant_json(changed.grant), "released": changed.released}


def request_json(request: AccessRequest) -> Json:
    return {
        "request_id": request.request_id,
        "user_id": request.user_id,
        "name": request.name,
        "chat_type": request.chat_type,
        "state": request.state,
        "switches": [name for name in SWITCHES if name in request.switches],
        "created_at": request.created_at,
        "expires_at": request.expires_at,
        "decided_by": request.decided_by,
    }


def _text(arguments: Json, key: str) -> str:
    value = arguments.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} must be a text")
    return value.strip()


def _switches(arguments: Json) -> frozenset[str]:
    value = arguments.get("switches") or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("switches must be a list of names")
    if wrong := set(value) - set(SWITCHES):
        raise ValueError(f"there is no switch {sorted(wrong)[0]!r}; there are: {', '.join(SWITCHES)}")
    return frozenset(value)


def _limits(arguments: Json) -> tuple[int | None, int | None]:
    hours, messages = arguments.get("hours"), arguments.get("messages")
    if hours is not None and (isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 < hours <= 87_600):
        raise ValueError("hours must be a number above 0, at most ten years")
    if messages is not None and (isinstance(messages, bool) or not isinstance(messages, int) or messages < 1):
        raise ValueError("messages must be a whole number above 0")
    return (int(hours * HOUR_MS) if hours is not None else None), messages
