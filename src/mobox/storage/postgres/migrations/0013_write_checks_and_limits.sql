-- What is written to find out whether the database can be written. EXTERNAL: random bytes are not compressed.
CREATE TABLE write_check (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL,
    bytes BYTEA
);
ALTER TABLE write_check ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- When an owner's budget of starts is full again, in milliseconds.
CREATE TABLE owner_starts (
    owner TEXT PRIMARY KEY,
    full_at DOUBLE PRECISION NOT NULL
) WITH (fillfactor = 70);

-- How many streams of an owner a process has open; a process that dies does not renew `until`.
CREATE TABLE owner_streams (
    owner TEXT NOT NULL,
    process TEXT NOT NULL,
    count BIGINT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (owner, process)
) WITH (fillfactor = 70);
