"""Past its lease an agent is frozen by its keeper, whatever keeps the server from renewing it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mobox.sandbox import Job, LeasedChild, Network, get_sandbox
from mobox.sandbox.kept_process import KeptProcess
from mobox.sandbox.measuring import descendants
from mobox.storage.renewals import since_boot
from support.sandboxed import need_bubblewrap
from support.waiting import until

LONG = 3600.0
ACTS = """
import os, pathlib, subprocess, sys, time

state = pathlib.Path(os.environ["MOBOX_STATE"])
again = "import os, time\\n" + sys.argv[1]
subprocess.Popen([sys.executable, "-c", again, "child"], start_new_session=True)
stopped = subprocess.Popen([sys.executable, "-c", again, "stopped"])
while not (state / "stopped").exists():
    time.sleep(0.01)
os.kill(stopped.pid, 19)
(state / "ready").touch()
sys.argv[1:] = ["parent"]
exec(again)
"""
ACT = """
import sys
with open(os.environ["MOBOX_STATE"] + "/" + sys.argv[1], "a", buffering=1) as file:
    while True:
        print(time.clock_gettime(time.CLOCK_BOOTTIME), file=file)
        time.sleep(0.001)
"""


@pytest.fixture(params=["process", "bubblewrap"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Job]]:
    """A job that acts in three processes without speaking, one of which it has stopped itself."""
    if request.param == "bubblewrap":
        need_bubblewrap()
    (tmp_path / "agent").mkdir()
    argv = (sys.executable, "-c", ACTS, ACT)
    yield (
        request.param,
        Job(argv=argv, folder=tmp_path / "agent", state=tmp_path / "states" / "chat",
            network=Network("none")),
    )  # fmt: skip


@asynccontextmanager
async def started(sandbox: str, job: Job) -> AsyncIterator[KeptProcess]:
    child = get_sandbox(sandbox).start(job)
    assert isinstance(child, LeasedChild)
    assert isinstance(child, KeptProcess)
    try:
        yield child
    finally:
        child.kill()
        await child.wait()
        for number in (child.stdin, child.stdout, child.stderr):
            os.close(number)


def times(job: Job, name: str) -> list[float]:
    """When a process has acted; its last line may not be complete."""
    file = job.state / name
    return [float(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []


def state_of(pid: int) -> str:
    """As `ps` shows it: T is stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def is_frozen(child: KeptProcess) -> bool:
    found = descendants(child.pid)[0]
    return len(found) >= 3 and {state_of(pid) for pid in found} == {"T"}


async def acts_after(job: Job, time: float) -> None:
    """Wait until both processes that are not stopped have acted after a time."""
    await until(lambda: all(times(job, name)[-1:] > [time] for name in ("parent", "child")))


async def acts_since(job: Job, name: str, count: int) -> list[float]:
    """When it acts after the first `count` times; it may be frozen while it writes a line."""
    await until(lambda: len(times(job, name)) > count + 1)
    return times(job, name)[count + 1 :]


async def test_an_agent_is_frozen_at_its_deadline_and_goes_on_after_a_renewal(
    job: tuple[str, Job],
) -> None:
    async with started(*job) as child:
        child.run_until(since_boot() + LONG)
        await until((job[1].state / "ready").exists)
        by_itself = times(job[1], "stopped")
        await acts_after(job[1], since_boot())
        for _ in range(2):
            child.run_until(since_boot())  # and no later time comes
            await until(lambda: is_frozen(child))
            frozen_at = since_boot()
            before = times(job[1], "parent"), times(job[1], "child")
            assert max(before[0] + before[1]) < frozen_at
            renewed_at = since_boot()
            child.run_until(renewed_at + LONG)
            for name, until_then in zip(("parent", "child"), before, strict=True):
                later = await acts_since(job[1], name, len(until_then))
                assert min(later) > renewed_at, "nothing was done in between"
        assert times(job[1], "stopped") == by_itself, "what the agent had stopped stays stopped"


async def test_a_frozen_agent_can_be_killed(job: tuple[str, Job]) -> None:
    async with started(*job) as child:
        child.run_until(since_boot() + LONG)
        await until((job[1].state / "ready").exists)
        await acts_after(job[1], 0)
        child.run_until(since_boot())
        await until(lambda: is_frozen(child))
        before = times(job[1], "parent"), times(job[1], "child")
        child.kill()
        status = await child.wait()
        assert (status.signal, status.exit_code) == (9, None)
        assert (times(job[1], "parent"), times(job[1], "child")) == before


async def test_a_frozen_agent_is_killed_for_the_next_one_of_its_chat(job: tuple[str, Job]) -> None:
    async with started(*job) as child:
        child.run_until(since_boot() + LONG)
        await until((job[1].state / "ready").exists)
        child.run_until(since_boot())
        await until(lambda: is_frozen(child))
        began = since_boot()
        async with started(*job) as following:  # of another server, as this one hangs
            following.run_until(began + LONG)
            assert (await child.wait()).signal == 9
            await acts_after(job[1], began)
        assert list((job[1].state.parent / ".wanted").iterdir()) == []


async def test_a_keeper_that_was_stopped_for_long_still_kills(job: tuple[str, Job]) -> None:
    async with started(*job) as child:
        await until((job[1].state / "ready").exists)
        os.kill(child.pid, signal.SIGSTOP)
        for _ in range(10_000):  # more than it can be sent
            child.run_until(since_boot() + LONG)
        child.kill()
        os.kill(child.pid, signal.SIGCONT)
        assert (await child.wait()).signal == 9


async def test_no_agent_is_started_past_its_lease(job: tuple[str, Job]) -> None:
    job[1].state.mkdir(parents=True)
    taken = os.open(job[1].state, os.O_RDONLY)  # an earlier process has the folder
    fcntl.flock(taken, fcntl.LOCK_EX)
    async with started(*job) as child:
        child.run_until(since_boot())
        assert await asyncio.to_thread(_first_words, child.stderr)
        os.close(taken)
        renewed_at = since_boot()
        child.run_until(renewed_at + LONG)
        await acts_after(job[1], renewed_at)
        assert min(times(job[1], "parent") + times(job[1], "child")) > renewed_at


def _first_words(number: int) -> bytes:
    os.set_blocking(number, True)
    return os.read(number, 4096)
