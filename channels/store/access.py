"""Tables `access_users`, `claim_codes`, `audit`: what people may do, how an owner is claimed, and who changed what."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from channels.ids import OpenId, UserId
from channels.rules.access import SWITCHES, Actor, Grant
from channels.store.tx import Tx

_USER = (
    "user_id, open_id, name, chat, wiki_read, wiki_write, code_write, admin, until_ms, messages_left, changed_by,"
    " changed_at"
)
PUT_USER = f"""
INSERT INTO access_users ({_USER})
VALUES (:user_id, :open_id, :name, :chat, :wiki_read, :wiki_write, :code_write, :admin, :until_ms, :messages_left,
        :changed_by, :now)
ON CONFLICT (user_id) DO UPDATE SET
  open_id = CASE excluded.open_id WHEN '' THEN open_id ELSE excluded.open_id END,
  name = CASE excluded.name WHEN '' THEN name ELSE excluded.name END,
  chat = excluded.chat, wiki_read = excluded.wiki_read, wiki_write = excluded.wiki_write,
  code_write = excluded.code_write, admin = excluded.admin, until_ms = excluded.until_ms,
  messages_left = excluded.messages_left, changed_by = excluded.changed_by, changed_at = excluded.changed_at
"""
SELECT_USER = f"SELECT {_USER} FROM access_users WHERE user_id = :user_id"
SELECT_BY_OPEN_ID = f"SELECT {_USER} FROM access_users WHERE open_id = :open_id ORDER BY changed_at DESC LIMIT 1"
SELECT_USERS = f"SELECT {_USER} FROM access_users ORDER BY changed_at DESC, user_id LIMIT :limit"
SELECT_ADMINS = """
SELECT user_id FROM access_users WHERE admin = 1 AND (until_ms IS NULL OR until_ms > :now)
AND (messages_left IS NULL OR messages_left > 0) ORDER BY user_id
"""
MOVE_USER = """
UPDATE access_users SET user_id = :user_id WHERE user_id = :by_open_id
AND NOT EXISTS (SELECT 1 FROM access_users WHERE user_id = :user_id)
"""
SET_NAME = "UPDATE access_users SET name = :name WHERE open_id = :open_id AND name = ''"
COUNT_MESSAGE = """
UPDATE access_users SET messages_left = messages_left - 1 WHERE user_id = :user_id AND messages_left > 0
"""
SELECT_NAMELESS = "SELECT open_id FROM access_users WHERE name = '' AND open_id <> '' LIMIT :limit"
ADD_CODE = "INSERT INTO claim_codes (code_hash, made_at, expires_at) VALUES (:code_hash, :now, :expires_at)"
USE_CODE = """
UPDATE claim_codes SET used_at = :now, used_by = :used_by
WHERE code_hash = :code_hash AND used_at IS NULL AND expires_at > :now
"""
SELECT_CODE = "SELECT used_at, expires_at, used_by FROM claim_codes WHERE code_hash = :code_hash"
COUNT_USABLE = "SELECT count(*) FROM claim_codes WHERE used_at IS NULL"
ADD_AUDIT = """
INSERT INTO audit (at, actor, via, action, subject, detail)
VALUES (:now, :actor, :via, :action, :subject, :detail)
"""
COUNT_AUDIT = "SELECT count(*) FROM audit WHERE action = :action AND at > :since AND (:actor = '' OR actor = :actor)"
SELECT_AUDIT = "SELECT at, actor, via, action, subject, detail FROM audit ORDER BY seq DESC LIMIT :limit"


@dataclass(frozen=True, slots=True)
class AccessUser:
    """What a person was given, by whom and when."""

    user_id: UserId
    open_id: OpenId
    name: str
    grant: Grant
    changed_by: str
    changed_at: int


@dataclass(frozen=True, slots=True)
class AuditLine:
    at: int
    actor: str
    via: str
    action: str
    subject: str
    detail: str


def _user(row: tuple[Any, ...]) -> AccessUser:
    switches = frozenset(name for name, on in zip(SWITCHES, row[3:8], strict=True) if on)
    return AccessUser(UserId(row[0]), OpenId(row[1]), row[2], Grant(switches, row[8], row[9]), row[10], row[11])


def put_user(tx: Tx, user: AccessUser) -> None:
    """What this person may do from now on; an empty open_id or name leaves the known one."""
    grant = user.grant
    values: dict[str, object] = {name: int(name in grant.switches) for name in SWITCHES}
    values |= {"user_id": user.user_id, "open_id": user.open_id, "name": user.name}
    values |= {"until_ms": grant.until_ms, "messages_left": grant.messages_left}
    tx.execute(PUT_USER, values | {"changed_by": user.changed_by, "now": user.changed_at})


def find_user(tx: Tx, ids: Iterable[UserId]) -> AccessUser | None:
    """The person whom one of these ids names; a user_id counts before an open_id, and a record that has moved to its
    user_id is found by its open_id still."""
    for user_id in sorted(ids, key=lambda one: one.startswith("open:")):
        row = tx.row(SELECT_USER, {"user_id": user_id})
        if row is None and user_id.startswith("open:"):
            row = tx.row(SELECT_BY_OPEN_ID, {"open_id": user_id.removeprefix("open:")})
        if row is not None:
            return _user(row)
    return None


def list_users(tx: Tx, limit: int) -> list[AccessUser]:
    """People with a record, the newest change first."""
    return [_user(row) for row in tx.rows(SELECT_USERS, {"limit": limit})]


def stored_admins(tx: Tx, now: int) -> list[UserId]:
    """Whom the file, not the settings, makes an admin at this moment."""
    return [UserId(row[0]) for row in tx.rows(SELECT_ADMINS, {"now": now})]


def move_to_user_id(tx: Tx, user_id: UserId, open_id: OpenId) -> bool:
    """The first event that carries both ids: the record moves to the user_id."""
    if not open_id or user_id.startswith("open:"):
        return False
    return tx.execute(MOVE_USER, {"user_id": user_id, "by_open_id": f"open:{open_id}"}) == 1


def set_name(tx: Tx, open_id: OpenId, name: str) -> None:
    tx.execute(SET_NAME, {"open_id": open_id, "name": name})


def nameless(tx: Tx, limit: int) -> list[OpenId]:
    return [OpenId(row[0]) for row in tx.rows(SELECT_NAMELESS, {"limit": limit})]


def count_message(tx: Tx, user_id: UserId) -> bool:
    """One message of a grant that has a number of them is used. Guarded: False where there is none to use."""
    return tx.execute(COUNT_MESSAGE, {"user_id": user_id}) == 1


def add_code(tx: Tx, code_hash: str, expires_at: int, now: int) -> None:
    tx.execute(ADD_CODE, {"code_hash": code_hash, "expires_at": expires_at, "now": now})


def use_code(tx: Tx, code_hash: str, used_by: UserId, now: int) -> bool:
    """Guarded: True once per code, within its time."""
    return tx.execute(USE_CODE, {"code_hash": code_hash, "used_by": used_by, "now": now}) == 1


def code_state(tx: Tx, code_hash: str, now: int) -> str:
    """fresh, used, expired or unknown."""
    row = tx.row(SELECT_CODE, {"code_hash": code_hash})
    if row is None:
        return "unknown"
    return "used" if row[0] is not None else "expired" if row[1] <= now else "fresh"


def is_used_by(tx: Tx, code_hash: str, user_id: UserId) -> bool:
    """Whether this person is the one who has used the code."""
    row = tx.row(SELECT_CODE, {"code_hash": code_hash})
    return row is not None and row[2] == user_id


def has_codes(tx: Tx) -> bool:
    """Whether a code was made that nobody has used: only then a message can be one."""
    row = tx.row(COUNT_USABLE)
    return row is not None and row[0] > 0


def add_audit(tx: Tx, actor: Actor, action: str, subject: str, detail: str, now: int) -> None:
    """One line of the audit log. No text of a message, and no code, goes in here."""
    values = {"actor": actor.user_id, "via": actor.via, "action": action, "subject": subject, "detail": detail}
    tx.execute(ADD_AUDIT, values | {"now": now})


def count_audit(tx: Tx, action: str, since: int, actor: str = "") -> int:
    """How often it was done since then, by this actor or by anybody."""
    row = tx.row(COUNT_AUDIT, {"action": action, "since": since, "actor": actor})
    return int(row[0]) if row else 0


def audit_lines(tx: Tx, limit: int) -> list[AuditLine]:
    """The newest lines first."""
    return [AuditLine(*row) for row in tx.rows(SELECT_AUDIT, {"limit": limit})]
