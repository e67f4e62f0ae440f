"""Runs that wait for somebody to execute them: what every store must do with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mobox.errors import Fenced
from mobox.events import Done, InputRequest, InputResponse, Paused, Start, Status
from mobox.events.turn import Action, PromptText, Request, UserMessage
from mobox.storage import Settings, Storage
from mobox.storage.log import Run
from storage.conformance import Conformance, opened
from support.clocks import Clock

QUESTION = [Start(framework="emitted"), InputRequest(id="r1"), Paused(request_ids=("r1",))]
ANSWER = [InputResponse(id="r1", decision="approved")]


async def begin(store: Storage, chat: str, *, owner: str = "ann", agent: str = "demo") -> Run:
    message = UserMessage(id=f"u-{chat}", parts=(PromptText(text="Hello"),))
    request = Request(chat_id=chat, action=Action.SUBMIT, message=message)
    return (await store.begin_turn(owner, request, agent, "emitted")).run


async def begin_queued(
    store: Storage, chat: str, *, owner: str = "ann", agent: str = "demo"
) -> Run:
    run = await begin(store, chat, owner=owner, agent=agent)
    await store.queue(run.id, run.epoch)
    return await store.run(owner, run.id)


class QueueConformance(Conformance):
    """Scenarios that a store plays with itself; `open` opens it, in the folder or in none."""

    @asynccontextmanager
    async def opened(
        self, folder: Path, settings: Settings | None = None
    ) -> AsyncIterator[Storage]:
        settings = settings or Settings(poll_seconds=0.02)
        async with opened(lambda: self.open(folder, settings)) as (store,):
            yield store

    async def test_queued_run_is_running_without_a_lease_owner(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            run = await begin_queued(store, "c1")
            assert (run.status, run.lease_owner, run.epoch) == ("running", None, 1)
            assert run.lease_until is not None
            assert await store.expired() == []
            assert (await store.history("ann", "c1")).active == run

    async def test_run_cannot_be_queued_twice_or_for_another_epoch(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            run = await begin(store, "c1")
            with pytest.raises(Fenced):
                await store.queue(run.id, run.epoch + 1)
            await store.append(run.id, run.epoch, QUESTION, None)
            with pytest.raises(Fenced):
                await store.queue(run.id, run.epoch)
            await store.delete("ann", "c1")
            with pytest.raises(Fenced):
                await store.queue(run.id, run.epoch)

    async def test_poll_loop_is_notified_of_a_queued_run(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            is_told = asyncio.Event()
            store.when_work(is_told.set)
            run = await begin(store, "c1")
            is_told.clear()
            await store.queue(run.id, run.epoch)
            await is_told.wait()

    async def test_a_claimed_run_is_ours_under_a_new_epoch(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            run = await begin_queued(store, "c1")
            (mine,) = await store.claim(["demo"], 5)
            assert (mine.id, mine.epoch, mine.leg) == (run.id, 2, 1)
            assert mine == await store.run("ann", run.id)
            assert mine.lease_owner is not None
            assert await store.claim(["demo"], 5) == []
            with pytest.raises(Fenced):
                await store.append(run.id, run.epoch, [Start(framework="emitted")], None)
            await store.append(mine.id, mine.epoch, [Start(framework="emitted")], None)

    async def test_longest_waiting_runs_are_claimed_first(self, tmp_path: Path) -> None:
        clock = Clock()
        async with self.opened(tmp_path, Settings(clock=clock, poll_seconds=0.02)) as store:
            waits = await begin(store, "c0")
            await store.append(waits.id, waits.epoch, QUESTION, None)
            begun = []
            for chat in ("c1", "c2", "c3"):
                begun.append(await begin_queued(store, chat))
                clock.now += 1
            leg = await store.next_attempt(waits.id, waits.epoch, ANSWER, None)
            await store.queue(leg.id, leg.epoch)
            first = await store.claim(["demo"], 2)
            rest = await store.claim(["demo"], 5)
            claimed = [run.id for run in first + rest]
            assert claimed == [*(run.id for run in begun), waits.id]
            assert (rest[-1].leg, rest[-1].epoch) == (2, 3)

    async def test_only_runs_of_these_agents_are_claimed_and_those_of_the_spared_are_left(
        self, tmp_path: Path
    ) -> None:
        async with self.opened(tmp_path) as store:
            await begin_queued(store, "c1", agent="other")
            await begin_queued(store, "c2", owner="bob")
            mine = await begin_queued(store, "c3")
            assert await store.claim([], 5) == []
            claimed = await store.claim(["demo", "more"], 1, sparing=["bob"])
            assert [run.id for run in claimed] == [mine.id]
            assert await store.claim(["demo"], 5, sparing=["bob", "ann"]) == []
            left = await store.claim(["demo", "other"], 5)
            assert [run.chat_id for run in left] == ["c1", "c2"]

    async def test_executed_waiting_and_ended_runs_cannot_be_claimed(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            await begin(store, "c1")
            waits, over = await begin(store, "c2"), await begin(store, "c3")
            await store.append(waits.id, waits.epoch, QUESTION, None)
            said = [Start(framework="emitted"), Done(reason="stop")]
            await store.append(over.id, over.epoch, said, None)
            assert await store.claim(["demo"], 5) == []

    async def test_unclaimed_run_is_taken_over_once(self, tmp_path: Path) -> None:
        clock = Clock()
        async with self.opened(tmp_path, Settings(clock=clock, poll_seconds=0.02)) as store:
            run = await begin(store, "c1")
            await store.append(run.id, run.epoch, [Start(framework="emitted")], None)
            with pytest.raises(Fenced):
                await store.take_over(run.id, run.epoch)
            await store.queue(run.id, run.epoch)
            clock.now += 59_999
            assert await store.expired() == []
            clock.now += 1
            assert [late.id for late in await store.expired()] == [run.id]
            assert await store.claim(["demo"], 5) == []
            takers = (store.take_over(run.id, run.epoch) for _ in range(10))
            outcomes = await asyncio.gather(*takers, return_exceptions=True)
            (mine,) = [outcome for outcome in outcomes if isinstance(outcome, Run)]
            assert (mine.epoch, mine.status) == (2, "running")
            assert await store.expired() == []
            with pytest.raises(Fenced):
                await store.append(run.id, run.epoch, [Status(message="zombie")], None)
            await store.append(mine.id, mine.epoch, [Done(reason="lost")], None)
            assert (await store.run("ann", run.id)).reason == "lost"

    async def test_a_queued_run_can_be_taken_out_of_the_queue(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            run = await begin_queued(store, "c1")
            mine = await store.take_over(run.id, run.epoch)
            assert mine.epoch == 2
            assert await store.claim(["demo"], 5) == []
            with pytest.raises(Fenced):
                await store.take_over(run.id, mine.epoch)

    async def test_stop_requested_in_the_queue_is_seen_by_the_claimer(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            run = await begin_queued(store, "c1")
            await store.request_stop("ann", run.id)
            assert await store.stopping() == []
            (mine,) = await store.claim(["demo"], 1)
            assert mine.stop_requested_at is not None
            assert await store.stopping() == [mine]

    async def test_many_who_claim_at_once_never_get_the_same(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            begun = {(await begin_queued(store, f"c{n}")).id for n in range(20)}
            others = [store]
            if (again := await self.open_again(tmp_path)) is not None:
                others.append(again)
            try:
                claims = [each.claim(["demo"], 3) for each in others for _ in range(10)]
                claimed = [run.id for runs in await asyncio.gather(*claims) for run in runs]
            finally:
                for other in others[1:]:
                    await other.close()
            assert len(claimed) == 20
            assert set(claimed) == begun

    async def test_runs_are_found_as_they_are_now_without_those_that_were_deleted(
        self, tmp_path: Path
    ) -> None:
        async with self.opened(tmp_path) as store:
            gone, ended, taken = [await begin(store, f"c{n}") for n in range(3)]
            await store.delete("ann", "c0")
            await store.append(ended.id, ended.epoch, [Done(reason="stop")], None)
            await store.queue(taken.id, taken.epoch)
            (mine,) = await store.claim(["demo"], 1)
            asked = [gone.id, ended.id, taken.id]
            found = await store.still_there(asked)
            assert found == {ended.id: await store.run("ann", ended.id), taken.id: mine}
            assert mine.epoch > taken.epoch
            assert await store.still_there([]) == {}

    async def test_worker_is_active_while_it_has_a_run_with_events(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            run = await begin(store, "c1")
            assert not await store.has_active_worker()
            await store.append(run.id, run.epoch, [Start(framework="emitted")], None)
            assert await store.has_active_worker()
            await store.queue(run.id, run.epoch)
            assert not await store.has_active_worker()
            (mine,) = await store.claim(["demo"], 1)
            assert await store.has_active_worker()
            await store.append(mine.id, mine.epoch, [Done(reason="stop")], None)
            assert not await store.has_active_worker()

    async def test_a_chat_is_busy_whose_run_is_executed_or_queued(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            await begin(store, "executed")
            await begin_queued(store, "queued")
            waits, over = await begin(store, "waits"), await begin(store, "over")
            await store.append(waits.id, waits.epoch, QUESTION, None)
            said = [Start(framework="emitted"), Done(reason="stop")]
            await store.append(over.id, over.epoch, said, None)
            await begin(store, "bobs", owner="bob")
            assert await store.busy_chats("ann") == {"executed", "queued"}
            assert await store.busy_chats("bob") == {"bobs"}
            assert await store.busy_chats("nobody") == set()

    async def open_again(self, folder: Path) -> Storage | None:
        """The same store in another process; `None` where there can be none."""
        return await self.open(folder, Settings(poll_seconds=0.02))
