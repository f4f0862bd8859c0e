"""What must hold of every domain file at every commit, as questions to it: whoever answers one is a violation.

The schema keeps much of this by itself (UNIQUE, CHECK, triggers); it is asked again all the same, because a file may
come from anywhere. Each question gives (subject, detail). Questions about time (`DELAYS`) find what waits too long and
waits for no person; on a closed file, `now` is the last moment that the file knows.
"""

from channels.rules.invariants import Delay, Findings, Violation
from channels.store import invariants_access, invariants_gate, invariants_ledger
from channels.store.tx import Tx

MOST_PER_QUESTION = 20

_KEPT = "session_id NOT IN (SELECT session_id FROM sessions WHERE deleted_at IS NOT NULL)"
_SAYING = "('reply', 'send', 'notice', 'text', 'send_text', 'file')"

# (name, what it means when a row answers, the question)
QUESTIONS: tuple[tuple[str, str, str], ...] = (
    (
        "foreign_keys",
        "refers to a row that is not there",
        """SELECT "table" || ' ' || coalesce(rowid, ''), parent FROM pragma_foreign_key_check""",
    ),
    (
        "S2_one_turn_per_cause",
        "has more than one turn",
        "SELECT cause || ' ' || cause_id, count(*) FROM turns GROUP BY cause, cause_id HAVING count(*) > 1",
    ),
    (
        "S2_one_entered_per_session",
        "has more than one turn running",
        "SELECT session_id, count(*) FROM turns WHERE state = 'entered' GROUP BY session_id HAVING count(*) > 1",
    ),
    (
        "S2_one_reply_per_segment",
        "was said more than once",
        f"""
SELECT substr(intent_id, 1, instr(intent_id || '~', '~') - 1) AS effect, count(*) FROM outbox
WHERE state = 'done' AND op IN {_SAYING} GROUP BY effect HAVING count(*) > 1""",
    ),
    (
        "S2_nothing_said_twice",
        "was sent or may be sent although the message it stands for is there",
        f"""
SELECT mine.intent_id, old.state FROM outbox AS mine JOIN outbox AS old ON old.intent_id = mine.successor_of
WHERE old.op IN {_SAYING} AND old.state IN ('done', 'pending')""",
    ),
    (
        "S7_no_route_under_a_tombstone",
        "has a route although its topic has expired",
        "SELECT key, session_id FROM routes WHERE key IN (SELECT thread_id FROM expired_routes)",
    ),
    (
        "S7_no_route_to_an_archived_session",
        "is archived and has a route, or a turn that has not ended",
        """
SELECT session_id, archived_at FROM sessions WHERE archived_at IS NOT NULL AND (
  session_id IN (SELECT session_id FROM routes)
  OR session_id IN (SELECT session_id FROM turns WHERE state <> 'ended'))""",
    ),
    (
        "deleted_session_is_empty",
        "is deleted and something of it is still in the log, or to be shown",
        """
SELECT session_id, deleted_at FROM sessions WHERE deleted_at IS NOT NULL AND (
  session_id IN (SELECT session_id FROM session_events) OR session_id IN (SELECT session_id FROM inflight))""",
    ),
    (
        "S8_attempts_are_dated",
        "has attempts and no first one, or the reverse",
        "SELECT intent_id, attempts FROM outbox WHERE (attempts = 0) <> (first_attempt_at IS NULL)",
    ),
    (
        "S10_no_epoch_from_the_future",
        "carries an owner epoch that was never taken",
        """
SELECT turn_id, owner_epoch FROM turns WHERE owner_epoch > (SELECT max(epoch) FROM owners)
UNION ALL SELECT message_id, owner_epoch FROM inbox WHERE owner_epoch > (SELECT max(epoch) FROM owners)""",
    ),
    (
        "S10_open_work_has_the_current_owner",
        "is open under an owner that was deposed",
        """
SELECT turn_id, owner_epoch FROM turns
WHERE state IN ('queued', 'entered') AND owner_epoch <> (SELECT max(epoch) FROM owners)
UNION ALL SELECT message_id, owner_epoch FROM establishing WHERE owner_epoch <> (SELECT max(epoch) FROM owners)""",
    ),
    (
        "S11_gate_and_inbox",
        "passed the gate and is not in the inbox",
        "SELECT message_id, processed_at FROM processed WHERE message_id NOT IN (SELECT message_id FROM inbox)",
    ),
    (
        "S11_inbox_and_gate",
        "is in the inbox and would be accepted again",
        """
SELECT message_id, received_at FROM inbox WHERE received_at > :now - 2505600000
AND message_id NOT IN (SELECT message_id FROM processed)""",
    ),
    (
        "S12_one_uuid_per_intent",
        "is the uuid of more than one intent",
        "SELECT uuid, count(*) FROM outbox GROUP BY uuid HAVING count(*) > 1",
    ),
    (
        "S12_a_successor_keeps_its_place",
        "stands elsewhere than the intent it stands for",
        """
SELECT mine.intent_id, mine.lane FROM outbox AS mine JOIN outbox AS old ON old.intent_id = mine.successor_of
WHERE mine.lane <> old.lane OR mine.place <> old.place""",
    ),
    (
        "S13_order",
        "got its turn before an earlier message of its conversation that was known",
        """
SELECT message_id, earlier_id FROM (
  SELECT inbox.message_id, turns.seq, turns.queued_at,
         lag(inbox.message_id) OVER places AS earlier_id, lag(turns.seq) OVER places AS earlier_seq,
         lag(inbox.received_at) OVER places AS earlier_at
  FROM inbox JOIN turns ON turns.turn_id = inbox.turn
  WHERE inbox.message_id NOT IN (SELECT message_id FROM missed_batch_messages)
  WINDOW places AS (PARTITION BY inbox.conversation ORDER BY inbox.create_time, inbox.message_id))
WHERE earlier_seq > seq AND earlier_at < queued_at AND NOT EXISTS (SELECT 1 FROM quarantine)""",
    ),
    (
        "turn_in_the_log",
        "is entered and not in the log, or in the log and not entered",
        f"""
SELECT turn_id, state FROM turns WHERE {_KEPT} AND (entered_at IS NOT NULL) <> (turn_id IN (
  SELECT turn_id FROM session_events WHERE kind = 'user/message'))""",
    ),
    (
        "turn_ended_in_the_log",
        "has ended and the log does not say so exactly once, or the reverse",
        f"""
SELECT turns.turn_id, count(session_events.number) FROM turns
LEFT JOIN session_events ON session_events.turn_id = turns.turn_id AND session_events.kind = 'turn/end'
WHERE turns.state <> 'unknown' AND turns.{_KEPT} GROUP BY turns.turn_id
HAVING count(session_events.number) <> (turns.state = 'ended')""",
    ),
    (
        "turn_has_its_snapshot",
        "is open and could not be repaired: it has no snapshot",
        "SELECT turn_id, state FROM turns WHERE state <> 'ended' AND turn_id NOT IN (SELECT turn_id FROM inflight)",
    ),
    (
        "snapshot_is_needed",
        "has ended, everything about it is said, and its snapshot is still there",
        """
SELECT turn_id, state FROM turns WHERE state = 'ended' AND turn_id IN (SELECT turn_id FROM inflight)
AND turn_id NOT IN (SELECT turn_id FROM outbox WHERE terminal = 1 AND state = 'pending' AND turn_id IS NOT NULL)""",
    ),
    (
        "snapshot_is_kept",
        "has still something to say and its snapshot is gone",
        """
SELECT intent_id, turn_id FROM outbox WHERE terminal = 1 AND state = 'pending' AND turn_id IS NOT NULL
AND turn_id NOT IN (SELECT turn_id FROM inflight)""",
    ),
    (
        "claim_has_its_turn",
        "is being established by a turn that has nothing left to say",
        "SELECT key, turn_id FROM establishing WHERE turn_id NOT IN (SELECT turn_id FROM inflight)",
    ),
    (
        "queued_row_has_an_open_turn",
        "waits for a turn that has ended",
        """
SELECT message_id, turn_id FROM inbox JOIN turns ON turns.turn_id = inbox.turn
WHERE inbox.state = 'queued' AND turns.state = 'ended'""",
    ),
    (
        "open_turn_has_its_row",
        "is open and its message is not waiting for it",
        """
SELECT turn_id, cause_id FROM turns WHERE cause = 'message' AND state <> 'ended' AND NOT EXISTS (
  SELECT 1 FROM inbox WHERE inbox.turn = turns.turn_id AND inbox.state = 'queued')""",
    ),
    (
        "asked_row_has_its_card",
        "is to be asked about and stands on no open card",
        """
SELECT message_id, chat_id FROM inbox WHERE state = 'asked' AND message_id NOT IN (
  SELECT message_id FROM missed_batch_messages JOIN missed_batches USING (batch_id) WHERE state = 'open')""",
    ),
    (
        "restored_row_waits",
        "waits for its comparison with history in a state that nobody looks at",
        """
SELECT message_id, state FROM inbox
WHERE verdict = 'restored' AND terminal_at IS NULL AND state NOT IN ('held', 'kept', 'asked')""",
    ),
    (
        "file_has_its_owner",
        "the file has commits and no owner, or the reverse",
        "SELECT 'meta', (SELECT count(*) FROM owners) FROM meta WHERE (SELECT count(*) FROM owners) = 0",
    ),
    *invariants_access.QUESTIONS,
    *invariants_gate.QUESTIONS,
    *invariants_ledger.QUESTIONS,
)

DELAYS: tuple[tuple[str, str, str], ...] = (
    (
        "L1_intent_overdue",
        "has been due for ten minutes and nobody sends it",
        """
SELECT intent_id, next_attempt_at FROM outbox AS mine WHERE state = 'pending' AND next_attempt_at < :now - 600000
AND NOT EXISTS (SELECT 1 FROM outbox AS earlier WHERE earlier.lane = mine.lane AND earlier.state = 'pending'
                AND (earlier.place, earlier.seq) < (mine.place, mine.seq))""",
    ),
    (
        "L1_intent_old",
        "has been waiting for longer than a card lives",
        "SELECT intent_id, created_at FROM outbox WHERE state = 'pending' AND created_at < :now - 1296000000",
    ),
    (
        "L1_message_undecided",
        "was accepted ten minutes ago and is not decided",
        """
SELECT message_id, received_at FROM inbox WHERE state = 'accepted' AND due_at <= :now
AND received_at < :now - 600000""",
    ),
    (
        "L1_turn_not_started",
        "has been first in its conversation for an hour and was not started",
        """
SELECT turn_id, queued_at FROM turns AS mine WHERE state = 'queued' AND queued_at < :now - 3600000
AND NOT EXISTS (SELECT 1 FROM turns AS other WHERE other.session_id = mine.session_id
                AND other.state IN ('queued', 'entered') AND other.seq < mine.seq)""",
    ),
    (
        "L1_turn_not_repaired",
        "has been without an owner for ten minutes and was not repaired",
        """
SELECT turn_id, queued_at FROM turns WHERE state = 'unknown'
AND (SELECT max(booted_at) FROM owners) < :now - 600000""",
    ),
    (
        "L1_claim_open",
        "has been establishing a session for ten minutes too long",
        "SELECT key, due_at FROM establishing WHERE state = 'open' AND due_at < :now - 600000",
    ),
    (
        "L1_gap_open",
        "could not be read for an hour",
        """
SELECT 'gap ' || gap_id, from_ms FROM missed_gaps WHERE closed_at IS NULL AND opened_at < :now - 3600000""",
    ),
    (
        "L1_restored_row_waits",
        "could not be compared with history for an hour",
        """
SELECT message_id, received_at FROM inbox WHERE verdict = 'restored' AND terminal_at IS NULL
AND received_at < :now - 3600000""",
    ),
    *invariants_access.DELAYS,
    *invariants_gate.DELAYS,
    *invariants_ledger.DELAYS,
)


def look(tx: Tx, now: int) -> Findings:
    """Ask everything, in one read transaction; at most twenty answers per question."""
    violations = [
        Violation(name, str(found[0]), f"{text} ({found[1]})") for name, text, found in _ask(tx, QUESTIONS, now)
    ]
    delays = [Delay(name, str(found[0]), f"{text} ({found[1]})") for name, text, found in _ask(tx, DELAYS, now)]
    return Findings(tuple(violations), tuple(delays))


def _ask(tx: Tx, questions: tuple[tuple[str, str, str], ...], now: int) -> list[tuple[str, str, tuple[object, ...]]]:
    return [
        (name, text, row)
        for name, text, question in questions
        for row in tx.rows(question, {"now": now} if ":now" in question else ())[:MOST_PER_QUESTION]
    ]
