"""Starts, answers, stops and ends runs, whatever process fails.

Rule 1: a run outlives its connections: only a stop request stops it.
Rule 2: a request is stored before it is executed, and its run is queued in the same transaction
        where other processes execute. If this server dies, another one executes the runs whose
        agents did not get their turn yet, and ends the others as `lost`.
Rule 3: only an attempt and the reaper write to a run's log.
Rule 4: a run is executed here, or queued in the store until a process claims it. Requests for a run
        owned by another process are stored; the owner polls for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeVar

from msgspec.structs import replace

from mobox.capture.callable import CallableExecution
from mobox.capture.catalog import Agent, Catalog, FunctionAgent
from mobox.capture.egress_access import EgressAccess, NoEgress
from mobox.capture.execution import Execution
from mobox.capture.model_access import Caller, ModelAccess, NoModels
from mobox.environments.installing import Environments
from mobox.errors import (
    ChatNotFound,
    DatabaseTooNew,
    Fenced,
    MoboxError,
    NotWaiting,
    RunActive,
    ShuttingDown,
    TooManyRuns,
    UnknownAgent,
)
from mobox.events.turn import Answer, Request, Turn
from mobox.sandbox.bubblewrap import sweep
from mobox.settings import MODELS, Settings, now_ms
from mobox.storage import Storage
from mobox.storage.chats import BegunTurn
from mobox.storage.log import ClientRequest, Run, RunId, active_of
from mobox.supervisor.active_runs import Actions, ActiveRuns
from mobox.supervisor.agent_files import CassetteFiles, StateFolders, StderrFolder
from mobox.supervisor.attempt import Attempt, AttemptDeps
from mobox.supervisor.attempts import Attempts, RunSlot, RunSlots
from mobox.supervisor.chat_files import ChatFiles
from mobox.supervisor.input_requests import input_requests_of
from mobox.supervisor.late_answers import answered_requests_of, late_answers
from mobox.supervisor.launching import Launcher
from mobox.supervisor.leases import Leases, RunLease
from mobox.supervisor.permissions import automatic_replies, create_permissions
from mobox.supervisor.pruning import sweep_files
from mobox.supervisor.recovery import PollLoop, Reaper, Sweep, lost_remotely
from mobox.supervisor.sandboxes import Sandboxes
from mobox.supervisor.spares import Spares
from mobox.supervisor.states import LEAVING, State

log = logging.getLogger("mobox.supervisor")

_NOTHING_MORE: Final = ClientRequest()
_CONFLICTS: Final = 4
"""How many active runs a message may find in its way, one after the other: another message may have
started one meanwhile."""

DEMO: Final = "demo"
"""The agent that needs no model."""

T = TypeVar("T")

Launch = Callable[[Agent, Path, Turn], Execution]
"""Starts an agent with the state folder of its chat."""


class SubmittedRun(NamedTuple):
    """The run of a request, new or resumed, and the entry after which a client reads it."""

    run: Run
    after: int
    created: bool = False
    """Whether this request started it."""
    late: tuple[Answer, ...] = ()
    """The answers that counted, if those of the request came too late."""


class Supervisor:
    """Manages the runs of one store in this process.

    An async context manager. With `execute="workers"` it executes none: other processes do.
    """

    def __init__(  # noqa: PLR0913
        self,
        storage: Storage,
        catalog: Catalog,
        data: Path,
        *,
        settings: Settings | None = None,
        default_agent: str | None = None,
        launch: Launch | None = None,
        models: ModelAccess | None = None,
        egress: EgressAccess | None = None,
    ) -> None:
        self.catalog = catalog
        self._storage = storage
        self._data = data
        self._states = StateFolders(data / "state")
        self._stderr = StderrFolder(data / "logs")
        self._cassettes = CassetteFiles(data / MODELS)
        self._settings = settings or Settings()
        self.files = ChatFiles(storage, self._states, is_here=self.executes)
        """The files that agents made."""
        self._default_agent = default_agent
        self._given_launch = launch
        self.sandboxes = Sandboxes(self._settings.sandbox)
        """Where the agents run that are executed here."""
        self._models = models or NoModels()
        self._launcher = Launcher(self._models, egress or NoEgress())
        folder = self._settings.environments or data / "environments"
        self.environments = Environments(
            folder,
            installs=self._settings.installs,
            sandbox=lambda: self.sandboxes.installing,
        )
        """The packages of the agents that are executed here."""
        self._spares = Spares(data / "state", self.sandboxes, self._launcher, self._settings)
        self._reaper = Reaper(storage)
        self._attempts = Attempts(self._reaper)
        self._slots = RunSlots(self._settings, storage, self._attempts, self._starts_runs)
        self._leases = Leases(storage, self._attempts)
        self._active = ActiveRuns(
            storage, self._attempts, self._settings, Actions(self._stop, self.reap)
        )
        self._requests: set[asyncio.Task[Any]] = set()
        self._polling = PollLoop(
            (self._poll, self._settings.look),
            Sweep(self._sweep, self._settings.sweep, "ending lost runs"),
            Sweep(self._check_version, self._settings.sweep, "checking the database's version"),
            Sweep(self._sweep_files, self._settings.sweep_files, "deleting unused files"),
        )
        storage.when_work(self.look_soon)
        self._draining = False
        self._closing = False
        self._hurried = asyncio.Event()
        self._is_outdated = False

    async def __aenter__(self) -> Self:
        if self.executes and self._given_launch is None:
            await self.sandboxes.open()
        await self._spares.recover()
        await asyncio.to_thread(sweep, self._data / "state")
        self._polling.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def closing(self) -> bool:
        """Whether it is shutting down: it executes no further runs."""
        return self._draining or self._closing

    @property
    def stopping(self) -> bool:
        """Whether its runs are being ended, after a drain if there is one."""
        return self._closing

    @property
    def running(self) -> int:
        """How many attempts are executed here."""
        return len(self._attempts)

    @property
    def spares(self) -> int:
        """How many processes wait here for a turn."""
        return len(self._spares)

    @property
    def executes(self) -> bool:
        """Whether this process executes agents at all."""
        return self._settings.executes

    def _starts_runs(self) -> bool:
        """Whether runs are started here now, and not queued for other processes."""
        return self.executes and not self._draining

    def when_attempt_ends(self, callback: Callable[[str], None]) -> None:
        """Call this with how it ended when an attempt is over; see `Attempt.end`."""
        self._attempts.on_end = callback

    def look_soon(self) -> None:
        """Poll now: another process queued a run or requested a stop."""
        self._polling.soon()

    # Requests

    async def stderr_of(self, owner: str, run_id: RunId) -> dict[int, str]:
        """The stderr of a run's attempts so far, by attempt number."""
        run = await self._storage.run(owner, run_id)
        return await asyncio.to_thread(self._stderr.read, run)

    async def begin(self, owner: str, request: Request) -> BegunTurn:
        """Start the run that answers a request; a repeated request returns the same run."""
        return await self._complete(self._begin(owner, request))

    async def answer(
        self,
        owner: str,
        run_id: str,
        answers: tuple[Answer, ...],
        client_request: ClientRequest = _NOTHING_MORE,
    ) -> SubmittedRun:
        """Resume a run with a person's answers; `client_request` describes the request."""
        return await self._complete(self._answer(owner, run_id, answers, client_request))

    async def late(
        self, owner: str, run_id: str, answers: tuple[Answer, ...]
    ) -> SubmittedRun | None:
        """The run from the answers on that counted instead of these; `None` if there are none."""
        run = await self._storage.run(owner, run_id)
        if run.status != "done" and run.stop_requested_at is not None:
            await self._active.wait_until_ended(owner, run.id)  # which cancels its open requests
        found = late_answers(answers, await answered_requests_of(self._storage, run.id))
        if found is None:
            return None
        run = await self._storage.run(owner, run_id)
        return SubmittedRun(run, found.after, late=found.answers)

    async def stop(self, owner: str, run_id: str) -> Run:
        """Stop a run: at once if it is executed here, else when its process polls."""
        return await self._complete(self._stop(owner, run_id))

    async def delete(self, owner: str, chat_id: str) -> None:
        """Delete a chat with its runs and its agents' state."""
        await self._complete(self._delete(owner, chat_id))

    async def drain(self) -> None:
        """Let running attempts finish, for `Settings.drain` seconds; new runs are queued.

        What waits, or has not started its agent yet, is given up at once: others take it.
        """
        self._draining = True
        for attempt in self._attempts.all:
            attempt.leave()
        either: list[asyncio.Task[Any]] = [
            asyncio.create_task(self._ended()),
            asyncio.create_task(self._hurried.wait()),
        ]
        seconds = self._settings.drain
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in either:
            task.cancel()

    async def close(self) -> None:
        """Start nothing more and end running attempts; waiting runs stay `waiting`."""
        self._closing = True
        await self._polling.stop()
        for attempt in self._attempts.all:
            attempt.interrupt()
        if not self._hurried.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.exit_grace):
                    await self._ended()
        self.hurry()
        await self._ended()
        self._leases.close()
        await self._spares.close()
        self.environments.close()

    def hurry(self) -> None:
        """End at once: kill the agents that are still shutting down."""
        self._hurried.set()
        if self._closing:
            for attempt in self._attempts.all:
                attempt.kill()

    async def _ended(self) -> None:
        while tasks := {*self._attempts.tasks, *self._requests}:
            await asyncio.wait(tasks)

    async def _complete(self, work: Coroutine[Any, Any, T]) -> T:
        """Finish the work even if the client disconnects: a run must not be left half started."""
        task = asyncio.create_task(work)
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        return await asyncio.shield(task)

    # Starting

    async def _begin(self, owner: str, request: Request) -> BegunTurn:
        self._check_open()
        agent = await self._agent_for(owner, request)
        key = request.idempotency_key or object()
        try:
            return await self._begin_in_slot(owner, request, agent, key)
        except TooManyRuns:  # the slot may be that of the run which this message replaces
            active = active_of(await self._runs(owner, request.chat_id))
            if active is None:
                raise
            if joined := await self._joined(owner, request, active.id):
                return joined
            if not await self._clears(owner, request, active.id):
                raise
        return await self._begin_in_slot(owner, request, agent, key)

    async def _begin_in_slot(
        self, owner: str, request: Request, agent: Agent, key: object
    ) -> BegunTurn:
        async with self._slots.acquire(owner, request.chat_id, key) as slot:
            turn = await self._begin_turn(owner, request, agent, queue=slot is None)
            if turn.created:
                try:
                    await self._cancel_others(turn.run, request.answers)
                finally:  # a run whose lease is ours is started by no other process
                    if slot is not None:
                        self._start(turn.run, agent, slot)
        return turn

    async def _agent_for(self, owner: str, request: Request) -> Agent:
        """The requested agent, else the last of the chosen branch, else the default."""
        if request.agent is not None:
            return self.catalog.get(request.agent)
        for run in reversed(await self._runs(owner, request.chat_id)):
            if not run.superseded:
                return self.catalog.get(run.agent)
        return self.default_agent()

    def default_agent(self) -> Agent:
        """The agent of chats that name none; raises `UnknownAgent` if there is none.

        That of the settings, else the first one that can start and whose model is a provider's,
        else the demo, else the first.
        """
        if self._default_agent is not None:
            return self.catalog.get(self._default_agent)
        agents = list(self.catalog)
        for agent in agents:
            has_model = self._models.source(agent) == "provider"
            if has_model and self.environments.can_start(agent):
                return agent
        for agent in sorted(agents, key=lambda agent: agent.id != DEMO):
            return agent
        raise UnknownAgent("default", ())

    async def _runs(self, owner: str, chat_id: str) -> list[Run]:
        """The runs of a chat, which need not exist yet."""
        with suppress(ChatNotFound):
            return await self._storage.runs(owner, chat_id)
        return []

    async def _begin_turn(
        self, owner: str, request: Request, agent: Agent, *, queue: bool
    ) -> BegunTurn:
        """Store the message and its run, which is ours, or queued where others execute."""
        store = partial(
            self._storage.begin_turn, owner, request, agent.id, agent.framework, queue=queue
        )
        for _ in range(_CONFLICTS):
            try:
                return await store()
            except RunActive as active:
                run_id = RunId(active.run_id)
                if joined := await self._joined(owner, request, run_id):
                    return joined
                if not await self._clears(owner, request, run_id):
                    raise
        return await store()

    async def _joined(self, owner: str, request: Request, run_id: RunId) -> BegunTurn | None:
        """The turn of the run, if it answers this very message; raises for an invalid one."""
        run = await self._active.answering(owner, request, run_id)
        return None if run is None else BegunTurn(run=run, created=False)

    async def _clears(self, owner: str, request: Request, run_id: RunId) -> bool:
        return await self._active.clear(owner, run_id, request.when_running)

    async def _cancel_others(self, started: Run, answers: tuple[Answer, ...]) -> None:
        """End earlier waiting runs of the chat, with the answers that came with the new turn."""
        for run in await self._storage.runs(started.owner, started.chat_id):
            if run.status == "waiting" and run.id != started.id:
                await self._cancel(run, answers)

    def _check_open(self) -> None:
        if self._closing:
            raise ShuttingDown

    # Attempts

    def _start(self, run: Run, agent: Agent, slot: RunSlot) -> Attempt:
        state = self._states.of(run.owner, run.chat_id)
        prepare = partial(self.environments.prepare, agent)
        lease = self._leases.of(run)
        launch = partial(self._launch, state, lease)
        is_simulated = self._models.source(agent) == "simulated"
        on_started = partial(self._prepare_spares, agent)
        files = (self._stderr, self._settings, self._data, state)
        deps = AttemptDeps(prepare, launch, *files, on_started, is_simulated)
        attempt = Attempt(self._storage, run, agent, deps)
        if self._closing:
            attempt.interrupt()
        elif self._draining:
            attempt.leave()
        self._leases.hold(attempt, lease)
        self._attempts.begin(attempt, slot)
        return attempt

    async def _launch(self, state: Path, lease: RunLease, agent: Agent, turn: Turn) -> Execution:
        """Give the turn to a function of this program, a spare process or a new one."""
        if self._given_launch is not None:
            given = self._given_launch(agent, state, turn)
            lease.bind(given)
            return given
        caller = Caller(run_id=turn.run_id, attempt=turn.attempt, owner=turn.owner, agent=agent.id)
        if isinstance(agent, FunctionAgent):
            return self._call(agent, state, turn, caller)
        execution = await self._spares.take(agent, state, caller)
        if execution is None:
            chosen = await self.sandboxes.of(agent)
            execution = self._launcher.start(agent, chosen, state, caller)
        lease.bind(execution)
        execution.hand_over(turn)
        return execution

    def _call(
        self, agent: FunctionAgent, state: Path, turn: Turn, caller: Caller
    ) -> CallableExecution:
        grant = self._models.grant(agent)
        grant.bind(caller)
        with grant.active():
            execution = CallableExecution(agent, state, turn)
        execution.when_ended(grant.close)
        return execution

    def _prepare_spares(self, agent: Agent) -> None:
        if agent.warm and self._given_launch is None:
            prepared = self.environments.prepared(agent)
            if prepared is not None:
                self._spares.prepare(prepared)

    # Resuming, stopping, deleting

    async def _answer(
        self, owner: str, run_id: str, answers: tuple[Answer, ...], client_request: ClientRequest
    ) -> SubmittedRun:
        run = await self._storage.run(owner, run_id)
        attempt = self._attempts.of(run)
        stored = (
            await attempt.answer(answers, client_request.frontend) if attempt is not None else []
        )
        if not stored:
            run = await self._storage.run(owner, run_id)
            return await self._resume(run, answers, client_request)
        after = stored[0].seq - 1
        await self._note(run, client_request, after)
        return SubmittedRun(await self._storage.run(owner, run_id), after)

    async def _note(self, run: Run, client_request: ClientRequest, after: int) -> None:
        if client_request != _NOTHING_MORE:
            await self._storage.note(run.id, replace(client_request, after=after))

    async def _resume(
        self, run: Run, answers: tuple[Answer, ...], client_request: ClientRequest
    ) -> SubmittedRun:
        """Answer a waiting run that has no process."""
        requests = await input_requests_of(self._storage, run.id)
        replies = requests.match(answers)
        if run.status != "waiting" or run.stop_requested_at is not None or not replies:
            raise NotWaiting(run.id)
        requests.check(replies)
        agent = self.catalog.get(run.agent)
        known = await self._storage.granted(run.id)
        replies, created = create_permissions(requests, replies, run, known, now_ms())
        events = requests.events_of(replies)
        requests.see_all(events)
        events += requests.events_of(automatic_replies(requests, run, [*known, *created]))
        self._check_open()
        name = ("answered", run.id)  # a tuple: equal to no client's idempotency key
        async with self._slots.acquire(run.owner, run.chat_id, name) as slot:
            try:
                resumed = await self._storage.next_attempt(
                    run.id,
                    run.epoch,
                    events,
                    now_ms(),
                    permissions=created,
                    request=None if client_request == _NOTHING_MORE else client_request,
                    queue=slot is None,
                )
            except Fenced:  # another answer was first
                raise NotWaiting(run.id) from None
            if resumed.status == "running" and slot is not None:
                self._start(resumed, agent, slot)
        return SubmittedRun(resumed, resumed.tail_seq - len(events))

    async def _stop(self, owner: str, run_id: str) -> Run:
        run = await self._storage.request_stop(owner, run_id)
        attempt = self._attempts.of(run)
        if attempt is not None and attempt.state is not State.OVER:
            attempt.stop()
        elif run.status == "waiting":
            await self._reaper.cancel(run)
            return await self._storage.run(owner, run_id)
        elif run.status == "running" and run.lease_owner is None:
            await self._reaper.withdraw(run)
            return await self._storage.run(owner, run_id)
        return run

    async def _cancel(self, run: Run, answers: tuple[Answer, ...]) -> None:
        attempt = self._attempts.of(run)
        if attempt is None or attempt.state is State.OVER:
            await self._reaper.cancel(run, answers)
        else:
            await self._attempts.end([attempt], answers)

    async def _delete(self, owner: str, chat_id: str) -> None:
        runs = await self._storage.runs(owner, chat_id)
        await self._storage.delete(owner, chat_id)
        attempts = self._attempts.in_chat(owner, chat_id)
        gone = {run.id for run in runs} | {attempt.run.id for attempt in attempts}
        await self._attempts.end(attempts)
        await asyncio.to_thread(self._stderr.delete, gone)
        await asyncio.to_thread(self._cassettes.delete, gone)
        await asyncio.to_thread(self._states.delete, owner, chat_id)

    # Other processes

    async def _poll(self) -> None:
        await self._stop_requested()
        await self._release(self._attempts.waiting)
        if self._draining:
            for attempt in self._attempts.waiting:
                attempt.leave()
        elif self.executes and self._settings.claims and not self._is_outdated:
            await self._complete(self._claim())

    async def _check_version(self) -> None:
        """Leave queued runs to processes of a newer version, once there is one."""
        try:
            await self._storage.check_version()
        except DatabaseTooNew as error:
            if not self._is_outdated:
                log.warning("this process claims no more queued runs: %s", error)
            self._is_outdated = True
        else:
            self._is_outdated = False

    async def _stop_requested(self) -> None:
        for run in await self._storage.stopping():
            if (attempt := self._attempts.last(run.id)) is not None:
                attempt.stop()

    async def _claim(self) -> None:
        """Execute queued runs; claims one at a time, so that all processes get their share."""
        agents = {agent.id: agent for agent in self.catalog}
        while not self.closing and self._slots.has_room():
            sparing = self._slots.full_owners()
            claimed = await self._storage.claim(agents, 1, sparing=sparing)
            if not claimed:
                return
            self._take_up(claimed[0], agents[claimed[0].agent])

    def _take_up(self, run: Run, agent: Agent) -> None:
        for attempt in self._attempts.in_chat(run.owner, run.chat_id):
            if attempt.run.id == run.id:  # it waited here, and another process took the answer
                attempt.end_at_once()
        slot = self._slots.force_acquire(run.owner, ("claimed", run.id))
        started = self._start(run, agent, slot)
        if run.stop_requested_at is not None:
            started.stop()

    async def reap(self) -> None:
        """End the runs whose owners died, and the processes that no longer own their runs."""
        await self._release(self._attempts.all)
        await self._reaper.sweep(self._attempts)

    async def _sweep(self) -> None:
        await self.reap()
        before = now_ms() - round(self._settings.unfinished * 1000)
        for run in await self._storage.left_waiting(before):
            try:
                await self._cancel(run, ())
            except MoboxError as error:
                log.warning("run %s: cannot end it yet, retrying: %s", run.id, error)

    async def _sweep_files(self) -> None:
        """Delete files that no chat names, and what is left of failed uploads."""
        await sweep_files(self._storage)

    async def _release(self, attempts: Collection[Attempt]) -> None:
        """End the processes whose runs were taken over or ended: they might never notice."""
        here = [attempt for attempt in attempts if attempt.state not in LEAVING]
        for attempt in await lost_remotely(self._storage, here):
            attempt.end_at_once()
