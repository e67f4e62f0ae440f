-- `handed_over` is the epoch whose agent got its turn last. What runs now may have got it.
ALTER TABLE run ADD COLUMN handed_over BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN requeued BIGINT NOT NULL DEFAULT 0;
UPDATE run SET handed_over = epoch WHERE status = 'running' AND lease_owner IS NOT NULL;
