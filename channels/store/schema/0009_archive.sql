-- Sessions that somebody has put away. Archived: the log stays, and there is no route and no new turn until it is taken
-- out again. Deleted: the log has gone for good, and only the number, the ids and what was used are left.

ALTER TABLE sessions ADD COLUMN archived_at INTEGER;
ALTER TABLE sessions ADD COLUMN deleted_at INTEGER CHECK (deleted_at IS NULL OR archived_at IS NOT NULL);

CREATE INDEX inflight_by_session ON inflight (session_id);
CREATE INDEX establishing_by_session ON establishing (session_id);

CREATE TRIGGER sessions_stay_deleted BEFORE UPDATE OF archived_at, deleted_at ON sessions
WHEN OLD.deleted_at IS NOT NULL
BEGIN SELECT raise(ABORT, 'a deleted session never comes back'); END;

CREATE TRIGGER routes_not_to_archived BEFORE INSERT ON routes
WHEN EXISTS (SELECT 1 FROM sessions WHERE session_id = NEW.session_id AND archived_at IS NOT NULL)
BEGIN SELECT raise(ABORT, 'an archived session has no route'); END;

CREATE TRIGGER routes_not_pointed_to_archived BEFORE UPDATE OF session_id ON routes
WHEN EXISTS (SELECT 1 FROM sessions WHERE session_id = NEW.session_id AND archived_at IS NOT NULL)
BEGIN SELECT raise(ABORT, 'an archived session has no route'); END;

CREATE TRIGGER turns_not_in_archived BEFORE INSERT ON turns
WHEN EXISTS (SELECT 1 FROM sessions WHERE session_id = NEW.session_id AND archived_at IS NOT NULL)
BEGIN SELECT raise(ABORT, 'an archived session gets no turn'); END;

CREATE TRIGGER session_events_not_after_deletion BEFORE INSERT ON session_events
WHEN EXISTS (SELECT 1 FROM sessions WHERE session_id = NEW.session_id AND deleted_at IS NOT NULL)
BEGIN SELECT raise(ABORT, 'a deleted session has no log'); END;

CREATE TRIGGER session_events_go_with_their_session BEFORE DELETE ON session_events
WHEN EXISTS (SELECT 1 FROM sessions WHERE session_id = OLD.session_id AND deleted_at IS NULL)
BEGIN SELECT raise(ABORT, 'only a deleted session loses its log'); END;
