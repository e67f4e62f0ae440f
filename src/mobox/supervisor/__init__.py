"""Runs in the world: begun, answered, stopped, and ended whatever dies.

Rule 1: a run is not a connection: only a request to stop stops it.
Rule 2: what is asked is stored before it is done: a server that dies here is found out by another.
Rule 3: nobody but a leg and the reaper writes to the log of a run.
Rule 4: a run is executed here, or left in the store for who claims it. What is asked of a run that
        somebody else has is stored for him, and he looks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeVar

from msgspec.structs import replace

from mobox.catalog import Agent, Catalog
from mobox.errors import (
    Fenced,
    NotWaiting,
    RunActive,
    ShuttingDown,
    StorageError,
)
from mobox.sandbox import get_sandbox
from mobox.storage import Storage
from mobox.storage.chats import BegunTurn
from mobox.storage.log import Asking, Run, RunId
from mobox.storage.patience import patiently
from mobox.storage.settings import now_ms
from mobox.supervisor.asked import asked_by
from mobox.supervisor.choice import Choice
from mobox.supervisor.elsewhere import ends_elsewhere, lost_elsewhere
from mobox.supervisor.launching import Launch, launched_in
from mobox.supervisor.leg import BROKEN, Leg, Means
from mobox.supervisor.legs import Legs
from mobox.supervisor.lookout import Lookout
from mobox.supervisor.reaper import Reaper, Verdict
from mobox.supervisor.seats import Limits, Seat, Seats
from mobox.supervisor.states import StateFolders
from mobox.supervisor.stderr import StderrFolder
from mobox.turn import Answer, Request

__all__ = ["Continued", "Limits", "Supervisor"]

log = logging.getLogger("mobox.supervisor")

_NOTHING_MORE: Final = Asking()

T = TypeVar("T")


class Continued(NamedTuple):
    """A run that goes on, and after which entry it does."""

    run: Run
    after: int
    created: bool = False
    """Whether it was only begun now."""


class Supervisor:
    """The runs of one store, as far as this process has to do with them.

    An async context manager. With `Limits(runs=0)` it executes none, and leaves them to others.
    """

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
        self._states = StateFolders(data / "state")
        self._stderr = StderrFolder(data / "logs")
        self._limits = limits or Limits()
        self._choice = Choice(storage, catalog, default_agent)
        self._launch = launch or launched_in(get_sandbox("process"))
        self._reaper = Reaper(storage)
        self._seats = Seats(self._limits, storage)
        self._legs = Legs(self._seats, self._reaper)
        self._requests: set[asyncio.Task[Any]] = set()
        self._lookout = Lookout((self._look, self._limits.look), (self.reap, self._limits.sweep))
        storage.when_work(self.look_soon)
        self._closing = False

    async def __aenter__(self) -> Self:
        self._lookout.start()
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
        return len(self._legs)

    @property
    def executes(self) -> bool:
        """Whether agents work here at all."""
        return self._limits.runs > 0

    def look_soon(self) -> None:
        """Somebody else has left work here, or wants a run to stop: look for it now."""
        self._lookout.soon()

    # What people ask for

    async def stderr_of(self, owner: str, run_id: RunId) -> dict[int, str]:
        """What the legs of a run wrote to stderr, by their numbers, as far as they have ended."""
        run = await self._storage.run(owner, run_id)
        return await asyncio.to_thread(self._stderr.read, run)

    async def begin(self, owner: str, request: Request) -> BegunTurn:
        """Begin the run that answers a request; the same request again gives the same run."""
        return await self._see_through(self._begin(owner, request))

    async def answer(
        self,
        owner: str,
        run_id: str,
        answers: tuple[Answer, ...],
        asking: Asking = _NOTHING_MORE,
    ) -> Continued:
        """Let a run go on with what a person said; `asking` is what their client told besides."""
        return await self._see_through(self._answer(owner, run_id, answers, asking))

    async def stop(self, owner: str, run_id: str) -> Run:
        """Stop a run: at once if it is executed here, soon if it is elsewhere."""
        return await self._see_through(self._stop(owner, run_id))

    async def delete(self, owner: str, chat_id: str) -> None:
        """Delete a chat with its runs, and what its agents kept."""
        await self._see_through(self._delete(owner, chat_id))

    async def close(self) -> None:
        """Begin nothing more, end what runs; what waits goes on waiting, without a process."""
        self._closing = True
        await self._lookout.stop()
        for leg in self._legs:
            leg.interrupt()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.drain):
                await self._ended()
        self.hurry()
        await self._ended()

    def hurry(self) -> None:
        """Give agents that are being ended no more time."""
        for leg in self._legs:
            leg.kill()

    async def _ended(self) -> None:
        while tasks := {*self._legs.tasks, *self._requests}:
            await asyncio.wait(tasks)

    async def _see_through(self, work: Coroutine[Any, Any, T]) -> T:
        """Do all of it, whoever asked may go away: half of it is a run that nobody has."""
        task = asyncio.create_task(work)
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        return await asyncio.shield(task)

    # Beginning

    async def _begin(self, owner: str, request: Request) -> BegunTurn:
        self._check_open()
        agent = await self._choice.agent_for(owner, request)
        key = request.idempotency_key or object()
        async with self._seats.offer(owner, request.chat_id, key) as seat:
            begun = await self._begin_turn(owner, request, agent)
            if begun.created:
                try:
                    await self._cancel_others(begun.run, request.answers)
                finally:  # it is ours, and nobody else will
                    await self._start_or_queue(begun.run, agent, seat)
        return begun

    async def _begin_turn(self, owner: str, request: Request, agent: Agent) -> BegunTurn:
        try:
            return await self._storage.begin_turn(owner, request, agent.id, agent.framework)
        except RunActive as active:
            if not await self._ends(owner, RunId(active.run_id)):
                raise
        return await self._storage.begin_turn(owner, request, agent.id, agent.framework)

    async def _ends(self, owner: str, run_id: RunId) -> bool:
        """Wait for the end of a run that is being ended; false if it is not."""
        leg = self._legs.last(run_id)
        if leg is None:
            return await ends_elsewhere(self._storage, owner, run_id, self._limits.drain)
        is_leaving = leg.leaving
        if is_leaving:
            await self._legs.wait_for([leg])
        return is_leaving

    async def _cancel_others(self, begun: Run, answers: tuple[Answer, ...]) -> None:
        """A new turn answers what an earlier one still asks: as told with it, else by nobody."""
        for run in await self._storage.runs(begun.owner, begun.chat_id):
            if run.status == "waiting" and run.id != begun.id:
                await self._cancel(run, answers)

    def _check_open(self) -> None:
        if self._closing:
            raise ShuttingDown

    # Legs

    async def _start_or_queue(self, run: Run, agent: Agent, seat: Seat | None) -> None:
        if seat is not None:
            self._start(run, agent, seat)
            return
        try:
            await patiently(self._storage.queue, run.id, run.epoch)
        except Fenced:
            log.info("run %s was deleted before it was executed", run.id)
        except StorageError:  # or it would be ours for ever
            await self._reaper.end(run, Verdict("error", BROKEN))
            raise

    def _start(self, run: Run, agent: Agent, seat: Seat) -> Leg:
        state = self._states.of(run.owner, run.chat_id)
        means = Means(
            launch=partial(self._launch, agent, state),
            stderr=self._stderr,
            hold=self._limits.hold,
            notice=self._limits.notice,
        )
        leg = Leg(self._storage, run, agent, means)
        if self._closing:
            leg.interrupt()
        self._legs.begin(leg, seat)
        return leg

    # Going on, stopping, forgetting

    async def _answer(
        self, owner: str, run_id: str, answers: tuple[Answer, ...], asking: Asking
    ) -> Continued:
        run = await self._storage.run(owner, run_id)
        leg = self._legs.of(run)
        stored = await leg.answer(answers, asking.frontend) if leg is not None else []
        if not stored:
            run = await self._storage.run(owner, run_id)
            return await self._resume(run, answers, asking)
        after = stored[0].seq - 1
        await self._note(run, asking, after)
        return Continued(await self._storage.run(owner, run_id), after)

    async def _note(self, run: Run, asking: Asking, after: int) -> None:
        if asking != _NOTHING_MORE:
            await self._storage.note(run.id, replace(asking, after=after))

    async def _resume(self, run: Run, answers: tuple[Answer, ...], asking: Asking) -> Continued:
        """Answer a run that waits without a process."""
        asked = await asked_by(self._storage, run.id)
        replies = asked.match(answers)
        if run.status != "waiting" or run.stop_requested_at is not None or not replies:
            raise NotWaiting(run.id)
        asked.check(replies)
        agent = self.catalog.get(run.agent)
        events = asked.told(replies)
        self._check_open()
        name = ("answered", run.id)  # no client's key is one
        async with self._seats.offer(run.owner, run.chat_id, name) as seat:
            try:
                resumed = await self._storage.next_leg(run.id, run.epoch, events, now_ms())
            except Fenced:  # somebody else's answer was first
                raise NotWaiting(run.id) from None
            after = resumed.tail_seq - len(events)
            try:
                await self._note(resumed, asking, after)
            finally:  # it is ours, and nobody else will
                if resumed.status == "running":
                    await self._start_or_queue(resumed, agent, seat)
        return Continued(resumed, after)

    async def _stop(self, owner: str, run_id: str) -> Run:
        run = await self._storage.request_stop(owner, run_id)
        leg = self._legs.of(run)
        if leg is not None and not leg.over:
            leg.stop()
        elif run.status == "waiting":
            await self._reaper.cancel(run)
            return await self._storage.run(owner, run_id)
        elif run.status == "running" and run.lease_owner is None:
            await self._reaper.withdraw(run)
            return await self._storage.run(owner, run_id)
        return run

    async def _cancel(self, run: Run, answers: tuple[Answer, ...]) -> None:
        leg = self._legs.of(run)
        if leg is None or leg.over:
            await self._reaper.cancel(run, answers)
        else:
            await self._legs.end([leg], answers)

    async def _delete(self, owner: str, chat_id: str) -> None:
        runs = await self._storage.runs(owner, chat_id)
        await self._storage.delete(owner, chat_id)
        legs = self._legs.in_chat(owner, chat_id)
        gone = {run.id for run in runs} | {leg.run.id for leg in legs}
        await self._legs.end(legs)
        await asyncio.to_thread(self._stderr.delete, gone)
        await asyncio.to_thread(self._states.delete, owner, chat_id)

    # What happens elsewhere

    async def _look(self) -> None:
        await self._stop_asked()
        await self._let_go([leg for leg in self._legs if leg.waits])
        if self.executes:
            await self._see_through(self._claim())

    async def _stop_asked(self) -> None:
        for run in await self._storage.stopping():
            if (leg := self._legs.last(run.id)) is not None:
                leg.stop()

    async def _claim(self) -> None:
        """Execute what was left to others; one at a time, so that all who claim get their share."""
        agents = {agent.id: agent for agent in self.catalog}
        while not self._closing and self._seats.has_room():
            sparing = self._seats.full_owners()
            claimed = await self._storage.claim(agents, 1, sparing=sparing)
            if not claimed:
                return
            self._take_up(claimed[0], agents[claimed[0].agent])

    def _take_up(self, run: Run, agent: Agent) -> None:
        for leg in self._legs.in_chat(run.owner, run.chat_id):
            if leg.run.id == run.id:  # it waited here, and was answered elsewhere
                leg.end_at_once()
        begun = self._start(run, agent, self._seats.squeeze_in(run.owner, ("claimed", run.id)))
        if run.stop_requested_at is not None:
            begun.stop()

    async def reap(self) -> None:
        """End the runs whose writers are gone, and the processes whose runs are."""
        await self._let_go(list(self._legs))
        await self._reaper.sweep(self._legs.runs)

    async def _let_go(self, legs: Collection[Leg]) -> None:
        """End the processes whose runs are somebody else's, or over: they might never notice."""
        here = [leg for leg in legs if not leg.leaving]
        for leg in await lost_elsewhere(self._storage, here):
            leg.end_at_once()
