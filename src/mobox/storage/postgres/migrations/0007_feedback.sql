-- What people think of answers: one value per person and answer. Deleted with the chat.
CREATE TABLE feedback (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat BIGINT NOT NULL REFERENCES chat (n) ON DELETE CASCADE,
    run BIGINT NOT NULL REFERENCES run (n) ON DELETE CASCADE,
    owner TEXT NOT NULL,
    value TEXT NOT NULL CHECK (value IN ('up', 'down')),
    comment TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (run, owner)
);

CREATE INDEX feedback_of_chat ON feedback (chat, n);
