"""Messages during a running run of their chat: it is interrupted, or they are refused."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from mobox.capture.catalog import Agent
from mobox.errors import InvalidRequest, RunActive
from mobox.events import ToolResult
from mobox.events.turn import Action, Cut, Place, Request, WhenRunning
from mobox.settings import Settings
from mobox.storage import open_storage
from mobox.storage.log import Run
from supervisor.stage import (
    QUIET,
    Stage,
    both_stores,
    reason_of,
    staged,
    submit,
    text_of,
    url_of,
    write_agent,
)

pytestmark = pytest.mark.usefixtures("clean")

AT_ONCE = replace(QUIET, grace=0)
"""Nobody waits for a client that might be about to leave."""


@pytest.fixture
def store() -> str:
    return "sqlite"


@pytest.fixture
def url(store: str, tmp_path: Path) -> str:
    return url_of(store, tmp_path)


@pytest.fixture
def worker(tmp_path: Path) -> Agent:
    """Answers `wait` when it is stopped or finds the file `go`, and all else at once."""
    code = """
        turn = read_turn()
        if turn.prompt == "wait":
            emit_tool_use("dig", {}, id="call_1")
            (state / "ready").touch()
            wait_for("go")
        emit_text("done: " + turn.prompt)
        emit_done()
    """
    return write_agent(tmp_path / "worker", code)


def second(policy: WhenRunning | None = None, text: str = "second") -> Request:
    return replace(submit(text, "m2"), when_running=policy)


async def begun(stage: Stage) -> Run:
    run = await stage.begin(submit("wait"))
    await stage.told("ready")
    return run


async def finished(stage: Stage, run: Run) -> None:
    (stage.state / "go").touch()
    assert text_of(await stage.until_it_ends(run)) == "done: wait"


@both_stores
async def test_interrupt_stops_the_run_and_starts_the_next(
    tmp_path: Path, url: str, worker: Agent
) -> None:
    async with staged(tmp_path, worker, url=url) as stage:
        first = await begun(stage)
        then = await stage.begin(second("interrupt"))
        events = await stage.until_it_ends(first)
        assert reason_of(events) == "cancelled"
        call = ToolResult(id="call_1", output=None, status="interrupted")
        assert [event for event in events if isinstance(event, ToolResult)] == [call]
        assert text_of(await stage.until_it_ends(then)) == "done: second"


async def test_reject_leaves_the_run_alone_also_if_its_clients_have_left(
    tmp_path: Path, url: str, worker: Agent
) -> None:
    async with staged(tmp_path, worker, url=url) as stage:
        first = await begun(stage)
        await stage.store.set_reader(first.id, "left")
        with pytest.raises(RunActive) as refused:
            await stage.begin(second("reject"))
        assert refused.value.run_id == first.id
        await finished(stage, first)


@pytest.mark.parametrize("policy", ["interrupt", "reject"])
async def test_the_setting_decides_for_messages_without_a_policy(
    tmp_path: Path, url: str, worker: Agent, policy: WhenRunning
) -> None:
    limits = replace(AT_ONCE, when_running=policy)
    async with staged(tmp_path, worker, url=url, limits=limits) as stage:
        first = await begun(stage)
        if policy == "reject":
            with pytest.raises(RunActive):
                await stage.begin(second())
            await finished(stage, first)
        else:
            then = await stage.begin(second())
            assert reason_of(await stage.until_it_ends(first)) == "cancelled"
            assert text_of(await stage.until_it_ends(then)) == "done: second"


@both_stores
async def test_a_run_that_its_clients_have_left_is_interrupted(
    tmp_path: Path, url: str, worker: Agent
) -> None:
    async with staged(tmp_path, worker, url=url, limits=AT_ONCE) as stage:
        first = await begun(stage)
        await stage.store.set_reader(first.id, "left")
        then = await stage.begin(second())
        assert reason_of(await stage.until_it_ends(first)) == "cancelled"
        assert text_of(await stage.until_it_ends(then)) == "done: second"


async def test_a_client_may_leave_just_after_it_has_sent_the_next_message(
    tmp_path: Path, url: str, worker: Agent
) -> None:
    limits = replace(QUIET, grace=60)
    async with staged(tmp_path, worker, url=url, limits=limits) as stage:
        first = await begun(stage)
        await stage.store.set_reader(first.id, "reading")
        sending = asyncio.create_task(stage.begin(second()))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not sending.done()
        await stage.store.set_reader(first.id, "left")
        assert text_of(await stage.until_it_ends(await sending)) == "done: second"


async def test_a_run_that_ends_by_itself_meanwhile_is_not_in_the_way(
    tmp_path: Path, url: str, worker: Agent
) -> None:
    limits = replace(QUIET, grace=60)
    async with staged(tmp_path, worker, url=url, limits=limits) as stage:
        first = await begun(stage)
        await stage.store.set_reader(first.id, "reading")
        sending = asyncio.create_task(stage.begin(second()))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not sending.done()
        await finished(stage, first)
        assert text_of(await stage.until_it_ends(await sending)) == "done: second"


@pytest.mark.parametrize("here", ["left", "reading", None])
async def test_a_run_that_somebody_reads_or_nobody_has_left_is_not_interrupted(
    tmp_path: Path, url: str, worker: Agent, here: str | None
) -> None:
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(staged(tmp_path, worker, url=url, limits=AT_ONCE))
        first = await begun(stage)
        if here is not None:
            await stage.store.set_reader(first.id, "left" if here == "left" else "reading")
            elsewhere = await open_storage(url)
            stack.push_async_callback(elsewhere.close)
            await elsewhere.set_reader(first.id, "reading" if here == "left" else "left")
        with pytest.raises(RunActive):
            await stage.begin(second())
        await finished(stage, first)


@pytest.mark.parametrize("max_runs", [1, 2])
async def test_the_same_message_joins_its_run_whatever_its_key(
    tmp_path: Path, url: str, worker: Agent, max_runs: int
) -> None:
    limits = replace(AT_ONCE, max_runs=max_runs)
    async with staged(tmp_path, worker, url=url, limits=limits) as stage:
        first = await begun(stage)
        again = replace(submit("wait", key="another"), when_running="interrupt")
        joined = await stage.supervisor.begin("ann", again)
        assert (joined.run.id, joined.created) == (first.id, False)
        await finished(stage, first)


@pytest.mark.parametrize("max_runs", [1, 2])
async def test_a_message_that_cannot_be_stored_stops_nothing(
    tmp_path: Path, url: str, worker: Agent, max_runs: int
) -> None:
    limits = replace(AT_ONCE, max_runs=max_runs)
    async with staged(tmp_path, worker, url=url, limits=limits) as stage:
        first = await begun(stage)
        with pytest.raises(InvalidRequest):
            await stage.begin(replace(submit("other words"), when_running="interrupt"))
        await finished(stage, first)


@pytest.mark.parametrize("action", [Action.EDIT, Action.REGENERATE])
async def test_an_edit_or_a_regeneration_interrupts_too(
    tmp_path: Path, url: str, worker: Agent, action: Action
) -> None:
    async with staged(tmp_path, worker, url=url, limits=AT_ONCE) as stage:
        first = await begun(stage)
        if action is Action.REGENERATE:  # its second execution need not be stopped
            (stage.state / "go").touch()
        place = Place.BEFORE if action is Action.EDIT else Place.AFTER
        request = replace(
            submit("again" if action is Action.EDIT else "wait"),
            action=action,
            cut=Cut(place, "m1"),
            when_running="interrupt",
        )
        then = await stage.begin(request)
        assert reason_of(await stage.until_it_ends(first)) in ("cancelled", "stop")
        expected = "done: again" if action is Action.EDIT else "done: wait"
        assert text_of(await stage.until_it_ends(then)) == expected


async def test_the_interrupted_run_gives_its_slot_to_the_next(
    tmp_path: Path, url: str, worker: Agent
) -> None:
    limits = replace(AT_ONCE, max_runs=1)
    async with staged(tmp_path, worker, url=url, limits=limits) as stage:
        first = await begun(stage)
        then = await stage.begin(second("interrupt"))
        assert reason_of(await stage.until_it_ends(first)) == "cancelled"
        assert text_of(await stage.until_it_ends(then)) == "done: second"


async def test_messages_that_interrupt_at_once_are_all_answered_or_refused(
    tmp_path: Path, url: str, worker: Agent
) -> None:
    async with staged(tmp_path, worker, url=url, limits=AT_ONCE) as stage:
        first = await begun(stage)
        requests = [
            replace(submit(f"number {n}", f"n{n}"), when_running="interrupt") for n in range(3)
        ]
        outcomes = await asyncio.gather(*map(stage.begin, requests), return_exceptions=True)
        runs = [outcome for outcome in outcomes if isinstance(outcome, Run)]
        assert len(runs) + sum(isinstance(each, RunActive) for each in outcomes) == 3
        assert runs
        for run in (first, *runs):
            assert reason_of(await stage.until_it_ends(run)) in ("cancelled", "stop")
        history = await stage.store.history("ann", "chat")
        assert sum(message.role == "user" for message in history.messages) == 1 + len(runs)


# Runs of other processes


async def test_a_run_of_another_process_is_interrupted(
    tmp_path: Path, url: str, worker: Agent
) -> None:
    limits = Settings(look=0.02, sweep=3600, notice=3600, grace=0)
    async with (
        staged(tmp_path, worker, url=url, limits=limits) as here,
        staged(tmp_path, worker, url=url, limits=limits) as elsewhere,
    ):
        first = await begun(here)
        then = await elsewhere.begin(second("interrupt"))
        assert reason_of(await elsewhere.until_it_ends(first)) == "cancelled"
        assert text_of(await elsewhere.until_it_ends(then)) == "done: second"


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_run_of_a_process_that_lives_is_in_the_way(
    tmp_path: Path, url: str, worker: Agent, is_known: bool
) -> None:
    settings = Settings(poll_seconds=0.02, lease=0.3)
    limits = replace(AT_ONCE, lease=0.3)
    async with (
        staged(tmp_path, worker, url=url, settings=settings, limits=limits) as here,
        staged(tmp_path, worker, url=url, settings=settings, limits=limits) as elsewhere,
    ):
        first = await begun(here)
        if not is_known:  # as with a database whose clients do not show whether they live
            (tmp_path / "mobox.db-processes" / (first.lease_owner or "")).unlink()
        with pytest.raises(RunActive):
            await elsewhere.begin(second("reject"))
        await finished(here, first)


async def test_a_run_whose_process_is_gone_is_not_in_the_way_when_its_lease_has_expired(
    tmp_path: Path, url: str, worker: Agent
) -> None:
    settings = Settings(poll_seconds=0.02, lease=0.3)
    limits = replace(AT_ONCE, lease=0.3)
    gone = await open_storage(url, settings)
    lost = (await gone.begin_turn("ann", submit("wait"), "worker", "emitted")).run
    await gone.hand_over(lost.id, lost.epoch)
    await gone.close()
    async with staged(tmp_path, worker, url=url, settings=settings, limits=limits) as stage:
        then = await stage.begin(second("reject"))
        assert reason_of(await stage.until_it_ends(lost)) == "lost"
        assert text_of(await stage.until_it_ends(then)) == "done: second"
