"""Agents that are functions: how they fail, and how they are stopped."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from mobox.capture.asking import Turn
from mobox.capture.catalog import agent
from mobox.capture.process import StopTimeouts
from mobox.emitter import emit_status
from mobox.errors import AgentError
from mobox.storage.log import Run
from supervisor.functions import Events, lived
from supervisor.stage import QUIET, Stage, both_stores, error_of, reason_of, staged, text_of
from support.waiting import until

AT_ONCE = StopTimeouts(message=0.01, term=0.01, kill=0.01)


# How it fails


def fails(turn: Turn) -> Iterator[str]:
    yield "I begin"
    raise ValueError(f"no such city: {turn.prompt}")


async def fails_async(turn: Turn) -> AsyncIterator[str]:
    for word in fails(turn):
        yield word


@both_stores
@pytest.mark.parametrize("kind", [fails, fails_async])
def test_what_it_raises_is_the_runs_error(
    tmp_path: Path, kind: Callable[..., object], store: str
) -> None:
    events = lived(tmp_path, kind, store=store)
    error = error_of(events)
    assert (error.message, error.code) == ("ValueError: no such city: hello", "crashed")
    assert (text_of(events), reason_of(events)) == ("I begin", "error")
    assert error.stderr_tail is None


def test_what_is_meant_for_people_is_told_to_them(tmp_path: Path) -> None:
    def refuses() -> None:
        raise AgentError("There is no such city.")

    error = error_of(lived(tmp_path, refuses))
    assert (error.message, error.code) == ("There is no such city.", "AgentError")


async def test_what_it_raised_is_kept_where_a_process_has_its_stderr(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with staged(tmp_path, agent("it")(fails)) as stage:
        begun = await stage.begin()
        await stage.until_it_ends(begun)
        await stage.until_nothing_runs()
        trace = (await stage.supervisor.stderr_of("ann", begun.id))[1]
    assert trace.startswith("Traceback")
    assert trace.splitlines()[1].split(",")[0] == f'  File "{__file__}"'  # nothing of ours
    assert trace.rstrip().endswith("ValueError: no such city: hello")
    assert "no such city: hello" in caplog.text


@pytest.mark.parametrize("code", [0, 3, "enough"])
@pytest.mark.parametrize("is_async", [True, False])
def test_it_cannot_end_the_program(tmp_path: Path, code: int | str, is_async: bool) -> None:
    async def leaves_async() -> None:
        sys.exit(code)

    def leaves() -> None:
        sys.exit(code)

    events = lived(tmp_path, leaves_async if is_async else leaves)
    assert reason_of(events) == ("error" if code else "stop")
    if code:
        assert error_of(events).message == f"the agent exited: {code}"


def test_one_that_cancels_itself_has_failed(tmp_path: Path) -> None:
    async def cancels() -> None:
        raise asyncio.CancelledError

    events = lived(tmp_path, cancels)
    assert (reason_of(events), error_of(events).code) == ("error", "crashed")


# How it is stopped


async def stopped(stage: Stage, begun: Run, said: str) -> Events:
    """Stop a run once it has said this."""
    text = ""
    async for batch in stage.store.follow(begun.id):
        text += text_of([entry.event for entry in batch])
        if text == said:
            break
    await stage.supervisor.stop("ann", begun.id)
    return await stage.until_it_ends(begun)


async def test_to_be_stopped_is_to_be_cancelled(tmp_path: Path) -> None:
    seen = []

    async def waits() -> AsyncIterator[str]:
        try:
            yield "I wait"
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            seen.append("closed")

    async with staged(tmp_path, agent("it")(waits)) as stage:
        assert reason_of(await stopped(stage, await stage.begin(), "I wait")) == "cancelled"
    assert seen == ["cancelled", "closed"]


async def test_in_a_thread_it_is_closed_at_its_next_yield(tmp_path: Path) -> None:
    seen: list[str] = []

    def works(turn: Turn) -> Iterator[str]:
        try:
            yield "I work"
            while not turn.stopping:
                time.sleep(0.005)
            seen.append("saw it")
            yield "and work"
            seen.append("went on")
        finally:
            seen.append("closed")

    patient = StopTimeouts(message=60, term=60, kill=60)
    async with staged(tmp_path, agent("it")(works), patience=patient) as stage:
        assert reason_of(await stopped(stage, await stage.begin(), "I work")) == "cancelled"
    assert seen == ["saw it", "closed"]


async def test_one_that_never_yields_is_left_alone_and_not_heard(tmp_path: Path) -> None:
    go_on, left = threading.Event(), threading.Event()

    def never_yields() -> Iterator[str]:
        yield "I work"
        try:
            go_on.wait(60)
            emit_status("still here")
            yield "nobody hears this"
        finally:
            left.set()

    async with staged(tmp_path, agent("it")(never_yields), patience=AT_ONCE) as stage:
        begun = await stage.begin()
        events = await stopped(stage, begun, "I work")
        await stage.until_nothing_runs()
        go_on.set()
        await until(left.is_set)
        ended, afterwards = events, await stage.events(begun)
    assert reason_of(ended) == "cancelled"
    assert ended == afterwards


async def test_one_that_will_not_be_cancelled_is_left_alone_too(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def deaf() -> AsyncIterator[str]:
        yield "I work"
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                continue
        yield "nobody hears this"

    async with staged(tmp_path, agent("it")(deaf), patience=AT_ONCE) as stage:
        begun = await stage.begin()
        events = await stopped(stage, begun, "I work")
        others = asyncio.all_tasks()
        go_on.set()
        await until(lambda: len(asyncio.all_tasks()) < len(others))
        ended, afterwards = events, await stage.events(begun)
    assert reason_of(ended) == "cancelled"
    assert ended == afterwards


async def test_it_has_its_time_and_no_more(tmp_path: Path) -> None:
    go_on = threading.Event()

    def sleeps() -> None:
        go_on.wait(60)

    made = agent("it", idle=0.05)(sleeps)
    async with staged(tmp_path, made, patience=AT_ONCE) as stage:
        events = await stage.until_it_ends(await stage.begin())
    go_on.set()
    assert (reason_of(events), error_of(events).code) == ("error", "idle_timeout")


async def test_a_server_that_ends_does_not_wait_for_it(tmp_path: Path) -> None:
    go_on = threading.Event()

    def sleeps() -> None:
        go_on.wait(60)

    slow = StopTimeouts(message=600, term=600, kill=600)
    hasty = type(QUIET)(look=3600, sweep=3600, exit_grace=0.01)
    made = agent("it")(sleeps)
    async with staged(tmp_path, made, patience=slow, limits=hasty) as stage:
        begun = await stage.begin()
        await stage.supervisor.close()
        assert reason_of(await stage.until_it_ends(begun)) == "interrupted"
    go_on.set()
