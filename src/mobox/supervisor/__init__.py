"""Runs in the world: begun, answered, stopped, and ended whatever dies.

Rule 1: a run is not a connection: only a request to stop stops it.
Rule 2: what is asked is stored before it is done: a server that dies here is found out by another.
Rule 3: nobody but a leg and the reaper writes to the log of a run.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from msgspec import Struct

from mobox.capture.execution import Execution
from mobox.capture.process import ProcessExecution, job_of
from mobox.catalog import Agent, Catalog, UnknownAgent
from mobox.errors import (
    ChatNotFound,
    Fenced,
    MoboxError,
    NotWaiting,
    ShuttingDown,
    StorageError,
    TooManyRuns,
)
from mobox.events import Done
from mobox.pipeline import Clock, Scribe
from mobox.sandbox import Sandbox, get_sandbox
from mobox.storage import Storage
from mobox.storage.chats import BegunTurn
from mobox.storage.log import Run, RunId
from mobox.supervisor.asked import asked_by
from mobox.supervisor.leg import Leg
from mobox.supervisor.turns import continued_turn, first_turn
from mobox.turn import Answer, Request, Turn

__all__ = ["Continued", "Limits", "Supervisor"]

log = logging.getLogger("mobox.supervisor")

Launch = Callable[[Agent, Path, Turn], Execution]


class Limits(Struct, frozen=True, kw_only=True):
    """What a supervisor allows, in seconds and runs."""

    runs: int = 200
    runs_per_owner: int = 50
    hold: float = 600
    """How long a process is kept that waits for an answer."""
    sweep: float = 5
    """How often runs are looked for that nobody writes any more."""
    look: float = 1
    """How often other processes' requests to stop are looked for."""
    drain: float = 8
    """How long agents have when the server ends."""


class Continued(NamedTuple):
    """A run that goes on, and after which entry it does."""

    run: Run
    after: int


class Supervisor:
    """Executes the runs of one store in this process; an async context manager."""

    def __init__(
        self,
        storage: Storage,
        catalog: Catalog,
        data: Path,
        *,
        limits: Limits | None = None,
        default_agent: str | None = None,
        launch: Launch | None = None,
    ) -> None:
        self.catalog = catalog
        self._storage = storage
        self._states = data / "state"
        self._limits = limits or Limits()
        self._default_agent = default_agent
        self._launch = launch or _in_process_sandbox(get_sandbox("process"))
        self._legs: dict[RunId, Leg] = {}
        self._tasks: dict[Leg, asyncio.Task[None]] = {}
        self._watch: asyncio.Task[None] | None = None
        self._closing = False

    async def __aenter__(self) -> Self:
        self._watch = asyncio.create_task(self._look_around())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def closing(self) -> bool:
        """Whether nothing new is begun."""
        return self._closing

    @property
    def running(self) -> int:
        """How many legs are at work here."""
        return len(self._tasks)

    # What people ask for

    async def begin(self, owner: str, request: Request) -> BegunTurn:
        """Begin the run that answers a request; the same request again gives the same run."""
        agent = await self._agent_for(owner, request)
        self._check_room(owner)
        begun = await self._storage.begin_turn(owner, request, agent.id, agent.framework)
        if begun.created:
            await self._cancel_others(owner, begun.run)
            self._start(begun.run, agent, partial(first_turn, self._storage, begun.run))
        return begun

    async def answer(self, owner: str, run_id: str, answers: tuple[Answer, ...]) -> Continued:
        """Let a run go on with what a person said."""
        run = await self._storage.run(owner, run_id)
        asked = await asked_by(self._storage, run.id)
        replies = asked.match(answers)
        if run.status == "done" or not replies:
            raise NotWaiting(run.id)
        leg = self._legs.get(run.id)
        if leg is not None and leg.hears:
            stored = await leg.answer(replies)
            return Continued(run, stored[0].seq - 1)
        if run.status != "waiting":
            raise NotWaiting(run.id)
        agent = self.catalog.get(run.agent)
        self._check_room(owner)
        events = [reply.event for reply in replies]
        resumed = await self._storage.next_leg(run.id, run.epoch, events, Clock().now())
        said = tuple(reply.answer for reply in replies)
        turn = partial(continued_turn, self._storage, resumed, said, asked.resume)
        self._start(resumed, agent, turn)
        return Continued(resumed, run.tail_seq)

    async def stop(self, owner: str, run_id: str) -> Run:
        """Stop a run: at once if it is executed here, soon if it is elsewhere."""
        run = await self._storage.request_stop(owner, run_id)
        leg = self._legs.get(run.id)
        if leg is not None:
            leg.stop()
        elif run.status == "waiting":
            await self._cancel(run)
        return run

    async def delete(self, owner: str, chat_id: str) -> None:
        """Delete a chat with its runs, and what its agents kept."""
        runs = await self._storage.runs(owner, chat_id)
        await self._storage.delete(owner, chat_id)
        legs = [self._legs[run.id] for run in runs if run.id in self._legs]
        for leg in legs:
            leg.kill()
        await asyncio.gather(*(self._tasks[leg] for leg in legs if leg in self._tasks))
        await asyncio.to_thread(shutil.rmtree, self._state_of(owner, chat_id), ignore_errors=True)

    async def close(self) -> None:
        """Begin nothing more, end what runs; what waits goes on waiting, without a process."""
        self._closing = True
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        for leg in self._tasks:
            leg.interrupt()
        await self._ended(self._limits.drain)
        for leg in self._tasks:
            leg.kill()
        await self._ended(None)

    async def _ended(self, seconds: float | None) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=seconds)

    # Legs

    async def _agent_for(self, owner: str, request: Request) -> Agent:
        """The one that is asked for, else the chat's last, else the default."""
        if request.agent is not None:
            return self.catalog.get(request.agent)
        with suppress(ChatNotFound):
            runs = await self._storage.runs(owner, request.chat_id)
            if runs:
                return self.catalog.get(runs[-1].agent)
        if self._default_agent is not None:
            return self.catalog.get(self._default_agent)
        for agent in self.catalog:
            return agent
        raise UnknownAgent("default", ())

    def _check_room(self, owner: str) -> None:
        if self._closing:
            raise ShuttingDown
        owned = sum(leg.run.owner == owner for leg in self._tasks)
        if len(self._tasks) >= self._limits.runs or owned >= self._limits.runs_per_owner:
            raise TooManyRuns(len(self._tasks))

    def _start(self, run: Run, agent: Agent, prepare: Callable[[], Awaitable[Turn]]) -> None:
        launch = partial(self._launch, agent, self._state_of(run.owner, run.chat_id))
        leg = Leg(self._storage, run, agent, launch, self._limits.hold)
        before = self._tasks.get(self._legs[run.id]) if run.id in self._legs else None
        self._legs[run.id] = leg
        self._tasks[leg] = asyncio.create_task(self._execute(leg, before, prepare))

    async def _execute(
        self, leg: Leg, before: asyncio.Task[None] | None, prepare: Callable[[], Awaitable[Turn]]
    ) -> None:
        try:
            if before is not None:  # two processes of a chat would share its folder
                await asyncio.wait([before])
            await leg.execute(prepare)
        finally:
            del self._tasks[leg]
            if self._legs.get(leg.run.id) is leg:
                del self._legs[leg.run.id]

    def _state_of(self, owner: str, chat_id: str) -> Path:
        """The folder of a chat; ids are clients' words and no names for files."""
        name = hashlib.sha256(f"{len(owner)}:{owner}{chat_id}".encode()).hexdigest()
        return self._states / name[:32]

    # Runs that wait, and runs that nobody writes

    async def _cancel_others(self, owner: str, begun: Run) -> None:
        """A new turn answers what an earlier one still asks: nobody will say."""
        for run in await self._storage.runs(owner, begun.chat_id):
            if run.status == "waiting" and run.id != begun.id:
                await self._cancel(run)

    async def _cancel(self, run: Run) -> None:
        leg = self._legs.get(run.id)
        if leg is not None:
            leg.kill()
            await asyncio.wait([self._tasks[leg]])
            return
        scribe = await Scribe.take_up(self._storage, run)
        asked = await asked_by(self._storage, run.id)
        with suppress(Fenced):  # it goes on, or has ended
            await scribe.end(Done(reason="cancelled"), *asked.cancelled())

    async def _look_around(self) -> None:
        loop = asyncio.get_running_loop()
        sweep_at = loop.time()
        while True:
            try:
                await self._stop_asked()
                if loop.time() >= sweep_at:
                    sweep_at = loop.time() + self._limits.sweep
                    await self.reap()
            except StorageError as error:  # it may be back next time
                log.warning("cannot look after runs: %s", error)
            await asyncio.sleep(self._limits.look)

    async def _stop_asked(self) -> None:
        for run in await self._storage.stopping():
            if run.id in self._legs:
                self._legs[run.id].stop()

    async def reap(self) -> None:
        """End the runs whose writers are gone."""
        for run in await self._storage.expired():
            if run.id in self._legs:
                continue  # ours, and only late
            try:
                mine = await self._storage.take_over(run.id, run.epoch)
                scribe = await Scribe.take_up(self._storage, mine)
                await scribe.end(Done(reason="lost"))
            except (Fenced, MoboxError) as error:
                log.info("run %s is not ours to end: %s", run.id, error)


def _in_process_sandbox(sandbox: Sandbox) -> Launch:
    def launch(agent: Agent, state: Path, turn: Turn) -> Execution:
        return ProcessExecution.start(job_of(agent, state), turn, sandbox)

    return launch
