-- Recovery: what reconciling, continuing, missed messages and restored backups need.

-- `reconcile`: history must be asked before this intent is sent (again).
ALTER TABLE outbox ADD COLUMN reconcile INTEGER NOT NULL DEFAULT 0 CHECK (reconcile IN (0, 1));

-- `unsure`: an update of this card had an unknown outcome, so that its last update is sent once more.
ALTER TABLE inflight_cards ADD COLUMN unsure INTEGER NOT NULL DEFAULT 0 CHECK (unsure IN (0, 1));

-- What a card of ours is, beyond its text: enough to go on in it after its snapshot has gone.
ALTER TABLE sent_cards ADD COLUMN card_id TEXT;
ALTER TABLE sent_cards ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;

CREATE INDEX sent_cards_by_turn ON sent_cards (turn_id, segment) WHERE turn_id IS NOT NULL;

-- A stretch of time in which messages may have been missed. Closed when every container is read.
CREATE TABLE missed_gaps (
  gap_id     INTEGER PRIMARY KEY,
  from_ms    INTEGER NOT NULL,
  to_ms      INTEGER NOT NULL,
  reason     TEXT    NOT NULL CHECK (reason IN ('boot', 'reconnect', 'sweep', 'restore')),
  opened_at  INTEGER NOT NULL,
  closed_at  INTEGER,
  CHECK (from_ms <= to_ms)
) STRICT;

CREATE INDEX missed_gaps_open ON missed_gaps (gap_id) WHERE closed_at IS NULL;

CREATE TABLE missed_containers (
  gap_id     INTEGER NOT NULL REFERENCES missed_gaps (gap_id) ON DELETE CASCADE,
  container  TEXT    NOT NULL,
  kind       TEXT    NOT NULL CHECK (kind IN ('chat', 'thread')),
  page_token TEXT,
  state      TEXT    NOT NULL CHECK (state IN ('open', 'read', 'refused')),
  error      TEXT,
  PRIMARY KEY (gap_id, container)
) STRICT;

-- A pending card: older messages of one chat that a person decides about.
CREATE TABLE missed_batches (
  batch_id   TEXT    PRIMARY KEY,
  chat_id    TEXT    NOT NULL,
  state      TEXT    NOT NULL CHECK (state IN ('open', 'handled', 'ignored')),
  decided_by TEXT,
  created_at INTEGER NOT NULL,
  decided_at INTEGER,
  CHECK ((state = 'open') = (decided_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX missed_batches_one ON missed_batches (chat_id) WHERE state = 'open';

CREATE TABLE missed_batch_messages (
  batch_id   TEXT NOT NULL REFERENCES missed_batches (batch_id),
  message_id TEXT NOT NULL UNIQUE,
  PRIMARY KEY (batch_id, message_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER missed_batches_decided_once BEFORE UPDATE OF state ON missed_batches
WHEN OLD.state <> 'open'
BEGIN SELECT raise(ABORT, 'a batch is decided once'); END;

CREATE TABLE known_groups (
  chat_id  TEXT    PRIMARY KEY,
  name     TEXT    NOT NULL,
  added_at INTEGER NOT NULL
) STRICT;

CREATE TABLE guided_chats (
  chat_id   TEXT    PRIMARY KEY,
  user_id   TEXT    NOT NULL,
  guided_at INTEGER NOT NULL
) STRICT;

-- A restored file: what is older than `since_ms` is asked about before it is answered.
CREATE TABLE quarantine (
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  why        TEXT    NOT NULL,
  since_ms   INTEGER NOT NULL,
  entered_at INTEGER NOT NULL,
  left_at    INTEGER
) STRICT;

ALTER TABLE inbox ADD COLUMN origin TEXT NOT NULL DEFAULT 'live' CHECK (origin IN ('live', 'history'));
