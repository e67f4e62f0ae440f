"""One attempt of a run: executes an agent, logs its output and ends the run.

Rule 1: whatever happens, the run ends with one DONE, waits, or was taken over by another process.
Rule 2: output during shutdown is logged, except when a waiting process is released: the run stays
        `waiting` and the process's last output is discarded.
        The run of a process that says `done` ends at once, unless it waits. The process has
        `exit_seconds` to exit; what it still writes is kept with its stderr, and how it exits
        changes nothing any more.
Rule 3: timeouts apply while the agent is running. A waiting process is ended after `hold` seconds;
        the answer then starts a new attempt.
Rule 4: a stored answer reaches the agent. An agent that exited without reading it is started again.
Rule 5: what may happen next is in `state` alone; `states.py` has all states and transitions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from msgspec.structs import replace

from mobox.capture.catalog import Agent, FunctionAgent
from mobox.capture.execution import STDERR_TAIL, Execution, Outcome, last_words
from mobox.environments.installing import Report
from mobox.errors import (
    Fenced,
    InstallFailed,
    MoboxError,
    NotFoundError,
    RunActive,
    SandboxUnavailable,
    StorageError,
)
from mobox.events import Done, DoneReason, Error, LogEntry, Start, Status, StreamEvent
from mobox.events.printable import on_one_line
from mobox.events.turn import Answer, Frontend, Turn
from mobox.settings import Settings
from mobox.storage import Storage
from mobox.storage.log import Run
from mobox.storage.retry import retry_while_unavailable
from mobox.supervisor.agent_files import Redaction, StderrFolder
from mobox.supervisor.failures import NOT_INSTALLED, launch_error, logs_command
from mobox.supervisor.input_requests import Reply
from mobox.supervisor.live_stderr import LiveStderr
from mobox.supervisor.run_writer import RunWriter
from mobox.supervisor.states import (
    ACCEPTS_ANSWERS,
    DISCARDS_OUTPUT,
    HAS_PROCESS,
    LEAVING,
    MUST_END,
    State,
    Termination,
    Trigger,
    after,
)
from mobox.supervisor.timeouts import Deadlines, Preparation, TimeoutAlarm
from mobox.supervisor.turn import turn_for
from mobox.supervisor.turn_files import with_files

log = logging.getLogger("mobox.supervisor")

T = TypeVar("T")

PREVIEW: Final = 80
"""Characters of the prompt that START shows."""
WHY: Final = 500
"""Characters of an agent's error that the server's log shows."""
FROZEN: Final = 1.0
"""Seconds after which a timeout is checked again of an agent that is frozen."""
AFTER_DONE: Final = "mobox: written to stdout after the agent was done:"
_SUCCESS: Final = Outcome(exit_code=0)
BROKEN: Final = Error(message="The server had an internal error in this run.", code="internal")


class AttemptDeps(NamedTuple):
    """The dependencies and limits of an attempt."""

    prepare: Callable[[Report], Coroutine[Any, Any, Agent]]
    """The agent as it can be started; it reports what it installs for that."""
    launch: Callable[[Agent, Turn], Awaitable[Execution]]
    stderr: StderrFolder
    limits: Settings
    data: Path
    state: Path
    """The chat's state folder."""
    on_started: Callable[[], object]
    """Called when the agent emits something for the first time, and when it has exited."""
    is_simulated: bool = False
    """Whether a simulator is in the place of the agent's model."""


class Attempt:
    """One execution of an agent for a run."""

    def __init__(self, store: Storage, run: Run, agent: Agent, deps: AttemptDeps) -> None:
        self.run = run
        self.agent = agent
        self.state = State.STARTING
        self._store = store
        self._deps = deps
        self._redacted = Redaction(agent)
        self._writer = RunWriter(
            store, run, self._on_pause, lambda: self.state in HAS_PROCESS, self._on_automatic
        )
        self._starting: asyncio.Task[Any] | None = None  # what a stop cancels
        self._execution: Execution | None = None
        self._stopping: asyncio.Task[Outcome] | None = None  # referenced: asyncio does not
        self._alarm: TimeoutAlarm | None = None
        self._answer_lock = asyncio.Lock()  # held to answer the agent, or to conclude the attempt
        self._termination: Termination | None = None
        self._last_answers: tuple[Answer, ...] = ()
        self._is_handed_over = False
        self._is_given_back = False
        self._output_bytes = 0
        self._stderr = ""
        self.is_frozen: Callable[[], bool] = lambda: False
        """Whether its processes are frozen, as the lease of the run is over."""
        self.run_has_ended = asyncio.Event()
        """The end of the run is stored; the process may still be exiting."""

    def _move(self, trigger: Trigger) -> None:
        self.state = after(self.state, trigger)

    def _on_pause(self, waits: bool) -> None:
        self._move(Trigger.PAUSED if waits else Trigger.RESUMED)

    def _on_automatic(self, reply: Reply) -> None:
        """Nobody was asked: the agent goes on. If it has exited, it is started again (Rule 4)."""
        if self._execution is not None:
            self._execution.answer(reply.event.id or "", reply.answer)

    # Requests

    async def answer(
        self, answers: Iterable[Answer], frontend: Frontend | None = None
    ) -> list[LogEntry]:
        """Log a person's answers and send them to the agent; empty if it accepts none any more."""
        async with self._answer_lock:
            if self.state not in ACCEPTS_ANSWERS:
                return []
            self._move(Trigger.ANSWER)
            self._note_activity()
            try:
                return await self._send(answers, frontend)
            finally:
                self._move(Trigger.ANSWERED)
                if self._writer.waiting:
                    self._move(Trigger.PAUSED)
                self._note_activity()

    async def _send(self, answers: Iterable[Answer], frontend: Frontend | None) -> list[LogEntry]:
        assert self._execution is not None  # it accepts answers
        replies, stored = await self._writer.answer(answers)
        if frontend is not None:
            self._writer.set_frontend(frontend)
            self._execution.set_frontend(frontend)
        for reply in replies:
            self._execution.answer(reply.event.id or "", reply.answer)
        return stored

    def stop(self, reason: DoneReason = "cancelled", answers: tuple[Answer, ...] = ()) -> None:
        """End it, for the person or for the server; `answers` are logged with the end."""
        self._last_answers = self._last_answers or answers
        self._leave(Trigger.STOP, Termination(reason))

    def interrupt(self) -> None:
        """The server shuts down or needs the slot: a waiting run stays `waiting`, unexecuted."""
        self._release_or_end(Termination("interrupted"))

    def leave(self) -> None:
        """The server drains: give a run back that is not executed yet, or that waits."""
        if self.state is State.STARTING and not self._is_handed_over:
            self._is_given_back = True
            self._leave(Trigger.GIVE_BACK)
        elif self.state is State.WAITING:
            self._leave(Trigger.RELEASE)

    def end_at_once(self, answers: tuple[Answer, ...] = ()) -> None:
        """Stop and kill it: its run was taken over, or no more output is expected."""
        self.stop(answers=answers)
        self.kill()

    def kill(self) -> None:
        """Kill the process instead of waiting for it to exit."""
        if self._execution is not None:
            self._execution.kill()

    def _release_or_end(self, termination: Termination) -> None:
        """End the process, unless it is being ended; a waiting run stays `waiting`."""
        if self.state is State.WAITING:
            self._leave(Trigger.RELEASE)
        elif self.state is State.EXITING:
            self._stop_execution()
        elif self.state not in LEAVING:
            self._leave(Trigger.STOP, termination)

    def _leave(self, trigger: Trigger, termination: Termination | None = None) -> None:
        """End the process, and with a termination also the run; the first termination counts."""
        before = self.state
        self._move(trigger)
        self._termination = self._termination or termination
        if before in HAS_PROCESS:
            self._stop_execution()
        elif before is State.STARTING and self._starting is not None:
            self._starting.cancel()

    def _stop_execution(self) -> None:
        assert self._execution is not None
        self._stopping = asyncio.create_task(self._execution.stop())

    # Execution

    async def execute(self) -> Termination | None:
        """Execute until the run ends, waits or is queued again; else return how to end it.

        Raises nothing.
        """
        try:
            await self._execute()
        except (Fenced, NotFoundError):
            log.info(
                "run %s: lost its lease (taken over or deleted); stopping this attempt", self.run.id
            )
            await self._forget()
        except RunActive:  # it resumed by itself, but its chat already has a running run
            return Termination("cancelled")
        except StorageError as error:
            log.warning(
                "run %s (agent %s): cannot be stored, ending it with an error: %s",
                self.run.id,
                self.run.agent,
                error,
            )
            return Termination("error", BROKEN)
        except Exception:  # whatever it was, the run must not hang
            log.exception("run %s: internal error; ending the run", self.run.id)
            return Termination("error", BROKEN)
        finally:
            if self.state is not State.OVER:
                self._move(Trigger.LOST)
        return None

    async def _execute(self) -> None:
        if self.run.tail_seq:
            await retry_while_unavailable(self._writer.catch_up)
        while self.state is not State.OVER:
            outcome = await self._run_agent()
            if self._is_given_back:
                break
            self._stderr += outcome.stderr_tail + self._late_output()
            await self._keep_stderr(self._stderr)
            async with self._answer_lock:
                await self._conclude(outcome)
        if self._is_given_back:
            await retry_while_unavailable(self._store.queue, self.run.id, self.run.epoch)

    async def _run_agent(self) -> Outcome:
        """Execute the agent until its process exits; not at all if the run is stopped before."""
        turn = await self._unless_stopped(retry_while_unavailable(self._read_turn))
        if turn is not None and not self.run.tail_seq and not turn.is_resumed:
            await self._writer.write(self._start_event(turn))
        if turn is None or self._is_leaving():
            return Outcome(exit_code=0)
        self._writer.set_frontend(turn.frontend)
        self._writer.listen(until_end=not isinstance(self.agent, FunctionAgent))
        try:
            agent = await self._unless_stopped(self._deps.prepare(self._report_install))
            if agent is None:
                return Outcome(exit_code=0)
            await self._hand_over()
            if self._is_leaving():
                return Outcome(exit_code=0)
            self._execution = execution = await self._deps.launch(agent, turn)
        except (InstallFailed, SandboxUnavailable, OSError) as error:
            self._leave(Trigger.STOP, Termination("error", launch_error(error)))
            return Outcome()
        if self._is_leaving():  # it was stopped meanwhile
            execution.kill()
            async with execution:
                return Outcome(exit_code=0)
        self._move(Trigger.LAUNCHED)
        doing = f"{'Resuming' if turn.is_resumed else 'Starting'} {self.agent.name}"
        del turn  # the agent has it, and may run for long
        preparation = Preparation(execution, self._announce, doing, self._deps.limits.notice)
        async with execution, LiveStderr(self.run.id, execution, self._keep_so_far):
            try:
                with self._timeouts():
                    async with preparation:
                        await self._listen(execution, preparation)
                outcome = await self._exit(execution)
            except BaseException:  # a lost lease, or an internal error
                execution.kill()
                raise
            finally:
                self._deps.on_started()
        return replace(outcome, stderr_tail=self._redacted(outcome.stderr_tail))

    def _is_leaving(self) -> bool:
        return self.state in LEAVING

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of a step of the start; nothing, if the run is stopped before it is done."""
        self._starting = task = asyncio.create_task(work)
        if self.state in LEAVING:
            task.cancel()
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            self._starting = None  # its result may contain files
        return None if task.cancelled() else task.result()

    async def _read_turn(self) -> Turn:
        turn = await turn_for(self._store, self.run, self._writer.input_requests)
        return await with_files(turn, self._store.files, self.run.owner, self._deps.state)

    async def _hand_over(self) -> None:
        """Store that the agent gets its turn: from now on no process begins this attempt again.

        An agent may act before it has read its turn, so this comes before its start.
        """
        if not self._is_handed_over:
            await retry_while_unavailable(self._store.hand_over, self.run.id, self.run.epoch)
            self._is_handed_over = True

    def _start_event(self, turn: Turn) -> Start:
        return Start(
            framework=self.run.framework,
            agent=self.agent.id,
            prompt_preview=turn.text[:PREVIEW] or None,
            simulated=self._deps.is_simulated,
        )

    async def _announce(self, preparation: Status) -> None:
        if self.state not in LEAVING:
            await self._writer.write(preparation)

    async def _report_install(self, message: str) -> None:
        await self._announce(Status(message=message, kind="preparation"))

    async def _listen(self, execution: Execution, preparation: Preparation) -> None:
        """Store the process's output until it has exited, or said that it is done."""
        writer = self._writer
        await self._read_output(execution, preparation)
        if self.state not in DISCARDS_OUTPUT:
            await writer.finish_reading()
        if writer.has_ended:
            await self._end_early()

    async def _read_output(self, execution: Execution, preparation: Preparation) -> None:
        writer, limit = self._writer, self.agent.limits.output
        while data := await (
            self._read_or_pause(execution) if writer.may_pause_again else execution.read()
        ):
            if not preparation.is_over:
                preparation.over()
                self._deps.on_started()
            if self.state in DISCARDS_OUTPUT:
                continue
            await writer.read(data)
            if writer.has_ended:
                break
            self._note_activity()
            self._output_bytes += len(data)
            if self._output_bytes > limit:
                error = Error(
                    message=f"The agent wrote more than {limit:,} bytes.", code="output_limit"
                )
                self._leave(Trigger.OUTPUT_LIMIT, Termination("error", error))

    async def _end_early(self) -> None:
        """The agent says that it is done: end the run, unless it waits or is being stopped."""
        async with self._answer_lock:
            if self.state is State.RUNNING and not self._has_ignored_answer():
                assert self._execution is not None
                self._move(Trigger.DONE)
                so_far = self._redacted.so_far(self._execution.stderr_so_far)
                await self._keep_stderr(self._stderr + so_far)
                await self._writer.end(None, *self._last_events(_SUCCESS))
                self.run_has_ended.set()

    async def _exit(self, execution: Execution) -> Outcome:
        """Wait until the process has exited; after the end of its output not for long."""
        if not self._writer.has_ended:
            return await execution.outcome()
        seconds = self._deps.limits.exit_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._drain(execution)
        except TimeoutError:
            log.warning(
                "run %s (agent %s): had not exited %s s after it was done; ending its process",
                self.run.id,
                self.run.agent,
                seconds,
            )
            return await execution.stop()
        return await execution.outcome()

    async def _drain(self, execution: Execution) -> None:
        """Read what the agent writes after it has ended its output."""
        late = self._writer.late
        while data := await execution.read():
            late += data
            del late[:-STDERR_TAIL]

    async def _read_or_pause(self, execution: Execution) -> bytes:
        """The next output. A silent agent with an open request counts as waiting again.

        Text without an id has no end, so only silence shows that no more of it comes.
        """
        reading = asyncio.create_task(execution.read())
        try:
            done, _ = await asyncio.wait([reading], timeout=self._deps.limits.quiet)
            if not done and self.state not in DISCARDS_OUTPUT:
                await self._writer.pause_again()
                self._note_activity()
            return await reading
        finally:
            reading.cancel()

    @contextmanager
    def _timeouts(self) -> Iterator[None]:
        """Enforce the agent's timeouts, and the time for which a waiting process is kept."""
        now = asyncio.get_running_loop().time()
        deadlines = Deadlines(self.agent.timeouts, self._deps.limits.hold, now)
        self._alarm = TimeoutAlarm(deadlines, partial(self._on_timeout, deadlines))
        try:
            yield
        finally:
            self._alarm.silence()
            self._alarm = None

    def _note_activity(self) -> None:
        if self._alarm is not None:
            self._alarm.note(self.state is State.WAITING)

    def skip_time(self, seconds: float) -> None:
        """It was frozen for so long, and goes on."""
        if self._alarm is not None:
            self._alarm.skip(seconds)

    def _on_timeout(self, deadlines: Deadlines) -> None:
        if self.is_frozen():
            assert self._alarm is not None  # which rings
            self._alarm.ring_later(FROZEN)
            return
        self._release_or_end(Termination("error", deadlines.problem()))

    # The end

    @property
    def end(self) -> str:
        """How it ended, once it is over: the reason of its run's end, or why that has none here."""
        if self._is_given_back:
            return "given_back"
        return self._writer.end_reason or ("waiting" if self._writer.waiting else "taken_over")

    async def _conclude(self, outcome: Outcome) -> None:
        """The process has exited: leave the run waiting, restart the agent, or end the run."""
        writer = self._writer
        if writer.has_ended:
            self._check_exit(outcome)
        if self.state is State.EXITING:
            await self._forget()  # nothing else would tell that the run was deleted meanwhile
            self._move(Trigger.EXITED)
            return
        may_fail = self.state is not State.RELEASING and not writer.has_ended
        has_failed = may_fail and outcome.failure() is not None
        must_end = has_failed or self.state in MUST_END
        if not must_end and writer.waiting:
            self._move(Trigger.LEFT_WAITING)  # the answer starts the next attempt
        elif not must_end and self.state is State.RUNNING and self._has_ignored_answer():
            writer.has_unread_answer = False
            self._move(Trigger.RESTART)
        else:
            self._move(Trigger.END)
            await writer.end(self._done(outcome), *self._last_events(outcome))
            self._move(Trigger.ENDED)

    def _check_exit(self, outcome: Outcome) -> None:
        run, problem = self.run, outcome.failure()
        if problem is not None and not outcome.stopped:
            log.warning(
                "run %s (agent %s): had ended its output when this happened: %s",
                run.id,
                run.agent,
                problem.message,
            )
        if self._writer.late:
            command = logs_command(run, self._deps.data, self._deps.limits)
            log.warning(
                "run %s (agent %s): wrote more after it was done, which is kept with its stderr%s",
                run.id,
                run.agent,
                f" ({command})" if command else "",
            )

    def _has_ignored_answer(self) -> bool:
        assert self._execution is not None
        return self._writer.has_unread_answer and not self._execution.has_all_answers

    def _done(self, outcome: Outcome) -> Done | None:
        if self._termination is not None:
            return Done(reason=self._termination.reason)
        return None if outcome.failure() is None else Done(reason="error")

    def _last_events(self, outcome: Outcome) -> list[StreamEvent]:
        if self._done(outcome) is None:
            return self._hints() if self._writer.fails else []
        events = self._writer.input_requests.closing_events(self._last_answers)
        if (raised := self._reported(outcome)) is not None:
            self._log_failure(raised, outcome)
            return events + self._hints()
        error = outcome.failure() if self._termination is None else self._termination.error
        if error is not None:
            self._log_failure(error, outcome)
            events.append(replace(self._explained(error), stderr_tail=outcome.shown_tail))
        return events

    def _hints(self) -> list[StreamEvent]:
        """What the agent lacks, if readers see details: it may be the cause of its error."""
        problem = self.agent.lacks() if self._deps.limits.shows_error_details else None
        return [Status(message=problem, kind="notice")] if problem else []

    def _reported(self, outcome: Outcome) -> Error | None:
        """The error that the agent ended with, if its last line is that: it is in the log."""
        error, raised = self._writer.last_error, outcome.raised
        if error is None or self._termination is not None or outcome.exit_code != 1:
            return None
        return error if raised is None or error.message in raised.message else None

    def _log_failure(self, error: Error, outcome: Outcome) -> None:
        """Log it on one line, with the command that shows the rest."""
        run, message = self.run, on_one_line(error.message, WHY)
        is_about_stderr = outcome.raised is not None or error.stderr_tail is not None
        if not is_about_stderr and (last := last_words(outcome.stderr_tail)):
            message += f" Last stderr: {last}"
        command = logs_command(run, self._deps.data, self._deps.limits)
        shown = f"{message} ({command})" if command else message
        log.warning("run %s (agent %s) failed: %s", run.id, run.agent, shown)

    def _explained(self, error: Error) -> Error:
        """The error, with the environment variables that the agent lacks: they may be the cause."""
        problem = self.agent.lacks()
        if problem is None or error.code == NOT_INSTALLED:
            return error
        return replace(error, message=f"{error.message} {problem[0].upper()}{problem[1:]}.")

    def _late_output(self) -> str:
        late = self._writer.late.decode("utf-8", "backslashreplace")
        return f"{AFTER_DONE}\n{self._redacted(late)}" if late else ""

    async def _keep_stderr(self, text: str) -> None:
        if text:
            try:
                await asyncio.to_thread(self._deps.stderr.keep, self.run, text)
            except OSError as error:
                log.warning("run %s: cannot store its stderr: %s", self.run.id, error)

    def _keep_so_far(self, stderr: str) -> None:
        """Store the stderr of a process that is running; called in a thread."""
        self._deps.stderr.keep(self.run, self._stderr + self._redacted.so_far(stderr))

    async def _forget(self) -> None:
        """Delete the stderr of a deleted run."""
        try:
            await self._store.read(self.run.id, limit=1)
        except NotFoundError:
            await asyncio.to_thread(self._deps.stderr.delete, [self.run.id])
        except MoboxError as error:
            log.warning(
                "run %s: cannot check whether it was deleted, its stderr file stays: %s",
                self.run.id,
                error,
            )
