-- Runs that were deleted while rows of their logs may still be there: those are many, and go bit by bit.
CREATE TABLE leftover (
    run BIGINT PRIMARY KEY
);
