"""Every admin operation about access, once: chat, command line, cards and page call these.

Faults are `Refused(code, text)`: not_admin, admin_by_config, last_admin, unknown_person, ambiguous_person,
unknown_request, and the state of a request that was decided before.
"""

import hashlib
import re
from base64 import b32encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from channels.cards.texts import texts
from channels.clock import Ids
from channels.errors import Refused
from channels.ids import OpenId, UserId
from channels.logs import ACCESS_CHANGED, ACCESS_CLAIMED, ACCESS_DECIDED, get_logger
from channels.rules.access import AccessPolicy, Actor, Admitted, Grant, claim_code, is_over
from channels.rules.routing import Policy
from channels.service.context import Preferences
from channels.service.signals import Signal
from channels.store import access, access_requests
from channels.store.access import AccessUser, AuditLine
from channels.store.access_requests import AccessRequest
from channels.store.database import Database
from channels.store.transactions.access import (
    Changed,
    NotChanged,
    Person,
    admins_of,
    change_access,
    claim_admin,
    find_people,
    look_up_standing,
    make_code,
    takes_code,
)
from channels.store.transactions.access_requests import (
    Decided,
    NotDecided,
    Verdict,
    decide_request,
    waiting_requests,
)

LISTED = 200
_NAMED = re.compile(r"id:\s*([A-Za-z0-9_.@:-]{1,128})\s*")  # ids of Feishu are of these

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Waiting:
    """An undecided request and how many messages wait for it."""

    request: AccessRequest
    kept: int


class Surroundings(Protocol):
    """What the desk needs of a boot. A `Context` is one; so is the file of a service that does not run."""

    database: Database
    ids: Ids
    preferences: Preferences
    policy: Policy
    inbox: Signal
    access: Signal

    def now(self) -> int: ...


@dataclass(frozen=True, slots=True)
class PageLink:
    """A one-time link to the admin page. `local`: its address means this machine only."""

    url: str
    life_ms: int
    local: bool


class AccessDesk:
    """Reads and changes who may do what."""

    def __init__(self, context: Surroundings) -> None:
        self._context = context
        self.make_page_link: Callable[[Actor], Awaitable[PageLink]] | None = None  # set where there is an admin page
        self.admins_changed = True  # open requests are to be shown to whoever is an admin now

    @property
    def policy(self) -> AccessPolicy:
        """The settings that count now."""
        return self._context.policy.access

    # Looking

    async def people(self, limit: int = LISTED) -> list[AccessUser]:
        """People with a record, the newest change first. Admins by the settings have none."""
        return await self._context.database.read(access.list_users, limit)

    async def requests(self, limit: int = LISTED) -> list[Waiting]:
        """Undecided requests, oldest first."""
        found = await self._context.database.read(waiting_requests, limit)
        return [Waiting(request, kept) for request, kept in found]

    async def recent_requests(self, limit: int = LISTED) -> list[AccessRequest]:
        """Requests whatever has become of them, newest first."""
        return await self._context.database.read(access_requests.recent_requests, limit)

    async def audit(self, limit: int = LISTED) -> list[AuditLine]:
        """Who changed what, the newest first."""
        return await self._context.database.read(access.audit_lines, limit)

    async def switches_of(self, user_id: UserId, open_id: OpenId) -> frozenset[str]:
        """What this person may do now; nothing for who may not chat."""
        context = self._context
        found = await context.database.read(
            look_up_standing, Person(user_id, open_id), context.policy.access, context.now()
        )
        return found.switches if isinstance(found, Admitted) else frozenset()

    async def find_person(self, text: str) -> Person:
        """Whom a name or an id means; "id:…" may name somebody who was never seen."""
        words = texts(self._context.preferences.language)
        if (named := _NAMED.fullmatch(text)) is not None:
            found_id = named[1]
            if found_id.startswith("ou_"):
                return Person(UserId(f"open:{found_id}"), OpenId(found_id))
            return Person(UserId(found_id))
        found = await self._context.database.read(find_people, text, self._context.policy.access)
        if not found:
            raise Refused("unknown_person", words.person_unknown.format(name=text))
        if len(found) > 1:
            ids = ", ".join(one.user_id for one in found[:10])
            raise Refused("ambiguous_person", words.person_ambiguous.format(name=text, ids=ids))
        return found[0]

    # Changing

    async def grant(
        self,
        actor: Actor,
        person: Person,
        switches: frozenset[str],
        *,
        for_ms: int | None = None,
        messages: int | None = None,
    ) -> Changed:
        """Let somebody in, with these switches besides those that they have; for so long and so many messages."""
        until_ms = self._context.now() + for_ms if for_ms is not None else None

        def given(so_far: Grant | None) -> Grant:
            before = so_far.switches if so_far is not None else frozenset()
            return Grant(before | switches | {"chat"}, until_ms, messages)

        return await self._change(actor, person, given, "grant")

    async def revoke(self, actor: Actor, person: Person, switches: frozenset[str] = frozenset()) -> Changed:
        """Take these switches away, or everything where none is named."""

        def taken(so_far: Grant | None) -> Grant:
            before = so_far or Grant(frozenset())
            return replace(before, switches=before.switches - switches if switches else frozenset())

        return await self._change(actor, person, taken, "revoke")

    async def set_switches(self, actor: Actor, person: Person, switches: frozenset[str]) -> Changed:
        """These and no others, in one commit. What limits the grant so far goes on limiting it while it lasts."""
        now = self._context.now()

        def put(so_far: Grant | None) -> Grant:
            lasting = so_far if so_far is not None and not is_over(so_far, now) else Grant(frozenset())
            return replace(lasting, switches=switches)

        return await self._change(actor, person, put, "switch.set")

    async def decide(self, actor: Actor, request_id: str, verdict: Verdict) -> Decided:
        """Approve or deny a request. The first decision wins; a later one is refused with what became of it."""
        context = self._context
        result = await context.database.run(
            decide_request, request_id, verdict, actor, context.policy.access, context.now()
        )
        if isinstance(result, NotDecided):
            raise self.refusal(result.why)
        log.info(ACCESS_DECIDED, request_id=request_id, state=result.request.state, via=actor.via)
        await self.settle()
        return result

    async def find_request(self, text: str) -> AccessRequest:
        """The undecided request of this id, or of the person whom this name or id means."""
        waiting = [one.request for one in await self.requests()]
        for request in waiting:
            if text == request.request_id:
                return request
        person = await self.find_person(text)
        found = next((one for one in waiting if one.user_id in person.ids), None)
        if found is None:
            raise self.refusal("unknown")
        return found

    async def make_code(self, actor: Actor) -> tuple[str, int]:
        """A new claim code, and until when it works (ms). Only its hash is kept."""
        context = self._context
        code = claim_code(b32encode(hashlib.sha256(context.ids.secret().encode()).digest()).decode())
        until_ms = await context.database.run(make_code, actor, hash_of(code), context.policy.access, context.now())
        return code, until_ms

    async def claim(self, actor: Actor, code: str) -> Changed | NotChanged:
        """A person sent a claim code: used, expired, unknown, too_many, or this person is an admin now."""
        context = self._context
        result = await context.database.run(claim_admin, actor, hash_of(code), context.policy.access, context.now())
        outcome = result.why if isinstance(result, NotChanged) else "accepted"
        log.info(ACCESS_CLAIMED, user_id=actor.user_id, outcome=outcome)
        await self.settle()
        return result

    async def page_link(self, admin: Actor) -> PageLink:
        """A new link for this admin. Refused: page_off, not_admin, too_many_links."""
        words = texts(self._context.preferences.language)
        if self.make_page_link is None:
            raise Refused("page_off", words.web_off)
        try:
            return await self.make_page_link(admin)
        except Refused as refusal:
            said = {"page_off": words.web_off, "too_many_links": words.web_too_many, "not_admin": words.admins_only}
            raise Refused(refusal.code, said.get(refusal.code, refusal.user_text)) from None

    async def knows_code(self, code: str) -> bool:
        """Whether a message that looks like a claim code is to be taken as one: while some code waits for its owner,
        and for ever where it was one."""
        context = self._context
        return await context.database.read(takes_code, hash_of(code), context.now())

    async def settle(self) -> None:
        """After a change: who is an admin is known to every loop, kept messages go on, cards are drawn."""
        await self.refresh()
        self._context.inbox.ring()
        self._context.access.ring()

    async def refresh(self) -> None:
        """Tell every loop who is an admin now."""
        context = self._context
        admins = await context.database.read(admins_of, context.policy.access, context.now())
        if admins != context.preferences.admins:
            context.preferences = replace(context.preferences, admins=admins)
            self.admins_changed = True

    def refusal(self, why: str) -> Refused:
        """Why nothing was changed, for a person."""
        words = texts(self._context.preferences.language)
        said = {
            "not_admin": words.toast_access_not_admin,
            "admin_by_config": words.toast_access_fixed,
            "last_admin": words.toast_access_last_admin,
            "approved": words.toast_access_approved,
            "denied": words.toast_access_was_denied,
            "expired": words.toast_access_expired,
            "withdrawn": words.toast_access_withdrawn,
            "unknown": words.request_unknown,
        }
        return Refused("unknown_request" if why == "unknown" else why, said.get(why, words.toast_unknown))

    async def _change(
        self, actor: Actor, person: Person, change: Callable[[Grant | None], Grant], action: str
    ) -> Changed:
        context = self._context
        result = await context.database.run(
            change_access, actor, person, change, action, context.policy.access, context.now()
        )
        if isinstance(result, NotChanged):
            raise self.refusal(result.why)
        log.info(ACCESS_CHANGED, user_id=result.user_id, action=action, via=actor.via)
        await self.settle()
        return result


def hash_of(code: str) -> str:
    """What is kept of a claim code."""
    return hashlib.sha256(code.encode()).hexdigest()
