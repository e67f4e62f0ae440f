-- `unstarted` is the epoch of an attempt whose agent was not started yet. Of runs that are executed
-- now, and of those that processes of an earlier version claim, it is not known: they have another.
ALTER TABLE run ADD COLUMN unstarted BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN requeued BIGINT NOT NULL DEFAULT 0;
