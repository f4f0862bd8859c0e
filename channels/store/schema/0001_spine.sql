-- The spine: everything one message needs on its way from the ack to the last reaction.
-- Times are epoch milliseconds (`now` of the injected clock, except create_time, which is Feishu's).

CREATE TABLE meta (
  one           INTEGER PRIMARY KEY CHECK (one = 1),
  db_uuid       TEXT    NOT NULL,
  created_at    INTEGER NOT NULL,
  last_alive_at INTEGER,
  clock_floor   INTEGER NOT NULL,
  commits       INTEGER NOT NULL DEFAULT 0 CHECK (commits >= 0)
) STRICT;

CREATE TABLE owners (
  epoch     INTEGER PRIMARY KEY CHECK (epoch > 0),
  booted_at INTEGER NOT NULL,
  version   TEXT    NOT NULL
) STRICT;

CREATE TRIGGER owners_epoch_rises BEFORE INSERT ON owners
WHEN NEW.epoch <= (SELECT coalesce(max(epoch), 0) FROM owners)
BEGIN SELECT raise(ABORT, 'owner epoch must rise'); END;

CREATE TRIGGER owners_kept BEFORE UPDATE ON owners
BEGIN SELECT raise(ABORT, 'owner epochs never change'); END;

CREATE TABLE processed (
  message_id   TEXT    PRIMARY KEY,
  processed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX processed_by_age ON processed (processed_at);

CREATE TABLE inbox (
  message_id     TEXT    PRIMARY KEY,
  conversation   TEXT    NOT NULL,
  chat_id        TEXT    NOT NULL,
  chat_type      TEXT    NOT NULL CHECK (chat_type IN ('p2p', 'group')),
  sender_user_id TEXT    NOT NULL,
  create_time    INTEGER NOT NULL,
  received_at    INTEGER NOT NULL,
  owner_epoch    INTEGER NOT NULL,
  payload        TEXT,
  state          TEXT    NOT NULL CHECK (state IN
                   ('accepted', 'held', 'kept', 'asked', 'queued', 'done', 'dropped', 'refused')),
  verdict        TEXT,
  attempts       INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  due_at         INTEGER NOT NULL DEFAULT 0,
  turn           TEXT    REFERENCES turns (turn_id),
  terminal_at    INTEGER,
  CHECK ((state IN ('done', 'dropped', 'refused')) = (terminal_at IS NOT NULL)),
  CHECK (payload IS NOT NULL OR terminal_at IS NOT NULL),
  CHECK (state <> 'queued' OR turn IS NOT NULL)
) STRICT;

CREATE INDEX inbox_open ON inbox (conversation, create_time, message_id) WHERE state = 'accepted';
CREATE INDEX inbox_by_turn ON inbox (turn) WHERE turn IS NOT NULL;
CREATE INDEX inbox_to_clear ON inbox (terminal_at) WHERE terminal_at IS NOT NULL AND payload IS NOT NULL;

CREATE TRIGGER inbox_terminal_stays BEFORE UPDATE OF state ON inbox
WHEN OLD.terminal_at IS NOT NULL AND NEW.state <> OLD.state
BEGIN SELECT raise(ABORT, 'a terminal inbox row never moves'); END;

CREATE TABLE events (
  event_id TEXT    PRIMARY KEY,
  kind     TEXT    NOT NULL,
  subject  TEXT    NOT NULL,
  outcome  TEXT    NOT NULL,
  at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX events_by_subject ON events (kind, subject);
CREATE INDEX events_by_age ON events (at);

CREATE TABLE cursors (
  container   TEXT    PRIMARY KEY,
  kind        TEXT    NOT NULL CHECK (kind IN ('chat', 'thread')),
  create_time INTEGER NOT NULL,
  message_id  TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  session_id TEXT    PRIMARY KEY,
  chat_id    TEXT    NOT NULL,
  chat_type  TEXT    NOT NULL CHECK (chat_type IN ('p2p', 'group')),
  user_id    TEXT    NOT NULL,
  agent      TEXT    NOT NULL,
  cwd        TEXT    NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE session_events (
  session_id TEXT    NOT NULL REFERENCES sessions (session_id),
  number     INTEGER NOT NULL CHECK (number > 0),
  kind       TEXT    NOT NULL CHECK (kind IN
               ('session/start', 'tool-workflow/run-start', 'tool-workflow/run-end', 'subagent/descriptor',
                'working-directory/change', 'user/message', 'assistant/chunk', 'assistant/message',
                'tool/call', 'tool/result', 'usage', 'turn/end')),
  turn_id    TEXT    REFERENCES turns (turn_id),
  at         INTEGER NOT NULL,
  body       TEXT    NOT NULL,
  PRIMARY KEY (session_id, number)
) STRICT;

-- "in the log" means exactly "entered", and a turn ends once
CREATE UNIQUE INDEX session_events_entered ON session_events (turn_id) WHERE kind = 'user/message';
CREATE UNIQUE INDEX session_events_ended ON session_events (turn_id) WHERE kind = 'turn/end';

CREATE TRIGGER session_events_kept BEFORE UPDATE ON session_events
BEGIN SELECT raise(ABORT, 'the session log is only appended to'); END;

CREATE TABLE routes (
  key              TEXT    PRIMARY KEY,
  session_id       TEXT    NOT NULL REFERENCES sessions (session_id),
  chat_id          TEXT    NOT NULL,
  chat_type        TEXT    NOT NULL CHECK (chat_type IN ('p2p', 'group')),
  sender_user_id   TEXT    NOT NULL,
  workspace_path   TEXT    NOT NULL,
  session_dir      TEXT,
  worktree_branch  TEXT,
  card_message_id  TEXT,
  created_at       INTEGER NOT NULL,
  last_activity_at INTEGER NOT NULL
) STRICT;

CREATE INDEX routes_by_session ON routes (session_id);

CREATE TABLE expired_routes (
  thread_id  TEXT    PRIMARY KEY,
  expired_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER routes_not_under_tombstone BEFORE INSERT ON routes
WHEN EXISTS (SELECT 1 FROM expired_routes WHERE thread_id = NEW.key)
BEGIN SELECT raise(ABORT, 'a tombstoned thread never gets a route'); END;

CREATE TRIGGER routes_key_stays BEFORE UPDATE OF key ON routes
BEGIN SELECT raise(ABORT, 'the key of a route never changes'); END;

CREATE TRIGGER expired_routes_kept BEFORE DELETE ON expired_routes
BEGIN SELECT raise(ABORT, 'a tombstone is never taken away'); END;

-- One session is being established per (chat, user). 'unsure': closed as a chat route because the outcome of the
-- reply stayed unknown; messages under the claim's message go on waiting until it is known.
CREATE TABLE establishing (
  message_id  TEXT    PRIMARY KEY,
  key         TEXT    NOT NULL,
  turn_id     TEXT    NOT NULL REFERENCES turns (turn_id),
  session_id  TEXT    NOT NULL REFERENCES sessions (session_id),
  owner_epoch INTEGER NOT NULL,
  state       TEXT    NOT NULL CHECK (state IN ('open', 'unsure')),
  due_at      INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX establishing_one ON establishing (key) WHERE state = 'open';

CREATE TABLE turns (
  seq            INTEGER PRIMARY KEY,
  turn_id        TEXT    NOT NULL UNIQUE,
  cause          TEXT    NOT NULL CHECK (cause IN ('message', 'continue', 'launch', 'wake')),
  cause_id       TEXT    NOT NULL,
  session_id     TEXT    NOT NULL REFERENCES sessions (session_id),
  sender_user_id TEXT,
  state          TEXT    NOT NULL CHECK (state IN ('queued', 'entered', 'ended', 'unknown')),
  start_epoch    INTEGER NOT NULL CHECK (start_epoch > 0),
  owner_epoch    INTEGER NOT NULL,
  stop_requested INTEGER NOT NULL DEFAULT 0 CHECK (stop_requested IN (0, 1)),
  outcome        TEXT    CHECK (outcome IN ('completed', 'max_tokens', 'stopped', 'failed', 'interrupted')),
  reservation    TEXT,
  queued_at      INTEGER NOT NULL,
  entered_at     INTEGER,
  ended_at       INTEGER,
  UNIQUE (cause, cause_id),
  CHECK ((state = 'ended') = (outcome IS NOT NULL)),
  CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
  CHECK (stop_requested = 0 OR outcome IS NULL OR outcome = 'stopped')
) STRICT;

CREATE UNIQUE INDEX turns_one_entered ON turns (session_id) WHERE state = 'entered';
CREATE INDEX turns_open ON turns (session_id, seq) WHERE state IN ('queued', 'entered');
CREATE INDEX turns_unknown ON turns (seq) WHERE state = 'unknown';

CREATE TRIGGER turns_move_forward BEFORE UPDATE OF state ON turns
WHEN NOT (OLD.state = NEW.state
          OR (OLD.state = 'queued' AND NEW.state IN ('entered', 'ended', 'unknown'))
          OR (OLD.state = 'entered' AND NEW.state IN ('ended', 'unknown'))
          OR (OLD.state = 'unknown' AND NEW.state = 'ended'))
BEGIN SELECT raise(ABORT, 'a turn never moves back'); END;

CREATE TRIGGER turns_enter_under_current_owner BEFORE UPDATE OF state ON turns
WHEN NEW.state = 'entered' AND OLD.state <> 'entered'
 AND NEW.owner_epoch <> (SELECT max(epoch) FROM owners)
BEGIN SELECT raise(ABORT, 'only the current owner enters a turn'); END;

CREATE TRIGGER turns_end_under_current_owner BEFORE UPDATE OF state ON turns
WHEN NEW.state = 'ended' AND OLD.state <> 'ended'
 AND NEW.owner_epoch <> (SELECT max(epoch) FROM owners)
BEGIN SELECT raise(ABORT, 'only the current owner ends a turn'); END;

CREATE TRIGGER turns_epochs_rise BEFORE UPDATE OF start_epoch, owner_epoch ON turns
WHEN NEW.start_epoch < OLD.start_epoch OR NEW.owner_epoch < OLD.owner_epoch
BEGIN SELECT raise(ABORT, 'epochs of a turn never fall'); END;

CREATE TRIGGER turns_stop_stays BEFORE UPDATE OF stop_requested ON turns
WHEN NEW.stop_requested < OLD.stop_requested
BEGIN SELECT raise(ABORT, 'a stop is never taken back'); END;

CREATE TABLE inflight (
  turn_id            TEXT    PRIMARY KEY REFERENCES turns (turn_id),
  session_id         TEXT    NOT NULL REFERENCES sessions (session_id),
  chat_id            TEXT    NOT NULL,
  chat_type          TEXT    NOT NULL CHECK (chat_type IN ('p2p', 'group')),
  trigger_message_id TEXT,
  in_thread          INTEGER NOT NULL CHECK (in_thread IN (0, 1)),
  reaction_id        TEXT,
  route_key          TEXT,
  message            TEXT    CHECK (message IS NULL OR length(CAST(message AS BLOB)) <= 262144),
  sender_user_id     TEXT,
  last_text          TEXT    NOT NULL DEFAULT '',
  started_at         INTEGER NOT NULL,
  attempts           INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0)
) STRICT;

-- `sequence`: the highest CardKit sequence that anybody may have used; a later owner starts after it.
CREATE TABLE inflight_cards (
  turn_id    TEXT    NOT NULL REFERENCES inflight (turn_id) ON DELETE CASCADE,
  segment    INTEGER NOT NULL CHECK (segment >= 0),
  mode       TEXT    NOT NULL CHECK (mode IN ('card', 'text')),
  uuid       TEXT    NOT NULL,
  card_id    TEXT,
  message_id TEXT,
  sequence   INTEGER NOT NULL CHECK (sequence >= 0),
  PRIMARY KEY (turn_id, segment)
) STRICT;

CREATE TRIGGER inflight_cards_sequence_rises BEFORE UPDATE OF sequence ON inflight_cards
WHEN NEW.sequence < OLD.sequence
BEGIN SELECT raise(ABORT, 'a card sequence never falls'); END;

-- `lane`: rows of one lane are delivered one after another, by `place`; a successor takes the place of the one it
-- stands for. `unsure`: an attempt had an unknown outcome.
CREATE TABLE outbox (
  seq              INTEGER PRIMARY KEY,
  intent_id        TEXT    NOT NULL UNIQUE,
  kind             TEXT    NOT NULL CHECK (kind IN ('send', 'reply', 'card', 'reaction', 'segment', 'receipt')),
  op               TEXT    NOT NULL,
  lane             TEXT    NOT NULL,
  place            INTEGER NOT NULL,
  turn_id          TEXT    REFERENCES turns (turn_id),
  segment          INTEGER NOT NULL DEFAULT 0,
  chat_id          TEXT    NOT NULL,
  target           TEXT    NOT NULL,
  payload          TEXT    NOT NULL,
  uuid             TEXT    NOT NULL UNIQUE,
  terminal         INTEGER NOT NULL CHECK (terminal IN (0, 1)),
  state            TEXT    NOT NULL CHECK (state IN
                     ('pending', 'done', 'gone', 'refused', 'unknown', 'expired', 'superseded')),
  attempts         INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  unsure           INTEGER NOT NULL DEFAULT 0 CHECK (unsure IN (0, 1)),
  first_attempt_at INTEGER,
  next_attempt_at  INTEGER NOT NULL,
  last_error       TEXT,
  result           TEXT,
  successor_of     TEXT,
  created_at       INTEGER NOT NULL,
  ended_at         INTEGER,
  CHECK ((state = 'pending') = (ended_at IS NULL)),
  CHECK ((attempts = 0) = (first_attempt_at IS NULL))
) STRICT;

CREATE INDEX outbox_lanes ON outbox (lane, place, seq);
CREATE INDEX outbox_open ON outbox (lane, place) WHERE state = 'pending';
CREATE INDEX outbox_due ON outbox (next_attempt_at) WHERE state = 'pending';
CREATE INDEX outbox_by_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_ended ON outbox (ended_at) WHERE ended_at IS NOT NULL;

-- the same intent always has the same uuid; different content never does
CREATE TRIGGER outbox_uuid_stays BEFORE UPDATE OF uuid, intent_id, kind, op, lane ON outbox
BEGIN SELECT raise(ABORT, 'an intent keeps its uuid'); END;

CREATE TRIGGER outbox_payload_stays BEFORE UPDATE OF payload, target ON outbox
WHEN OLD.attempts > 0
BEGIN SELECT raise(ABORT, 'an intent that was sent keeps its content'); END;

CREATE TRIGGER outbox_counts_rise BEFORE UPDATE OF attempts, first_attempt_at, unsure ON outbox
WHEN NEW.attempts < OLD.attempts OR NEW.unsure < OLD.unsure
  OR (OLD.first_attempt_at IS NOT NULL AND NEW.first_attempt_at IS NOT OLD.first_attempt_at)
BEGIN SELECT raise(ABORT, 'attempts are never forgotten'); END;

CREATE TRIGGER outbox_last_state_stays BEFORE UPDATE OF state ON outbox
WHEN OLD.state <> 'pending' AND NEW.state <> OLD.state AND NOT (OLD.state = 'unknown' AND NEW.state = 'done')
BEGIN SELECT raise(ABORT, 'a last state stays'); END;

CREATE TABLE sent_cards (
  message_id TEXT    PRIMARY KEY,
  turn_id    TEXT,
  segment    INTEGER NOT NULL DEFAULT 0,
  chat_id    TEXT    NOT NULL,
  text       TEXT    NOT NULL,
  at         INTEGER NOT NULL
) STRICT;
