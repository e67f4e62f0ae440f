"""Processes that die or freeze while they write to PostgreSQL lose nothing and hold nobody up."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mobox.events import Done, LogEntry, TextDelta
from mobox.storage import Settings
from mobox.storage.log import Run, pages
from mobox.storage.postgres import PostgresStorage
from storage.conformance import BEGINNING, begin, say, seqs, submit
from support.clocks import Clock
from support.postgres_server import Databases

TESTS = Path(__file__).parent.parent
RUNS = 8


async def opened_later(url: str) -> PostgresStorage:
    """A store that has been there for an hour, when all leases of others have run out."""
    clock = Clock(2**50)
    store = await PostgresStorage.open(url, Settings(clock=clock))
    clock.now += 3_600_000
    return store


@contextmanager
def writing(url: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    command = [sys.executable, "-m", "storage.endless_writer", url, str(RUNS)]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}/src"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout
        finally:
            process.kill()


def read_some(lines: IO[str], count: int) -> dict[str, int]:
    """The last seq of each run that was acknowledged."""
    told = (line.split() for line, _ in zip(lines, range(count), strict=False))
    return {run_id: int(seq) for run_id, seq in told}


async def whole_log(store: PostgresStorage, run: Run) -> list[LogEntry]:
    return [entry async for page in pages(store, run.id) for entry in page]


async def check_and_end(store: PostgresStorage, run: Run, acknowledged: int) -> None:
    mine = await store.take_over(run.id, run.epoch)
    entries = await whole_log(store, mine)
    assert seqs(entries) == list(range(1, mine.tail_seq + 1))
    assert mine.tail_seq >= acknowledged
    said = [entry.event.delta for entry in entries if isinstance(entry.event, TextDelta)]
    assert said == [f"{n} " for n in range(mine.tail_seq)], "no batch is half there"
    await store.append(run.id, mine.epoch, [Done(reason="lost")], None)


async def test_every_acknowledged_event_is_there_after_kill_9(
    postgres: Databases, tmp_path: Path
) -> None:
    url = await postgres.database(str(tmp_path))
    with writing(url) as (process, lines):
        acknowledged = read_some(lines, 400)
        process.send_signal(signal.SIGKILL)
    store = await opened_later(url)
    lost = await store.expired()
    assert len(lost) == RUNS
    for run in lost:
        await check_and_end(store, run, acknowledged.get(run.id, 0))
    assert await store.expired() == []
    await store.close()


async def test_frozen_process_blocks_no_other_and_is_fenced_on_resume(
    postgres: Databases, tmp_path: Path
) -> None:
    url = await postgres.database(str(tmp_path))
    with writing(url) as (process, lines):
        acknowledged = read_some(lines, 100)
        process.send_signal(signal.SIGSTOP)
        store = await opened_later(url)
        mine = await begin(store, submit(chat_id="mine"))
        assert seqs(await say(store, mine, *BEGINNING)) == [1, 2]
        frozen = [run for run in await store.expired() if run.id != mine.id]
        assert len(frozen) == RUNS
        for run in frozen:
            await check_and_end(store, run, acknowledged.get(run.id, 0))
        tails = {run.id: await store.run("ann", run.id) for run in frozen}
        process.send_signal(signal.SIGCONT)
        _, errors = await asyncio.to_thread(process.communicate)
        assert "Fenced" in errors
        for run_id, ended in tails.items():
            assert await store.run("ann", run_id) == ended, "nothing follows the end"
        await store.close()
