-- Messages that wait for company, so that what a person sent in several pieces becomes one turn.
CREATE INDEX inbox_gathering ON inbox (conversation, sender_user_id, create_time, message_id)
WHERE verdict = 'gathering';
