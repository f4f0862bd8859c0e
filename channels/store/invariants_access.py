"""What must hold of access in every domain file: questions for `store.invariants`, which says how they are asked."""

QUESTIONS: tuple[tuple[str, str, str], ...] = (
    (
        "kept_row_has_its_request",
        "is kept, and nobody is asked about its author",
        """
SELECT message_id, sender_user_id FROM inbox WHERE state = 'kept' AND NOT EXISTS (
  SELECT 1 FROM access_requests AS mine WHERE mine.state = 'open'
  AND inbox.sender_user_id IN (mine.user_id, 'open:' || mine.open_id))""",
    ),
    (
        "one_open_request_per_person",
        "is asked about more than once at the same time",
        """
SELECT user_id, count(*) FROM access_requests WHERE state = 'open' GROUP BY user_id HAVING count(*) > 1
UNION ALL SELECT open_id, count(*) FROM access_requests WHERE state = 'open' AND open_id <> ''
GROUP BY open_id HAVING count(*) > 1""",
    ),
    (
        "request_is_decided_by_somebody",
        "is decided and does not say by whom and when, or the reverse",
        """
SELECT request_id, state FROM access_requests WHERE (state = 'open') <> (decided_at IS NULL)
OR (state = 'open') <> (decided_by IS NULL) OR decided_at < created_at""",
    ),
    (
        "request_is_decided_once",
        "was decided more than once",
        """
SELECT detail, count(*) FROM audit WHERE action = 'request.denied' OR action = 'request.expired'
GROUP BY detail HAVING count(*) > 1
UNION ALL SELECT detail, action FROM audit JOIN access_requests ON request_id = detail
WHERE action IN ('request.denied', 'request.expired') AND state <> substr(action, 9)""",
    ),
    (
        "request_is_shown_to_who_asks",
        "has no card for the person who asks",
        """
SELECT request_id, user_id FROM access_requests WHERE NOT EXISTS (
  SELECT 1 FROM access_cards WHERE access_cards.request_id = access_requests.request_id AND holder = 'applicant')""",
    ),
    (
        "card_shows_no_future",
        "shows more of its request than there is",
        """
SELECT request_id || ' ' || holder, drawn FROM access_cards JOIN access_requests USING (request_id)
WHERE drawn > version""",
    ),
    (
        "claim_code_in_its_time",
        "was used after its time",
        "SELECT substr(code_hash, 1, 8), used_by FROM claim_codes WHERE used_at >= expires_at",
    ),
    (
        "login_link_in_its_time",
        "opened a session after its time",
        "SELECT substr(link_hash, 1, 8), user_id FROM web_logins WHERE opened_at >= link_expires_at",
    ),
    (
        "setting_has_its_record",
        "was set, and the audit log does not have it",
        """
SELECT change, key FROM settings_overlay AS mine WHERE NOT EXISTS (
  SELECT 1 FROM audit WHERE action = 'settings.changed' AND subject = mine.key AND at = mine.set_at)""",
    ),
)

DELAYS: tuple[tuple[str, str, str], ...] = (
    (
        "L1_request_not_expired",
        "should have expired ten minutes ago",
        "SELECT request_id, expires_at FROM access_requests WHERE state = 'open' AND expires_at < :now - 600000",
    ),
    (
        "L1_decision_not_shown",
        "was decided ten minutes ago, and one of its cards does not say so",
        """
SELECT request_id, holder FROM access_cards JOIN access_requests USING (request_id)
WHERE sent = 1 AND drawn < version AND decided_at < :now - 600000 AND NOT EXISTS (
  SELECT 1 FROM outbox WHERE state = 'pending' AND lane = 'access:' || request_id || ':' || holder)""",
    ),
)
