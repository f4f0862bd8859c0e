-- Recovery: what reconciling, continuing, missed messages and restored backups need.

-- `reconcile`: history must be asked before this intent is sent (again).
ALTER TABLE outbox ADD COLUMN reconcile INTEGER NOT NULL DEFAULT 0 CHECK (reconcile IN (0, 1));

-- `unsure`: an update of this card had an unknown outcome, so that its last update is sent once more.
ALTER TABLE inflight_cards ADD COLUMN unsure INTEGER NOT NULL DEFAULT 0 CHECK (unsure IN (0, 1));

-- What a card of ours is, beyond its text: enough to go on in it after its snapshot has gone.
ALTER TABLE sent_cards ADD COLUMN card_id TEXT;
ALTER TABLE sent_cards ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;

CREATE INDEX sent_cards_by_turn ON sent_cards (turn_id, segment) WHERE turn_id IS NOT NULL;

-- Where each cursor's container lies: a history item does not say what kind of chat it stands in.
ALTER TABLE cursors ADD COLUMN chat_id TEXT NOT NULL DEFAULT '';
ALTER TABLE cursors ADD COLUMN chat_type TEXT NOT NULL DEFAULT 'group' CHECK (chat_type IN ('p2p', 'group'));

CREATE INDEX cursors_by_age ON cursors (kind, create_time);
CREATE INDEX cursors_by_chat ON cursors (chat_id);

-- A stretch of time in which messages may have been missed. Closed when every container is read, or refused for a
-- reason that `error` states. A closed row of reason 'sweep' is the end of the last completed sweep.
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

-- `read_to_ms`: how far a chat has been read; reading goes on there, whatever has become of Feishu's page tokens.
CREATE TABLE missed_containers (
  gap_id     INTEGER NOT NULL REFERENCES missed_gaps (gap_id) ON DELETE CASCADE,
  container  TEXT    NOT NULL,
  kind       TEXT    NOT NULL CHECK (kind IN ('chat', 'thread')),
  chat_id    TEXT    NOT NULL,
  chat_type  TEXT    NOT NULL CHECK (chat_type IN ('p2p', 'group')),
  place      INTEGER NOT NULL,
  read_to_ms INTEGER NOT NULL,
  state      TEXT    NOT NULL CHECK (state IN ('open', 'read', 'refused')),
  error      TEXT,
  PRIMARY KEY (gap_id, container),
  CHECK (state <> 'refused' OR error IS NOT NULL)
) STRICT;

CREATE INDEX missed_containers_by_place ON missed_containers (container, gap_id);

CREATE TRIGGER missed_containers_only_forward BEFORE UPDATE OF read_to_ms ON missed_containers
WHEN NEW.read_to_ms < OLD.read_to_ms
BEGIN SELECT raise(ABORT, 'a chat is not read backwards'); END;

-- A pending card: older messages of one chat that a person decides about. `version` counts its changes, `drawn` is the
-- version that the card shows or will show; `card_number` counts the messages that were sent to show it.
CREATE TABLE missed_batches (
  batch_id        TEXT    PRIMARY KEY,
  chat_id         TEXT    NOT NULL,
  chat_type       TEXT    NOT NULL CHECK (chat_type IN ('p2p', 'group')),
  state           TEXT    NOT NULL CHECK (state IN ('open', 'handled', 'ignored')),
  decided_by      TEXT,
  created_at      INTEGER NOT NULL,
  decided_at      INTEGER,
  version         INTEGER NOT NULL DEFAULT 0,
  drawn           INTEGER NOT NULL DEFAULT 0,
  card_number     INTEGER NOT NULL DEFAULT 0,
  card_at         INTEGER,
  card_message_id TEXT,
  CHECK ((state = 'open') = (decided_at IS NULL)),
  CHECK (drawn <= version)
) STRICT;

CREATE UNIQUE INDEX missed_batches_one ON missed_batches (chat_id) WHERE state = 'open';
CREATE INDEX missed_batches_to_draw ON missed_batches (batch_id) WHERE drawn < version;

-- What the card shows of each message, and who may decide.
CREATE TABLE missed_batch_messages (
  message_id     TEXT    PRIMARY KEY,
  batch_id       TEXT    NOT NULL REFERENCES missed_batches (batch_id),
  sender_user_id TEXT    NOT NULL,
  sender_open_id TEXT    NOT NULL,
  create_time    INTEGER NOT NULL,
  excerpt        TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX missed_batch_messages_by_batch ON missed_batch_messages (batch_id, create_time, message_id);

CREATE TRIGGER missed_batches_decided_once BEFORE UPDATE OF state ON missed_batches
WHEN OLD.state <> 'open'
BEGIN SELECT raise(ABORT, 'a batch is decided once'); END;

-- Groups that the bot was added to, and private chats that somebody opened: they may be silent until we are away.
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

-- A restored file: what is older than `since_ms` is compared with history before anything is said.
CREATE TABLE quarantine (
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  why        TEXT    NOT NULL,
  since_ms   INTEGER NOT NULL,
  entered_at INTEGER NOT NULL,
  left_at    INTEGER
) STRICT;

ALTER TABLE inbox ADD COLUMN origin TEXT NOT NULL DEFAULT 'live' CHECK (origin IN ('live', 'history'));

-- Rows of the inbox that wait for this comparison have the verdict 'restored'.
CREATE INDEX inbox_to_compare ON inbox (create_time, message_id) WHERE verdict = 'restored' AND terminal_at IS NULL;
