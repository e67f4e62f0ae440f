-- A row that was made of many has the number and the time of each of its events in `ids` and `times`,
-- with commas between them; `first_id` is then that of the first, and `ts` is nothing.
ALTER TABLE event ADD COLUMN ids TEXT;
ALTER TABLE event ADD COLUMN times TEXT;
