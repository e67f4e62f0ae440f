-- Times are in milliseconds, and the database's own. `n` is a row's number inside the database, `id` its
-- name outside. JSON that is searched or looked into is JSONB; what is only written and read back is BYTEA.

CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);

-- The last `LogEntry.id` given. A writer locks this row until its commit, so that ids are committed in
-- order, whichever process writes.
INSERT INTO counter VALUES ('entry', 0);

-- `words` is the searched text, case-folded here: the database's own case rules depend on its locale.
CREATE TABLE chat (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    words TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX chat_of_owner ON chat (owner, updated_at, n);

-- With free space in its pages, because every append updates a row without changing an indexed column.
CREATE TABLE run (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    chat BIGINT NOT NULL REFERENCES chat (n) ON DELETE CASCADE,
    agent TEXT NOT NULL,
    framework TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'waiting', 'done')),
    epoch BIGINT NOT NULL,
    leg BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT,
    tail_seq BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    reason TEXT,
    stop_requested_at BIGINT,
    superseded BOOLEAN NOT NULL,
    raw_lines BIGINT NOT NULL,
    raw_bytes BIGINT NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX run_of_chat ON run (chat, n);
CREATE UNIQUE INDEX one_running_run_of_chat ON run (chat) WHERE status = 'running';
CREATE INDEX running_run ON run (n) WHERE status = 'running';
CREATE INDEX ended_run ON run (ended_at) WHERE ended_at IS NOT NULL;

-- A row is one append: `count` events with the numbers up to `last_seq`, as JSON. Its writer has locked
-- the run's row, so that needs no foreign key.
CREATE TABLE event (
    run BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    count BIGINT NOT NULL,
    first_id BIGINT NOT NULL,
    ts BIGINT,
    events BYTEA NOT NULL,
    PRIMARY KEY (run, last_seq)
);

CREATE TABLE raw (
    run BIGINT NOT NULL,
    n BIGINT NOT NULL,
    line BYTEA NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    PRIMARY KEY (run, n)
);

-- A message without its id and its role: `parts`, `message_metadata`, and in `body` all else; or the whole
-- of it in `verbatim`, if it contains \u0000, which JSONB cannot store. An assistant's is a cache of the
-- fold of its run's log up to `folded_seq`.
CREATE TABLE message (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat BIGINT NOT NULL REFERENCES chat (n) ON DELETE CASCADE,
    id TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    run BIGINT UNIQUE REFERENCES run (n) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    superseded BOOLEAN NOT NULL DEFAULT FALSE,
    folded_seq BIGINT NOT NULL DEFAULT 0,
    words TEXT NOT NULL DEFAULT '',
    parts JSONB,
    message_metadata JSONB,
    body JSONB,
    verbatim TEXT
);

CREATE INDEX message_of_chat ON message (chat, n);
CREATE UNIQUE INDEX live_message_of_chat ON message (chat, id) WHERE NOT superseded;

CREATE TABLE idempotency_key (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    run BIGINT NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    PRIMARY KEY (owner, key)
);

CREATE INDEX idempotency_key_of_run ON idempotency_key (run);

-- A client's request to a run: its name, the entry after which its answer starts, and the frontend data
-- of the page, as JSON.
CREATE TABLE asking (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run BIGINT NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    name TEXT,
    after_seq BIGINT NOT NULL,
    frontend BYTEA
);

CREATE INDEX asking_of_run ON asking (run, n);

-- Deleted runs, with their owners.
CREATE TABLE deleted_run (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    deleted_at BIGINT NOT NULL
);

CREATE INDEX deleted_run_by_age ON deleted_run (deleted_at);

-- Deleted runs that may still have rows of their logs: those are deleted in batches.
CREATE TABLE leftover (
    run BIGINT PRIMARY KEY
);

-- API keys, and tickets that open a stream once. Of a secret only its SHA-256 is stored.
CREATE TABLE api_key (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    scopes TEXT[] NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    used_at BIGINT
);

CREATE TABLE ticket (
    digest TEXT PRIMARY KEY,
    key_id TEXT,
    owner TEXT NOT NULL,
    run_id TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX ticket_by_end ON ticket (expires_at);
