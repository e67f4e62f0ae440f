-- What is written to find out whether the database can be written.
CREATE TABLE write_check (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL,
    bytes BLOB
) STRICT;

-- When an owner's budget of starts is full again, in milliseconds.
CREATE TABLE owner_starts (
    owner TEXT PRIMARY KEY,
    full_at REAL NOT NULL
) STRICT;

-- How many streams of an owner a process has open; a process that dies does not renew `until`.
CREATE TABLE owner_streams (
    owner TEXT NOT NULL,
    process TEXT NOT NULL,
    count INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (owner, process)
) STRICT;
