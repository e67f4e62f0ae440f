"""Who looks after runs: what takes long keeps him from nothing else."""

from __future__ import annotations

import asyncio

from mobox.events import Done, Start
from mobox.storage import MemoryStorage
from mobox.storage.log import Run, RunId
from mobox.supervisor.lookout import Lookout
from mobox.supervisor.reaper import AT_ONCE, Reaper
from supervisor.stage import run, submit


def test_who_ends_what_was_lost_looks_around_meanwhile() -> None:
    async def scenario() -> None:
        sweeping, looked, swept = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def look() -> None:
            if sweeping.is_set():
                looked.set()

        async def sweep() -> None:
            sweeping.set()
            await looked.wait()
            swept.set()

        lookout = Lookout((look, 0.01), (sweep, 3600))
        lookout.start()
        try:
            await swept.wait()
        finally:
            await lookout.stop()

    run(scenario())


class Meeting(MemoryStorage):
    """A store where those who take a run over wait for each other."""

    def __init__(self) -> None:
        super().__init__()
        self.barrier = asyncio.Barrier(AT_ONCE)

    async def take_over(self, run_id: RunId, epoch: int) -> Run:
        await self.barrier.wait()
        return await super().take_over(run_id, epoch)


def test_lost_runs_are_ended_several_at_a_time() -> None:
    async def scenario() -> None:
        store = Meeting()
        begun = []
        for n in range(2 * AT_ONCE):
            made = (await store.begin_turn("ann", submit(chat_id=f"c{n}"), "it", "emitted")).run
            await store.append(made.id, made.epoch, [Start(framework="emitted")], None)
            await store.release(made.id, made.epoch)
            begun.append(made)
        await Reaper(store).sweep(())
        for made in begun:
            last = (await store.read(made.id))[-1].event
            assert isinstance(last, Done)
            assert last.reason == "lost"
        await store.close()

    run(scenario())
