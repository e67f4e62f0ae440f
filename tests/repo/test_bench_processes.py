"""bench/processes.py: what it times is what it says it times. No timing is asserted here."""

import asyncio
from pathlib import Path

import pytest

from bench import workload
from bench.processes import reading
from bench.scaling import Serving, several_writing, write_along
from bench.writing import OWNER
from mobox.storage import open_storage
from support.postgres_server import Databases
from support.valkey_server import Valkey

LINES = workload.lines()[:300]


def test_acknowledged_writes_of_several_processes_are_stored(
    postgres: Databases, valkey: Valkey, tmp_path: Path
) -> None:
    database = asyncio.run(postgres.database(str(tmp_path)))
    with several_writing(database, valkey.url, 3, 2) as processes:
        for process in processes:
            process.begin(0.2)
        written = [process.written() for process in processes]
        assert write_along(processes, 0.1).wall > 0

    async def lines() -> list[int]:
        store = await open_storage(database)
        try:
            chats = (await store.chats(OWNER, None, 200)).chats
            runs = [run for chat in chats for run in await store.runs(OWNER, chat.id)]
            assert {run.status for run in runs} == {"done"}
            return [run.raw_lines for run in runs]
        finally:
            await store.close()

    stored = asyncio.run(lines())
    assert len(stored) == 12, "three runs of each process, twice"
    assert sum(stored) >= sum(each.appends for each in written) > 0


def test_runs_are_sent_by_one_process_and_by_two(postgres: Databases, tmp_path: Path) -> None:
    database = asyncio.run(postgres.database(str(tmp_path)))
    found = reading(tmp_path / "data", database, 1, LINES)
    assert found.keys() == {"scale/read", "cost/read", "read/one", "read/two"}
    assert all(value > 0 for values in found.values() for value in values)


def test_server_that_cannot_start_prints_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="nobody serves: 2"):
        Serving(tmp_path, "memory:", 2)
