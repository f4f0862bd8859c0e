"""What must hold of the ledger at every commit (S4–S9 of proof.md §2), as questions; asked with those of `invariants`.

`held` and `used` of a window are counted anew from reservations and releases: no row is believed about itself.
"""

_DAY = "(quotas.period = 'day' AND quotas.starts_at = reservations.day_starts_at)"
_MONTH = "(quotas.period = 'month' AND quotas.starts_at = reservations.month_starts_at)"
_IN_WINDOW = f"reservations.user_id = quotas.user_id AND ({_DAY} OR {_MONTH})"
_WINDOW = "quotas.user_id || ' ' || quotas.period || ' ' || quotas.starts_at"
_DEADLINE = "min(reservations.queued_at + 300000, reservations.expires_at)"

QUESTIONS: tuple[tuple[str, str, str], ...] = (
    (
        "S4_windows_balance",
        "free, held and used do not make the limit, or one of them is less than nothing",
        f"""
SELECT {_WINDOW}, turns_held || '/' || tokens_held FROM quotas
WHERE min(turns_held, turns_used, tokens_held, tokens_used, coalesce(turns_free, 0), coalesce(tokens_free, 0)) < 0
OR (turns_limit IS NULL) <> (turns_free IS NULL) OR (tokens_limit IS NULL) <> (tokens_free IS NULL)
OR turns_free + turns_held + turns_used <> turns_limit OR tokens_free + tokens_held + tokens_used <> tokens_limit""",
    ),
    (
        "S4_held_is_reserved",
        "holds something else than what is reserved in it",
        f"""
SELECT {_WINDOW}, turns_held || '/' || tokens_held FROM quotas
LEFT JOIN reservations ON reservations.state = 'held' AND {_IN_WINDOW}
GROUP BY quotas.user_id, quotas.period, quotas.starts_at
HAVING quotas.turns_held <> coalesce(sum(reservations.turns), 0)
OR quotas.tokens_held <> coalesce(sum(reservations.tokens), 0)""",
    ),
    (
        "S4_used_was_released",
        "counts something else as used than what was released into it",
        f"""
SELECT {_WINDOW}, quotas.turns_used || '/' || quotas.tokens_used FROM quotas
LEFT JOIN reservations ON reservations.state = 'released' AND {_IN_WINDOW}
LEFT JOIN releases ON releases.reservation_id = reservations.reservation_id
GROUP BY quotas.user_id, quotas.period, quotas.starts_at
HAVING quotas.turns_used <> coalesce(sum(releases.turns_used), 0) OR quotas.tokens_used <> coalesce(sum(
  CASE quotas.period WHEN 'day' THEN releases.day_tokens_used ELSE releases.month_tokens_used END), 0)""",
    ),
    (
        "S4_reserved_is_held",
        "is reserved and held in no window",
        f"""
SELECT reservation_id, count(quotas.user_id) FROM reservations LEFT JOIN quotas ON {_IN_WINDOW}
WHERE state = 'held' GROUP BY reservation_id HAVING count(quotas.user_id) <> 2""",
    ),
    (
        "S4_turn_is_reserved",
        "names a reservation that is not there, or another turn's",
        """
SELECT turns.turn_id, turns.reservation FROM turns
LEFT JOIN reservations ON reservations.reservation_id = turns.reservation
WHERE turns.reservation IS NOT NULL AND reservations.turn_id IS NOT turns.turn_id""",
    ),
    (
        "S5_released_once",
        "is released and has no release, or the reverse, or more than one",
        """
SELECT reservations.reservation_id, count(releases.reservation_id) FROM reservations
LEFT JOIN releases ON releases.reservation_id = reservations.reservation_id
GROUP BY reservations.reservation_id HAVING count(releases.reservation_id) <> (reservations.state = 'released')""",
    ),
    (
        "S5_release_has_its_receipt",
        "was released within two weeks and has no receipt",
        """
SELECT reservation_id, released_at FROM releases WHERE released_at > :now - 1123200000
AND (receipt IS NULL OR receipt NOT IN (SELECT intent_id FROM outbox WHERE kind = 'receipt'))""",
    ),
    (
        "S5_receipt_has_its_release",
        "is a receipt and nothing was released",
        """
SELECT intent_id, state FROM outbox WHERE kind = 'receipt'
AND (state <> 'done' OR intent_id NOT IN (SELECT receipt FROM releases WHERE receipt IS NOT NULL))""",
    ),
    (
        "S5_release_has_its_usage",
        "was released and what it used is not booked, or the reverse, or as something else",
        """
SELECT releases.reservation_id, releases.way FROM releases
LEFT JOIN usage ON usage.reservation_id = releases.reservation_id
WHERE (usage.turn_id IS NULL) <> (releases.way = 'void') OR usage.late <> (releases.way = 'late')
OR usage.turns <> releases.turns_used
OR usage.input_tokens + usage.output_tokens <> releases.day_tokens_used + usage.day_overrun
OR usage.input_tokens + usage.output_tokens <> releases.month_tokens_used + usage.month_overrun""",
    ),
    (
        "S6_own_evidence_only",
        "was released by evidence of another start or executor",
        """
SELECT releases.reservation_id, releases.executor FROM releases
JOIN reservations ON reservations.reservation_id = releases.reservation_id
JOIN turns ON turns.turn_id = reservations.turn_id
LEFT JOIN evidence ON evidence.reservation_id = releases.reservation_id
  AND evidence.start_epoch = releases.start_epoch AND evidence.executor = releases.executor
  AND evidence.kind = releases.kind
WHERE releases.way <> 'void' AND (evidence.hash IS NULL OR releases.start_epoch <> turns.start_epoch
OR releases.executor <> 'boot:' || turns.owner_epoch)""",
    ),
    (
        "S7_a_stopped_session_never_settles",
        "settles or waits to, and its session was stopped",
        """
SELECT reservation_id, session_hash FROM settlement_pending
WHERE session_hash IN (SELECT session_hash FROM settlement_stops)
UNION ALL SELECT reservation_id, session_hash FROM reservations
JOIN settlement_stops USING (session_hash) JOIN releases USING (reservation_id)
WHERE way = 'settled' AND releases.generation >= settlement_stops.generation""",
    ),
    (
        "S8_deadlines_stay",
        "waits until another moment than when it was queued, or too often",
        f"""
SELECT key, attempts FROM settlement_pending JOIN reservations USING (reservation_id)
WHERE settlement_pending.deadline <> {_DEADLINE} OR settlement_pending.queued_at IS NOT reservations.queued_at
OR attempts NOT BETWEEN 0 AND 4""",
    ),
    (
        "S8_settled_in_time",
        "settled after its deadline, or unqueued",
        f"""
SELECT releases.reservation_id, releases.released_at FROM releases
JOIN reservations ON reservations.reservation_id = releases.reservation_id
WHERE releases.way = 'settled' AND (reservations.queued_at IS NULL OR releases.released_at > {_DEADLINE})""",
    ),
    (
        "S8_queued_as_it_says",
        "says that its settlement waits and none does, or the reverse",
        """
SELECT reservations.reservation_id, settlement FROM reservations
LEFT JOIN settlement_pending ON settlement_pending.reservation_id = reservations.reservation_id
WHERE (settlement = 'pending') <> (settlement_pending.key IS NOT NULL)""",
    ),
    (
        "S9_a_pause_holds",
        "settled although the user had paused",
        """
SELECT reservation_id, generation FROM releases
WHERE way = 'settled' AND generation >= (SELECT paused_since FROM settlement_control WHERE user_paused = 1)""",
    ),
    (
        "settlement_bounds",
        "there are more of these than there may be",
        """
SELECT 'pending', count(*) FROM settlement_pending HAVING count(*) > 64
UNION ALL SELECT 'history', count(*) FROM settlement_history HAVING count(*) > 32
UNION ALL SELECT 'stops', count(*) FROM settlement_stops HAVING count(*) > 64""",
    ),
)

DELAYS: tuple[tuple[str, str, str], ...] = (
    (
        "L1_reservation_lingers",
        "is still held an hour after its turn has ended, and nobody has paused",
        """
SELECT reservations.reservation_id, turns.ended_at FROM reservations
JOIN turns ON turns.turn_id = reservations.turn_id
WHERE reservations.state = 'held' AND turns.ended_at < :now - 3600000
AND NOT EXISTS (SELECT 1 FROM settlement_control WHERE user_paused = 1)""",
    ),
    (
        "L1_settlement_overdue",
        "ran past its deadline ten minutes ago and has not ended, and nobody has paused",
        """
SELECT key, deadline FROM settlement_pending WHERE deadline < :now - 600000
AND NOT EXISTS (SELECT 1 FROM settlement_control WHERE user_paused = 1)""",
    ),
)
