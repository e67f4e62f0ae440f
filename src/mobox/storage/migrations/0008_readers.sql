-- The processes that have a client reading a run. `left`: its last client there disconnected by itself.
CREATE TABLE reader (
    run INTEGER NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    process TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reading', 'left')),
    PRIMARY KEY (run, process)
) STRICT, WITHOUT ROWID;
