-- A client's request to a run: its name, the entry after which its answer starts, and the frontend data
-- of the page, as JSON.
CREATE TABLE asking (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    name TEXT,
    after_seq INTEGER NOT NULL,
    frontend TEXT
) STRICT;

CREATE INDEX asking_of_run ON asking (run, n);
