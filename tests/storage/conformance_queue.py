"""Runs that wait for somebody to execute them: what every store must do with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from mobox.errors import Fenced
from mobox.events import Done, InputRequest, InputResponse, Paused, Start, Status
from mobox.events.turn import Action, Frontend, PromptText, Request, UserMessage
from mobox.storage import Settings, Storage
from mobox.storage.log import ClientRequest, Run
from mobox.storage.runs import MOST_REQUEUES
from storage.conformance import Conformance, opened
from support.clocks import Clock

QUESTION = [Start(framework="emitted"), InputRequest(id="r1"), Paused(request_ids=("r1",))]
ANSWER = [InputResponse(id="r1", decision="approved")]


def request(chat: str) -> Request:
    message = UserMessage(id=f"u-{chat}", parts=(PromptText(text="Hello"),))
    return Request(
        chat_id=chat, action=Action.SUBMIT, message=message, idempotency_key=f"key of {chat}"
    )


async def begin(store: Storage, chat: str, *, owner: str = "ann", agent: str = "demo") -> Run:
    return (await store.begin_turn(owner, request(chat), agent, "emitted")).run


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

    async def test_turn_can_be_begun_in_the_queue(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            is_told = asyncio.Event()
            store.when_work(is_told.set)
            run = (await store.begin_turn("ann", request("c1"), "demo", "emitted", queue=True)).run
            await is_told.wait()
            assert (run.status, run.lease_owner, run.epoch) == ("running", None, 1)
            again = await store.begin_turn("ann", request("c1"), "demo", "emitted", queue=True)
            assert (again.run.id, again.created) == (run.id, False)
            (mine,) = await store.claim(["demo"], 5)
            assert mine.id == run.id

    async def test_waiting_run_can_be_resumed_in_the_queue(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            run = await begin(store, "c1")
            await store.append(run.id, run.epoch, QUESTION, None)
            is_told = asyncio.Event()
            store.when_work(is_told.set)
            asking = ClientRequest(name="n1", frontend=Frontend(instructions=("be brief",)))
            resumed = await store.next_attempt(
                run.id, run.epoch, ANSWER, None, request=asking, queue=True
            )
            await is_told.wait()
            assert (resumed.status, resumed.lease_owner, resumed.leg) == ("running", None, 2)
            assert await store.asked(run.id) == [replace(asking, after=len(QUESTION))]
            (mine,) = await store.claim(["demo"], 5)
            assert (mine.id, mine.tail_seq) == (run.id, len(QUESTION) + 1)

    async def test_request_of_an_answer_that_came_second_is_not_stored(
        self, tmp_path: Path
    ) -> None:
        async with self.opened(tmp_path) as store:
            run = await begin(store, "c1")
            await store.append(run.id, run.epoch, QUESTION, None)
            await store.next_attempt(run.id, run.epoch, ANSWER, None, queue=True)
            asking = ClientRequest(name="n1")
            with pytest.raises(Fenced):
                await store.next_attempt(
                    run.id, run.epoch, ANSWER, None, request=asking, queue=True
                )
            assert await store.asked(run.id) == []

    async def test_expired_run_is_queued_again_unless_its_agent_has_got_its_turn(
        self, tmp_path: Path
    ) -> None:
        clock = Clock()
        settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
        async with self.opened(tmp_path, settings) as store:
            run, other = await begin(store, "c1"), await begin(store, "c2")
            await store.hand_over(other.id, other.epoch)
            with pytest.raises(Fenced):  # its lease is valid
                await store.requeue(run.id, run.epoch)
            clock.now += 3_600_000
            with pytest.raises(Fenced):
                await store.requeue(other.id, other.epoch)
            await store.requeue(run.id, run.epoch)
            with pytest.raises(Fenced):
                await store.requeue(run.id, run.epoch)
            with pytest.raises(Fenced):  # the process that had it was only slow
                await store.hand_over(run.id, run.epoch)
            (mine,) = await store.claim(["demo"], 5)
            assert (mine.id, mine.epoch, mine.requeued) == (run.id, 3, 1)
            assert mine.unstarted == mine.epoch
            await store.hand_over(mine.id, mine.epoch)
            assert (await store.run("ann", run.id)).unstarted == 0

    async def test_run_that_was_taken_over_is_never_queued_again(self, tmp_path: Path) -> None:
        clock = Clock()
        settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
        async with self.opened(tmp_path, settings) as store:
            run = await begin(store, "c1")
            await store.hand_over(run.id, run.epoch)
            clock.now += 3_600_000
            mine = await store.take_over(run.id, run.epoch)
            clock.now += 3_600_000  # the process that was to end it has died, too
            with pytest.raises(Fenced):
                await store.requeue(mine.id, mine.epoch)

    async def test_run_that_is_lost_and_claimed_again_can_be_written(self, tmp_path: Path) -> None:
        clock = Clock()
        settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
        async with self.opened(tmp_path, settings) as store:
            run = await begin(store, "c1")
            for text in ("one", "two"):  # so that a writer may remember the run
                await store.append(run.id, run.epoch, [Status(message=text)], None)
            clock.now += 3_600_000
            await store.requeue(run.id, run.epoch)
            (mine,) = await store.claim(["demo"], 1)
            await store.append(mine.id, mine.epoch, [Status(message="three")], None)
            assert len(await store.read(run.id)) == 3

    async def test_next_attempt_is_not_handed_over_yet(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            run = await begin(store, "c1")
            await store.hand_over(run.id, run.epoch)
            await store.append(run.id, run.epoch, QUESTION, None)
            resumed = await store.next_attempt(run.id, run.epoch, ANSWER, None)
            assert (resumed.epoch, resumed.unstarted) == (2, 2)

    async def test_run_that_ends_every_process_is_queued_again_only_so_often(
        self, tmp_path: Path
    ) -> None:
        clock = Clock()
        settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
        async with self.opened(tmp_path, settings) as store:
            run = await begin(store, "c1")
            for _ in range(MOST_REQUEUES):
                clock.now += 3_600_000
                await store.requeue(run.id, run.epoch)
                (run,) = await store.claim(["demo"], 1)
            clock.now += 3_600_000
            with pytest.raises(Fenced):
                await store.requeue(run.id, run.epoch)

    async def test_waiting_runs_that_should_have_ended_are_found(self, tmp_path: Path) -> None:
        clock = Clock()
        async with self.opened(tmp_path, Settings(clock=clock)) as store:
            run = await begin(store, "c1")
            await store.append(run.id, run.epoch, QUESTION, None)
            alone = await begin(store, "c2")
            await store.append(alone.id, alone.epoch, QUESTION, None)
            clock.now += 10
            message = UserMessage(id="u2", parts=(PromptText(text="Never mind"),))
            later = Request(chat_id="c1", action=Action.SUBMIT, message=message)
            await store.begin_turn("ann", later, "demo", "emitted")
            assert await store.left_waiting(clock.now) == []
            assert [found.id for found in await store.left_waiting(clock.now + 1)] == [run.id]
            await store.request_stop("ann", alone.id)
            left = [found.id for found in await store.left_waiting(clock.now + 1)]
            assert left == [run.id, alone.id]

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
