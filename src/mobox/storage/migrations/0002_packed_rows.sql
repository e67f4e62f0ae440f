-- A packed row has the id and the time of each of its events in `ids` and `times`, separated by commas;
-- `first_id` is then that of the first, and `ts` is null.
ALTER TABLE event ADD COLUMN ids TEXT;
ALTER TABLE event ADD COLUMN times TEXT;
