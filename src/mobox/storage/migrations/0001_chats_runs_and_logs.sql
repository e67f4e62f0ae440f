-- Times are in milliseconds. `n` is a row's number inside the database, `id` its name outside.

CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The last `LogEntry.id` given: a row of its own, so that no id is reused after a log is deleted.
INSERT INTO counter VALUES ('entry', 0);

CREATE TABLE chat (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    event_index INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX chat_of_owner ON chat (owner, updated_at, n);

CREATE TABLE run (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    chat INTEGER NOT NULL REFERENCES chat (n) ON DELETE CASCADE,
    agent TEXT NOT NULL,
    framework TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'waiting', 'done')),
    epoch INTEGER NOT NULL,
    leg INTEGER NOT NULL,
    lease_owner TEXT,
    lease_until INTEGER,
    tail_seq INTEGER NOT NULL,
    first_event_index INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    reason TEXT,
    stop_requested_at INTEGER,
    superseded INTEGER NOT NULL,
    raw_lines INTEGER NOT NULL,
    raw_bytes INTEGER NOT NULL
) STRICT;

CREATE INDEX run_of_chat ON run (chat, n);
CREATE UNIQUE INDEX one_running_run_of_chat ON run (chat) WHERE status = 'running';
CREATE INDEX run_by_lease ON run (lease_until) WHERE status = 'running';

-- A row is one append: `count` events with the numbers up to `last_seq`, as JSON.
CREATE TABLE event (
    run INTEGER NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    last_seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    ts INTEGER,
    events TEXT NOT NULL,
    PRIMARY KEY (run, last_seq)
) STRICT, WITHOUT ROWID;

-- Rows whose events have more than 512 characters each. A page of a log ends with the next of them.
CREATE INDEX big_event ON event (run, last_seq) WHERE length(events) > 512 * count;

CREATE TABLE raw (
    run INTEGER NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    line BLOB NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    PRIMARY KEY (run, n)
) STRICT;

-- An assistant's `body` is a cache of the fold of its run's log up to `folded_seq`.
CREATE TABLE message (
    n INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL REFERENCES chat (n) ON DELETE CASCADE,
    id TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    run INTEGER UNIQUE REFERENCES run (n) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    superseded INTEGER NOT NULL DEFAULT 0,
    folded_seq INTEGER NOT NULL DEFAULT 0,
    content TEXT NOT NULL DEFAULT '',
    body TEXT
) STRICT;

CREATE INDEX message_of_chat ON message (chat, n);
CREATE UNIQUE INDEX live_message_of_chat ON message (chat, id) WHERE superseded = 0;

CREATE TABLE usage (
    run INTEGER PRIMARY KEY REFERENCES run (n) ON DELETE CASCADE,
    input INTEGER,
    output INTEGER,
    cache_read INTEGER,
    cache_write INTEGER,
    reasoning INTEGER,
    total INTEGER,
    cost_usd REAL,
    is_total INTEGER NOT NULL,
    duration_ms REAL,
    num_turns INTEGER
) STRICT;

CREATE TABLE idempotency_key (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    run INTEGER NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_key_of_run ON idempotency_key (run);

-- Deleted runs, with their owners.
CREATE TABLE deleted_run (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL
) STRICT, WITHOUT ROWID;
