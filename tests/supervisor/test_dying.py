"""A server that is killed at any call of its store loses nothing, and leaves nothing hanging.

Each request is carried out by a process that kills itself before or after its n-th call, for every
n until one carries it out. Then another server, on the same database, has to finish what is stored.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from mobox.capture.catalog import Agent
from mobox.errors import NotWaiting
from mobox.settings import Settings
from mobox.storage.log import Run
from supervisor.dying_supervisor import EDITED, HELLO
from supervisor.stage import Stage, approved, reason_of, staged, text_of, write_agent

HERE = Path(__file__).parent
SETTINGS = Settings(poll_seconds=0.02, lease=1)
BUSY = Settings(look=0.05, sweep=0.05, notice=3600, unfinished=0.1)
ASKER = """
    turn = read_turn()
    with (state / "acts").open("a") as acts:
        acts.write(turn.kind + ";")
    if turn.answers:
        emit_text(turn.answers[0]["decision"])
        emit_done()
    else:
        emit_input_request(id="r1")
        emit_paused("r1")
"""


@pytest.fixture
def asker(tmp_path: Path) -> Agent:
    return write_agent(tmp_path / "asker", ASKER)


async def dies(url: str, folder: Path, *arguments: object) -> bool:
    """Carry out a request in a process that dies; whether it was acknowledged before."""
    script = str(HERE / "dying_supervisor.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, url, str(folder), *map(str, arguments),
        stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    output, _ = await process.communicate()
    assert process.returncode == -9
    return output == b"acknowledged\n"


def acts(folder: Path) -> str:
    """Why the agent of the only chat was called, each time."""
    return "".join(path.read_text() for path in (folder / "state").glob("*/acts"))


async def the_runs(stage: Stage) -> list[Run]:
    return await stage.store.runs("ann", "chat")


# What is true in the end, whenever the server was killed


async def is_begun(stage: Stage) -> None:
    run = await stage.begin(HELLO)
    await stage.until_it_waits(run)
    assert [each.id for each in await the_runs(stage)] == [run.id]
    assert acts(stage.folder) == "message;"
    events = await stage.answered(run)
    assert (reason_of(events), text_of(events)) == ("stop", "approved")


async def is_answered(stage: Stage) -> None:
    (run,) = await the_runs(stage)
    if run.status == "waiting":
        with suppress(NotWaiting):  # it may have been stored just now
            await stage.supervisor.answer("ann", run.id, approved())
    events = await stage.until_it_ends(run)
    assert (reason_of(events), text_of(events)) == ("stop", "approved")
    assert acts(stage.folder) == "message;answers;"


async def is_stopped(stage: Stage) -> None:
    (run,) = await the_runs(stage)
    if run.stop_requested_at is None:
        await stage.supervisor.stop("ann", run.id)
    assert reason_of(await stage.until_it_ends(run)) == "cancelled"
    assert acts(stage.folder) == "message;"


async def is_edited(stage: Stage) -> None:
    before, *edited = await the_runs(stage)
    if not edited:
        events = await stage.answered(before)  # nothing has happened
        assert reason_of(events) == "stop"
        return
    assert (await stage.begin(EDITED)).id == edited[-1].id
    assert reason_of(await stage.until_it_ends(before)) == "cancelled"
    await stage.until_it_waits(edited[-1])
    assert acts(stage.folder) == "message;edit;"
    assert text_of(await stage.answered(edited[-1])) == "approved"


CHECKS: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "begin": is_begun,
    "answer": is_answered,
    "stop": is_stopped,
    "edit": is_edited,
}


@pytest.fixture
def database(tmp_path: Path) -> str:
    """test_dying_postgres.py has another one."""
    return f"sqlite:///{tmp_path}/mobox.db"


@pytest.mark.parametrize("execute", ["here", "workers"])
@pytest.mark.parametrize("action", CHECKS)
async def test_killed_server(
    tmp_path: Path, asker: Agent, database: str, action: str, execute: str
) -> None:
    for call in count(1):
        acknowledged = []
        for when in ("before", "after"):
            folder = tmp_path / f"{call}-{when}"
            write_agent(folder / "asker", ASKER)
            url = database.replace(str(tmp_path), str(folder))
            if action != "begin":
                async with staged(folder, asker, url=url, settings=SETTINGS) as stage:
                    begun = await stage.begin(HELLO)
                    await stage.until_it_waits(begun)
            acknowledged.append(await dies(url, folder, execute, action, call, when))
            async with staged(folder, asker, url=url, settings=SETTINGS, limits=BUSY) as stage:
                await CHECKS[action](stage)
                await stage.store.delete("ann", "chat")
        if all(acknowledged):
            return
