-- So that who asks which run of a chat goes on or waits does not look through those that are over.
CREATE INDEX live_run_of_chat ON run (chat) WHERE status != 'done';

-- What somebody had let go had no lease at all once. From here on it has one that is over.
UPDATE run SET lease_until = 0, lease_owner = coalesce(lease_owner, '')
    WHERE status = 'running' AND lease_until IS NULL;

-- What nobody reads.
DROP TABLE usage;
ALTER TABLE chat DROP COLUMN event_index;
ALTER TABLE run DROP COLUMN first_event_index;
