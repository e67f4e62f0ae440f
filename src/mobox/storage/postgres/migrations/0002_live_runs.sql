-- So that who asks which run of a chat goes on or waits does not look through those that are over.
CREATE INDEX live_run_of_chat ON run (chat) WHERE status != 'done';
