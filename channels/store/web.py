"""Tables `web_logins` and `settings_overlay`: who is logged in at the admin page, and what was set there."""

from dataclasses import dataclass

from channels.ids import UserId
from channels.store.tx import Tx

INSERT_LINK = """
INSERT INTO web_logins (link_hash, user_id, made_at, link_expires_at) VALUES (:link_hash, :user_id, :now, :expires_at)
"""
OPEN_SESSION = """
UPDATE web_logins SET session_hash = :session_hash, opened_at = :now, expires_at = :expires_at
WHERE link_hash = :link_hash AND session_hash IS NULL AND link_expires_at > :now RETURNING user_id
"""
SELECT_SESSION = """
SELECT user_id, expires_at FROM web_logins
WHERE session_hash = :session_hash AND ended_at IS NULL AND expires_at > :now
"""
END_SESSION = "UPDATE web_logins SET ended_at = :now WHERE session_hash = :session_hash AND ended_at IS NULL"
COUNT_FRESH_LINKS = "SELECT count(*) FROM web_logins WHERE session_hash IS NULL AND link_expires_at > :now"
FORGET_LOGINS = "DELETE FROM web_logins WHERE coalesce(expires_at, link_expires_at) < :before"
INSERT_CHANGE = """
INSERT INTO settings_overlay (key, value, set_by, set_at) VALUES (:key, :value, :set_by, :now)
"""
SELECT_OVERLAY = """
SELECT key, value, set_by, set_at FROM settings_overlay AS mine
WHERE change = (SELECT max(change) FROM settings_overlay AS other WHERE other.key = mine.key) ORDER BY key
"""
SELECT_CHANGES = "SELECT key, value, set_by, set_at FROM settings_overlay ORDER BY change DESC LIMIT :limit"


@dataclass(frozen=True, slots=True)
class Login:
    """A session that is open now, and whose it is."""

    user_id: UserId
    expires_at: int


@dataclass(frozen=True, slots=True)
class Change:
    """A setting as somebody set it; `value` None: the settings file counts again."""

    key: str
    value: str | None
    set_by: UserId
    set_at: int


def insert_link(tx: Tx, link_hash: str, user_id: UserId, expires_at: int, now: int) -> None:
    """A link that opens one session until `expires_at`."""
    tx.execute(INSERT_LINK, {"link_hash": link_hash, "user_id": user_id, "expires_at": expires_at, "now": now})


def open_session(tx: Tx, link_hash: str, session_hash: str, expires_at: int, now: int) -> UserId | None:
    """The link is used up and its session is open. None: no such link, used before, or too late."""
    values = {"link_hash": link_hash, "session_hash": session_hash, "expires_at": expires_at, "now": now}
    row = tx.row(OPEN_SESSION, values)
    return UserId(row[0]) if row else None


def find_session(tx: Tx, session_hash: str, now: int) -> Login | None:
    """Whose session this is; None once it has ended or expired."""
    row = tx.row(SELECT_SESSION, {"session_hash": session_hash, "now": now})
    return Login(*row) if row else None


def end_session(tx: Tx, session_hash: str, now: int) -> bool:
    """Nobody gets in with it from now on."""
    return tx.execute(END_SESSION, {"session_hash": session_hash, "now": now}) == 1


def count_fresh_links(tx: Tx, now: int) -> int:
    """How many links could still be used."""
    row = tx.row(COUNT_FRESH_LINKS, {"now": now})
    return int(row[0]) if row else 0


def forget_logins(tx: Tx, before: int) -> int:
    """Retention: links and sessions that expired before."""
    return tx.execute(FORGET_LOGINS, {"before": before})


def insert_change(tx: Tx, key: str, value: str | None, set_by: UserId, now: int) -> None:
    """From now on `value` counts for `key`; None gives the settings file its say back."""
    tx.execute(INSERT_CHANGE, {"key": key, "value": value, "set_by": set_by, "now": now})


def overlay(tx: Tx) -> list[Change]:
    """The newest change of each key."""
    return [Change(*row) for row in tx.rows(SELECT_OVERLAY)]


def newest_changes(tx: Tx, limit: int) -> list[Change]:
    """What was set, newest first."""
    return [Change(*row) for row in tx.rows(SELECT_CHANGES, {"limit": limit})]
