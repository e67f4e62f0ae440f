-- What is written to find out whether the database can be written.
CREATE TABLE write_check (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL,
    bytes BLOB
) STRICT;
