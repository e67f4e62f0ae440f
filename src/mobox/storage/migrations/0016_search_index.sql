-- Messages are bounded now: longer ones are folded again when they are read.
UPDATE message SET folded_seq = 0, content = '', body = NULL
WHERE role = 'assistant' AND length(body) > 8000000;

-- Whether the message of an ended run is folded from its whole log. Those that are not are found by an index.
ALTER TABLE run ADD COLUMN folded INTEGER NOT NULL DEFAULT 0;

UPDATE run SET folded = 1 WHERE status = 'done' AND EXISTS (
    SELECT 1 FROM message WHERE message.run = run.n AND message.folded_seq = run.tail_seq
);

CREATE INDEX unfolded_run ON run (chat) WHERE status = 'done' AND folded = 0;

-- Finds old chats of all owners.
CREATE INDEX chat_by_age ON chat (updated_at, n);

-- The text of messages by trigrams. It has the messages from number `searchable_from` on: those that are here
-- already are added later, the newest first. It indexes the first 262144 characters of each.
CREATE VIRTUAL TABLE message_search USING fts5 (
    text, content = '', columnsize = 0, detail = none, tokenize = 'trigram'
);

INSERT INTO counter SELECT 'searchable_from', coalesce(max(n) + 1, 0) FROM message;

CREATE TRIGGER message_added AFTER INSERT ON message
WHEN new.content != '' AND new.n >= (SELECT value FROM counter WHERE name = 'searchable_from')
BEGIN
    INSERT INTO message_search (rowid, text) VALUES (new.n, substr(new.content, 1, 262144));
END;

CREATE TRIGGER message_changed AFTER UPDATE OF content ON message
WHEN new.content != old.content AND new.n >= (SELECT value FROM counter WHERE name = 'searchable_from')
BEGIN
    INSERT INTO message_search (message_search, rowid, text)
        SELECT 'delete', old.n, substr(old.content, 1, 262144) WHERE old.content != '';
    INSERT INTO message_search (rowid, text)
        SELECT new.n, substr(new.content, 1, 262144) WHERE new.content != '';
END;

CREATE TRIGGER message_deleted AFTER DELETE ON message
WHEN old.content != '' AND old.n >= (SELECT value FROM counter WHERE name = 'searchable_from')
BEGIN
    INSERT INTO message_search (message_search, rowid, text)
        VALUES ('delete', old.n, substr(old.content, 1, 262144));
END;
