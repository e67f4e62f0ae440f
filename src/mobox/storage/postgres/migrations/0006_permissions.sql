-- What a person allowed an agent to do in a chat without asking again. `input` is canonical JSON, null if
-- any input is allowed; `digest` is its SHA-256, or empty.
CREATE TABLE permission (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat BIGINT NOT NULL REFERENCES chat (n) ON DELETE CASCADE,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    input BYTEA,
    digest BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (chat, agent, tool, digest)
);
