-- What is written to find out whether the database can be written. EXTERNAL: random bytes are not compressed.
CREATE TABLE write_check (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL,
    bytes BYTEA
);
ALTER TABLE write_check ALTER COLUMN bytes SET STORAGE EXTERNAL;
