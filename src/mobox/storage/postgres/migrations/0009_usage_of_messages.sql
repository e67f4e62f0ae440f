-- Tokens and cost of a run, from the fold of its log: lists of runs are sorted by them.
ALTER TABLE message ADD COLUMN input_tokens BIGINT;
ALTER TABLE message ADD COLUMN output_tokens BIGINT;
ALTER TABLE message ADD COLUMN cost_usd DOUBLE PRECISION;

UPDATE message SET
    input_tokens = (body -> 'usage' ->> 'input')::bigint,
    output_tokens = (body -> 'usage' ->> 'output')::bigint,
    cost_usd = (body -> 'usage' ->> 'cost_usd')::double precision
WHERE role = 'assistant' AND body ? 'usage';
