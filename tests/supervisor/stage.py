"""A supervisor with a store and agents that are real, and what is left of them afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from mobox.capture.callable import CallableExecution
from mobox.capture.catalog import Agent, Catalog, FunctionAgent, load_agent
from mobox.capture.execution import Execution
from mobox.capture.process import ProcessExecution, StopTimeouts, job_of
from mobox.events import Done, Error, InputRequest, Paused, StreamEvent, TextDelta
from mobox.events.turn import Action, Answer, PromptText, Request, Turn, UserMessage
from mobox.sandbox import get_sandbox
from mobox.settings import Settings
from mobox.storage import Storage, open_storage
from mobox.storage.log import Run
from mobox.supervisor import Supervisor
from support.grammar_log import legal_log
from support.waiting import until

T = TypeVar("T")

LIMIT = 60
"""Seconds in which anything here should long have happened."""
HASTY = StopTimeouts(message=0.2, term=0.5, kill=LIMIT)
SETTINGS = Settings(poll_seconds=0.02, lease=3600)
QUIET = Settings(look=3600, sweep=3600, notice=3600)
"""Nobody looks around by himself, a process that waits is kept for ten minutes, and one that starts
slowly is not told of."""
IMPATIENT = Settings(look=3600, sweep=3600, notice=3600, hold=0.01)


def run(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(LIMIT):
            return await work

    return asyncio.run(limited())


# Agents

BEGINNING = """
import os, pathlib, signal, subprocess, sys, time

state = pathlib.Path(os.environ["MOBOX_STATE"])

def wait_for(name):
    while not (state / name).exists():
        time.sleep(0.01)
"""
EMITTER = "from shared.emitter import *\n"


def write_agent(folder: Path, code: str, yaml: str = "", *, emitter: bool = True) -> Agent:
    """An agent in a folder, as people write them."""
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text(textwrap.dedent(yaml))
    beginning = BEGINNING + (EMITTER if emitter else "")
    (folder / "run_agent.py").write_text(beginning + textwrap.dedent(code))
    return load_agent(folder)


def hasty(agent: Agent, state: Path, turn: Turn, patience: StopTimeouts = HASTY) -> Execution:
    """As the supervisor does it, with less patience for those who are stopped."""
    if isinstance(agent, FunctionAgent):
        return CallableExecution(agent, state, turn, patience)
    return ProcessExecution.start(job_of(agent, state), turn, get_sandbox("process"), patience)


# Requests


def submit(
    text: str = "hello",
    message_id: str = "m1",
    chat_id: str = "chat",
    key: str | None = None,
    agent: str | None = None,
) -> Request:
    message = UserMessage(id=message_id, parts=(PromptText(text=text),))
    return Request(
        chat_id=chat_id, action=Action.SUBMIT, message=message, idempotency_key=key, agent=agent
    )


def approved(request_id: str = "r1") -> tuple[Answer, ...]:
    return (Answer(decision="approved", request_id=request_id),)


class Stage:
    """One supervisor, its store, and the runs that were begun."""

    def __init__(self, folder: Path, store: Storage, supervisor: Supervisor) -> None:
        self.folder = folder
        self.store = store
        self.supervisor = supervisor

    async def begin(self, request: Request | None = None, owner: str = "ann") -> Run:
        return (await self.supervisor.begin(owner, request or submit())).run

    async def events(self, run: Run) -> list[StreamEvent]:
        """All that is in a log by now."""
        events: list[StreamEvent] = []
        while page := await self.store.read(run.id, len(events)):
            assert page[0].seq == len(events) + 1
            events += [entry.event for entry in page]
        return events

    async def until_it_waits(self, run: Run) -> list[StreamEvent]:
        followed = self.store.follow(run.id, through_pauses=False)
        return [entry.event async for batch in followed for entry in batch]

    async def until_it_ends(self, run: Run) -> list[StreamEvent]:
        followed = self.store.follow(run.id)
        events = [entry.event async for batch in followed for entry in batch]
        legal_log(events)
        assert [event for event in events if isinstance(event, Done)] == events[-1:]
        return events

    async def answered(self, run: Run, *answers: Answer) -> list[StreamEvent]:
        """Answer, and return the whole log once it has ended."""
        await self.supervisor.answer("ann", run.id, answers or approved())
        return await self.until_it_ends(run)

    async def until_nothing_runs(self) -> None:
        await until(lambda: self.supervisor.running == 0)

    @property
    def state(self) -> Path:
        """The folder of the only chat."""
        (folder,) = [each for each in (self.folder / "state").iterdir() if each.name[0] != "."]
        return folder

    async def told(self, name: str) -> Path:
        """A file that the agent of the only chat makes."""
        await until(lambda: list((self.folder / "state").glob(f"*/{name}")))
        return self.state / name


@asynccontextmanager
async def staged(
    folder: Path,
    *agents: Agent,
    url: str | None = None,
    limits: Settings = QUIET,
    settings: Settings = SETTINGS,
    patience: StopTimeouts = HASTY,
    redis_url: str = "",
    warm: bool = False,
    sandbox: str = "process",
) -> AsyncIterator[Stage]:
    """A supervisor that knows these agents, the first one best; `warm`: it may keep spares."""
    store = await open_storage(url or f"sqlite:///{folder}/mobox.db", settings, redis_url)
    supervisor = Supervisor(
        store,
        Catalog(agents),
        folder,
        settings=replace(limits, sandbox=sandbox),
        default_agent=agents[0].id if agents else None,
        launch=None if warm else partial(hasty, patience=patience),
    )
    try:
        async with supervisor:
            yield Stage(folder, store, supervisor)
    finally:
        await supervisor.close()
        await store.close()


# Stores


def url_of(name: str, folder: Path) -> str:
    """The URL of a store of that kind in a folder."""
    return "memory:" if name == "memory" else f"sqlite:///{folder}/mobox.db"


both_stores = pytest.mark.parametrize("store", ["memory", "sqlite"])


# What logs say


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


def reason_of(events: list[StreamEvent]) -> str:
    assert isinstance(events[-1], Done)
    return events[-1].reason


def error_of(events: list[StreamEvent]) -> Error:
    (error,) = [event for event in events if isinstance(event, Error)]
    return error


def requests_in(events: list[StreamEvent]) -> list[str | None]:
    return [event.id for event in events if isinstance(event, InputRequest)]


def pauses_in(events: list[StreamEvent]) -> list[tuple[str, ...]]:
    return [event.request_ids for event in events if isinstance(event, Paused)]


# What is left


def processes_under(folder: Path) -> list[int]:
    """The processes of agents whose state is in this folder, in whatever session."""
    mark = b"MOBOX_STATE=" + os.fsencode(folder)
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if any(pair.startswith(mark) for pair in environ.read_bytes().split(b"\0")):
                found.append(int(environ.parent.name))
    return found


def descriptors() -> dict[str, str]:
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the listing itself
            found[entry.name] = str(entry.readlink())
    return found


@contextmanager
def nothing_left(folder: Path) -> Iterator[None]:
    """Afterwards no process, thread or descriptor is left."""
    before, threads = descriptors(), threading.enumerate()
    yield
    assert processes_under(folder) == []
    assert set(threading.enumerate()) <= set(threads)
    assert descriptors().items() <= before.items()


def peak_memory(reset: bool = False) -> int:
    """The most that this process has held, in bytes."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


assert sys.platform == "linux"  # /proc tells what is left


async def let_pass(turns: int) -> None:
    """Let the event loop run that often."""
    for _ in range(turns):
        await asyncio.sleep(0)
