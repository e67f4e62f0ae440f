-- Finds the running or waiting run of a chat without scanning ended ones.
CREATE INDEX live_run_of_chat ON run (chat) WHERE status != 'done';
