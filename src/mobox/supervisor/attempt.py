"""One attempt of a run: executes an agent, logs its output and ends the run.

Rule 1: whatever happens, the run ends with one DONE, waits, or was taken over by another process.
Rule 2: output during shutdown is logged, except when a waiting process is released: the run stays
        `waiting` and the process's last output is discarded.
Rule 3: timeouts apply while the agent is running. A waiting process is ended after `hold` seconds;
        the answer then starts a new attempt.
Rule 4: a stored answer reaches the agent. An agent that exited without reading it is started again.
Rule 5: what may happen next is in `state` alone; `states.py` has all states and transitions.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from mobox.capture.catalog import Agent
from mobox.capture.execution import Execution, Outcome
from mobox.errors import (
    Fenced,
    MoboxError,
    NotFoundError,
    NotWaiting,
    ProtocolError,
    RunActive,
    StorageError,
)
from mobox.events import Done, DoneReason, Error, LogEntry, Start, Status, StreamEvent
from mobox.events.printable import on_one_line
from mobox.events.transcript import Transcript
from mobox.events.turn import Answer, Frontend, HistoryMessage, Turn, UserMessage
from mobox.settings import OWNER, Settings
from mobox.storage import Storage
from mobox.storage.chats import StoredMessage
from mobox.storage.log import Run, pages
from mobox.storage.retry import retry_while_unavailable
from mobox.supervisor.agent_files import Redaction, StderrFolder
from mobox.supervisor.input_requests import InputRequests
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
from mobox.supervisor.turn_files import with_files

log = logging.getLogger("mobox.supervisor")

PREVIEW: Final = 80
"""Characters of the prompt that START shows."""
WHY: Final = 500
"""Characters of an agent's error, and of its last line on stderr, that the server's log shows."""
BROKEN: Final = Error(message="The server had an internal error in this run.", code="internal")


class AttemptDeps(NamedTuple):
    """The dependencies and limits of an attempt."""

    launch: Callable[[Turn], Execution]
    stderr: StderrFolder
    limits: Settings
    state: Path
    """The chat's state folder."""
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
        self._writer = RunWriter(store, run, self._on_pause)
        self._reading_turn: asyncio.Task[Turn] | None = None
        self._execution: Execution | None = None
        self._stopping: asyncio.Task[Outcome] | None = None  # referenced: asyncio does not
        self._alarm: TimeoutAlarm | None = None
        self._answer_lock = asyncio.Lock()  # held to answer the agent, or to conclude the attempt
        self._termination: Termination | None = None
        self._last_answers: tuple[Answer, ...] = ()
        self._output_bytes = 0
        self._stderr = ""

    def _move(self, trigger: Trigger) -> None:
        self.state = after(self.state, trigger)

    def _on_pause(self, waits: bool) -> None:
        self._move(Trigger.PAUSED if waits else Trigger.RESUMED)

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
        requests = self._writer.input_requests
        replies = requests.match(answers)
        if not replies:
            raise NotWaiting(self.run.id)
        requests.check(replies)
        stored = await self._writer.write(*requests.events_of(replies))
        if frontend is not None:
            self._writer.set_frontend(frontend)
            self._execution.set_frontend(frontend)
        for event, answer in replies:
            self._execution.answer(event.id or "", answer)
        return stored

    def stop(self, reason: DoneReason = "cancelled", answers: tuple[Answer, ...] = ()) -> None:
        """End it, for the person or for the server; `answers` are logged with the end."""
        self._last_answers = self._last_answers or answers
        self._leave(Trigger.STOP, Termination(reason))

    def interrupt(self) -> None:
        """The server shuts down or needs the slot: a waiting run stays `waiting`, unexecuted."""
        self._release_or_end(Termination("interrupted"))

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
        elif self.state not in LEAVING:
            self._leave(Trigger.STOP, termination)

    def _leave(self, trigger: Trigger, termination: Termination | None = None) -> None:
        """End the process, and with a termination also the run; the first termination counts."""
        before = self.state
        self._move(trigger)
        self._termination = self._termination or termination
        if before in HAS_PROCESS:
            assert self._execution is not None
            self._stopping = asyncio.create_task(self._execution.stop())
        elif before is State.STARTING and self._reading_turn is not None:
            self._reading_turn.cancel()

    # Execution

    async def execute(self) -> Termination | None:
        """Execute until the run ends or waits; else return how to end it. Raises nothing."""
        try:
            if self.run.tail_seq:
                await retry_while_unavailable(self._writer.catch_up)
            while self.state is not State.OVER:
                outcome = await self._run_agent()
                await self._keep_stderr(outcome)
                async with self._answer_lock:
                    await self._conclude(outcome)
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

    async def _run_agent(self) -> Outcome:
        """Execute the agent until its process exits; not at all if the run is stopped before."""
        turn = await self._turn()
        if turn is not None and not turn.is_resumed:
            await self._writer.write(self._start_event(turn))
        if turn is None or self.state is not State.STARTING:
            return Outcome(exit_code=0)
        self._writer.set_frontend(turn.frontend)
        self._writer.listen()
        try:
            self._execution = execution = self._deps.launch(turn)
        except OSError as error:
            self._leave(Trigger.STOP, Termination("error", _launch_error(error)))
            return Outcome()
        self._move(Trigger.LAUNCHED)
        doing = f"{'Resuming' if turn.is_resumed else 'Starting'} {self.agent.name}"
        del turn  # the agent has it, and may run for long
        preparation = Preparation(execution, self._announce, doing, self._deps.limits.notice)
        async with execution:
            try:
                with self._timeouts():
                    async with preparation:
                        await self._listen(execution, preparation)
                outcome = await execution.outcome()
            except BaseException:  # a lost lease, or an internal error
                execution.kill()
                raise
        return replace(outcome, stderr_tail=self._redacted(outcome.stderr_tail))

    async def _turn(self) -> Turn | None:
        """The agent's turn; nothing, if the run is stopped before the history is read."""
        if self.state in LEAVING:
            return None
        self._reading_turn = reading = asyncio.create_task(retry_while_unavailable(self._read_turn))
        try:
            await asyncio.wait([reading])
        finally:
            reading.cancel()
            self._reading_turn = None  # its result may contain files
        return None if reading.cancelled() else reading.result()

    async def _read_turn(self) -> Turn:
        turn = await turn_for(self._store, self.run, self._writer.input_requests)
        return await with_files(turn, self._store.files, self.run.owner, self._deps.state)

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

    async def _listen(self, execution: Execution, preparation: Preparation) -> None:
        """Store the process's output until it has exited."""
        writer, limit = self._writer, self.agent.limits.output
        while data := await (
            self._read_or_pause(execution) if writer.may_pause_again else execution.read()
        ):
            if not preparation.is_over:
                preparation.over()
            if self.state in DISCARDS_OUTPUT:
                continue
            await writer.read(data)
            self._note_activity()
            self._output_bytes += len(data)
            if self._output_bytes > limit:
                error = Error(
                    message=f"The agent wrote more than {limit:,} bytes.", code="output_limit"
                )
                self._leave(Trigger.OUTPUT_LIMIT, Termination("error", error))
        if self.state not in DISCARDS_OUTPUT:
            await writer.finish_reading()

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

    def _on_timeout(self, deadlines: Deadlines) -> None:
        self._release_or_end(Termination("error", deadlines.problem()))

    # The end

    async def _conclude(self, outcome: Outcome) -> None:
        """The process has exited: leave the run waiting, restart the agent, or end the run."""
        writer = self._writer
        has_failed = outcome.exit_code != 0 and self.state is not State.RELEASING
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

    def _has_ignored_answer(self) -> bool:
        assert self._execution is not None
        return self._writer.has_unread_answer and not self._execution.has_all_answers

    def _done(self, outcome: Outcome) -> Done | None:
        if self._termination is not None:
            return Done(reason=self._termination.reason)
        return None if outcome.failure() is None else Done(reason="error")

    def _last_events(self, outcome: Outcome) -> list[StreamEvent]:
        if self._done(outcome) is None:
            problem = self.agent.lacks() if self._writer.fails else None
            return [Status(message=problem, kind="notice")] if problem else []
        events = self._writer.input_requests.closing_events(self._last_answers)
        if (raised := self._reported(outcome)) is not None:
            self._log_failure(raised, outcome.stderr_tail)
            problem = self.agent.lacks()
            return [*events, *([Status(message=problem, kind="notice")] if problem else [])]
        error = outcome.failure() if self._termination is None else self._termination.error
        if error is not None:
            self._log_failure(error, outcome.stderr_tail)
            events.append(replace(self._explained(error), stderr_tail=outcome.shown_tail))
        return events

    def _reported(self, outcome: Outcome) -> Error | None:
        """The error that the agent ended with, if its last line is that: it is in the log."""
        error, raised = self._writer.last_error, outcome.raised
        if error is None or self._termination is not None or outcome.exit_code != 1:
            return None
        return error if raised is None or raised.code == error.code else None

    def _log_failure(self, error: Error, stderr: str) -> None:
        """Log it on one line, with the command that shows the rest."""
        run, message = self.run, on_one_line(error.message, WHY)
        last = on_one_line(stderr.rstrip().rpartition("\n")[2], WHY)
        if last:
            message += f" Last stderr: {last}"
        command = f"mobox logs {run.id}"
        if run.owner != OWNER:
            command += f" --owner {shlex.quote(run.owner)}"
        log.warning("run %s (agent %s) failed: %s (%s)", run.id, run.agent, message, command)

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
                await asyncio.to_thread(self._deps.stderr.keep, self.run, self._stderr)
            except OSError as error:
                log.warning("run %s: cannot store its stderr: %s", self.run.id, error)

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


def _launch_error(error: OSError) -> Error:
    why = error.strerror or error
    return Error(message=f"The agent cannot be started: {why}.", code="agent_start")


# The turn


async def turn_for(storage: Storage, run: Run, requests: InputRequests) -> Turn:
    """The turn of an agent that starts a run, or resumes it after an answer."""
    history = await storage.history(run.owner, run.chat_id)
    *before, last = [message for message in history.messages if message.run_id != run.id]
    if not isinstance(last.body, UserMessage):
        raise ProtocolError(f"run {run.id} has no user message to answer")
    turn = Turn(
        kind=run.kind,
        chat_id=run.chat_id,
        run_id=run.id,
        attempt=run.leg,
        owner=run.owner,
        parent=before[-1].id if before else None,
        back_to=run.back_to,
        frontend=await _frontend(storage, run),
    )
    if not requests.answers and not requests.earlier_answers:
        return replace(turn, prompt=last.body.parts, history=_history(before))
    return replace(
        turn,
        kind="answers",
        history=_history([*before, last, await _own_message(storage, run)]),
        answers=requests.answers,
        earlier_answers=requests.earlier_answers,
        resume=requests.resume,
    )


async def _frontend(storage: Storage, run: Run) -> Frontend | None:
    """The frontend data of the last request that had any: answers over other APIs have none."""
    sent = [request.frontend for request in await storage.asked(run.id)]
    return next((frontend for frontend in reversed(sent) if frontend is not None), None)


async def _own_message(storage: Storage, run: Run) -> StoredMessage:
    """The run's own message so far; reads the log page by page."""
    transcript = Transcript()
    async for page in pages(storage, run.id):
        for entry in page:
            transcript.add(entry.event, entry.ts)
    body = transcript.message(run.id)
    return StoredMessage(
        id=run.id, role="assistant", created_at=run.started_at, body=body, run_id=run.id
    )


def _history(messages: Iterable[StoredMessage]) -> tuple[HistoryMessage, ...]:
    return tuple(message.as_history() for message in messages)
