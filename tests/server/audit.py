"""What PostgreSQL itself notes of who wrote what, whatever those who write say of it.

Every process connects with its name in the URL; triggers note that name with each row that is added
to a log, and with each new epoch. So it can be told afterwards which process wrote an event, and
which one had the run then.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

import asyncpg

NAME = "audit.process"
"""A setting of sessions, which nobody but these triggers knows."""

TRIGGERS = f"""
CREATE SCHEMA audit;
CREATE TABLE audit.step (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction XID8 NOT NULL DEFAULT pg_current_xact_id(),
    run BIGINT NOT NULL,
    process TEXT NOT NULL DEFAULT current_setting('{NAME}'),
    epoch BIGINT,
    last_seq BIGINT
);
CREATE FUNCTION audit.taken() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO audit.step (run, epoch) VALUES (NEW.n, NEW.epoch);
    RETURN NULL;
END $$;
CREATE FUNCTION audit.wrote() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO audit.step (run, last_seq) VALUES (NEW.run, NEW.last_seq);
    RETURN NULL;
END $$;
CREATE TRIGGER begun AFTER INSERT ON mobox.run FOR EACH ROW EXECUTE FUNCTION audit.taken();
CREATE TRIGGER taken AFTER UPDATE ON mobox.run FOR EACH ROW
    WHEN (NEW.epoch <> OLD.epoch) EXECUTE FUNCTION audit.taken();
CREATE TRIGGER wrote AFTER INSERT ON mobox.event FOR EACH ROW EXECUTE FUNCTION audit.wrote();
"""

STEPS = """
SELECT run.id, step.transaction::text, step.process, step.epoch, step.last_seq
FROM audit.step JOIN mobox.run ON run.n = step.run ORDER BY run.n, step.n
"""

HELD = """
SELECT id FROM mobox.run WHERE status = 'running' AND (
    SELECT process FROM audit.step WHERE run = run.n AND step.epoch IS NOT NULL
    ORDER BY step.n DESC LIMIT 1
) = $1
"""

LOST = "SELECT id FROM mobox.run WHERE id = ANY($1) AND reason = 'lost'"


class Step(NamedTuple):
    """A process took a run in a new epoch, or wrote to its log up to `last_seq`."""

    transaction: str
    process: str
    epoch: int | None
    last_seq: int | None


class Tenure(NamedTuple):
    """An epoch of a run: who had it, and who wrote meanwhile, up to which entry."""

    epoch: int
    process: str
    writers: set[str]
    last_seq: int


def named(url: str, process: str) -> str:
    """The URL by which a process is known."""
    return f"{url}&{NAME}={process}"


async def install(url: str) -> None:
    await _execute(url, TRIGGERS)


async def held_by(url: str, process: str) -> set[str]:
    """The running runs that a process was the last to take."""
    return {row[0] for row in await _fetch(url, HELD, process)}


async def lost_of(url: str, run_ids: set[str]) -> set[str]:
    """Those of these runs that somebody else has ended."""
    return {row[0] for row in await _fetch(url, LOST, list(run_ids))}


async def tenures(url: str) -> dict[str, list[Tenure]]:
    """The epochs of each run, in their order."""
    rows = await _fetch(url, STEPS)
    runs = groupby(rows, key=lambda row: str(row[0]))
    return {run_id: _tenures(Step(*row[1:]) for row in steps) for run_id, steps in runs}


def _tenures(steps: Iterable[Step]) -> list[Tenure]:
    found: list[Tenure] = []
    for _, group in groupby(steps, key=lambda step: step.transaction):
        # Within a transaction, which is one moment, an epoch begins before anything is written.
        for step in sorted(group, key=lambda step: step.epoch is None):
            if step.epoch is not None:
                last = found[-1].last_seq if found else 0
                found.append(Tenure(step.epoch, step.process, set(), last))
            else:
                assert step.last_seq is not None
                found[-1].writers.add(step.process)
                found[-1] = found[-1]._replace(last_seq=step.last_seq)
    return found


async def _fetch(url: str, statement: str, *arguments: object) -> list[Any]:
    connection = await asyncpg.connect(named(url, "audit"))
    try:
        return list(await connection.fetch(statement, *arguments))
    finally:
        await connection.close()


async def _execute(url: str, statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statements)
    finally:
        await connection.close()
