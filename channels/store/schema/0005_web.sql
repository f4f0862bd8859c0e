-- The admin page: who may look at it, and what was set there.

-- One login from its one-time link to its end. Only hashes are kept: neither the link nor the cookie can be made from
-- this file. `user_id` is an admin, or 'console' for whoever may open the control socket.
CREATE TABLE web_logins (
  link_hash       TEXT    PRIMARY KEY CHECK (length(link_hash) = 64),
  user_id         TEXT    NOT NULL,
  made_at         INTEGER NOT NULL,
  link_expires_at INTEGER NOT NULL,
  session_hash    TEXT    UNIQUE CHECK (length(session_hash) = 64),
  opened_at       INTEGER,
  expires_at      INTEGER,
  ended_at        INTEGER,
  CHECK ((session_hash IS NULL) = (opened_at IS NULL)),
  CHECK ((session_hash IS NULL) = (expires_at IS NULL)),
  CHECK (ended_at IS NULL OR session_hash IS NOT NULL)
) STRICT;

CREATE TRIGGER web_logins_open_once BEFORE UPDATE OF session_hash ON web_logins
WHEN OLD.session_hash IS NOT NULL
BEGIN SELECT raise(ABORT, 'a login link opens one session'); END;

CREATE TRIGGER web_logins_end_stays BEFORE UPDATE OF ended_at ON web_logins
WHEN OLD.ended_at IS NOT NULL
BEGIN SELECT raise(ABORT, 'a session that has ended never goes on'); END;

-- Settings that an admin has set over the file's: the newest row of a key counts, NULL gives the file its say back.
-- Nothing is ever changed or taken away, so this is also the record of who set what, and when.
CREATE TABLE settings_overlay (
  change INTEGER PRIMARY KEY,
  key    TEXT    NOT NULL CHECK (key IN ('workspace.base_dir', 'access.mode')),
  value  TEXT    CHECK (length(CAST(value AS BLOB)) <= 4096),
  set_by TEXT    NOT NULL,
  set_at INTEGER NOT NULL
) STRICT;

CREATE INDEX settings_overlay_by_key ON settings_overlay (key, change);

CREATE TRIGGER settings_overlay_kept BEFORE UPDATE ON settings_overlay
BEGIN SELECT raise(ABORT, 'what was set stays on record'); END;

CREATE TRIGGER settings_overlay_stays BEFORE DELETE ON settings_overlay
BEGIN SELECT raise(ABORT, 'what was set stays on record'); END;
