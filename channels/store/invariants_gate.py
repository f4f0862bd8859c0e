"""What must hold of tool permissions in every domain file: questions for `store.invariants`."""

QUESTIONS: tuple[tuple[str, str, str], ...] = (
    (
        "asked_by_a_running_turn",
        "is still asked, and the turn that asked runs no more",
        """
SELECT token, turns.state FROM permission_requests AS asked JOIN turns USING (turn_id) WHERE asked.state = 'pending'
AND (turns.state <> 'entered' OR turns.start_epoch <> asked.start_epoch OR turns.owner_epoch <> asked.owner_epoch)""",
    ),
    (
        "allowed_by_somebody",
        "was allowed, and no answer of the agent's own says so",
        """
SELECT token, choice FROM permission_requests
WHERE state = 'allowed' AND (json_extract(question, '$.options[' || choice || '].kind') NOT LIKE 'allow_%'
                             OR json_extract(question, '$.options[' || choice || ']') IS NULL)""",
    ),
)

DELAYS: tuple[tuple[str, str, str], ...] = (
    (
        "L1_permission_open",
        "should have been refused ten minutes ago",
        "SELECT token, due_at FROM permission_requests WHERE state = 'pending' AND due_at < :now - 600000",
    ),
    (
        "L1_permission_not_shown",
        "was settled ten minutes ago, and its card does not say so",
        """
SELECT token, state FROM permission_requests WHERE drawn < version AND decided_at < :now - 600000 AND NOT EXISTS (
  SELECT 1 FROM outbox WHERE outbox.state = 'pending' AND lane = 'permit:' || token)""",
    ),
)
