-- What people think of answers: one value per person and answer. Deleted with the chat.
CREATE TABLE feedback (
    n INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL REFERENCES chat (n) ON DELETE CASCADE,
    run INTEGER NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    owner TEXT NOT NULL,
    value TEXT NOT NULL CHECK (value IN ('up', 'down')),
    comment TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (run, owner)
) STRICT;

CREATE INDEX feedback_of_chat ON feedback (chat, n);
