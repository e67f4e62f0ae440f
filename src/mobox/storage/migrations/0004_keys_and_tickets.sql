-- API keys, and tickets that open a stream once. Of a secret only its SHA-256 is stored. `scopes` are
-- words separated by spaces.
CREATE TABLE api_key (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    used_at INTEGER
) STRICT;

CREATE TABLE ticket (
    digest TEXT PRIMARY KEY,
    key_id TEXT,
    owner TEXT NOT NULL,
    run_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX ticket_by_end ON ticket (expires_at);
