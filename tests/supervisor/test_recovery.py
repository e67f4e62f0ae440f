"""Who looks after runs: what takes long keeps him from nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from mobox.errors import StorageError
from mobox.events import Done, Start
from mobox.storage import Settings, SqliteStorage, Storage
from mobox.storage.log import Run, RunId
from mobox.supervisor.recovery import AT_ONCE, PollLoop, Reaper, Sweep
from supervisor.stage import submit

LOSING = Settings(queue=0)  # what is left to others is lost at once


async def test_who_ends_what_was_lost_looks_around_meanwhile() -> None:
    sweeping, looked, swept = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def look() -> None:
        if sweeping.is_set():
            looked.set()

    async def sweep() -> None:
        sweeping.set()
        await looked.wait()
        swept.set()

    lookout = PollLoop((look, 0.01), Sweep(sweep, 3600, "sweeping"))
    lookout.start()
    try:
        await swept.wait()
    finally:
        await lookout.stop()


class Meeting(SqliteStorage):
    """A store where those who take a run over wait for each other."""

    barrier: asyncio.Barrier

    async def take_over(self, run_id: RunId, epoch: int) -> Run:
        await self.barrier.wait()
        return await super().take_over(run_id, epoch)


async def lose(store: Storage, count: int) -> list[Run]:
    """Runs that have begun to speak, and that nobody executes any more."""
    lost = []
    for n in range(count):
        begun = (await store.begin_turn("ann", submit(chat_id=f"c{n}"), "it", "emitted")).run
        await store.append(begun.id, begun.epoch, [Start(framework="emitted")], None)
        await store.queue(begun.id, begun.epoch)
        lost.append(begun)
    return lost


async def reason_of(store: Storage, run_id: RunId) -> str | None:
    last = (await store.read(run_id))[-1].event
    return last.reason if isinstance(last, Done) else None


async def test_lost_runs_are_ended_several_at_a_time() -> None:
    store = await Meeting.open_temporary(LOSING)
    store.barrier = asyncio.Barrier(AT_ONCE)
    lost = await lose(store, 2 * AT_ONCE)
    await Reaper(store).sweep(())
    assert {await reason_of(store, each.id) for each in lost} == {"lost"}
    await store.close()


class Refusing(SqliteStorage):
    """A store where some runs cannot be taken over."""

    refused: Collection[RunId] = ()

    async def take_over(self, run_id: RunId, epoch: int) -> Run:
        if run_id in self.refused:
            raise StorageError("not now")
        return await super().take_over(run_id, epoch)


async def test_lost_runs_that_cannot_be_ended_now_keep_no_other_from_its_end() -> None:
    store = await Refusing.open_temporary(LOSING)
    lost = await lose(store, 3 * AT_ONCE)
    first, others = lost[: AT_ONCE + 1], lost[AT_ONCE + 1 :]
    store.refused = {each.id for each in first}
    with pytest.raises(StorageError, match="not now"):
        await Reaper(store).sweep(())
    assert {await reason_of(store, each.id) for each in others} == {"lost"}
    assert {await reason_of(store, each.id) for each in first} == {None}
    store.refused = ()
    await Reaper(store).sweep(())
    assert {await reason_of(store, each.id) for each in first} == {"lost"}
    await store.close()
