-- The gate: what agents ask people for, and the agents' own ids of their sessions.

-- What an agent wants to do and may not do unasked. Registered with the intent of its card, before that is sent.
-- `question` holds what the card shows, the agent's own options among it; `choice` is the place of the one that was
-- pressed. `version` counts what the card has to show, `drawn` is the version that it shows or will show.
CREATE TABLE permission_requests (
  token       TEXT    PRIMARY KEY,
  turn_id     TEXT    NOT NULL REFERENCES turns (turn_id),
  start_epoch INTEGER NOT NULL,
  owner_epoch INTEGER NOT NULL,
  chat_id     TEXT    NOT NULL,
  tool        TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  agent       TEXT    NOT NULL,
  question    TEXT    NOT NULL,
  state       TEXT    NOT NULL CHECK (state IN ('pending', 'allowed', 'denied', 'expired', 'ended')),
  why         TEXT    NOT NULL DEFAULT '',
  choice      INTEGER CHECK (choice >= 0),
  decided_by  TEXT    NOT NULL DEFAULT '',
  created_at  INTEGER NOT NULL,
  due_at      INTEGER NOT NULL,
  decided_at  INTEGER,
  version     INTEGER NOT NULL DEFAULT 1,
  drawn       INTEGER NOT NULL DEFAULT 1,
  message_id  TEXT,
  CHECK ((state = 'pending') = (decided_at IS NULL)),
  CHECK (state <> 'allowed' OR choice IS NOT NULL),
  CHECK (drawn <= version)
) STRICT, WITHOUT ROWID;

CREATE INDEX permission_requests_pending ON permission_requests (due_at) WHERE state = 'pending';
CREATE INDEX permission_requests_to_draw ON permission_requests (token) WHERE drawn < version;
CREATE INDEX permission_requests_of_turn ON permission_requests (turn_id);

CREATE TRIGGER permission_requests_decided_once BEFORE UPDATE OF state, choice ON permission_requests
WHEN OLD.state <> 'pending'
BEGIN SELECT raise(ABORT, 'a permission is decided once'); END;

-- The agent's own id of this session, "" while it has none.
ALTER TABLE sessions ADD COLUMN agent_reference TEXT NOT NULL DEFAULT '';

-- What is asked for: the right to chat, by a stranger; another one, by somebody who may chat already.
ALTER TABLE access_requests ADD COLUMN wants TEXT NOT NULL DEFAULT 'chat' CHECK (wants IN ('chat', 'code_write'));
