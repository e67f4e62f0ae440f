"""Readers in one process of what another writes, while the Valkey between them has its troubles."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mobox.storage import Settings, open_storage
from mobox.storage.log import RunId
from storage.conformance import SECONDS, collect, seqs
from valkey_server import Valkey
from waiting import until

TESTS = Path(__file__).parents[1]
RUNS = 5
SOME = 20


class Writer:
    """A process that writes."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self.run_ids: list[RunId] = []
        self.written = 0

    async def begun(self) -> None:
        self.run_ids = [RunId(word) for word in (await self._stdout.readline()).decode().split()]
        assert len(self.run_ids) == RUNS

    async def do(self, command: str) -> None:
        self._stdin.write(f"{command}\n".encode())
        assert await self._stdout.readline() == b"done\n"

    async def write(self) -> None:
        await self.do(f"write {SOME}")
        self.written += SOME

    async def leave(self) -> None:
        self._stdin.write_eof()
        assert await self._process.wait() == 0


@asynccontextmanager
async def writing(url: str, redis_url: str) -> AsyncIterator[Writer]:
    script = str(TESTS / "storage" / "notifying_process.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, url, redis_url, str(RUNS),
        stdin=PIPE, stdout=PIPE, env={"PYTHONPATH": str(TESTS)},
    )  # fmt: skip
    try:
        writer = Writer(process)
        await writer.begun()
        yield writer
        await writer.leave()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize(
    "trouble",
    [None, Valkey.kill, Valkey.sleep, Valkey.hold_up],
    ids=["none", "killed", "asleep", "held up"],
)
@pytest.mark.time_limit(SECONDS)
async def test_nothing_is_lost_or_doubled_whatever_happens_to_valkey(
    tmp_path: Path, own_valkey: Valkey, trouble: Callable[[Valkey], None] | None
) -> None:
    url = f"sqlite:///{tmp_path}/mobox.db"
    patience = 3600 if trouble is None else 0.05  # without trouble news is enough
    store = await open_storage(url, Settings(poll_seconds=patience), own_valkey.url)
    async with writing(url, own_valkey.url) as writer:
        followers = [
            asyncio.create_task(collect(store.follow(run_id))) for run_id in writer.run_ids
        ]

        async def all_hear(state: str) -> None:
            await writer.do(f"hear {state}")
            await until(lambda: store.wake_ups == state)

        async def all_is_read() -> None:
            for run_id in writer.run_ids:
                await store.beyond(run_id, writer.written - 1)

        await all_hear("up")
        await writer.write()
        await all_is_read()
        if trouble is not None:
            await asyncio.to_thread(trouble, own_valkey)
            await writer.write()  # nobody waits for Valkey: it answers no more
            await all_is_read()
            await all_hear("down")
            await writer.write()
            await all_is_read()
            await asyncio.to_thread(own_valkey.recover)
            await all_hear("up")
        await writer.write()
        await all_is_read()
        await writer.do("end")
        for follower in followers:
            assert seqs(await follower) == list(range(1, writer.written + 2))
    await store.close()
