-- Finds the running or waiting run of a chat without scanning ended ones.
CREATE INDEX live_run_of_chat ON run (chat) WHERE status != 'done';

-- Released runs used to have no lease. From here on they have an expired one.
UPDATE run SET lease_until = 0, lease_owner = coalesce(lease_owner, '')
    WHERE status = 'running' AND lease_until IS NULL;

-- Unused.
DROP TABLE usage;
ALTER TABLE chat DROP COLUMN event_index;
ALTER TABLE run DROP COLUMN first_event_index;
