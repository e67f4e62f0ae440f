-- What a client asked of a run: what it calls the request, the entry after which its answer begins, and
-- what the page brought along, as JSON.
CREATE TABLE asking (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    name TEXT,
    after_seq INTEGER NOT NULL,
    frontend TEXT
) STRICT;

CREATE INDEX asking_of_run ON asking (run, n);
