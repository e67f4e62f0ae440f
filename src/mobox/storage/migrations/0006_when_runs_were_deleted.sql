-- So that it can be forgotten at last. Of those that were deleted before, nobody noted when.
ALTER TABLE deleted_run ADD COLUMN deleted_at INTEGER NOT NULL DEFAULT 0;

CREATE INDEX deleted_run_by_age ON deleted_run (deleted_at);
