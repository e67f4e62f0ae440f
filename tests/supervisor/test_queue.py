"""Runs that are begun in one process and executed in another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from mobox.capture.catalog import Agent
from mobox.errors import TooManyRuns
from mobox.events import Done, Start
from mobox.events.turn import ContextItem, Frontend
from mobox.settings import Settings
from mobox.storage.log import ClientRequest, Run
from supervisor.stage import (
    Stage,
    approved,
    error_of,
    processes_under,
    reason_of,
    staged,
    submit,
    text_of,
    write_agent,
)
from support.waiting import until

WEB = Settings(execute="workers", look=0.02, sweep=0.02)
WORKER = Settings(look=0.02, sweep=0.02)
Enter = Callable[[AsyncExitStack, Agent, Settings], Awaitable[Stage]]
ALONE = """
    import pathlib
    before = state / "pid"
    if before.exists() and pathlib.Path("/proc", before.read_text()).exists():
        emit_text("not alone ")
    before.write_text(str(os.getpid()))
"""


pytestmark = pytest.mark.usefixtures("clean")


@pytest.fixture
def asker(tmp_path: Path) -> Agent:
    code = f"""
    {ALONE}
    emit_text(ask("Sure?", id="r1")["decision"])
    emit_done()
    """
    return write_agent(tmp_path / "asker", code)


@pytest.fixture
def sleeper(tmp_path: Path) -> Agent:
    code = """
        read_turn()
        (state / "ready").touch()
        wait_for("go")
        emit_text("awake")
        emit_done()
    """
    return write_agent(tmp_path / "sleeper", code)


@pytest.fixture
def enter(tmp_path: Path, shared_url: str) -> Enter:
    """Lets one more process work on the database."""

    async def enter(stack: AsyncExitStack, agent: Agent, limits: Settings) -> Stage:
        staging = staged(tmp_path, agent, url=shared_url, limits=limits)
        return await stack.enter_async_context(staging)

    return enter


async def at_work(stage: Stage, count: int) -> None:
    await until(lambda: len(list((stage.folder / "state").glob("*/ready"))) == count)


def let_all_go(stage: Stage) -> None:
    for state in (stage.folder / "state").iterdir():
        (state / "go").touch()


async def status_of(stage: Stage, begun: Run) -> str:
    return (await stage.store.run(begun.owner, begun.id)).status


async def test_a_run_is_begun_here_and_executed_elsewhere(sleeper: Agent, enter: Enter) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, sleeper, WEB)
        begun = await web.begin()
        assert (web.supervisor.running, web.supervisor.executes) == (0, False)
        worker = await enter(stack, sleeper, WORKER)
        await at_work(worker, 1)
        assert worker.supervisor.running == 1
        let_all_go(worker)
        events = await web.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == ("stop", "awake")


async def test_an_answer_is_given_here_and_heard_elsewhere(
    tmp_path: Path, asker: Agent, enter: Enter
) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, asker, WEB)
        await enter(stack, asker, WORKER)
        begun = await web.begin()
        await web.until_it_waits(begun)
        assert len(processes_under(tmp_path)) > 0, "it waits with its process"
        events = await web.answered(begun)
        assert (reason_of(events), text_of(events)) == ("stop", "approved")


async def test_two_that_execute_never_share_the_folder_of_a_chat(
    asker: Agent, enter: Enter
) -> None:
    async with AsyncExitStack() as stack:
        here = await enter(stack, asker, WORKER)
        elsewhere = await enter(stack, asker, WORKER)
        begun = await here.begin()
        await here.until_it_waits(begun)
        events = await elsewhere.answered(begun)
        assert (reason_of(events), text_of(events)) == ("stop", "approved")


async def test_what_the_page_brings_along_with_an_answer_is_there_when_it_is_heard(
    tmp_path: Path, enter: Enter
) -> None:
    code = """
        turn = read_turn()
        told = [item["value"] for item in turn.frontend.get("context", [])]
        ask("Sure?", id="r1")
        emit_text(" ".join(told))
        emit_done()
    """
    agent = write_agent(tmp_path / "reader", code)
    asking = ClientRequest(
        name="second", frontend=Frontend(context=(ContextItem(description="page", value="two"),))
    )
    async with AsyncExitStack() as stack:
        web = await enter(stack, agent, WEB)
        await enter(stack, agent, WORKER)
        begun = await web.begin()
        await web.until_it_waits(begun)
        await web.supervisor.answer("ann", begun.id, approved(), asking)
        assert text_of(await web.until_it_ends(begun)) == "two"


async def test_an_earlier_question_is_settled_before_anybody_begins_with_the_next(
    asker: Agent, enter: Enter
) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, asker, WEB)
        await enter(stack, asker, WORKER)
        first = await web.begin()
        await web.until_it_waits(first)
        second = await web.begin(submit("never mind", "m2"))
        await web.until_it_waits(second)
        (*_, done) = await web.store.read(first.id)
        (start, *_) = await web.store.read(second.id)
        assert isinstance(done.event, Done)
        assert isinstance(start.event, Start)
        assert done.id < start.id
        assert "not alone" not in text_of(await web.events(second))


async def test_a_run_that_is_stopped_in_the_queue_is_over_at_once(
    tmp_path: Path, sleeper: Agent
) -> None:
    async with staged(tmp_path, sleeper, limits=WEB) as web:
        begun = await web.begin()
        stopped = await web.supervisor.stop("ann", begun.id)
        assert (stopped.status, stopped.reason) == ("done", "cancelled")
        assert reason_of(await web.until_it_ends(begun)) == "cancelled"
        assert await web.store.claim(["sleeper"], 1) == []


async def test_a_run_is_stopped_here_that_is_executed_elsewhere_and_the_next_begins_after_it(
    sleeper: Agent, enter: Enter
) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, sleeper, WEB)
        worker = await enter(stack, sleeper, WORKER)
        begun = await web.begin()
        await at_work(worker, 1)
        await web.supervisor.stop("ann", begun.id)
        following = await web.begin(submit("instead", "m2"))
        assert reason_of(await web.until_it_ends(begun)) == "cancelled"
        let_all_go(worker)
        assert reason_of(await web.until_it_ends(following)) == "stop"


async def test_a_stop_that_comes_with_the_claim_is_heard(sleeper: Agent, enter: Enter) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, sleeper, WEB)
        begun = await web.begin()
        await web.store.request_stop("ann", begun.id)  # and whoever asked is gone
        await enter(stack, sleeper, WORKER)
        assert reason_of(await web.until_it_ends(begun)) == "cancelled"


async def test_a_run_that_nobody_claims_ends_and_says_why(tmp_path: Path, sleeper: Agent) -> None:
    now = 1_000_000
    settings = Settings(clock=lambda: now, poll_seconds=0.02)
    async with staged(tmp_path, sleeper, limits=WEB, settings=settings) as web:
        begun = await web.begin()
        await web.supervisor.reap()
        assert await status_of(web, begun) == "running"
        now += 60_000
        events = await web.until_it_ends(begun)
        assert (reason_of(events), error_of(events).code) == ("lost", "not_executed")


async def test_a_run_for_which_nobody_has_room_ends_and_says_so(
    tmp_path: Path, sleeper: Agent
) -> None:
    now = 1_000_000
    settings = Settings(clock=lambda: now, queue=60, lease=3600, poll_seconds=0.02)
    async with AsyncExitStack() as stack:
        web, worker = [
            await stack.enter_async_context(
                staged(tmp_path, sleeper, limits=limits, settings=settings)
            )
            for limits in (WEB, Settings(max_runs=1, look=0.02, sweep=3600))
        ]
        executed = await web.begin(submit(chat_id="c1"))
        await at_work(worker, 1)
        queued = await web.begin(submit(chat_id="c2"))
        now += 60_000
        events = await web.until_it_ends(queued)
        assert (reason_of(events), error_of(events).code) == ("lost", "no_room")
        let_all_go(worker)
        assert reason_of(await web.until_it_ends(executed)) == "stop"


async def test_nobody_claims_more_than_there_are_seats(sleeper: Agent, enter: Enter) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, sleeper, WEB)
        begun = [await web.begin(submit(chat_id=f"c{n}")) for n in range(3)]
        one = Settings(max_runs=1, look=0.02, sweep=3600)
        worker = await enter(stack, sleeper, one)
        for count, each in enumerate(begun, 1):
            await at_work(worker, count)
            await until(lambda: worker.supervisor.running == 1)  # the one before may be exiting
            let_all_go(worker)
            assert reason_of(await web.until_it_ends(each)) == "stop", "the oldest first"


async def test_an_owner_with_too_many_runs_keeps_nobody_else_waiting(
    sleeper: Agent, enter: Enter
) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, sleeper, WEB)
        anns = [await web.begin(submit(chat_id=f"a{n}")) for n in range(3)]
        bobs = await web.begin(submit(chat_id="b"), owner="bob")
        limits = Settings(max_runs=5, max_runs_per_owner=1, look=0.02, sweep=3600)
        worker = await enter(stack, sleeper, limits)
        await at_work(worker, 2)
        assert worker.supervisor.running == 2
        left = [await web.store.run("ann", each.id) for each in anns]
        assert [each.lease_owner is None for each in left] == [False, True, True]
        let_all_go(worker)
        assert reason_of(await web.until_it_ends(bobs)) == "stop"


async def test_who_claims_for_an_owner_lets_nobody_elses_process_go(
    asker: Agent, enter: Enter
) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, asker, WEB)
        limits = Settings(max_runs=3, max_runs_per_owner=2, look=0.02, sweep=3600)
        worker = await enter(stack, asker, limits)
        bobs = await web.begin(submit(chat_id="b"), owner="bob")
        await web.until_it_waits(bobs)
        for chat in ("a1", "a2", "a3"):
            await web.until_it_waits(await web.begin(submit(chat_id=chat)))
        await worker.supervisor.answer("bob", bobs.id, approved())
        await web.until_it_ends(bobs)
        assert (await web.store.run("bob", bobs.id)).leg == 1


async def test_an_owner_leaves_no_more_to_others_than_one_may_have(
    sleeper: Agent, enter: Enter
) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(
            stack, sleeper, Settings(execute="workers", max_runs_per_owner=2, look=0.02)
        )
        other = await enter(stack, sleeper, WEB)
        executed = await other.begin(submit(chat_id="c1"))
        worker = await enter(stack, sleeper, Settings(max_runs=1, look=0.02, sweep=3600))
        await at_work(worker, 1)
        asked = [web.begin(submit(chat_id=chat, key=chat)) for chat in ("c2", "c3")]
        came = await asyncio.gather(*asked, return_exceptions=True)
        assert sorted(type(each).__name__ for each in came) == ["Run", "TooManyRuns"]
        (queued,) = (each for each in came if isinstance(each, Run))
        with pytest.raises(TooManyRuns):
            await web.begin(submit(chat_id="c4"))
        again = await web.begin(submit(chat_id=queued.chat_id, key=queued.chat_id))
        assert again.id == queued.id
        await web.begin(submit(chat_id="b"), owner="bob")
        let_all_go(worker)
        assert reason_of(await web.until_it_ends(executed)) == "stop"
        await web.begin(submit(chat_id="c4"))


async def test_one_that_waits_makes_room_for_one_that_is_claimed(
    asker: Agent, enter: Enter
) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, asker, WEB)
        await enter(stack, asker, Settings(max_runs=1, look=0.02, sweep=3600))
        first = await web.begin(submit(chat_id="c1"))
        await web.until_it_waits(first)
        second = await web.begin(submit(chat_id="c2"))
        await web.until_it_waits(second)
        assert await status_of(web, first) == "waiting"
        for begun in (first, second):
            assert text_of(await web.answered(begun)) == "approved"


async def test_who_ends_claims_nothing_more(sleeper: Agent, enter: Enter) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, sleeper, WEB)
        ending = await enter(stack, sleeper, WORKER)
        executed = await web.begin(submit(chat_id="c1"))
        await at_work(ending, 1)
        await ending.supervisor.close()
        assert reason_of(await web.until_it_ends(executed)) == "interrupted"
        queued = await web.begin(submit(chat_id="c2"))
        other = await enter(stack, sleeper, WORKER)
        await at_work(other, 2)
        let_all_go(other)
        assert reason_of(await web.until_it_ends(queued)) == "stop"


async def test_a_silent_agent_dies_whose_run_is_somebody_elses(
    tmp_path: Path, sleeper: Agent
) -> None:
    now = 1_000_000
    settings = Settings(clock=lambda: now, lease=3600, poll_seconds=0.02)
    async with AsyncExitStack() as stack:
        quiet = Settings(look=3600, sweep=3600)
        here = await stack.enter_async_context(
            staged(tmp_path, sleeper, limits=quiet, settings=settings)
        )
        elsewhere = await stack.enter_async_context(
            staged(tmp_path, sleeper, limits=quiet, settings=settings)
        )
        begun = await here.begin()
        await at_work(here, 1)
        now += 3_600_000
        await elsewhere.supervisor.reap()
        events = await elsewhere.until_it_ends(begun)
        await here.supervisor.reap()
        await here.until_nothing_runs()
        assert processes_under(tmp_path) == []
        assert await elsewhere.events(begun) == events


async def test_somebody_looks_at_once_when_he_is_told(sleeper: Agent, enter: Enter) -> None:
    async with AsyncExitStack() as stack:
        web = await enter(stack, sleeper, WEB)
        worker = await enter(stack, sleeper, Settings(look=3600, sweep=3600))
        begun = await web.begin()
        worker.supervisor.look_soon()
        await at_work(worker, 1)
        let_all_go(worker)
        assert reason_of(await web.until_it_ends(begun)) == "stop"


async def test_process_that_claims_nothing_leaves_queued_runs_to_workers(
    tmp_path: Path, enter: Enter
) -> None:
    agent = write_agent(tmp_path / "plain", "emit_text('hello')\nemit_done()\n")
    async with AsyncExitStack() as stack:
        web = await enter(stack, agent, WEB)
        other = await enter(stack, agent, replace(WORKER, claims=False))
        queued = await web.begin()
        own = await other.begin(submit(chat_id="own"))  # it polls at least once meanwhile
        assert text_of(await other.until_it_ends(own)) == "hello"
        waiting = await web.store.run("ann", queued.id)
        assert (waiting.status, waiting.epoch, waiting.tail_seq) == ("running", queued.epoch, 0)
        await enter(stack, agent, WORKER)
        assert text_of(await web.until_it_ends(queued)) == "hello"
