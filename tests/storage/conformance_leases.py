"""What every store does with the leases of another one, on the same database."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

import pytest

from mobox.errors import Fenced
from mobox.events import Done
from mobox.storage import Settings, Storage
from mobox.storage.renewals import Renewal, since_boot
from storage.conformance import (
    BEGINNING,
    QUESTION,
    Conformance,
    begin,
    opened,
    say,
    seqs,
    submit,
    words,
)
from support.clocks import Clock
from support.waiting import until

Stores: TypeAlias = AbstractAsyncContextManager[list[Storage]]


class LeasesConformance(Conformance):
    """Two stores, as two processes have them."""

    def opened(self, folder: Path, settings: Settings) -> Stores:
        return opened(lambda: self.open(folder, settings), 2)

    async def test_the_lease_of_a_store_that_is_gone_runs_out(self, tmp_path: Path) -> None:
        clock = Clock()
        async with self.opened(tmp_path, Settings(clock=clock, lease=3600)) as (one, two):
            run = await begin(one)
            await say(one, run, *BEGINNING)
            assert await two.expired() == []
            clock.now += 3_600_000
            (lost,) = await two.expired()
            mine = await two.take_over(lost.id, lost.epoch)
            assert (mine.epoch, mine.lease_owner == run.lease_owner) == (2, False)
            assert await one.expired() == []
            with pytest.raises(Fenced):
                await say(one, run, *words("from beyond"))
            await say(two, mine, Done(reason="lost"))
            assert seqs(await one.read(run.id)) == [1, 2, 3]

    async def test_a_store_renews_the_leases_it_has_and_no_others(self, tmp_path: Path) -> None:
        clock = Clock()
        settings = Settings(clock=clock, lease=0.03)  # renewed every hundredth second
        async with self.opened(tmp_path, settings) as (one, two):
            kept, let_go = await begin(one), await begin(one, submit(chat_id="other"))
            await one.queue(let_go.id, let_go.epoch)
            clock.now += 1_000_000
            while any(run.id == kept.id for run in await two.expired()):
                pass  # until the writer's next round
            assert [run.id for run in await two.expired()] == [let_go.id]
            renewed = await two.run("ann", kept.id)
            assert (renewed.lease_owner, renewed.epoch) == (kept.lease_owner, 1)

    async def test_a_renewal_names_the_runs_that_are_still_ours(self, tmp_path: Path) -> None:
        renewals: list[Renewal] = []
        settings = Settings(lease=0.3)  # renewed every tenth of a second
        async with self.opened(tmp_path, settings) as (one, two):
            kept, queued, taken, waiting = [
                await begin(one, submit(chat_id=f"chat {n}")) for n in range(4)
            ]
            await one.queue(queued.id, queued.epoch)
            await one.queue(taken.id, taken.epoch)
            await two.take_over(taken.id, taken.epoch)
            await say(one, waiting, *BEGINNING, *QUESTION)
            assert one.acts_until(kept) < since_boot() + settings.lease
            one.when_renewed(renewals.append)
            await until(lambda: renewals)
            assert renewals[0].epochs == {kept.id: kept.epoch}
            assert renewals[0].until < since_boot() + settings.lease

    async def test_each_process_has_its_own_readers(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path, Settings()) as (one, two):
            run = await begin(one)
            await one.set_reader(run.id, "left")
            await two.set_reader(run.id, "reading")
            assert await one.readers(run.id) == {"left", "reading"}
            await two.set_reader(run.id, None)
            assert await two.readers(run.id) == {"left"}

    async def test_no_process_is_taken_for_dead_while_its_store_is_open(
        self, tmp_path: Path
    ) -> None:
        async with self.opened(tmp_path, Settings()) as (one, two):
            run = await begin(one)
            assert await two.is_running(run.lease_owner or "") is not False
            assert await two.is_running("of another time") is None
            assert await two.expired() == []
