-- Choosing agents; turns that nobody's message caused.

-- The agent of a person's new conversations in a chat; the key is that of the chat's conversation ("chat:p2p:…").
CREATE TABLE chosen_agents (
  key       TEXT    PRIMARY KEY CHECK (key LIKE 'chat:%'),
  agent     TEXT    NOT NULL,
  chosen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who asks twice under one key gets one turn; `digest` tells whether it was the same that was asked for.
CREATE TABLE launches (
  cause    TEXT NOT NULL CHECK (cause IN ('launch', 'wake')),
  cause_id TEXT NOT NULL CHECK (cause_id <> ''),
  turn_id  TEXT NOT NULL UNIQUE REFERENCES turns (turn_id),
  digest   TEXT NOT NULL CHECK (length(digest) = 32),
  PRIMARY KEY (cause, cause_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER launches_kept BEFORE UPDATE ON launches
BEGIN SELECT raise(ABORT, 'what was launched stays as it was asked for'); END;

-- The message under which a turn's messages hang where nobody's message caused it: of a launch its own main card, once
-- it is there; of a wake-up one of its topic.
ALTER TABLE inflight ADD COLUMN anchor_message_id TEXT;

-- What opens the topic under a launch's main card: the payload of a text that is still to be written down as an intent.
ALTER TABLE inflight ADD COLUMN opening TEXT;
