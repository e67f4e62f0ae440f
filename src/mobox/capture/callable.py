"""Executes an agent that is a function of this program.

It may return an async or a sync iterator, a list, one value, or nothing. A function that is not
async is called in a thread of its own, as are the steps of a sync iterator.

====================================== ==================================================
value                                  line
====================================== ==================================================
a string                               a text delta of the answer
an event of mobox, a line of `emit`    itself
an SDK's object                        its fields, for the parser of its framework
====================================== ==================================================

Rule 1: the function is not advanced while 64 KiB wait to be read, as with a process and its pipe.
        Only lines emitted directly in the event loop (`turn.ask`, `emit_*`) do not wait.
Rule 2: stopping cancels it where it awaits; in a thread it is closed at its next `yield`. If it
        ignores that, it is abandoned after a timeout: its output is discarded, its run has ended.
Rule 3: an exception is the run's error. Where the details of errors are not shown, as in another
        app, users see the message only of an `AgentError`: SDKs put URLs and keys into theirs. The
        exception is stored where a process has its stderr, with the traceback.
Rule 4: without an SDK's own end, returning means DONE, and so does `sys.exit(0)`; unless the
        function emitted an end itself, or leaves a pending input request to the next execution.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import traceback
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator
from contextlib import aclosing, suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, Self, TypeVar

from mobox.agent_path.shared.objects import Objects
from mobox.agent_path.shared.output import encode, told_to
from mobox.agent_path.shared.uncaught import crash_fields
from mobox.capture.asking import Turn
from mobox.capture.catalog import FunctionAgent, takes_turn
from mobox.capture.execution import STDERR_TAIL, Outcome
from mobox.capture.process import StopTimeouts
from mobox.emit import done, text
from mobox.errors import AgentError
from mobox.events import JSON, Error, StreamEvent
from mobox.events import turn as turns
from mobox.events.turn import Answer, Frontend

T = TypeVar("T")
log = logging.getLogger("mobox.capture")

MOST_HELD: Final = 64 * 1024
_END: Final = object()
_ENDINGS: Final = ("done", "paused")
_TIMEOUTS: Final = StopTimeouts()
_GRACE: Final = 0.5
"""Seconds to clean up, even after `kill`."""


class SdkObjects:
    """Converts the SDK's objects of one run to plain values; `emit_object` does so in a process.

    Those that a graph's state repeats are emitted once. No SDK is imported: pydantic models,
    dataclasses, LangChain's messages, commands and interrupts, exceptions, bytes and images are
    recognized by their attributes.
    """

    def __init__(self) -> None:
        self._objects = Objects()

    def describe(self, value: object) -> JSON:
        """The value for a parser's or recorder's `feed`; never raises."""
        return self._objects.describe(value)


class CallableExecution:
    """One attempt of a run, executed by a function. Create it in a running event loop."""

    def __init__(
        self,
        agent: FunctionAgent,
        state: Path,
        turn: turns.Turn,
        timeouts: StopTimeouts = _TIMEOUTS,
    ) -> None:
        self._name = agent.id
        self._timeouts = timeouts
        self._output = _Output()
        self._objects = SdkObjects()
        self._last: object = None
        self._last_line = b""
        self._turn = Turn(turn, state, self._emit_directly)
        self._turn.when_answers_read = self._forget_pause
        loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Outcome] = loop.create_future()
        self._hurry: asyncio.Future[None] = loop.create_future()
        self._stop: asyncio.Task[None] | None = None
        self._work = asyncio.create_task(self._run(agent))
        self._work.add_done_callback(self._conclude)

    async def read(self) -> bytes:
        """The next lines of its output; empty when it has ended and all is read."""
        return await self._output.read()

    def answer(self, request_id: str, answer: Answer) -> None:
        """Pass the answer to an input request."""
        self._turn.take_answer(request_id, answer)

    @property
    def stderr_so_far(self) -> str:
        """Nothing: what a function logs is in the program's own log."""
        return ""

    def watch_stderr(self, changed: Callable[[], None]) -> None:
        """Never calls it: a function has no stderr of its own."""

    @property
    def created(self) -> str | None:
        """`None`: a function needs no container or the like."""
        return None

    @property
    def has_started(self) -> bool:
        """Always: a function starts at once."""
        return True

    @property
    def has_all_answers(self) -> bool:
        """Whether the function has received all answers."""
        return self._turn.has_all_answers

    def set_frontend(self, frontend: Frontend) -> None:
        """Pass the frontend state that came with an answer."""
        self._turn.see_frontend(frontend)

    def when_ended(self, call: Callable[[], None]) -> None:
        """Call this once it has ended, or was abandoned."""
        self._ended.add_done_callback(lambda _: call())

    async def stop(self) -> Outcome:
        """Stop it. Continues even if the caller is cancelled."""
        self._begin_to_stop()
        if self._stop is not None:
            await asyncio.shield(self._stop)
        return await self.outcome()

    def kill(self) -> None:
        """Stop it without waiting for the timeouts, even if it is being stopped."""
        if not self._hurry.done():
            self._hurry.set_result(None)
        self._begin_to_stop()

    async def outcome(self) -> Outcome:
        """How it ended, once it has."""
        return await asyncio.shield(self._ended)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # Its output

    async def _run(self, agent: FunctionAgent) -> None:
        call = partial(agent.function, *[self._turn][: takes_turn(agent.function)])
        try:
            with told_to(self._emit_directly):
                async with aclosing(_values_of(call, agent.id)) as values:
                    async for each in values:
                        self._output.add(self._line(each))
                        await self._output.has_room()
        except SystemExit as left:  # it would end the event loop too
            if left.code:
                raise AgentError(f"the agent exited: {left.code}") from left
        if self._last == "input_request" and not self._turn.has_all_answers:
            self._turn.pause()  # the answer goes to the next execution
        elif agent.framework == "emitted" and self._last not in _ENDINGS:
            self._output.add(self._line(done()))

    def _emit_directly(self, value: object) -> None:
        """Emit a value that was not yielded; a thread waits until there is room for more."""
        before = self._last_line
        line = self._line(value)
        if self._last != "paused" or line != before:  # waiting for two answers is one pause
            self._output.add_from_anywhere(line)

    def _forget_pause(self) -> None:
        """It has received its answers: the pause was not its end."""
        self._last, self._last_line = None, b""

    def _line(self, value: object) -> bytes:
        emitted: Any = text(value) if isinstance(value, str) else value
        if isinstance(value, StreamEvent):
            fields = value.as_json()
            emitted = {"type": fields.pop("type"), "data": fields}
        described = self._objects.describe(emitted)
        self._last = described.get("type") if isinstance(described, dict) else None
        self._last_line = encode(described)
        return self._last_line

    # Its end

    def _begin_to_stop(self) -> None:
        if self._stop is None and not self._ended.done():
            self._stop = asyncio.create_task(self._end())

    async def _end(self) -> None:
        self._turn.stop()
        timeouts = self._timeouts
        for seconds in (timeouts.message + timeouts.term, timeouts.kill):
            self._work.cancel()
            either: list[asyncio.Future[Any]] = [self._work, self._hurry]
            await asyncio.wait([self._work], timeout=_GRACE)
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if self._work.done():
                return
        log.warning("agent %r ignored cancellation; its output is discarded", self._name)
        self._close(Outcome(stopped=True))

    def _conclude(self, work: asyncio.Task[None]) -> None:
        stopped = self._stop is not None
        raised = None if work.cancelled() else work.exception()
        if work.cancelled() and not stopped:
            raised = asyncio.CancelledError("The agent cancelled itself.")
        if raised is None:
            self._close(Outcome(exit_code=0, stopped=stopped))
            return
        error, tail = _error_of(raised), _traceback(raised)
        self._close(Outcome(exit_code=1, raised=error, stderr_tail=tail, stopped=stopped))

    def _close(self, outcome: Outcome) -> None:
        if not self._ended.done():
            self._ended.set_result(outcome)
        self._output.close()


async def _values_of(call: partial[object], name: str) -> AsyncGenerator[object, None]:
    """The values that a function returns or yields."""
    thread = OneThread(f"mobox-{name}")
    try:
        given = call() if _is_async(call) else await thread.call(call)
        if inspect.isawaitable(given):
            given = await given
        if isinstance(given, AsyncIterable):
            async with aclosing(_steps(given)) as steps:
                async for each in steps:
                    yield each
        elif isinstance(given, Iterator | list):
            async with aclosing(_steps_in(thread, iter(given))) as steps:
                async for each in steps:
                    yield each
        elif given is not None:
            yield given
    finally:
        thread.end()


async def _steps(given: AsyncIterable[object]) -> AsyncGenerator[object, None]:
    try:
        async for each in given:
            yield each
    finally:
        close = getattr(given, "aclose", None) or getattr(given, "close", None)
        if close is not None and inspect.isawaitable(closed := close()):
            await closed


async def _steps_in(thread: OneThread, given: Iterator[object]) -> AsyncGenerator[object, None]:
    try:
        while (each := await thread.call(partial(next, given, _END))) is not _END:
            yield each
    finally:
        if (close := getattr(given, "close", None)) is not None:
            await thread.call(close)  # after its current step


def _is_async(call: partial[object]) -> bool:
    functions = (call.func, type(call.func).__call__)
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(is_kind(function) for function in functions for is_kind in kinds)


def _error_of(raised: BaseException) -> Error:
    """The run's error; secrets are removed from its message."""
    if isinstance(raised, AgentError) and str(raised):
        return Error(message=str(raised), code=type(raised).__name__, public=True)
    return Error(**crash_fields(raised))


def _traceback(error: BaseException) -> str:
    """The traceback without the frames of this module."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))[-STDERR_TAIL:]


class _Output:
    """A buffer of lines that are not read yet."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._held = bytearray()
        self._something, self._room = asyncio.Event(), asyncio.Event()
        self._is_closed = False

    def add(self, line: bytes) -> None:
        if not self._is_closed:
            self._held += line
            self._something.set()

    def add_from_anywhere(self, line: bytes) -> None:
        if threading.get_ident() == self._thread:
            self.add(line)
        elif not self._is_closed:
            asyncio.run_coroutine_threadsafe(self._put(line), self._loop).result()

    async def _put(self, line: bytes) -> None:
        self.add(line)
        await self.has_room()

    async def has_room(self) -> None:
        """Wait until the buffer is below its limit, or closed."""
        while len(self._held) >= MOST_HELD and not self._is_closed:
            self._room.clear()
            await self._room.wait()

    async def read(self) -> bytes:
        """Wait for lines, and take all of them; empty when the buffer is closed."""
        while not self._held and not self._is_closed:
            self._something.clear()
            await self._something.wait()
        data = bytes(self._held)
        self._held.clear()
        self._room.set()
        return data

    def close(self) -> None:
        """Discard further lines; the buffered ones can still be read."""
        self._is_closed = True
        self._something.set()
        self._room.set()


class OneThread:
    """Executes an event loop's calls one by one in a thread, in the context of its creation.

    Unlike a pool's thread it is not joined: a function that never returns does not block exit.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._context = copy_context()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    async def call(self, work: Callable[[], T]) -> T:
        """The result of `work`; it is executed even if the caller is cancelled."""
        call = _Call(work, self._loop.create_future())
        self._calls.put(call)
        if self._thread.ident is None:
            self._thread.start()
        await call.done
        if call.raised is not None:
            raise call.raised
        given: T = call.given
        return given

    def end(self) -> None:
        """End the thread after the queued calls."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            with call:
                call.given = self._context.run(call.work)
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                self._loop.call_soon_threadsafe(call.finish)


class _Call:
    """A call and its outcome; a future does not accept every exception."""

    def __init__(self, work: Callable[[], Any], done: asyncio.Future[None]) -> None:
        self.work = work
        self.done = done
        self.given: Any = None
        self.raised: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        self.raised = error
        return True

    def finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)
