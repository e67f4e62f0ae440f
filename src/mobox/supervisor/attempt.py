"""One attempt of a run: executes an agent, logs its output and ends the run.

Rule 1: whatever happens, the run ends with one DONE, waits, or was taken over by another process.
Rule 2: output during shutdown is logged, except when a waiting process is released: the run stays
        `waiting` and the process's last output is discarded.
Rule 3: timeouts apply while the agent is running. A waiting process is ended after `hold` seconds;
        the answer then starts a new attempt.
Rule 4: a stored answer reaches the agent. An agent that exited without reading it is started again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from mobox.capture.catalog import Agent
from mobox.capture.execution import Execution, Outcome
from mobox.errors import Fenced, MoboxError, NotFoundError, NotWaiting, RunActive
from mobox.events import Done, DoneReason, Error, LogEntry, Start, Status, StreamEvent
from mobox.events.printable import on_one_line
from mobox.events.turn import Answer, Frontend, Turn
from mobox.storage import Storage
from mobox.storage.log import Run
from mobox.storage.retry import retry_while_unavailable
from mobox.supervisor.preparation import Preparation
from mobox.supervisor.reaper import Termination
from mobox.supervisor.run_writer import RunWriter
from mobox.supervisor.stderr import Redaction, StderrFolder
from mobox.supervisor.timeouts import Deadlines, TimeoutAlarm
from mobox.supervisor.turns import turn_for

log = logging.getLogger("mobox.supervisor")

PREVIEW: Final = 80
"""Characters of the prompt that START shows."""
WHY: Final = 500
"""Characters of the last line on stderr that the server's own log shows."""
BROKEN: Final = Error(message="The server had an internal error in this run.", code="internal")


class AttemptDeps(NamedTuple):
    """The dependencies and limits of an attempt."""

    launch: Callable[[Turn], Execution]
    stderr: StderrFolder
    hold: float
    """For how many seconds a process waiting for an answer is kept."""
    notice: float
    """After how many seconds a status reports that the agent is still starting."""
    quiet: float
    """After how many seconds without output an agent with an open request counts as waiting."""


class Attempt:
    """One execution of an agent for a run."""

    def __init__(self, store: Storage, run: Run, agent: Agent, means: AttemptDeps) -> None:
        self.run = run
        self.agent = agent
        self.over = False
        """It appends nothing more: the run has ended, waits, or was taken over."""
        self._store = store
        self._means = means
        self._redacted = Redaction(agent)
        self._writer: RunWriter | None = None
        self._execution: Execution | None = None
        self._verdict: Termination | None = None
        self._is_to_end = asyncio.Event()
        self._last_answers: tuple[Answer, ...] = ()
        self._ending: asyncio.Task[Outcome] | None = None
        self._alarm: TimeoutAlarm | None = None
        self._answer_lock = asyncio.Lock()  # held to answer the agent, or to conclude the attempt
        self._answering = False
        self._discards_output = False
        self._output_bytes = 0
        self._stderr = ""

    # Requests

    @property
    def leaving(self) -> bool:
        """Whether its process is being ended, or has ended."""
        return self.over or self._verdict is not None or self._ending is not None

    @property
    def waits(self) -> bool:
        """Whether it only waits for a person's answer."""
        return self._is_waiting() and not self._answering and not self.leaving

    @property
    def _accepts_answers(self) -> bool:
        return self._execution is not None and not self.leaving

    async def answer(
        self, answers: Iterable[Answer], frontend: Frontend | None = None
    ) -> list[LogEntry]:
        """Log a person's answers and send them to the agent; empty if it accepts none any more."""
        async with self._answer_lock:
            if not self._accepts_answers:
                return []
            self._answering = True
            self._note(waits=False)
            try:
                return await self._send(answers, frontend)
            finally:
                self._answering = False
                self._note(self._is_waiting())

    async def _send(self, answers: Iterable[Answer], frontend: Frontend | None) -> list[LogEntry]:
        assert self._writer is not None  # it accepts answers
        assert self._execution is not None
        requests = self._writer.asked
        replies = requests.match(answers)
        if not replies:
            raise NotWaiting(self.run.id)
        requests.check(replies)
        stored = await self._writer.write(*requests.told(replies))
        if frontend is not None:
            self._execution.tell(frontend)
        for event, answer in replies:
            self._execution.answer(event.id or "", answer)
        return stored

    def stop(self, reason: DoneReason = "cancelled", answers: tuple[Answer, ...] = ()) -> None:
        """End it, for the person or for the server; `answers` are logged with the end."""
        self._last_answers = self._last_answers or answers
        self._end(Termination(reason))

    def interrupt(self) -> None:
        """The server shuts down or needs the slot: a waiting run stays `waiting`, unexecuted."""
        if self.waits:
            self._release()
        elif not self.leaving:
            self.stop("interrupted")

    def end_at_once(self, answers: tuple[Answer, ...] = ()) -> None:
        """Stop and kill it: its run was taken over, or no more output is expected."""
        self.stop(answers=answers)
        self.kill()

    def kill(self) -> None:
        """Kill the process instead of waiting for it to exit."""
        if self._execution is not None:
            self._execution.kill()

    def _end(self, verdict: Termination) -> None:
        self._verdict = self._verdict or verdict
        self._is_to_end.set()
        self._stop_execution()

    def _release(self) -> None:
        self._discards_output = True
        self._stop_execution()

    def _stop_execution(self) -> None:
        if self._execution is not None and self._ending is None:
            self._ending = asyncio.create_task(self._execution.stop())

    # Execution

    async def execute(self) -> Termination | None:
        """Execute until the run ends or waits; else return how to end it. Raises nothing."""
        try:
            await self._work()
        except (Fenced, NotFoundError):
            log.info(
                "run %s: lost its lease (taken over or deleted); stopping this attempt", self.run.id
            )
            await self._forget()
        except RunActive:  # it resumed by itself, but its chat already has a running run
            return Termination("cancelled")
        except Exception:  # whatever it was, the run must not hang
            log.exception("run %s: internal error; ending the run", self.run.id)
            return Termination("error", BROKEN)
        finally:
            self.over = True
        return None

    async def _work(self) -> None:
        self._writer = RunWriter(self._store, self.run)
        if self.run.tail_seq:
            await retry_while_unavailable(self._writer.catch_up)
        while not self.over:
            outcome = Outcome(exit_code=0)
            if (turn := await self._turn(self._writer)) is not None:
                await self._writer.write(*self._beginning(turn))
                outcome = await self._run_agent(self._writer, turn)
            await self._keep_stderr(outcome)
            async with self._answer_lock:
                await self._conclude(self._writer, outcome)

    async def _turn(self, writer: RunWriter) -> Turn | None:
        """The agent's turn; nothing, if the run is stopped before the history is read."""
        reading = asyncio.create_task(
            retry_while_unavailable(turn_for, self._store, self.run, writer.asked)
        )
        ending = asyncio.create_task(self._is_to_end.wait())
        try:
            await asyncio.wait([reading, ending], return_when=asyncio.FIRST_COMPLETED)
            return await reading if reading.done() else None
        finally:
            reading.cancel()
            ending.cancel()
            await asyncio.gather(reading, ending, return_exceptions=True)

    def _beginning(self, turn: Turn) -> list[StreamEvent]:
        """The first event of the log; nothing where the run is resumed."""
        if turn.is_resumed:
            return []
        start = Start(
            framework=self.run.framework,
            agent=self.agent.id,
            prompt_preview=turn.text[:PREVIEW] or None,
        )
        return [start]

    async def _run_agent(self, writer: RunWriter, turn: Turn) -> Outcome:
        """Execute the agent until its process exits."""
        if self._verdict is not None:  # stopped before it started
            return Outcome(exit_code=0)
        writer.listen()
        try:
            self._execution = execution = self._means.launch(turn)
        except OSError as error:
            self._verdict = Termination("error", _launch_error(error))
            return Outcome()
        doing = f"{'Resuming' if turn.is_resumed else 'Starting'} {self.agent.name}"
        preparation = Preparation(execution, self._announce, doing, self._means.notice)
        async with execution:
            try:
                with self._limited():
                    async with preparation:
                        await self._listen(writer, execution, preparation)
                outcome = await execution.outcome()
            except BaseException:  # a lost lease, or an internal error
                execution.kill()
                raise
        return replace(outcome, stderr_tail=self._redacted(outcome.stderr_tail))

    async def _announce(self, preparation: Status) -> None:
        if self._writer is not None and not self.leaving:
            await self._writer.write(preparation)

    async def _listen(
        self, writer: RunWriter, execution: Execution, preparation: Preparation
    ) -> None:
        limit = self.agent.limits.output
        while data := await self._next_output(writer, execution):
            preparation.over()
            if self._discards_output:
                continue
            await writer.read(data)
            self._note(writer.waiting)
            self._output_bytes += len(data)
            if self._output_bytes > limit:
                self._discards_output = True
                self._fail("output_limit", f"The agent wrote more than {limit:,} bytes.")
        if not self._discards_output:
            await writer.finish_reading()

    async def _next_output(self, writer: RunWriter, execution: Execution) -> bytes:
        """The next output. A silent agent with an open request counts as waiting again.

        Text without an id has no end, so only silence shows that no more of it comes.
        """
        if not writer.may_pause_again:
            return await execution.read()
        reading = asyncio.create_task(execution.read())
        try:
            done, _ = await asyncio.wait([reading], timeout=self._means.quiet)
            if not done and not self._discards_output:
                await writer.pause_again()
                self._note(writer.waiting)
            return await reading
        finally:
            reading.cancel()

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Enforce the agent's timeouts."""
        now = asyncio.get_running_loop().time()
        deadlines = Deadlines(self.agent.timeouts, self._means.hold, now)
        self._alarm = TimeoutAlarm(deadlines, partial(self._on_timeout, deadlines))
        try:
            yield
        finally:
            self._alarm.silence()
            self._alarm = None

    def _note(self, waits: bool) -> None:
        if self._alarm is not None:
            self._alarm.note(waits)

    def _on_timeout(self, deadlines: Deadlines) -> None:
        if self.waits:
            self._release()
        elif not self.leaving:
            self._end(Termination("error", deadlines.problem()))

    def _is_waiting(self) -> bool:
        return self._writer is not None and self._writer.waiting

    def _fail(self, code: str, message: str) -> None:
        self._end(Termination("error", Error(message=message, code=code)))

    # The end

    async def _forget(self) -> None:
        """Delete the stderr of a deleted run."""
        try:
            await self._store.read(self.run.id, limit=1)
        except NotFoundError:
            await asyncio.to_thread(self._means.stderr.delete, [self.run.id])
        except MoboxError as error:
            log.warning("run %s: cannot read its log: %s", self.run.id, error)

    async def _conclude(self, writer: RunWriter, outcome: Outcome) -> None:
        must_end = self._verdict is not None or (outcome.exit_code != 0 and self._ending is None)
        if not must_end and writer.waiting:
            self.over = True  # the answer starts the next attempt
        elif not must_end and writer.unheard and not self._has_read_answer():
            writer.unheard = False
            self._execution = None
        else:
            await writer.end(self._done(outcome), *self._last_events(writer, outcome))
            self.over = True

    def _has_read_answer(self) -> bool:
        return self._execution is not None and self._execution.heard

    def _done(self, outcome: Outcome) -> Done | None:
        if self._verdict is not None:
            return Done(reason=self._verdict.reason)
        return None if outcome.failure() is None else Done(reason="error")

    def _last_events(self, writer: RunWriter, outcome: Outcome) -> list[StreamEvent]:
        if self._done(outcome) is None:
            problem = self.agent.lacks() if writer.fails else None
            return [Status(message=problem, kind="notice")] if problem else []
        events = writer.asked.settled(self._last_answers)
        error = outcome.failure() if self._verdict is None else self._verdict.error
        if error is not None:
            why = on_one_line(outcome.stderr_tail.rstrip().rpartition("\n")[2], WHY)
            log.warning("%s %s (mobox logs %s)", error.message, why, self.run.id)
            events.append(replace(self._explained(error), stderr_tail=outcome.shown_tail))
        return events

    def _explained(self, error: Error) -> Error:
        """The error, with the environment variables that the agent lacks: they may be the cause."""
        problem = self.agent.lacks()
        if problem is None:
            return error
        return replace(error, message=f"{error.message} {problem[0].upper()}{problem[1:]}.")

    async def _keep_stderr(self, outcome: Outcome) -> None:
        self._stderr += outcome.stderr_tail
        if self._stderr:
            try:
                await asyncio.to_thread(self._means.stderr.keep, self.run, self._stderr)
            except OSError as error:
                log.warning("run %s: cannot store its stderr: %s", self.run.id, error)


def _launch_error(error: OSError) -> Error:
    why = error.strerror or error
    return Error(message=f"The agent cannot be started: {why}.", code="agent_start")
