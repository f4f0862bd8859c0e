-- Access: who may do what, who has asked, and who has decided.

-- What a person may do. A row stays when everything was taken away or its time is over: it says so.
CREATE TABLE access_users (
  user_id       TEXT    PRIMARY KEY CHECK (user_id <> ''),
  open_id       TEXT    NOT NULL,
  name          TEXT    NOT NULL,
  chat          INTEGER NOT NULL CHECK (chat IN (0, 1)),
  wiki_read     INTEGER NOT NULL CHECK (wiki_read IN (0, 1)),
  wiki_write    INTEGER NOT NULL CHECK (wiki_write IN (0, 1)),
  code_write    INTEGER NOT NULL CHECK (code_write IN (0, 1)),
  admin         INTEGER NOT NULL CHECK (admin IN (0, 1)),
  until_ms      INTEGER,
  messages_left INTEGER CHECK (messages_left >= 0),
  changed_by    TEXT    NOT NULL,
  changed_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX access_users_admins ON access_users (user_id) WHERE admin = 1;

-- A stranger asks by writing; the messages are the inbox rows of this person with the state 'kept'. The five switches
-- are what *Allow* would give. `version` rises with everything that the cards show.
CREATE TABLE access_requests (
  request_id TEXT    PRIMARY KEY,
  user_id    TEXT    NOT NULL CHECK (user_id <> ''),
  open_id    TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  chat_id    TEXT    NOT NULL,
  chat_type  TEXT    NOT NULL CHECK (chat_type IN ('p2p', 'group')),
  message_id TEXT    NOT NULL,
  in_thread  INTEGER NOT NULL CHECK (in_thread IN (0, 1)),
  excerpt    TEXT    NOT NULL,
  state      TEXT    NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'expired', 'withdrawn')),
  switches   TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decided_at INTEGER,
  decided_by TEXT,
  version    INTEGER NOT NULL DEFAULT 1,
  CHECK ((state = 'open') = (decided_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX access_requests_open ON access_requests (user_id) WHERE state = 'open';
CREATE INDEX access_requests_due ON access_requests (expires_at) WHERE state = 'open';
CREATE INDEX access_requests_of_person ON access_requests (user_id, created_at);

CREATE TRIGGER access_requests_decided_once BEFORE UPDATE OF state ON access_requests
WHEN OLD.state <> 'open'
BEGIN SELECT raise(ABORT, 'a request is decided once'); END;

-- Whom the request is shown to, registered before anything is sent: 'applicant', or an admin's user_id.
-- `drawn` < the request's version: the card does not show the request as it is.
CREATE TABLE access_cards (
  request_id TEXT    NOT NULL REFERENCES access_requests (request_id),
  holder     TEXT    NOT NULL,
  drawn      INTEGER NOT NULL DEFAULT 0,
  sent       INTEGER NOT NULL DEFAULT 0 CHECK (sent IN (0, 1)),
  message_id TEXT,
  PRIMARY KEY (request_id, holder)
) STRICT, WITHOUT ROWID;

-- Only hashes are kept. A code works once.
CREATE TABLE claim_codes (
  code_hash  TEXT    PRIMARY KEY CHECK (length(code_hash) = 64),
  made_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER,
  used_by    TEXT,
  CHECK ((used_at IS NULL) = (used_by IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER claim_codes_once BEFORE UPDATE ON claim_codes
WHEN OLD.used_at IS NOT NULL
BEGIN SELECT raise(ABORT, 'a claim code works once'); END;

-- Everything that changed who may do what, or tried to.
CREATE TABLE audit (
  seq     INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  actor   TEXT    NOT NULL,
  via     TEXT    NOT NULL CHECK (via IN ('chat', 'card', 'cli', 'page', 'service')),
  action  TEXT    NOT NULL,
  subject TEXT    NOT NULL,
  detail  TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_by_actor ON audit (actor, action, at);
CREATE INDEX audit_by_action ON audit (action, at);

CREATE TRIGGER audit_kept BEFORE UPDATE ON audit
BEGIN SELECT raise(ABORT, 'the audit log is only appended to'); END;

CREATE TRIGGER audit_stays BEFORE DELETE ON audit
BEGIN SELECT raise(ABORT, 'the audit log is only appended to'); END;

CREATE INDEX inbox_kept ON inbox (sender_user_id, create_time) WHERE state = 'kept';
