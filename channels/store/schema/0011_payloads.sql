-- The outbox holds what an intent says only until its last state; of an unknown outcome it is kept, and a receipt is
-- born with its last state.

DROP TRIGGER outbox_payload_stays;

CREATE TRIGGER outbox_payload_stays BEFORE UPDATE OF payload, target ON outbox
WHEN OLD.attempts > 0
 AND (NEW.target <> OLD.target
      OR (NEW.payload <> OLD.payload AND NOT (NEW.payload = '' AND NEW.state NOT IN ('pending', 'unknown'))))
BEGIN SELECT raise(ABORT, 'an intent that was sent keeps its content'); END;

UPDATE outbox SET payload = '' WHERE state NOT IN ('pending', 'unknown') AND kind <> 'receipt';
