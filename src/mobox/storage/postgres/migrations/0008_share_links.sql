-- Links by which people without a key read a chat, or one run of it. Only a digest of the secret is stored.
-- `shows` is how much of it they see. Without `expires_at`, a link is valid until it is revoked.
CREATE TABLE share_link (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat BIGINT NOT NULL REFERENCES chat (n) ON DELETE CASCADE,
    id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE,
    run_id TEXT,
    shows TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT
);
CREATE INDEX share_link_of_chat ON share_link (chat);
