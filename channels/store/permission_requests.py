"""Table `permission_requests`: what agents ask people for; each is decided once."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from channels.ids import ChatId, MessageId, OwnerEpoch, StartEpoch, TurnId
from channels.rules.permission import PermissionOption, PermissionQuestion
from channels.store.tx import Tx

_REQUEST = (
    "token, turn_id, start_epoch, owner_epoch, chat_id, agent, question, state, why, choice, decided_by, created_at,"
    " due_at, version, drawn, message_id"
)
ADD_REQUEST = """
INSERT INTO permission_requests (token, turn_id, start_epoch, owner_epoch, chat_id, tool, kind, agent, question, state,
                                 created_at, due_at)
VALUES (:token, :turn_id, :start_epoch, :owner_epoch, :chat_id, :tool, :kind, :agent, :question, 'pending',
        :now, :due_at)
"""
SELECT_REQUEST = f"SELECT {_REQUEST} FROM permission_requests WHERE token = :token"
SELECT_PENDING = f"SELECT {_REQUEST} FROM permission_requests WHERE state = 'pending' ORDER BY due_at, token"
SELECT_TO_DRAW = f"SELECT {_REQUEST} FROM permission_requests WHERE drawn < version ORDER BY token LIMIT :limit"
DECIDE = """
UPDATE permission_requests
SET state = :state, why = :why, choice = :choice, decided_by = :decided_by, decided_at = :now, version = version + 1
WHERE token = :token AND state = 'pending'
"""
END_OF_TURN = """
UPDATE permission_requests SET state = 'ended', why = :why, decided_at = :now, version = version + 1
WHERE turn_id = :turn_id AND state = 'pending'
"""
END_OF_OWNERS = """
UPDATE permission_requests SET state = 'ended', why = :why, decided_at = :now, version = version + 1
WHERE owner_epoch < :epoch AND state = 'pending'
"""
NEVER_ALLOWED = """
SELECT tool FROM permission_requests WHERE turn_id = :turn_id GROUP BY tool HAVING sum(state = 'allowed') = 0
"""
SET_DRAWN = "UPDATE permission_requests SET drawn = :version WHERE token = :token AND drawn < :version"
SET_MESSAGE = "UPDATE permission_requests SET message_id = :message_id WHERE token = :token"
DRAW_AGAIN = "UPDATE permission_requests SET version = version + 1 WHERE token = :token"
FORGET_TURNS = "DELETE FROM permission_requests WHERE turn_id IN (SELECT value FROM json_each(:turn_ids))"
FORGET = "DELETE FROM permission_requests WHERE decided_at < :before"


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """`state`: pending, allowed, denied, expired (nobody decided in time), ended (`why` says: turn or restart).
    `decided_by` is the open_id of who pressed."""

    token: str
    turn_id: TurnId
    start_epoch: StartEpoch
    owner_epoch: OwnerEpoch
    chat_id: ChatId
    agent: str
    question: PermissionQuestion
    state: str
    why: str
    choice: int | None
    decided_by: str
    created_at: int
    due_at: int
    version: int = 1
    drawn: int = 1
    message_id: MessageId | None = None


def _from_row(row: tuple[Any, ...]) -> PermissionRequest:
    values = dict(zip((name.strip() for name in _REQUEST.split(",")), row, strict=True))
    kept = json.loads(values["question"])
    kept |= {
        "paths": tuple(kept["paths"]),
        "options": tuple(PermissionOption(**option) for option in kept["options"]),
    }
    return PermissionRequest(**values | {"question": PermissionQuestion(**kept)})


def add_request(tx: Tx, request: PermissionRequest) -> None:
    """A pending request; its first card is drawn already."""
    values = {
        "token": request.token,
        "turn_id": request.turn_id,
        "start_epoch": request.start_epoch,
        "owner_epoch": request.owner_epoch,
        "chat_id": request.chat_id,
        "tool": request.question.tool_id,
        "kind": request.question.kind,
        "agent": request.agent,
        "question": json.dumps(asdict(request.question), ensure_ascii=False),
        "now": request.created_at,
        "due_at": request.due_at,
    }
    tx.execute(ADD_REQUEST, values)


def find_request(tx: Tx, token: str) -> PermissionRequest | None:
    row = tx.row(SELECT_REQUEST, {"token": token})
    return _from_row(row) if row else None


def pending_requests(tx: Tx) -> list[PermissionRequest]:
    """What people are being asked now, the next to expire first."""
    return [_from_row(row) for row in tx.rows(SELECT_PENDING)]


def requests_to_draw(tx: Tx, limit: int) -> list[PermissionRequest]:
    """Requests whose card does not show them as they are."""
    return [_from_row(row) for row in tx.rows(SELECT_TO_DRAW, {"limit": limit})]


def decide(tx: Tx, token: str, state: str, why: str, choice: int | None, decided_by: str, now: int) -> bool:
    """allowed, denied, expired or ended. Guarded: False when it has been settled before."""
    values = {"token": token, "state": state, "why": why, "choice": choice, "decided_by": decided_by, "now": now}
    return tx.execute(DECIDE, values) == 1


def end_of_turn(tx: Tx, turn_id: TurnId, why: str, now: int) -> int:
    """The turn has ended: nobody waits for an answer any more."""
    return tx.execute(END_OF_TURN, {"turn_id": turn_id, "why": why, "now": now})


def end_of_owners(tx: Tx, epoch: OwnerEpoch, why: str, now: int) -> int:
    """A new boot: the agents that asked under earlier owners are gone."""
    return tx.execute(END_OF_OWNERS, {"epoch": epoch, "why": why, "now": now})


def never_allowed(tx: Tx, turn_id: TurnId) -> frozenset[str]:
    """The ids of the turn's tools that were asked about and did not get a yes."""
    return frozenset(str(row[0]) for row in tx.rows(NEVER_ALLOWED, {"turn_id": turn_id}))


def set_drawn(tx: Tx, token: str, version: int) -> None:
    tx.execute(SET_DRAWN, {"token": token, "version": version})


def set_message(tx: Tx, token: str, message_id: MessageId) -> None:
    """The message that shows this request."""
    tx.execute(SET_MESSAGE, {"token": token, "message_id": message_id})


def draw_again(tx: Tx, token: str) -> None:
    """The card may show something older than it should."""
    tx.execute(DRAW_AGAIN, {"token": token})


def forget(tx: Tx, before: int) -> int:
    """Retention: what was settled before that moment. Its card can be changed no more."""
    return tx.execute(FORGET, {"before": before})


def forget_turns(tx: Tx, turn_ids: Iterable[TurnId]) -> int:
    """Everything that was asked in these turns goes."""
    return tx.execute(FORGET_TURNS, {"turn_ids": json.dumps(list(turn_ids))})
