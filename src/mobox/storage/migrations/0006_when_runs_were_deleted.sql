-- The time of deletion, so that old rows can be pruned. For runs deleted earlier it is unknown: use the present.
ALTER TABLE deleted_run ADD COLUMN deleted_at INTEGER NOT NULL DEFAULT 0;

UPDATE deleted_run SET deleted_at = strftime('%s', 'now') * 1000;

CREATE INDEX deleted_run_by_age ON deleted_run (deleted_at);
