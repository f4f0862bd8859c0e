-- Conversations: what listings, folds and the TTL sweep look up.

CREATE INDEX sessions_of_place ON sessions (chat_id, user_id, created_at, session_id);

-- Where a session works is the last entry of this kind in its log.
CREATE INDEX session_events_folders ON session_events (session_id, number) WHERE kind = 'working-directory/change';

-- What a person has used, over all sessions.
CREATE INDEX turns_of_person ON turns (sender_user_id, queued_at);
CREATE INDEX session_events_usage ON session_events (turn_id) WHERE kind = 'usage';

CREATE INDEX routes_by_age ON routes (last_activity_at);

-- A conversation in which something is still to be decided or answered does not expire.
CREATE INDEX inbox_unsettled ON inbox (conversation) WHERE terminal_at IS NULL;

-- Answers to other bots: bots have no user_id.
CREATE INDEX inbox_by_bots ON inbox (chat_id, received_at) WHERE sender_user_id = '';

CREATE INDEX turns_of_session ON turns (session_id, seq);
CREATE INDEX turns_queued ON turns (session_id, seq) WHERE state = 'queued';
CREATE INDEX turns_served ON turns (sender_user_id, entered_at);
CREATE INDEX turns_running ON turns (sender_user_id) WHERE state = 'entered';

CREATE INDEX inflight_by_age ON inflight (started_at);
