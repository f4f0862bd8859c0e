"""Table `outbox`: every effect before it happens.

What an intent says is held until it has its last state: the answer itself stands in the session log, and in
`sent_cards` as people see it. Only of an unknown outcome it is kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from channels.ids import ChatId, IntentId, MessageId, SendUuid, TurnId
from channels.rules.delivery import Intent
from channels.store.tx import Tx

_ROW = (
    "intent_id, kind, op, lane, chat_id, target, payload, uuid, turn_id, segment, terminal, successor_of,"
    " state, attempts, unsure, first_attempt_at, next_attempt_at, created_at, reconcile"
)
ADD_INTENT = """
INSERT INTO outbox (intent_id, kind, op, lane, place, turn_id, segment, chat_id, target, payload, uuid, terminal,
                    state, next_attempt_at, successor_of, created_at)
VALUES (:intent_id, :kind, :op, :lane,
        coalesce((SELECT place FROM outbox WHERE intent_id = :successor_of),
                 (SELECT coalesce(max(place), 0) + 1 FROM outbox WHERE lane = :lane)),
        :turn_id, :segment, :chat_id, :target, :payload, :uuid, :terminal,
        'pending', :due_at, :successor_of, :now)
"""
ADD_RECEIPT = """
INSERT INTO outbox (intent_id, kind, op, lane, place, turn_id, chat_id, target, payload, uuid, terminal, state,
                    next_attempt_at, created_at, ended_at)
VALUES (:intent_id, 'receipt', 'receipt', :intent_id, 1, :turn_id, '', :turn_id, :payload, :uuid, 0, 'done',
        :now, :now, :now)
"""
SELECT_HEAD = f"SELECT {_ROW} FROM outbox WHERE lane = :lane AND state = 'pending' ORDER BY place, seq LIMIT 1"
SELECT_ROW = f"SELECT {_ROW} FROM outbox WHERE intent_id = :intent_id"
SELECT_OF_TURN = f"SELECT {_ROW} FROM outbox WHERE turn_id = :turn_id ORDER BY seq"
SELECT_DUE_LANES = """
SELECT lane FROM outbox AS mine WHERE state = 'pending' AND next_attempt_at <= :now AND NOT EXISTS (
  SELECT 1 FROM outbox AS earlier WHERE earlier.lane = mine.lane AND earlier.state = 'pending'
  AND (earlier.place, earlier.seq) < (mine.place, mine.seq)) ORDER BY seq LIMIT :limit
"""
NEXT_DUE = "SELECT min(next_attempt_at) FROM outbox WHERE state = 'pending' AND next_attempt_at > :now"
BEGIN_ATTEMPT = """
UPDATE outbox SET attempts = attempts + 1, first_attempt_at = coalesce(first_attempt_at, :since),
                  unsure = max(unsure, :unsure)
WHERE intent_id = :intent_id AND state = 'pending'
"""
SET_LAST = """
UPDATE outbox SET state = :state, result = :result, last_error = coalesce(:error, last_error), ended_at = :now,
                  payload = CASE :state WHEN 'unknown' THEN payload ELSE '' END
WHERE intent_id = :intent_id AND state = 'pending'
"""
SET_WAIT = """
UPDATE outbox SET next_attempt_at = :due_at, last_error = :error, unsure = max(unsure, :unsure)
WHERE intent_id = :intent_id AND state = 'pending'
"""
SET_RECONCILE = """
UPDATE outbox SET reconcile = 1, unsure = 1, next_attempt_at = :now, last_error = :error
WHERE intent_id = :intent_id AND state = 'pending'
"""
SUPERSEDE_CLOSES = """
UPDATE outbox SET state = 'superseded', payload = '', ended_at = :now
WHERE turn_id = :turn_id AND segment = :segment AND state = 'pending' AND kind IN ('card', 'reply', 'segment')
"""
DISSOLVE_LANE = """
UPDATE outbox SET state = 'gone', payload = '', last_error = :error, ended_at = :now
WHERE lane = :lane AND state = 'pending'
"""
SUPERSEDE_UNSENT = """
UPDATE outbox SET state = 'superseded', payload = '', ended_at = :now
WHERE intent_id = :intent_id AND state = 'pending' AND attempts = 0 AND reconcile = 0
"""
REDRAW_UNSENT = (
    "UPDATE outbox SET payload = :payload WHERE intent_id = :intent_id AND state = 'pending' AND attempts = 0"
)
SELECT_MAIN_STATE = """
SELECT state FROM outbox WHERE turn_id = :turn_id AND segment = 0 AND op IN ('reply', 'send', 'text', 'send_text')
ORDER BY place, seq DESC LIMIT 1
"""
HANG = """
UPDATE outbox SET target = :message_id, chat_id = :chat_id
WHERE turn_id = :turn_id AND target = '' AND state = 'pending' AND attempts = 0
"""
SELECT_SENT_IN_LANE = """
SELECT json_extract(result, '$.message_id') FROM outbox
WHERE lane = :lane AND state = 'done' AND op IN ('send', 'notice') ORDER BY place DESC, seq DESC LIMIT 1
"""
SELECT_UPLOADED = "SELECT json_extract(result, '$.file_key') FROM outbox WHERE intent_id = :intent_id"
DOUBT_BEGUN = "UPDATE outbox SET unsure = 1 WHERE state = 'pending' AND attempts > 0"
DOUBT_PENDING = "UPDATE outbox SET reconcile = 1, unsure = 1 WHERE state = 'pending'"
SUPERSEDE_DOUBTFUL = """
UPDATE outbox SET state = 'superseded', payload = '', last_error = 'the file was restored', ended_at = :now
WHERE state = 'pending' AND (op = 'create' OR (op = 'add' AND terminal = 0))
"""
SUPERSEDE_TURN = """
UPDATE outbox SET state = 'superseded', payload = '', last_error = :error, ended_at = :now
WHERE turn_id = :turn_id AND state = 'pending'
"""
COUNT_DOUBTFUL = """
SELECT count(*) FROM outbox WHERE state = 'pending' AND reconcile = 1
AND op IN ('reply', 'send', 'notice', 'text', 'send_text', 'file')
"""
COUNT_OPEN_TERMINALS = "SELECT count(*) FROM outbox WHERE turn_id = :turn_id AND terminal = 1 AND state = 'pending'"
COUNT_TERMINALS = "SELECT count(*) FROM outbox WHERE turn_id = :turn_id AND terminal = 1"
COUNT_BY_STATE = (
    "SELECT state, count(*), min(created_at) FROM outbox WHERE state IN ('pending', 'unknown') GROUP BY state"
)
SELECT_RECENT = """
SELECT seq, kind, op, chat_id, turn_id, state, attempts, created_at, next_attempt_at, ended_at, last_error FROM outbox
WHERE seq < :before AND (:state = '' OR state = :state) ORDER BY seq DESC LIMIT :limit
"""
FORGET_ENDED = "DELETE FROM outbox WHERE ended_at < :before AND state <> 'unknown'"
COUNT_RIVALS = """
SELECT count(*) FROM outbox WHERE chat_id = :chat_id AND intent_id <> :intent_id AND unsure = 1
AND kind IN ('reply', 'segment', 'send') AND state IN ('pending', 'unknown')
"""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    intent: Intent
    state: str
    attempts: int
    unsure: bool
    first_attempt_at: int | None
    next_attempt_at: int
    created_at: int
    reconcile: bool


def _from_row(row: tuple[Any, ...]) -> OutboxRow:
    intent = Intent(
        intent_id=IntentId(row[0]),
        kind=row[1],
        op=row[2],
        lane=row[3],
        chat_id=ChatId(row[4]),
        target=row[5],
        payload=row[6],
        uuid=SendUuid(row[7]),
        turn_id=TurnId(row[8]) if row[8] else None,
        segment=row[9],
        terminal=bool(row[10]),
        successor_of=IntentId(row[11]) if row[11] else None,
    )
    return OutboxRow(intent, row[12], row[13], bool(row[14]), row[15], row[16], row[17], bool(row[18]))


def _values(intent: Intent, now: int, due_at: int) -> dict[str, object]:
    return {
        "intent_id": intent.intent_id,
        "kind": intent.kind,
        "op": intent.op,
        "lane": intent.lane,
        "turn_id": intent.turn_id,
        "segment": intent.segment,
        "chat_id": intent.chat_id,
        "target": intent.target,
        "payload": intent.payload,
        "uuid": intent.uuid,
        "terminal": int(intent.terminal),
        "successor_of": intent.successor_of,
        "due_at": due_at,
        "now": now,
    }


def add_intents(tx: Tx, intents: Iterable[Intent], now: int, *, delay_ms: int = 0) -> None:
    """Effects that will happen. Raises sqlite3.IntegrityError when an intent id or a uuid is there already."""
    for intent in intents:
        tx.execute(ADD_INTENT, _values(intent, now, now + delay_ms))


def add_receipt(tx: Tx, intent_id: IntentId, turn_id: TurnId, settlement_key: str, way: str, now: int) -> None:
    """What was held for a turn was given back: a row with its last state, which nobody has to send. Raises
    sqlite3.IntegrityError without its release."""
    payload = f'{{"key":"{settlement_key}","way":"{way}"}}'
    values = {"intent_id": intent_id, "turn_id": turn_id, "payload": payload, "uuid": settlement_key[:36], "now": now}
    tx.execute(ADD_RECEIPT, values)


def head_of_lane(tx: Tx, lane: str) -> OutboxRow | None:
    """The first pending intent of a lane, due or not."""
    row = tx.row(SELECT_HEAD, {"lane": lane})
    return _from_row(row) if row else None


def find_intent(tx: Tx, intent_id: IntentId) -> OutboxRow | None:
    row = tx.row(SELECT_ROW, {"intent_id": intent_id})
    return _from_row(row) if row else None


def intents_of_turn(tx: Tx, turn_id: TurnId) -> list[OutboxRow]:
    return [_from_row(row) for row in tx.rows(SELECT_OF_TURN, {"turn_id": turn_id})]


def due_lanes(tx: Tx, now: int, limit: int) -> list[str]:
    """Lanes whose first pending intent is due, oldest first."""
    return [row[0] for row in tx.rows(SELECT_DUE_LANES, {"now": now, "limit": limit})]


def next_due_at(tx: Tx, now: int) -> int | None:
    """When the next waiting intent becomes due."""
    row = tx.row(NEXT_DUE, {"now": now})
    return row[0] if row else None


def begin_attempt(tx: Tx, intent_id: IntentId, since: int, unsure: bool) -> bool:
    """Committed before every send; `since` is kept with the first. `unsure`: what became of the one before was not
    recorded. False when the intent is no longer pending."""
    return tx.execute(BEGIN_ATTEMPT, {"intent_id": intent_id, "since": since, "unsure": int(unsure)}) == 1


def set_last(tx: Tx, intent_id: IntentId, state: str, result: str | None, error: str | None, now: int) -> bool:
    """A last state. Guarded: False when it has one."""
    values = {"intent_id": intent_id, "state": state, "result": result, "error": error, "now": now}
    return tx.execute(SET_LAST, values) == 1


def set_wait(tx: Tx, intent_id: IntentId, due_at: int, error: str, unsure: bool) -> bool:
    values = {"intent_id": intent_id, "due_at": due_at, "error": error, "unsure": int(unsure)}
    return tx.execute(SET_WAIT, values) == 1


def supersede(tx: Tx, old: Intent, new: Intent, error: str, now: int) -> bool:
    """Another way for the same effect; the new one takes the old one's place in its lane. Guarded: False, and nothing
    new, when the old one has its last state: somebody has settled it while it was on its way."""
    values = {"intent_id": old.intent_id, "state": "superseded", "result": None, "error": error, "now": now}
    if tx.execute(SET_LAST, values) == 0:
        return False
    tx.execute(ADD_INTENT, _values(new, now, now))
    return True


def supersede_unsent(tx: Tx, intent_id: IntentId, now: int) -> bool:
    """Take back an intent that was certainly never sent (attempts = 0)."""
    return tx.execute(SUPERSEDE_UNSENT, {"intent_id": intent_id, "now": now}) == 1


def redraw_unsent(tx: Tx, intent_id: IntentId, payload: str) -> bool:
    """Other content for an intent that was certainly never sent (attempts = 0)."""
    return tx.execute(REDRAW_UNSENT, {"intent_id": intent_id, "payload": payload}) == 1


def main_state(tx: Tx, turn_id: TurnId) -> str:
    """What has become of the message that shows a turn's main card; "" where nothing is known of it any more."""
    row = tx.row(SELECT_MAIN_STATE, {"turn_id": turn_id})
    return str(row[0]) if row else ""


def hang(tx: Tx, turn_id: TurnId, message_id: MessageId, chat_id: ChatId) -> int:
    """What of this turn was not sent yet and has no message to answer answers this one, in this chat."""
    return tx.execute(HANG, {"turn_id": turn_id, "message_id": message_id, "chat_id": chat_id})


def sent_in_lane(tx: Tx, lane: str) -> MessageId | None:
    """The message that the lane's last plain send made."""
    row = tx.row(SELECT_SENT_IN_LANE, {"lane": lane})
    return MessageId(row[0]) if row and row[0] else None


def uploaded(tx: Tx, intent_id: IntentId) -> str:
    """The file_key that an upload has brought; "" while it has brought none."""
    row = tx.row(SELECT_UPLOADED, {"intent_id": intent_id})
    return str(row[0]) if row and row[0] else ""


def ask_history(tx: Tx, intent_id: IntentId, error: str, now: int) -> None:
    """From now on this intent is not sent before history was asked."""
    tx.execute(SET_RECONCILE, {"intent_id": intent_id, "error": error, "now": now})


def doubt_begun(tx: Tx) -> int:
    """A new boot: an attempt may have been on its way when the last one died, and nobody knows what became of it."""
    return tx.execute(DOUBT_BEGUN)


def doubt_pending(tx: Tx, now: int) -> int:
    """A restored file: every message that still waits may be there, so history is asked before it is sent. What only
    leads up to a message is left out: a card of its own, the sign that work is going on."""
    tx.execute(SUPERSEDE_DOUBTFUL, {"now": now})
    return tx.execute(DOUBT_PENDING)


def count_doubtful(tx: Tx) -> int:
    """Messages that wait until history was asked."""
    row = tx.row(COUNT_DOUBTFUL)
    return int(row[0]) if row else 0


def supersede_turn(tx: Tx, turn_id: TurnId, error: str, now: int) -> int:
    """Nothing more is to be said about this turn."""
    return tx.execute(SUPERSEDE_TURN, {"turn_id": turn_id, "error": error, "now": now})


def supersede_card(tx: Tx, turn_id: TurnId, segment: int, now: int) -> int:
    """Another turn goes on in this card: what the old one still wanted of it no longer counts."""
    return tx.execute(SUPERSEDE_CLOSES, {"turn_id": turn_id, "segment": segment, "now": now})


def dissolve_lane(tx: Tx, lane: str, error: str, now: int) -> int:
    """Nothing of this lane can reach anybody any more."""
    return tx.execute(DISSOLVE_LANE, {"lane": lane, "error": error, "now": now})


def terminals_settled(tx: Tx, turn_id: TurnId) -> bool:
    """Whether the turn has terminal intents and all of them have a last state."""
    pending = tx.row(COUNT_OPEN_TERMINALS, {"turn_id": turn_id})
    total = tx.row(COUNT_TERMINALS, {"turn_id": turn_id})
    return bool(total and total[0] > 0 and pending and pending[0] == 0)


def waiting(tx: Tx) -> dict[str, tuple[int, int]]:
    """Pending and unknown intents: (how many, made when at the earliest)."""
    return {state: (count, oldest) for state, count, oldest in tx.rows(COUNT_BY_STATE)}


@dataclass(frozen=True, slots=True)
class Listed:
    """An intent in a list: what it is and how it goes, without what it says."""

    seq: int
    kind: str
    op: str
    chat_id: ChatId
    turn_id: TurnId | None
    state: str
    attempts: int
    created_at: int
    next_attempt_at: int
    ended_at: int | None
    last_error: str | None


def recent_intents(tx: Tx, state: str, before: int, limit: int) -> list[Listed]:
    """Intents in this state ("": in any), newest first, from behind place `before` on."""
    return [Listed(*row) for row in tx.rows(SELECT_RECENT, {"state": state, "before": before, "limit": limit})]


def forget_ended(tx: Tx, before: int) -> int:
    """Retention. Unknown outcomes stay visible."""
    return tx.execute(FORGET_ENDED, {"before": before})


def count_rivals(tx: Tx, intent: Intent) -> int:
    """Other messages of ours in the same chat of which nobody knows whether they are there."""
    row = tx.row(COUNT_RIVALS, {"chat_id": intent.chat_id, "intent_id": intent.intent_id})
    return int(row[0]) if row else 0
