-- The ledger: what people may use, what is held for a turn, what was used; and the settlements that wait.
--
-- A turn holds its reservation in two windows, the day's and the month's. A release gives it back to the same two. What
-- belongs together is tied so that no order of mistakes parts it: a hold without its reservation, a reservation without
-- its hold, a release without its moves, its usage or its receipt, and a receipt without its release do not commit.

-- What admins have set for one person. NULL: as the settings say; 0: no limit.
CREATE TABLE quota_limits (
  user_id          TEXT    PRIMARY KEY,
  turns_per_day    INTEGER CHECK (turns_per_day >= 0),
  turns_per_month  INTEGER CHECK (turns_per_month >= 0),
  tokens_per_day   INTEGER CHECK (tokens_per_day >= 0),
  tokens_per_month INTEGER CHECK (tokens_per_month >= 0),
  changed_by       TEXT    NOT NULL,
  changed_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One window of one person ('' stands for nobody: other bots). A limit and what is free of it are NULL together: no
-- limit. `moved_by`: the reservation that moved this row last, and by what kind of `move`.
CREATE TABLE quotas (
  user_id      TEXT    NOT NULL,
  period       TEXT    NOT NULL CHECK (period IN ('day', 'month')),
  starts_at    INTEGER NOT NULL,
  ends_at      INTEGER NOT NULL,
  turns_limit  INTEGER CHECK (turns_limit >= 0),
  turns_free   INTEGER CHECK (turns_free >= 0),
  turns_held   INTEGER NOT NULL CHECK (turns_held >= 0),
  turns_used   INTEGER NOT NULL CHECK (turns_used >= 0),
  tokens_limit INTEGER CHECK (tokens_limit >= 0),
  tokens_free  INTEGER CHECK (tokens_free >= 0),
  tokens_held  INTEGER NOT NULL CHECK (tokens_held >= 0),
  tokens_used  INTEGER NOT NULL CHECK (tokens_used >= 0),
  move         TEXT    NOT NULL CHECK (move IN ('limit', 'reserve', 'release')),
  moved_by     TEXT    REFERENCES reservations (reservation_id) DEFERRABLE INITIALLY DEFERRED,
  moved_turns  INTEGER NOT NULL DEFAULT 0 CHECK (moved_turns >= 0),
  moved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (moved_tokens >= 0),
  PRIMARY KEY (user_id, period, starts_at),
  CHECK (starts_at < ends_at),
  CHECK (move = 'limit' OR moved_by IS NOT NULL),
  CHECK ((turns_limit IS NULL) = (turns_free IS NULL)),
  CHECK ((tokens_limit IS NULL) = (tokens_free IS NULL)),
  CHECK (turns_limit IS NULL OR turns_free + turns_held + turns_used = turns_limit),
  CHECK (tokens_limit IS NULL OR tokens_free + tokens_held + tokens_used = tokens_limit)
) STRICT, WITHOUT ROWID;

CREATE INDEX quotas_by_mover ON quotas (moved_by) WHERE moved_by IS NOT NULL;
CREATE INDEX quotas_by_end ON quotas (ends_at);

-- What is held for one turn. `session_hash` NULL: nobody knows whose it is, so it binds every stopped session.
-- `settlement`: how far its settlement has come; `queued_at`, `settlement_key`, `payload_hash`: as it was queued, once.
CREATE TABLE reservations (
  reservation_id  TEXT    PRIMARY KEY,
  turn_id         TEXT    NOT NULL UNIQUE REFERENCES turns (turn_id),
  user_id         TEXT    NOT NULL,
  session_hash    TEXT    CHECK (length(session_hash) = 64),
  day_starts_at   INTEGER NOT NULL,
  month_starts_at INTEGER NOT NULL,
  turns           INTEGER NOT NULL CHECK (turns >= 0),
  tokens          INTEGER NOT NULL CHECK (tokens >= 0),
  state           TEXT    NOT NULL CHECK (state IN ('held', 'released')),
  settlement      TEXT    NOT NULL CHECK (settlement IN
                    ('none', 'pending', 'settled', 'expired', 'failed', 'stopped', 'conflict')),
  settlement_key  TEXT    UNIQUE CHECK (length(settlement_key) = 64),
  payload_hash    TEXT    CHECK (length(payload_hash) = 64),
  queued_at       INTEGER,
  reserved_at     INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL,
  released_at     INTEGER,
  UNIQUE (reservation_id, state),
  CHECK (reserved_at < expires_at),
  CHECK ((state = 'released') = (released_at IS NOT NULL)),
  CHECK ((settlement = 'none') = (queued_at IS NULL)),
  CHECK ((settlement = 'none') = (settlement_key IS NULL)),
  CHECK ((settlement = 'none') = (payload_hash IS NULL)),
  CHECK (settlement <> 'settled' OR state = 'released'),
  CHECK (settlement <> 'pending' OR state = 'held')
) STRICT;

CREATE INDEX reservations_held ON reservations (reserved_at) WHERE state = 'held';
CREATE INDEX reservations_live ON reservations (session_hash) WHERE state = 'held';
CREATE INDEX reservations_of_person ON reservations (user_id, reserved_at);

-- How a turn ended, as whoever ran it says; stored before anything follows from it, and kept whoever said it.
CREATE TABLE evidence (
  reservation_id TEXT    NOT NULL REFERENCES reservations (reservation_id),
  start_epoch    INTEGER NOT NULL CHECK (start_epoch > 0),
  executor       TEXT    NOT NULL CHECK (executor <> ''),
  kind           TEXT    NOT NULL CHECK (kind IN ('ended', 'unstarted', 'repaired', 'elsewhere', 'stale')),
  owner_epoch    INTEGER NOT NULL REFERENCES owners (epoch),
  outcome        TEXT    NOT NULL CHECK (outcome IN ('completed', 'max_tokens', 'stopped', 'failed', 'interrupted')),
  agent          TEXT    NOT NULL,
  model          TEXT    NOT NULL,
  turns          INTEGER NOT NULL CHECK (turns >= 0),
  input_tokens   INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens  INTEGER NOT NULL CHECK (output_tokens >= 0),
  cached_tokens  INTEGER NOT NULL CHECK (cached_tokens >= 0),
  hash           TEXT    NOT NULL CHECK (length(hash) = 64),
  stored_at      INTEGER NOT NULL,
  PRIMARY KEY (reservation_id, start_epoch, executor, kind)
) STRICT, WITHOUT ROWID;

-- `way`: settled in time, late (from stored evidence, after its settlement had come to nothing), void (no evidence).
CREATE TABLE releases (
  reservation_id    TEXT    PRIMARY KEY,
  state             TEXT    NOT NULL CHECK (state = 'released'),
  way               TEXT    NOT NULL CHECK (way IN ('settled', 'late', 'void')),
  settlement_key    TEXT    NOT NULL UNIQUE CHECK (length(settlement_key) = 64),
  payload_hash      TEXT    CHECK (length(payload_hash) = 64),
  start_epoch       INTEGER,
  executor          TEXT,
  kind              TEXT,
  owner_epoch       INTEGER NOT NULL REFERENCES owners (epoch),
  turns_used        INTEGER NOT NULL CHECK (turns_used >= 0),
  day_tokens_used   INTEGER NOT NULL CHECK (day_tokens_used >= 0),
  month_tokens_used INTEGER NOT NULL CHECK (month_tokens_used >= 0),
  receipt           TEXT    UNIQUE REFERENCES outbox (intent_id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
  released_at       INTEGER NOT NULL,
  CHECK ((way = 'void') = (executor IS NULL)),
  CHECK ((way = 'void') = (payload_hash IS NULL)),
  CHECK (way <> 'void' OR turns_used + day_tokens_used + month_tokens_used = 0),
  FOREIGN KEY (reservation_id, start_epoch, executor, kind)
    REFERENCES evidence (reservation_id, start_epoch, executor, kind),
  FOREIGN KEY (reservation_id, state)
    REFERENCES reservations (reservation_id, state) DEFERRABLE INITIALLY DEFERRED
) STRICT;

-- What a turn has really used. What went beyond its reservation and beyond all that was free is in no window
-- (`day_overrun`, `month_overrun`). `reservation_id` NULL: from before there were reservations.
CREATE TABLE usage (
  turn_id        TEXT    PRIMARY KEY REFERENCES turns (turn_id),
  reservation_id TEXT    UNIQUE REFERENCES releases (reservation_id),
  user_id        TEXT    NOT NULL,
  session_id     TEXT    NOT NULL REFERENCES sessions (session_id),
  agent          TEXT    NOT NULL,
  model          TEXT    NOT NULL,
  outcome        TEXT    NOT NULL,
  turns          INTEGER NOT NULL CHECK (turns >= 0),
  input_tokens   INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens  INTEGER NOT NULL CHECK (output_tokens >= 0),
  cached_tokens  INTEGER NOT NULL CHECK (cached_tokens >= 0),
  day_overrun    INTEGER NOT NULL CHECK (day_overrun >= 0),
  month_overrun  INTEGER NOT NULL CHECK (month_overrun >= 0),
  late           INTEGER NOT NULL CHECK (late IN (0, 1)),
  queued_at      INTEGER NOT NULL,
  ended_at       INTEGER NOT NULL,
  booked_at      INTEGER NOT NULL
) STRICT;

CREATE INDEX usage_of_person ON usage (user_id, queued_at);
CREATE INDEX usage_of_session ON usage (session_id);
CREATE INDEX usage_by_time ON usage (queued_at);

-- Turns that ended before: what their logs say.
INSERT INTO usage (turn_id, user_id, session_id, agent, model, outcome, turns, input_tokens, output_tokens,
                   cached_tokens, day_overrun, month_overrun, late, queued_at, ended_at, booked_at)
SELECT turns.turn_id, coalesce(turns.sender_user_id, ''), turns.session_id, sessions.agent, '', turns.outcome, 1,
       coalesce(sum(json_extract(log.body, '$.input_tokens')), 0),
       coalesce(sum(json_extract(log.body, '$.output_tokens')), 0),
       coalesce(sum(json_extract(log.body, '$.cached_tokens')), 0), 0, 0, 0, turns.queued_at, turns.ended_at,
       turns.ended_at
FROM turns JOIN sessions ON sessions.session_id = turns.session_id
JOIN session_events AS log ON log.turn_id = turns.turn_id AND log.kind = 'usage'
WHERE turns.state = 'ended' GROUP BY turns.turn_id;

CREATE TRIGGER quotas_begin_empty BEFORE INSERT ON quotas
WHEN NEW.turns_held + NEW.turns_used + NEW.tokens_held + NEW.tokens_used > 0 OR NEW.moved_by IS NOT NULL
BEGIN SELECT raise(ABORT, 'a window begins empty'); END;

CREATE TRIGGER quotas_stay BEFORE UPDATE OF user_id, period, starts_at, ends_at ON quotas
BEGIN SELECT raise(ABORT, 'a window stays where it is'); END;

CREATE TRIGGER quotas_move_for_a_reason BEFORE UPDATE ON quotas
WHEN NOT CASE NEW.move
  WHEN 'limit' THEN
    NEW.turns_held = OLD.turns_held AND NEW.turns_used = OLD.turns_used
    AND NEW.tokens_held = OLD.tokens_held AND NEW.tokens_used = OLD.tokens_used AND NEW.moved_by IS OLD.moved_by
  WHEN 'reserve' THEN
    NEW.turns_held = OLD.turns_held + NEW.moved_turns AND NEW.turns_used = OLD.turns_used
    AND NEW.tokens_held = OLD.tokens_held + NEW.moved_tokens AND NEW.tokens_used = OLD.tokens_used
    AND NEW.moved_by IS NOT OLD.moved_by
    AND NOT EXISTS (SELECT 1 FROM reservations WHERE reservation_id = NEW.moved_by)
  ELSE
    NOT (OLD.move = 'release' AND OLD.moved_by IS NEW.moved_by) AND EXISTS (
      SELECT 1 FROM releases JOIN reservations USING (reservation_id)
      WHERE reservation_id = NEW.moved_by AND reservations.state = 'held' AND reservations.user_id = NEW.user_id
      AND NEW.starts_at =
        CASE NEW.period WHEN 'day' THEN reservations.day_starts_at ELSE reservations.month_starts_at END
      AND NEW.turns_held = OLD.turns_held - reservations.turns
      AND NEW.turns_used = OLD.turns_used + releases.turns_used
      AND NEW.tokens_held = OLD.tokens_held - reservations.tokens
      AND NEW.tokens_used = OLD.tokens_used
        + CASE NEW.period WHEN 'day' THEN releases.day_tokens_used ELSE releases.month_tokens_used END)
  END
BEGIN SELECT raise(ABORT, 'a quota moves with a reservation, its release or a limit, and only so far'); END;

CREATE TRIGGER quotas_kept BEFORE DELETE ON quotas WHEN OLD.turns_held > 0 OR OLD.tokens_held > 0
BEGIN SELECT raise(ABORT, 'a window in which something is held is kept'); END;

CREATE TRIGGER reservations_hold_in_both_windows BEFORE INSERT ON reservations
WHEN NEW.state <> 'held' OR NEW.settlement <> 'none' OR 2 <> (
  SELECT count(*) FROM quotas WHERE user_id = NEW.user_id AND move = 'reserve' AND moved_by = NEW.reservation_id
  AND moved_turns = NEW.turns AND moved_tokens = NEW.tokens
  AND ((period = 'day' AND starts_at = NEW.day_starts_at) OR (period = 'month' AND starts_at = NEW.month_starts_at)))
BEGIN SELECT raise(ABORT, 'a reservation is held in its day and its month'); END;

CREATE TRIGGER reservations_stay
BEFORE UPDATE OF reservation_id, turn_id, user_id, day_starts_at, month_starts_at, turns, tokens, reserved_at, expires_at
ON reservations
BEGIN SELECT raise(ABORT, 'a reservation stays what it was'); END;

CREATE TRIGGER reservations_kept BEFORE DELETE ON reservations
BEGIN SELECT raise(ABORT, 'a reservation is kept'); END;

CREATE TRIGGER reservations_release_once BEFORE UPDATE OF state ON reservations
WHEN NEW.state <> OLD.state AND (OLD.state <> 'held'
  OR NOT EXISTS (SELECT 1 FROM releases WHERE reservation_id = NEW.reservation_id
                 AND (way = 'settled') = (NEW.settlement = 'settled') AND receipt IS NOT NULL
                 AND (way = 'void') = NOT EXISTS (SELECT 1 FROM usage WHERE reservation_id = NEW.reservation_id))
  OR 2 <> (SELECT count(*) FROM quotas WHERE user_id = NEW.user_id AND move = 'release'
           AND moved_by = NEW.reservation_id
           AND ((period = 'day' AND starts_at = NEW.day_starts_at)
                OR (period = 'month' AND starts_at = NEW.month_starts_at))))
BEGIN SELECT raise(ABORT, 'a reservation ends once, with its release, its usage and both moves'); END;

CREATE TRIGGER reservations_settle_forward
BEFORE UPDATE OF settlement, queued_at, settlement_key, payload_hash ON reservations
WHEN (NEW.settlement <> OLD.settlement AND NOT (
       (OLD.settlement = 'none' AND NEW.settlement = 'pending')
       OR (OLD.settlement = 'pending' AND NEW.settlement IN ('settled', 'expired', 'failed', 'stopped', 'conflict'))))
  OR (OLD.queued_at IS NOT NULL AND (NEW.queued_at IS NOT OLD.queued_at
      OR NEW.settlement_key IS NOT OLD.settlement_key OR NEW.payload_hash IS NOT OLD.payload_hash))
BEGIN SELECT raise(ABORT, 'a settlement is queued once and ends once'); END;

CREATE TRIGGER evidence_stays BEFORE UPDATE ON evidence
BEGIN SELECT raise(ABORT, 'evidence stays as it was said'); END;

CREATE TRIGGER evidence_kept BEFORE DELETE ON evidence
BEGIN SELECT raise(ABORT, 'evidence is kept'); END;

CREATE TRIGGER releases_by_the_current_owner BEFORE INSERT ON releases
WHEN NEW.owner_epoch <> (SELECT max(epoch) FROM owners)
BEGIN SELECT raise(ABORT, 'only the current owner releases'); END;

CREATE TRIGGER releases_once BEFORE INSERT ON releases
WHEN NEW.receipt IS NULL OR NOT EXISTS (
  SELECT 1 FROM reservations JOIN turns ON turns.turn_id = reservations.turn_id
  WHERE reservations.reservation_id = NEW.reservation_id AND reservations.state = 'held' AND turns.state = 'ended'
  AND (reservations.settlement = 'pending') = (NEW.way = 'settled'))
BEGIN SELECT raise(ABORT, 'what is held for a turn is released once, after its end'); END;

CREATE TRIGGER releases_by_their_own_evidence BEFORE INSERT ON releases
WHEN NEW.way <> 'void' AND NOT EXISTS (
  SELECT 1 FROM reservations JOIN turns ON turns.turn_id = reservations.turn_id
  WHERE reservations.reservation_id = NEW.reservation_id AND turns.start_epoch = NEW.start_epoch
  AND NEW.executor = 'boot:' || turns.owner_epoch)
BEGIN SELECT raise(ABORT, 'evidence settles its own reservation, start and executor only'); END;

CREATE TRIGGER releases_stay BEFORE UPDATE ON releases
WHEN NEW.receipt IS NOT NULL OR NEW.reservation_id <> OLD.reservation_id OR NEW.way <> OLD.way
  OR NEW.settlement_key <> OLD.settlement_key OR NEW.payload_hash IS NOT OLD.payload_hash
  OR NEW.turns_used <> OLD.turns_used OR NEW.day_tokens_used <> OLD.day_tokens_used
  OR NEW.month_tokens_used <> OLD.month_tokens_used OR NEW.released_at <> OLD.released_at
BEGIN SELECT raise(ABORT, 'a release stays as it was'); END;

CREATE TRIGGER releases_kept BEFORE DELETE ON releases
BEGIN SELECT raise(ABORT, 'a release is kept'); END;

CREATE TRIGGER receipts_belong_to_a_release BEFORE INSERT ON outbox
WHEN NEW.kind = 'receipt' AND NOT EXISTS (SELECT 1 FROM releases WHERE receipt = NEW.intent_id)
BEGIN SELECT raise(ABORT, 'a receipt comes with its release'); END;

CREATE TRIGGER usage_stays BEFORE UPDATE ON usage
BEGIN SELECT raise(ABORT, 'what was used stays booked'); END;

CREATE TRIGGER usage_kept BEFORE DELETE ON usage
BEGIN SELECT raise(ABORT, 'what was used stays booked'); END;

-- Settlements. No row of control: generation 1, not paused. `format` says how a row is to be read; nobody reads one
-- that he does not know.
CREATE TABLE settlement_control (
  one         INTEGER PRIMARY KEY CHECK (one = 1),
  format      INTEGER NOT NULL,
  generation  INTEGER NOT NULL CHECK (generation > 0),
  user_paused INTEGER NOT NULL CHECK (user_paused IN (0, 1)),
  changed_at  INTEGER NOT NULL
) STRICT;

CREATE TRIGGER settlement_control_rises BEFORE UPDATE ON settlement_control
WHEN NEW.generation <= OLD.generation
BEGIN SELECT raise(ABORT, 'every control change moves the generation on'); END;

CREATE TRIGGER settlement_control_kept BEFORE DELETE ON settlement_control
BEGIN SELECT raise(ABORT, 'control is never forgotten'); END;

CREATE TABLE settlement_stops (
  session_hash TEXT    PRIMARY KEY CHECK (length(session_hash) = 64),
  format       INTEGER NOT NULL,
  reason       TEXT    NOT NULL CHECK (length(reason) <= 64),
  generation   INTEGER NOT NULL,
  stopped_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER settlement_stops_bounded BEFORE INSERT ON settlement_stops
WHEN (SELECT count(*) FROM settlement_stops) >= 64
BEGIN SELECT raise(ABORT, 'settlement_stop_capacity'); END;

CREATE TRIGGER settlement_stops_stay BEFORE UPDATE ON settlement_stops
BEGIN SELECT raise(ABORT, 'a stop stays as it was'); END;

-- `item`: the frozen coordinates as JSON; no words of a person, nothing that a model has said.
CREATE TABLE settlement_pending (
  key             TEXT    PRIMARY KEY CHECK (length(key) = 64),
  format          INTEGER NOT NULL,
  payload_hash    TEXT    NOT NULL CHECK (length(payload_hash) = 64),
  owner           TEXT    NOT NULL,
  session_hash    TEXT    NOT NULL CHECK (length(session_hash) = 64),
  reservation_id  TEXT    NOT NULL UNIQUE REFERENCES reservations (reservation_id),
  item            TEXT    NOT NULL CHECK (length(CAST(item AS BLOB)) <= 4096),
  queued_at       INTEGER NOT NULL,
  deadline        INTEGER NOT NULL,
  attempts        INTEGER NOT NULL CHECK (attempts BETWEEN 0 AND 4),
  next_attempt_at INTEGER NOT NULL,
  last_error      TEXT    NOT NULL CHECK (length(last_error) <= 200),
  CHECK (deadline <= queued_at + 300000)
) STRICT, WITHOUT ROWID;

CREATE INDEX settlement_pending_of_session ON settlement_pending (session_hash);
CREATE INDEX settlement_pending_due ON settlement_pending (next_attempt_at);

CREATE TRIGGER settlement_pending_bounded BEFORE INSERT ON settlement_pending
WHEN (SELECT count(*) FROM settlement_pending) >= 64
BEGIN SELECT raise(ABORT, 'settlement_outbox_full'); END;

CREATE TRIGGER settlement_pending_not_stopped BEFORE INSERT ON settlement_pending
WHEN EXISTS (SELECT 1 FROM settlement_stops WHERE session_hash = NEW.session_hash)
BEGIN SELECT raise(ABORT, 'settlement_stopped'); END;

CREATE TRIGGER settlement_pending_by_its_receipt BEFORE INSERT ON settlement_pending
WHEN NEW.attempts <> 0 OR NOT EXISTS (
  SELECT 1 FROM reservations WHERE reservation_id = NEW.reservation_id AND state = 'held' AND settlement = 'pending'
  AND queued_at = NEW.queued_at AND settlement_key = NEW.key AND payload_hash = NEW.payload_hash
  AND NEW.deadline <= expires_at)
BEGIN SELECT raise(ABORT, 'a settlement belongs to what is held, and ends no later'); END;

CREATE TRIGGER settlement_pending_frozen
BEFORE UPDATE OF key, format, payload_hash, owner, session_hash, reservation_id, item, queued_at, deadline
ON settlement_pending
BEGIN SELECT raise(ABORT, 'what was acknowledged stays as it was, its deadline too'); END;

CREATE TRIGGER settlement_pending_attempts_rise BEFORE UPDATE OF attempts ON settlement_pending
WHEN NEW.attempts < OLD.attempts
BEGIN SELECT raise(ABORT, 'attempts are never forgotten'); END;

CREATE TRIGGER settlement_pending_retires BEFORE DELETE ON settlement_pending
WHEN EXISTS (SELECT 1 FROM reservations WHERE reservation_id = OLD.reservation_id AND settlement = 'pending')
BEGIN SELECT raise(ABORT, 'a settlement leaves with its end'); END;

CREATE TRIGGER releases_settle_as_allowed BEFORE INSERT ON releases
WHEN NEW.way = 'settled' AND (
  EXISTS (SELECT 1 FROM settlement_control WHERE user_paused = 1)
  OR EXISTS (SELECT 1 FROM settlement_stops JOIN reservations USING (session_hash)
             WHERE reservations.reservation_id = NEW.reservation_id)
  OR NOT EXISTS (SELECT 1 FROM settlement_pending WHERE reservation_id = NEW.reservation_id
                 AND key = NEW.settlement_key AND payload_hash = NEW.payload_hash
                 AND NEW.released_at <= deadline))
BEGIN SELECT raise(ABORT, 'nothing settles while paused, stopped, past its deadline or unqueued'); END;

CREATE TRIGGER settlement_stops_kept BEFORE DELETE ON settlement_stops
WHEN EXISTS (SELECT 1 FROM settlement_pending WHERE session_hash = OLD.session_hash)
BEGIN SELECT raise(ABORT, 'a stop that binds something is kept'); END;

-- The ends of the last settlements. Only these fields stay.
CREATE TABLE settlement_history (
  place        INTEGER PRIMARY KEY,
  key          TEXT    NOT NULL UNIQUE CHECK (length(key) = 64),
  format       INTEGER NOT NULL,
  payload_hash TEXT    NOT NULL CHECK (length(payload_hash) = 64),
  owner        TEXT    NOT NULL,
  session_hash TEXT    NOT NULL CHECK (length(session_hash) = 64),
  state        TEXT    NOT NULL CHECK (state IN ('settled', 'expired', 'failed', 'stopped', 'conflict')),
  code         TEXT    NOT NULL CHECK (length(code) <= 64),
  outcome      TEXT    NOT NULL,
  attempts     INTEGER NOT NULL CHECK (attempts BETWEEN 0 AND 4),
  queued_at    INTEGER NOT NULL,
  deadline     INTEGER NOT NULL,
  retired_at   INTEGER NOT NULL
) STRICT;

CREATE TRIGGER settlement_history_bounded BEFORE INSERT ON settlement_history
WHEN (SELECT count(*) FROM settlement_history) >= 32
BEGIN SELECT raise(ABORT, 'the history of settlements is full'); END;

CREATE TRIGGER settlement_history_stays BEFORE UPDATE ON settlement_history
BEGIN SELECT raise(ABORT, 'an end stays as it was'); END;
