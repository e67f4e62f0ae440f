-- When the owner pinned the chat; null if it is not pinned.
ALTER TABLE chat ADD COLUMN pinned_at INTEGER;

-- 1 while its title says nothing, as the first message was a greeting: the next message gives another.
ALTER TABLE chat ADD COLUMN weak_title INTEGER NOT NULL DEFAULT 0;

CREATE INDEX pinned_chat ON chat (owner, pinned_at) WHERE pinned_at IS NOT NULL;
