-- Tokens and cost of a run, from the fold of its log: lists of runs are sorted by them.
ALTER TABLE message ADD COLUMN input_tokens INTEGER;
ALTER TABLE message ADD COLUMN output_tokens INTEGER;
ALTER TABLE message ADD COLUMN cost_usd REAL;

UPDATE message SET
    input_tokens = json_extract(body, '$.usage.input'),
    output_tokens = json_extract(body, '$.usage.output'),
    cost_usd = CAST(json_extract(body, '$.usage.cost_usd') AS REAL)
WHERE role = 'assistant' AND body IS NOT NULL AND json_valid(body);
