"""Who may do what: read in the transaction that acts on it, changed together with the request that it answers."""

from collections.abc import Callable
from dataclasses import dataclass

from channels.ids import OpenId, UserId
from channels.rules.access import (
    CLAIM_WINDOW_MS,
    CONSOLE,
    SWITCHES,
    AccessPolicy,
    Actor,
    Admitted,
    Grant,
    Outside,
    Standing,
    identities,
    is_cooling,
    may_try,
    standing,
)
from channels.store import access, access_requests, inbox
from channels.store.access import AccessUser
from channels.store.access_requests import AccessRequest
from channels.store.tx import Tx

LISTED = 1000
CLAIM_FAILED = "claim.refused"
NOBODY = OpenId("")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody about whom something is to be changed."""

    user_id: UserId
    open_id: OpenId = NOBODY
    name: str = ""

    @property
    def ids(self) -> frozenset[UserId]:
        return identities(self.user_id, self.open_id)


@dataclass(frozen=True, slots=True)
class Changed:
    """What a person may do now; so many kept messages go their way."""

    user_id: UserId
    name: str
    grant: Grant
    released: int = 0


@dataclass(frozen=True, slots=True)
class NotChanged:
    """Why nothing was changed: not_admin, admin_by_config, last_admin, unknown_person, nothing."""

    why: str


def read_standing(tx: Tx, person: Person, policy: AccessPolicy, now: int) -> Standing:
    """What this person may do at this moment. The first look with both ids moves the record to the user_id."""
    access.move_to_user_id(tx, person.user_id, person.open_id)
    user = access.find_user(tx, person.ids)
    found = standing(person.ids, user.grant if user else None, policy, now)
    if isinstance(found, Outside) and is_cooling(access_requests.denied_at(tx, person.ids), policy, now):
        return Outside("denied")
    return found


def look_up_standing(tx: Tx, person: Person, policy: AccessPolicy, now: int) -> Standing:
    """The same without any write, for a reading."""
    user = access.find_user(tx, person.ids)
    return standing(person.ids, user.grant if user else None, policy, now)


def admins_of(tx: Tx, policy: AccessPolicy, now: int) -> frozenset[UserId]:
    """Everybody who is an admin at this moment, by the settings or by the file."""
    return policy.admins | frozenset(access.stored_admins(tx, now))


def is_admin(tx: Tx, actor: Actor, policy: AccessPolicy, now: int) -> bool:
    """Whether this actor may decide about others. The console may: its socket opens to one user only."""
    if actor.via in ("cli", "page") and actor.user_id == CONSOLE:
        return True
    found = standing(actor.ids, _grant_of(tx, actor.ids), policy, now)
    return isinstance(found, Admitted) and "admin" in found.switches


def change_access(
    tx: Tx,
    actor: Actor,
    person: Person,
    change: Callable[[Grant | None], Grant],
    action: str,
    policy: AccessPolicy,
    now: int,
) -> Changed | NotChanged:
    """Give or take switches: the record, the open request, the kept messages and the audit line in one commit.

    `change` makes the new grant from the one so far. Only admins may; nobody may take away the last admin but the
    console, and whom the settings name stays one.
    """
    if not is_admin(tx, actor, policy, now):
        access.add_audit(tx, actor, f"{action}.refused", person.user_id, "not_admin", now)
        return NotChanged("not_admin")
    before = access.find_user(tx, person.ids)
    grant = change(before.grant if before else None)
    if "admin" not in grant.switches:
        if not policy.admins.isdisjoint(person.ids):
            return NotChanged("admin_by_config")
        if actor.user_id != CONSOLE and admins_of(tx, policy, now) <= person.ids:
            return NotChanged("last_admin")
    return _write(tx, actor, person, grant, action, now)


def claim_admin(tx: Tx, actor: Actor, code_hash: str, policy: AccessPolicy, now: int) -> Changed | NotChanged:
    """A claim code was sent in a private chat: its sender is an admin from here on. Once per code."""
    record = access.find_user(tx, actor.ids)
    if record is not None and "admin" in record.grant.switches and access.is_used_by(tx, code_hash, actor.user_id):
        return Changed(record.user_id, record.name, record.grant)  # a boot died between the claim and its answer
    since = now - CLAIM_WINDOW_MS
    own = access.count_audit(tx, CLAIM_FAILED, since, actor.user_id)
    if not may_try(own, access.count_audit(tx, CLAIM_FAILED, since)):
        return NotChanged("too_many")
    if not access.use_code(tx, code_hash, actor.user_id, now):
        why = access.code_state(tx, code_hash, now)
        access.add_audit(tx, actor, CLAIM_FAILED, actor.user_id, why, now)
        return NotChanged(why)
    person = Person(actor.user_id, actor.open_id)
    return _write(tx, actor, person, Grant(frozenset(SWITCHES)), "claim.accepted", now)


def make_code(tx: Tx, actor: Actor, code_hash: str, policy: AccessPolicy, now: int) -> int:
    """Remember a new claim code by its hash; returns until when it works."""
    expires_at = now + policy.code_ms
    access.add_code(tx, code_hash, expires_at, now)
    access.add_audit(tx, actor, "claim.code_made", "", "", now)
    return expires_at


def takes_code(tx: Tx, code_hash: str, now: int) -> bool:
    """Whether a message of this form is a claim code and not a question."""
    return access.has_codes(tx) or access.code_state(tx, code_hash, now) != "unknown"


def find_people(tx: Tx, text: str, policy: AccessPolicy) -> list[Person]:
    """Whom a typed word may mean: an id exactly, else a name (case does not matter)."""
    known = {user.user_id: Person(user.user_id, user.open_id, user.name) for user in access.list_users(tx, LISTED)}
    for request in access_requests.recent_requests(tx, LISTED):
        known.setdefault(request.user_id, Person(request.user_id, request.open_id, request.name))
    for admin in policy.admins:
        known.setdefault(admin, Person(admin))
    by_id = [one for one in known.values() if text in (one.user_id, one.open_id) and text]
    wanted = text.casefold()
    return by_id or [one for one in known.values() if one.name.casefold() == wanted and wanted]


def _grant_of(tx: Tx, ids: frozenset[UserId]) -> Grant | None:
    user = access.find_user(tx, ids)
    return user.grant if user else None


def _write(tx: Tx, actor: Actor, person: Person, grant: Grant, action: str, now: int) -> Changed:
    """The record, and what waited for it."""
    access.move_to_user_id(tx, person.user_id, person.open_id)
    found = access.find_user(tx, person.ids)
    user_id = found.user_id if found else person.user_id
    access.put_user(tx, AccessUser(user_id, person.open_id, person.name, grant, actor.user_id, now))
    access.add_audit(tx, actor, action, user_id, words_of(grant), now)
    request = access_requests.open_request_of(tx, person.ids)
    if request is not None and request.wants in grant.switches:
        access_requests.decide(tx, request.request_id, "approved", grant.switches, actor.user_id, now)
    released = release(tx, person.ids) if "chat" in grant.switches else 0
    if request is None:
        _show_switches(tx, person.ids, grant)
    return Changed(user_id, person.name or (found.name if found else ""), grant, released)


def _show_switches(tx: Tx, ids: frozenset[UserId], grant: Grant) -> None:
    """Cards of the last approved request go on showing what this person may do."""
    for request in access_requests.recent_requests(tx, LISTED):
        if request.user_id in ids and request.state == "approved":
            access_requests.set_switches(tx, request.request_id, grant.switches)
            return


def release(tx: Tx, ids: frozenset[UserId]) -> int:
    """Kept messages take their places; each is decided anew, by what its author may do then."""
    return sum(inbox.release_kept(tx, user_id) for user_id in ids)


def words_of(grant: Grant) -> str:
    """A grant in the words of the audit log: "chat code_write until=1790000000000 messages=20"."""
    words = [name for name in SWITCHES if name in grant.switches] or ["nothing"]
    words += [f"until={grant.until_ms}"] if grant.until_ms is not None else []
    words += [f"messages={grant.messages_left}"] if grant.messages_left is not None else []
    return " ".join(words)


def request_person(request: AccessRequest) -> Person:
    return Person(request.user_id, request.open_id, request.name)
