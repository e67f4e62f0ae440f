"""What owners use in all processes: what every store counts."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mobox.storage import Settings
from mobox.storage.owner_limits import STREAM_SECONDS
from storage.conformance import Conformance, opened
from support.clocks import Clock


class OwnerLimitsConformance(Conformance):
    """Two stores of one database, as two processes have them."""

    async def test_starts_of_all_processes_count(self, tmp_path: Path) -> None:
        clock = Clock()
        settings = Settings(clock=clock, lease=3600)
        async with opened(lambda: self.open(tmp_path, settings), 2) as (one, two):
            taken = [await store.take_start("ann", 6) for store in (one, two) * 3]
            assert taken == [0] * 6
            assert await two.take_start("ann", 6) == 10
            assert await two.take_start("bob", 6) == 0
            clock.now += 10_000
            assert await one.take_start("ann", 6) == 0
            assert await two.take_start("ann", 6) == 10
            await two.give_back_start("ann", 6)
            assert await one.take_start("ann", 6) == 0

    async def test_starts_at_the_same_time_share_the_budget(self, tmp_path: Path) -> None:
        clock = Clock()
        settings = Settings(clock=clock, lease=3600)
        async with opened(lambda: self.open(tmp_path, settings), 2) as stores:
            taken = await asyncio.gather(
                *(store.take_start("ann", 20) for store in stores for _ in range(20))
            )
            assert taken.count(0) == 20

    async def test_streams_of_all_processes_count_while_they_are_renewed(
        self, tmp_path: Path
    ) -> None:
        clock = Clock()
        settings = Settings(clock=clock, lease=3600)
        async with opened(lambda: self.open(tmp_path, settings), 2) as (one, two):
            assert await one.count_streams("ann", 2) == 2
            assert await two.count_streams("ann", 1) == 3
            assert await two.count_streams("bob", 1) == 1
            assert await one.count_streams("ann", 1) == 2
            clock.now += round(STREAM_SECONDS * 1000) - 1
            await two.renew_streams({"ann": 1})
            clock.now += 1
            assert await two.count_streams("ann", 1) == 1, "the other one has died"
            await one.renew_streams({"ann": 5})
            assert await two.count_streams("ann", 0) == 5
