"""Tables `access_requests`, `access_cards`: who asks to be let in, and on which cards that stands."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from channels.ids import ChatId, MessageId, OpenId, UserId
from channels.rules.access import SWITCHES
from channels.store.tx import Tx

APPLICANT = "applicant"  # the holder of the card that the person who asks sees

_REQUEST = (
    "request_id, user_id, open_id, name, chat_id, chat_type, message_id, in_thread, excerpt, state, switches,"
    " created_at, expires_at, decided_at, decided_by, version, wants"
)
ADD_REQUEST = f"""
INSERT INTO access_requests ({_REQUEST})
VALUES (:request_id, :user_id, :open_id, :name, :chat_id, :chat_type, :message_id, :in_thread, :excerpt, 'open',
        :switches, :now, :expires_at, NULL, NULL, 1, :wants)
"""
SELECT_REQUEST = f"SELECT {_REQUEST} FROM access_requests WHERE request_id = :request_id"
SELECT_OPEN_OF = f"""
SELECT {_REQUEST} FROM access_requests WHERE state = 'open' AND :user_id IN (user_id, 'open:' || open_id)
"""
MOVE_REQUEST = "UPDATE access_requests SET user_id = :user_id WHERE request_id = :request_id"
SELECT_OPEN = (
    f"SELECT {_REQUEST} FROM access_requests WHERE state = 'open' ORDER BY created_at, request_id LIMIT :limit"
)
SELECT_RECENT = f"SELECT {_REQUEST} FROM access_requests ORDER BY created_at DESC, request_id LIMIT :limit"
SELECT_DUE = f"SELECT {_REQUEST} FROM access_requests WHERE state = 'open' AND expires_at <= :now LIMIT :limit"
SELECT_DENIED = """
SELECT max(decided_at) FROM access_requests WHERE user_id = :user_id AND state = 'denied' AND wants = :wants
AND created_at > coalesce((SELECT max(created_at) FROM access_requests
                           WHERE user_id = :user_id AND state = 'approved' AND wants = :wants), 0)
"""
DECIDE = """
UPDATE access_requests
SET state = :state, decided_at = :now, decided_by = :decided_by, switches = :switches, version = version + 1
WHERE request_id = :request_id AND state = 'open'
"""
SET_SWITCHES = """
UPDATE access_requests SET switches = :switches, version = version + 1
WHERE request_id = :request_id AND switches <> :switches
"""
SET_NAME = "UPDATE access_requests SET name = :name WHERE open_id = :open_id AND name = ''"
SELECT_NAMELESS = (
    "SELECT open_id FROM access_requests WHERE name = '' AND open_id <> '' AND state = 'open' LIMIT :limit"
)
ADD_CARD = """
INSERT INTO access_cards (request_id, holder) VALUES (:request_id, :holder) ON CONFLICT (request_id, holder) DO NOTHING
"""
SELECT_TO_DRAW = """
SELECT access_cards.request_id, holder, drawn, sent, access_cards.message_id FROM access_cards
JOIN access_requests USING (request_id) WHERE drawn < version AND (sent = 1 OR state = 'open')
ORDER BY created_at, holder LIMIT :limit
"""
SELECT_CARD = """
SELECT request_id, holder, drawn, sent, message_id FROM access_cards WHERE request_id = :request_id AND holder = :holder
"""
SET_DRAWN = """
UPDATE access_cards SET drawn = :version, sent = 1
WHERE request_id = :request_id AND holder = :holder AND drawn < :version
"""
SET_MESSAGE = """
UPDATE access_cards SET message_id = :message_id WHERE request_id = :request_id AND holder = :holder
"""
REDRAW = "UPDATE access_cards SET drawn = min(drawn, :drawn) WHERE request_id = :request_id AND holder = :holder"


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """`switches`: what *Allow* would give, or has given. `wants`: what is asked for, chat by a stranger, code_write by
    somebody who may chat."""

    request_id: str
    user_id: UserId
    open_id: OpenId
    name: str
    chat_id: ChatId
    chat_type: str
    message_id: MessageId
    in_thread: bool
    excerpt: str
    state: str  # open | approved | denied | expired | withdrawn
    switches: frozenset[str]
    created_at: int
    expires_at: int
    decided_at: int | None = None
    decided_by: str | None = None
    version: int = 1
    wants: str = "chat"


@dataclass(frozen=True, slots=True)
class AccessCard:
    request_id: str
    holder: str
    drawn: int
    sent: bool
    message_id: MessageId | None


def _request(row: tuple[Any, ...] | None) -> AccessRequest | None:
    if row is None:
        return None
    names = [name.strip() for name in _REQUEST.split(",")]
    values = dict(zip(names, row, strict=True))
    return AccessRequest(
        **values | {"in_thread": bool(values["in_thread"]), "switches": frozenset(json.loads(values["switches"]))}
    )


def _requests(rows: Iterable[tuple[Any, ...]]) -> list[AccessRequest]:
    return [found for row in rows if (found := _request(row)) is not None]


def _card(row: tuple[Any, ...]) -> AccessCard:
    return AccessCard(row[0], row[1], row[2], bool(row[3]), row[4])


def _words(switches: frozenset[str]) -> str:
    return json.dumps([name for name in SWITCHES if name in switches])


def add_request(tx: Tx, request: AccessRequest) -> None:
    """An open request. Raises sqlite3.IntegrityError when this person has one."""
    values = {
        "request_id": request.request_id,
        "user_id": request.user_id,
        "open_id": request.open_id,
        "name": request.name,
        "chat_id": request.chat_id,
        "chat_type": request.chat_type,
        "message_id": request.message_id,
        "in_thread": int(request.in_thread),
        "excerpt": request.excerpt,
        "switches": _words(request.switches),
        "now": request.created_at,
        "expires_at": request.expires_at,
        "wants": request.wants,
    }
    tx.execute(ADD_REQUEST, values)


def move_to_user_id(tx: Tx, request_id: str, user_id: UserId) -> None:
    """The person who asks wrote again, and now both ids are known."""
    tx.execute(MOVE_REQUEST, {"request_id": request_id, "user_id": user_id})


def find_request(tx: Tx, request_id: str) -> AccessRequest | None:
    return _request(tx.row(SELECT_REQUEST, {"request_id": request_id}))


def open_request_of(tx: Tx, ids: Iterable[UserId]) -> AccessRequest | None:
    """The undecided request of the person whom one of these ids names."""
    found = (_request(tx.row(SELECT_OPEN_OF, {"user_id": user_id})) for user_id in sorted(ids))
    return next((one for one in found if one is not None), None)


def open_requests(tx: Tx, limit: int) -> list[AccessRequest]:
    """Undecided requests, oldest first."""
    return _requests(tx.rows(SELECT_OPEN, {"limit": limit}))


def recent_requests(tx: Tx, limit: int) -> list[AccessRequest]:
    """Requests whatever has become of them, newest first."""
    return _requests(tx.rows(SELECT_RECENT, {"limit": limit}))


def due_requests(tx: Tx, now: int, limit: int) -> list[AccessRequest]:
    """Undecided requests whose time is over."""
    return _requests(tx.rows(SELECT_DUE, {"now": now, "limit": limit}))


def denied_at(tx: Tx, ids: Iterable[UserId], wants: str = "chat") -> int | None:
    """When this person was last denied what is wanted, unless it was granted on a later request."""
    found = [tx.row(SELECT_DENIED, {"user_id": user_id, "wants": wants}) for user_id in ids]
    return max((row[0] for row in found if row and row[0] is not None), default=None)


def decide(tx: Tx, request_id: str, state: str, switches: frozenset[str], decided_by: str, now: int) -> bool:
    """approved, denied, expired or withdrawn. Guarded: False when somebody else has decided."""
    values = {"request_id": request_id, "state": state, "decided_by": decided_by, "switches": _words(switches)}
    return tx.execute(DECIDE, values | {"now": now}) == 1


def set_switches(tx: Tx, request_id: str, switches: frozenset[str]) -> bool:
    """What *Allow* would give, or what was given; False when that is so already."""
    return tx.execute(SET_SWITCHES, {"request_id": request_id, "switches": _words(switches)}) == 1


def set_name(tx: Tx, open_id: OpenId, name: str) -> None:
    tx.execute(SET_NAME, {"open_id": open_id, "name": name})


def nameless(tx: Tx, limit: int) -> list[OpenId]:
    return [OpenId(row[0]) for row in tx.rows(SELECT_NAMELESS, {"limit": limit})]


def add_card(tx: Tx, request_id: str, holder: str) -> bool:
    """Somebody will see this request: registered before anything is sent. False when it was registered before."""
    return tx.execute(ADD_CARD, {"request_id": request_id, "holder": holder}) == 1


def cards_to_draw(tx: Tx, limit: int) -> list[AccessCard]:
    """Cards that do not show their request as it is; what was decided is shown only to those who saw the question."""
    return [_card(row) for row in tx.rows(SELECT_TO_DRAW, {"limit": limit})]


def find_card(tx: Tx, request_id: str, holder: str) -> AccessCard | None:
    row = tx.row(SELECT_CARD, {"request_id": request_id, "holder": holder})
    return _card(row) if row else None


def set_drawn(tx: Tx, request_id: str, holder: str, version: int) -> None:
    tx.execute(SET_DRAWN, {"request_id": request_id, "holder": holder, "version": version})


def set_card_message(tx: Tx, request_id: str, holder: str, message_id: MessageId) -> None:
    """The message that shows the request to this holder."""
    tx.execute(SET_MESSAGE, {"request_id": request_id, "holder": holder, "message_id": message_id})


def draw_again(tx: Tx, request_id: str, holder: str, version: int) -> None:
    """This card may show something older than it should: draw it once more."""
    tx.execute(REDRAW, {"request_id": request_id, "holder": holder, "drawn": version - 1})
