-- `unnamed_since` is null while a chat names the file. `blob` is the key of its bytes.
CREATE TABLE file (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    media_type TEXT NOT NULL,
    name TEXT,
    size BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    blob TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    unnamed_since BIGINT
);

CREATE INDEX file_of_owner ON file (owner, size);
CREATE INDEX unnamed_file ON file (unnamed_since) WHERE unnamed_since IS NOT NULL;

-- A chat that names a file. Until it is settled, it is checked whether the chat exists.
CREATE TABLE file_reference (
    owner TEXT NOT NULL,
    chat TEXT NOT NULL,
    file TEXT NOT NULL,
    named_at BIGINT NOT NULL,
    settled BOOLEAN NOT NULL,
    PRIMARY KEY (owner, chat, file)
);

CREATE INDEX reference_to_file ON file_reference (file);
CREATE INDEX unsettled_reference ON file_reference (named_at) WHERE NOT settled;

-- Blobs that no file has: of uploads that are not finished, and of deleted files (since 0).
CREATE TABLE loose_blob (
    key TEXT PRIMARY KEY,
    since BIGINT NOT NULL
);

CREATE INDEX loose_blob_by_age ON loose_blob (since);

-- Files are rarely compressible: EXTERNAL stores them as they are, and reads a part without the rest.
CREATE TABLE file_chunk (
    blob TEXT NOT NULL,
    n BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (blob, n)
);
ALTER TABLE file_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

-- The key of signed addresses: one row.
CREATE TABLE file_secret (
    n BIGINT PRIMARY KEY CHECK (n = 1),
    secret BYTEA NOT NULL
);
