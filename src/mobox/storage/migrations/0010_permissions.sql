-- What a person allowed an agent to do in a chat without asking again. `input` is canonical JSON, null if
-- any input is allowed; `digest` is its SHA-256, or empty.
CREATE TABLE permission (
    n INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL REFERENCES chat (n) ON DELETE CASCADE,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    input TEXT,
    digest BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (chat, agent, tool, digest)
) STRICT;
