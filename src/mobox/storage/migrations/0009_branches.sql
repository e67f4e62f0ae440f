-- Messages form a tree: `parent` is the message before it in its branch. An edit or a regeneration starts
-- another branch, and what it supersedes stays. Messages are deleted with their chat only, so it is no foreign key.
ALTER TABLE message ADD COLUMN parent INTEGER;

-- Of older messages: the live one before a live one; of superseded ones the last of the other role.
UPDATE message SET parent = (
    SELECT max(earlier.n) FROM message AS earlier
    WHERE earlier.chat = message.chat AND earlier.n < message.n
        AND CASE WHEN message.superseded THEN earlier.role != message.role ELSE NOT earlier.superseded END
);

-- Why the run was started, and the message to which an edit, a regeneration or a retry went back.
ALTER TABLE run ADD COLUMN kind TEXT NOT NULL DEFAULT 'message';
ALTER TABLE run ADD COLUMN back_to TEXT;
