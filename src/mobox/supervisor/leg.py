"""One leg of a run: an agent at work, what it says written down, its end made sure of.

Rule 1: whatever happens, the run ends with one DONE, or waits; or it is somebody else's by now.
Rule 2: what an agent says while it is being ended still counts, unless it is only let go: then the
        run waits on, and whatever it says of its own end is nobody's business.
Rule 3: limits hold while it works. While it waits for an answer it is only not kept for ever: the
        answer then begins another leg.
Rule 4: an answer that is stored is heard. An agent that left without hearing it is started again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from mobox.capture.execution import Execution, Outcome
from mobox.catalog import Agent
from mobox.errors import Fenced, MoboxError, NotFound, NotWaiting, RunActive
from mobox.events import Done, DoneReason, Error, LogEntry, Start, Status, StreamEvent
from mobox.printable import on_one_line
from mobox.storage import Storage
from mobox.storage.log import Run
from mobox.storage.patience import patiently
from mobox.supervisor.deadlines import Alarm, Deadlines
from mobox.supervisor.preparation import Preparation
from mobox.supervisor.reaper import Verdict
from mobox.supervisor.scribe import Scribe
from mobox.supervisor.stderr import Redaction, StderrFolder
from mobox.supervisor.turns import turn_for
from mobox.turn import Answer, Frontend, Turn

__all__ = ["Leg", "Means"]

log = logging.getLogger("mobox.supervisor")

PREVIEW: Final = 80
"""Characters of the prompt that START shows."""
WHY: Final = 500
"""Characters of the last line on stderr that the server's own log shows."""
BROKEN: Final = Error(message="The server had an internal error in this run.", code="internal")


class Means(NamedTuple):
    """What a leg works with."""

    launch: Callable[[Turn], Execution]
    stderr: StderrFolder
    hold: float
    """For how many seconds an agent is kept that waits for an answer."""
    notice: float
    """After how many seconds people are told that an agent is still being started."""


class Leg:
    """One execution of an agent for a run."""

    def __init__(self, store: Storage, run: Run, agent: Agent, means: Means) -> None:
        self.run = run
        self.agent = agent
        self.over = False
        """It writes nothing more: the run has ended, waits, or is not ours."""
        self._store = store
        self._means = means
        self._redacted = Redaction(agent)
        self._scribe: Scribe | None = None
        self._execution: Execution | None = None
        self._verdict: Verdict | None = None
        self._is_to_end = asyncio.Event()
        self._parting: tuple[Answer, ...] = ()
        self._ending: asyncio.Task[Outcome] | None = None
        self._alarm: Alarm | None = None
        self._mouth = asyncio.Lock()  # who has it may answer, or say that it is too late
        self._answering = False
        self._deaf = False
        self._said = 0
        self._stderr = ""

    # What others ask of it

    @property
    def leaving(self) -> bool:
        """Whether its process is being ended, or has ended."""
        return self.over or self._verdict is not None or self._ending is not None

    @property
    def waits(self) -> bool:
        """Whether it does nothing but wait for a person."""
        return self._is_waiting() and not self._answering and not self.leaving

    @property
    def _hears(self) -> bool:
        return self._execution is not None and not self.leaving

    async def answer(
        self, answers: Iterable[Answer], frontend: Frontend | None = None
    ) -> list[LogEntry]:
        """Log what a person said and tell the agent; nothing, if it hears nothing any more."""
        async with self._mouth:
            if not self._hears:
                return []
            self._answering = True
            self._note(waits=False)
            try:
                return await self._tell(answers, frontend)
            finally:
                self._answering = False
                self._note(self._is_waiting())

    async def _tell(self, answers: Iterable[Answer], frontend: Frontend | None) -> list[LogEntry]:
        assert self._scribe is not None  # it hears
        assert self._execution is not None
        asked = self._scribe.asked
        replies = asked.match(answers)
        if not replies:
            raise NotWaiting(self.run.id)
        asked.check(replies)
        stored = await self._scribe.write(*asked.told(replies))
        if frontend is not None:
            self._execution.tell(frontend)
        for event, answer in replies:
            self._execution.answer(event.id or "", answer)
        return stored

    def stop(self, reason: DoneReason = "cancelled", answers: tuple[Answer, ...] = ()) -> None:
        """End it, for the person or for the server; what was answered is logged with the end."""
        self._parting = self._parting or answers
        self._end(Verdict(reason))

    def interrupt(self) -> None:
        """The server ends, or needs its place: what waits can wait on without a process."""
        if self.waits:
            self._let_go()
        elif not self.leaving:
            self.stop("interrupted")

    def end_at_once(self, answers: tuple[Answer, ...] = ()) -> None:
        """Stop it without patience: its run is somebody else's, or has nothing more to say."""
        self.stop(answers=answers)
        self.kill()

    def kill(self) -> None:
        """Do not wait until the process ends by itself."""
        if self._execution is not None:
            self._execution.kill()

    def _end(self, verdict: Verdict) -> None:
        self._verdict = self._verdict or verdict
        self._is_to_end.set()
        self._stop_execution()

    def _let_go(self) -> None:
        self._deaf = True
        self._stop_execution()

    def _stop_execution(self) -> None:
        if self._execution is not None and self._ending is None:
            self._ending = asyncio.create_task(self._execution.stop())

    # The work

    async def execute(self) -> Verdict | None:
        """Work until the run ends or waits; what to end it with, if we cannot. Raises nothing."""
        try:
            await self._work()
        except (Fenced, NotFound):
            log.info(
                "run %s: lost its lease (taken over or deleted); stopping this attempt", self.run.id
            )
            await self._forget()
        except RunActive:  # it went on by itself, but its chat had gone on already
            return Verdict("cancelled")
        except Exception:  # whatever it was, the run must not hang
            log.exception("run %s: internal error; ending the run", self.run.id)
            return Verdict("error", BROKEN)
        finally:
            self.over = True
        return None

    async def _work(self) -> None:
        self._scribe = Scribe(self._store, self.run)
        if self.run.tail_seq:
            await patiently(self._scribe.catch_up)
        while not self.over:
            outcome = Outcome(exit_code=0)
            if (turn := await self._turn(self._scribe)) is not None:
                await self._scribe.write(*self._beginning(turn))
                outcome = await self._employ(self._scribe, turn)
            await self._keep_stderr(outcome)
            async with self._mouth:
                await self._conclude(self._scribe, outcome)

    async def _turn(self, scribe: Scribe) -> Turn | None:
        """What the agent is told; nothing, if the run is to end before all of that is read."""
        reading = asyncio.create_task(patiently(turn_for, self._store, self.run, scribe.asked))
        ending = asyncio.create_task(self._is_to_end.wait())
        try:
            await asyncio.wait([reading, ending], return_when=asyncio.FIRST_COMPLETED)
            return await reading if reading.done() else None
        finally:
            reading.cancel()
            ending.cancel()
            await asyncio.gather(reading, ending, return_exceptions=True)

    def _beginning(self, turn: Turn) -> list[StreamEvent]:
        """What the log begins with; nothing where it goes on after an answer."""
        if turn.is_resumed:
            return []
        start = Start(
            framework=self.run.framework,
            agent=self.agent.id,
            prompt_preview=turn.text[:PREVIEW] or None,
        )
        return [start]

    async def _employ(self, scribe: Scribe, turn: Turn) -> Outcome:
        """Let an agent work until its process ends."""
        if self._verdict is not None:  # stopped before it began
            return Outcome(exit_code=0)
        scribe.listen()
        try:
            self._execution = execution = self._means.launch(turn)
        except OSError as error:
            self._verdict = Verdict("error", _launch_error(error))
            return Outcome()
        doing = f"{'Resuming' if turn.is_resumed else 'Starting'} {self.agent.name}"
        preparation = Preparation(execution, self._announce, doing, self._means.notice)
        async with execution:
            try:
                with self._limited():
                    async with preparation:
                        await self._listen(scribe, execution, preparation)
                outcome = await execution.outcome()
            except BaseException:  # the run is not ours any more, or we do not know how to go on
                execution.kill()
                raise
        return replace(outcome, stderr_tail=self._redacted(outcome.stderr_tail))

    async def _announce(self, preparation: Status) -> None:
        if self._scribe is not None and not self.leaving:
            await self._scribe.write(preparation)

    async def _listen(self, scribe: Scribe, execution: Execution, preparation: Preparation) -> None:
        limit = self.agent.limits.output
        while data := await execution.read():
            preparation.over()
            if self._deaf:
                continue
            await scribe.read(data)
            self._note(scribe.waiting)
            self._said += len(data)
            if self._said > limit:
                self._deaf = True
                self._fail("output_limit", f"The agent wrote more than {limit:,} bytes.")
        if not self._deaf:
            await scribe.finish_reading()

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Hold the agent to its timeouts."""
        now = asyncio.get_running_loop().time()
        deadlines = Deadlines(self.agent.timeouts, self._means.hold, now)
        self._alarm = Alarm(deadlines, partial(self._on_timeout, deadlines))
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
            self._let_go()
        elif not self.leaving:
            self._end(Verdict("error", deadlines.problem()))

    def _is_waiting(self) -> bool:
        return self._scribe is not None and self._scribe.waiting

    def _fail(self, code: str, message: str) -> None:
        self._end(Verdict("error", Error(message=message, code=code)))

    # The end

    async def _forget(self) -> None:
        """Of a run that was deleted nothing is kept."""
        try:
            await self._store.read(self.run.id, limit=1)
        except NotFound:
            await asyncio.to_thread(self._means.stderr.delete, [self.run.id])
        except MoboxError as error:
            log.warning("run %s: cannot read its log: %s", self.run.id, error)

    async def _conclude(self, scribe: Scribe, outcome: Outcome) -> None:
        is_willing = self._verdict is None and (outcome.exit_code == 0 or self._ending is not None)
        if is_willing and scribe.waiting:
            self.over = True  # the answer begins the next leg
        elif is_willing and scribe.unheard and not self._has_heard():
            scribe.unheard = False
            self._execution = None
        else:
            await scribe.end(self._done(outcome), *self._last_words(scribe, outcome))
            self.over = True

    def _has_heard(self) -> bool:
        return self._execution is not None and self._execution.heard

    def _done(self, outcome: Outcome) -> Done | None:
        if self._verdict is not None:
            return Done(reason=self._verdict.reason)
        return None if outcome.failure() is None else Done(reason="error")

    def _last_words(self, scribe: Scribe, outcome: Outcome) -> list[StreamEvent]:
        if self._done(outcome) is None:
            return self._missing_variables() if scribe.fails else []
        words = scribe.asked.settled(self._parting)
        error = outcome.failure() if self._verdict is None else self._verdict.error
        if error is not None:
            why = on_one_line(outcome.stderr_tail.rstrip().rpartition("\n")[2], WHY)
            log.warning("%s %s (mobox logs %s)", error.message, why, self.run.id)
            words += self._missing_variables()
            words.append(replace(error, stderr_tail=outcome.shown_tail))
        return words

    def _missing_variables(self) -> list[StreamEvent]:
        """What the server warned of when it started: it may be why the agent failed."""
        problem = self.agent.lacks()
        return [Status(message=problem, kind="notice")] if problem else []

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
