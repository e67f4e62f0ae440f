-- A database of its own, so that uploads do not delay the writer of logs. Times are in milliseconds.

-- `unnamed_since` is null while a chat names the file. `blob` is the key of its bytes.
CREATE TABLE file (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    media_type TEXT NOT NULL,
    name TEXT,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    blob TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    unnamed_since INTEGER
) STRICT;

CREATE INDEX file_of_owner ON file (owner, size);
CREATE INDEX unnamed_file ON file (unnamed_since) WHERE unnamed_since IS NOT NULL;

-- A chat that names a file. Until it is settled, it is checked whether the chat exists.
CREATE TABLE file_reference (
    owner TEXT NOT NULL,
    chat TEXT NOT NULL,
    file TEXT NOT NULL,
    named_at INTEGER NOT NULL,
    settled INTEGER NOT NULL,
    PRIMARY KEY (owner, chat, file)
) STRICT, WITHOUT ROWID;

CREATE INDEX reference_to_file ON file_reference (file);
CREATE INDEX unsettled_reference ON file_reference (named_at) WHERE settled = 0;

-- Blobs that no file has: of uploads that are not finished, and of deleted files (since 0).
CREATE TABLE loose_blob (
    key TEXT PRIMARY KEY,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX loose_blob_by_age ON loose_blob (since);

CREATE TABLE file_chunk (
    blob TEXT NOT NULL,
    n INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (blob, n)
) STRICT;

-- The key of signed addresses: one row.
CREATE TABLE file_secret (
    n INTEGER PRIMARY KEY CHECK (n = 1),
    secret BLOB NOT NULL
) STRICT;
