-- Messages are bounded now: longer ones are folded again when they are read. The size is that of the compressed text.
UPDATE message SET folded_seq = 0, words = '', parts = NULL, message_metadata = NULL, body = NULL, verbatim = NULL
WHERE role = 'assistant' AND (pg_column_size(parts) > 262144 OR pg_column_size(verbatim) > 262144);

-- Whether the message of an ended run is folded from its whole log. Those that are not are found by an index.
ALTER TABLE run ADD COLUMN folded BOOLEAN NOT NULL DEFAULT FALSE;

UPDATE run SET folded = TRUE FROM message
WHERE run.status = 'done' AND message.run = run.n AND message.folded_seq = run.tail_seq;

CREATE INDEX unfolded_run ON run (chat) WHERE status = 'done' AND NOT folded;

-- Finds old chats of all owners. The index for searches is made later, in the background: see search_index.py.
CREATE INDEX chat_by_age ON chat (updated_at, n);
