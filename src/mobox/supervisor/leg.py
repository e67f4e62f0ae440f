"""One leg of a run: an agent at work, what it says written down, its end made sure of.

Rule 1: whatever happens, the run ends with one DONE, or waits; or it is somebody else's by now.
Rule 2: what an agent says while it is being ended still counts.
Rule 3: limits hold while it works. While it waits for an answer it is only not kept for ever: the
        answer then begins another leg.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from msgspec.structs import replace

from mobox.capture.execution import Execution, Outcome
from mobox.catalog import Agent
from mobox.errors import Fenced, MoboxError, NotFound
from mobox.events import Done, DoneReason, Error, LogEntry, Start, Status, StreamEvent
from mobox.pipeline import Scribe
from mobox.storage.log import Log, Run
from mobox.supervisor.asked import Reply, asked_by
from mobox.turn import Turn

__all__ = ["Leg"]

log = logging.getLogger("mobox.supervisor")

PREVIEW: Final = 80
"""Characters of the prompt that START shows."""


class _Verdict(NamedTuple):
    """Why the leg ends, where that is not for the agent to say."""

    reason: DoneReason
    error: Error | None = None


class Leg:
    """One execution of an agent for a run."""

    def __init__(
        self,
        store: Log,
        run: Run,
        agent: Agent,
        launch: Callable[[Turn], Execution],
        hold_seconds: float,
    ) -> None:
        self.run = run
        self.agent = agent
        self._store = store
        self._launch = launch
        self._hold_seconds = hold_seconds
        self._scribe: Scribe | None = None
        self._execution: Execution | None = None
        self._verdict: _Verdict | None = None
        self._let_go = False
        self._ending: asyncio.Task[Outcome] | None = None
        self._timeout: asyncio.Timeout | None = None
        self._must_end_at = 0.0
        self._said = 0

    # What others ask of it

    @property
    def hears(self) -> bool:
        """Whether an answer can still reach the agent."""
        return self._execution is not None and self._ending is None

    async def answer(self, replies: Sequence[Reply]) -> list[LogEntry]:
        """Log what a person said, and tell the agent."""
        if self._execution is None or self._scribe is None:
            raise Fenced(self.run.id, self.run.epoch)
        stored = await self._scribe.write(*(reply.event for reply in replies))
        for event, answer in replies:
            self._execution.answer(event.id or "", answer)
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(self._deadline())
        return stored

    def stop(self, reason: DoneReason = "cancelled") -> None:
        """End it, for the person or for the server."""
        self._end(_Verdict(reason))

    def kill(self) -> None:
        """End it now, with nothing more to be said."""
        self.stop()
        if self._execution is not None:
            self._execution.kill()

    def interrupt(self) -> None:
        """The server ends: what waits can wait on without a process."""
        if self._scribe is not None and self._scribe.waiting:
            self._release()
        else:
            self.stop("interrupted")

    def _end(self, verdict: _Verdict) -> None:
        self._verdict = self._verdict or verdict
        self._stop_execution()

    def _release(self) -> None:
        self._let_go = True
        self._stop_execution()

    def _stop_execution(self) -> None:
        if self._execution is not None and self._ending is None:
            self._ending = asyncio.create_task(self._execution.stop())

    # The work

    async def execute(self, prepare: Callable[[], Awaitable[Turn]]) -> None:
        """Work until the run ends or waits. Raises nothing."""
        try:
            await self._work(prepare)
        except (Fenced, NotFound):
            log.info("run %s goes on elsewhere, or was deleted", self.run.id)
        except Exception:  # whatever it was, the run must not hang
            log.exception("run %s broke", self.run.id)
            await self._give_up()

    async def _work(self, prepare: Callable[[], Awaitable[Turn]]) -> None:
        self._scribe = scribe = await Scribe.take_up(self._store, self.run)
        turn = await prepare()
        await scribe.write(*self._announcement(turn))
        if self._verdict is not None:  # stopped before it began
            await self._conclude(Outcome(exit_code=0))
            return
        try:
            execution = self._launch(turn)
        except OSError as error:
            self._verdict = _Verdict("error", _launch_error(error))
            await self._conclude(Outcome())
            return
        async with execution:
            self._execution = execution
            try:
                await self._listen(scribe, execution)
                await self._conclude(await execution.outcome())
            except BaseException:  # the run is not ours any more, or we do not know how to go on
                execution.kill()
                raise

    def _announcement(self, turn: Turn) -> list[StreamEvent]:
        """What a page shows before the agent has said a word."""
        name = self.agent.name
        if self.run.leg > 1:
            return [Status(message=f"Resuming {name}")]
        start = Start(
            framework=self.run.framework,
            agent=self.agent.id,
            prompt_preview=turn.text[:PREVIEW] or None,
        )
        lines = ("Creating the sandbox", "Setting up the environment", f"Starting {name}")
        return [start, *(Status(message=line) for line in lines)]

    async def _listen(self, scribe: Scribe, execution: Execution) -> None:
        self._must_end_at = asyncio.get_running_loop().time() + self.agent.timeouts.total
        while data := await self._next(execution):
            self._said += len(data)
            await scribe.read(data)
            if self._said > self.agent.limits.output:
                limit = self.agent.limits.output
                self._fail("output_limit", f"The agent wrote more than {limit:,} bytes.")
        await scribe.finish_reading()

    async def _next(self, execution: Execution) -> bytes:
        if self._ending is not None:
            return await execution.read()
        try:
            async with asyncio.timeout_at(self._deadline()) as self._timeout:
                return await execution.read()
        except TimeoutError:
            self._on_timeout()
            return await execution.read()

    def _deadline(self) -> float:
        now = asyncio.get_running_loop().time()
        if self._waits():
            return now + self._hold_seconds
        return min(now + self.agent.timeouts.idle, self._must_end_at)

    def _waits(self) -> bool:
        return self._scribe is not None and self._scribe.waiting

    def _on_timeout(self) -> None:
        timeouts = self.agent.timeouts
        if self._waits():
            self._release()
        elif asyncio.get_running_loop().time() >= self._must_end_at:
            self._fail("timeout", f"The agent took longer than {timeouts.total:g} seconds.")
        else:
            self._fail("idle_timeout", f"The agent said nothing for {timeouts.idle:g} seconds.")

    def _fail(self, code: str, message: str) -> None:
        self._end(_Verdict("error", Error(message=message, code=code)))

    # The end

    async def _conclude(self, outcome: Outcome) -> None:
        assert self._scribe is not None  # there was something to conclude
        if self._verdict is None and self._waits() and (self._let_go or outcome.exit_code == 0):
            return  # the answer begins the next leg
        last = await self._last_words(outcome)
        await self._scribe.end(self._done(outcome), *last)

    def _done(self, outcome: Outcome) -> Done | None:
        if self._verdict is not None:
            return Done(reason=self._verdict.reason)
        return None if outcome.failure() is None else Done(reason="error")

    async def _last_words(self, outcome: Outcome) -> list[StreamEvent]:
        words: list[StreamEvent] = []
        if self._waits():
            words += (await asked_by(self._store, self.run.id)).cancelled()
        error = outcome.failure() if self._verdict is None else self._verdict.error
        if error is not None:
            tail = error.stderr_tail or outcome.stderr_tail or None
            words.append(replace(error, stderr_tail=tail))
        return words

    async def _give_up(self) -> None:
        """Something of ours broke: say so, or at least let the reaper find the run."""
        error = Error(message="The server could not go on with this run.", code="internal")
        try:
            scribe = await Scribe.take_up(self._store, self.run)
            await scribe.end(Done(reason="error"), error)
        except MoboxError:
            with suppress(MoboxError):
                await self._store.release(self.run.id, self.run.epoch)


def _launch_error(error: OSError) -> Error:
    return Error(message=f"The agent cannot be started: {error.strerror}.", code="agent_start")
