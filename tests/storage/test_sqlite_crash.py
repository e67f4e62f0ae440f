"""What was acknowledged survives the death of the process that wrote it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mobox.events import Done, LogEntry, TextDelta
from mobox.storage import Settings, SqliteStorage
from mobox.storage.log import RunId

TESTS = Path(__file__).parent.parent
RUNS = 8


def write_until_killed(path: Path, acknowledgements: int) -> dict[str, int]:
    """The last seq of each run that the process told us before it died."""
    command = [sys.executable, "-m", "storage.endless_writer", f"sqlite:///{path}", str(RUNS)]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}/src"}
    acknowledged: dict[str, int] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for n, line in enumerate(process.stdout):
            if n == acknowledgements:
                process.send_signal(signal.SIGKILL)
            if line.endswith("\n"):
                run_id, seq = line.split()
                acknowledged[run_id] = int(seq)
    assert process.returncode == -signal.SIGKILL
    return acknowledged


async def whole_log(store: SqliteStorage, run_id: RunId) -> list[LogEntry]:
    entries: list[LogEntry] = []
    while page := await store.read(run_id, len(entries)):
        entries += page
    return entries


@pytest.mark.parametrize("acknowledgements", [1, 50, 400])
async def test_every_acknowledged_event_is_there_after_kill_9(
    tmp_path: Path, acknowledgements: int
) -> None:
    path = tmp_path / "mobox.db"
    acknowledged = write_until_killed(path, acknowledgements)
    store = await SqliteStorage.open(path, Settings(clock=lambda: 2**50))
    lost = await store.expired()
    assert len(lost) == RUNS, "the leases of a dead process run out"
    assert acknowledged.keys() <= {run.id for run in lost}
    for run in lost:
        entries = await whole_log(store, run.id)
        assert [entry.seq for entry in entries] == list(range(1, run.tail_seq + 1))
        assert run.tail_seq >= acknowledged.get(run.id, 0)
        said = [e.event.delta for e in entries if isinstance(e.event, TextDelta)]
        assert said == [f"{n} " for n in range(run.tail_seq)], "no batch is half there"
        mine = await store.take_over(run.id, run.epoch)
        await store.append(run.id, mine.epoch, [Done(reason="lost")], None)
    assert await store.expired() == []
    await store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
