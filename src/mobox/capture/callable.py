"""An agent that is a function of this program: what it yields, what it is told, how it ends.

What it gives may be an async or a sync iterator, a list, one thing, or nothing; a function that is
not async is called in a thread of its own, as are the steps of a sync iterator.

====================================== ==================================================
thing                                  line
====================================== ==================================================
words                                  more of the answer
an event of mobox, a line of `emit`    itself
an SDK's object                        its fields, for the parser of its framework
====================================== ==================================================

Rule 1: it is not asked for more while 64 KiB wait to be read, as with a process and its pipe. Only
        what is said by the way, in the event loop (`turn.ask`, `emit_*`), makes nobody wait.
Rule 2: to be stopped is to be cancelled where it awaits, and in a thread to be closed at its next
        `yield`. One that takes no notice is left alone after a while: it goes on, nobody hears it,
        and its run has ended.
Rule 3: what it raises is the run's error. Its words are told to people only if it is an
        `AgentError`: SDKs put addresses and keys into theirs. They are where a process has its
        stderr, with the traceback.
Rule 4: where no SDK tells how an answer ends, to return is to be done, and so is `sys.exit(0)`;
        unless it said how itself, or waits for an answer that the next execution gets.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import traceback
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from mobox import turn as told
from mobox.agent_path.shared.output import encode, told_to
from mobox.capture import one_thread
from mobox.capture.asking import Turn
from mobox.capture.execution import STDERR_TAIL, Outcome
from mobox.capture.one_thread import OneThread
from mobox.capture.process import Patience
from mobox.capture.sdk import SdkObjects
from mobox.emit import done, text
from mobox.errors import AgentError
from mobox.events import Error, StreamEvent
from mobox.function_agents import FunctionAgent, takes_turn
from mobox.turn import Answer, Frontend

__all__ = ["CallableExecution"]

log = logging.getLogger("mobox.capture")

MOST_HELD: Final = 64 * 1024
_END: Final = object()
_ENDINGS: Final = ("done", "paused")
_OURS: Final = (__file__, one_thread.__file__)
_PATIENCE: Final = Patience()
_GRACE: Final = 0.5
"""Seconds to clean up that even who is in a hurry gives it."""


class CallableExecution:
    """One leg of a run, executed by a function. Made in a running event loop."""

    def __init__(
        self,
        agent: FunctionAgent,
        state: Path,
        turn: told.Turn,
        patience: Patience = _PATIENCE,
    ) -> None:
        self._name = agent.id
        self._patience = patience
        self._output = _Output()
        self._objects = SdkObjects()
        self._last: object = None
        self._last_line = b""
        self._turn = Turn(turn, state, self._say_by_the_way)
        self._turn.when_heard = self._go_on
        loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Outcome] = loop.create_future()
        self._hurry: asyncio.Future[None] = loop.create_future()
        self._stop: asyncio.Task[None] | None = None
        self._work = asyncio.create_task(self._listen(agent))
        self._work.add_done_callback(self._conclude)

    async def read(self) -> bytes:
        """What it said next, as lines; empty when it has ended and all is read."""
        return await self._output.read()

    def answer(self, request_id: str, answer: Answer) -> None:
        """Tell it what a person said to a request."""
        self._turn.take_answer(request_id, answer)

    @property
    def created(self) -> str | None:
        """Nothing: it is a function of this program."""
        return None

    @property
    def has_started(self) -> bool:
        """At once."""
        return True

    @property
    def heard(self) -> bool:
        """Whether it has all that it was answered."""
        return self._turn.heard

    def tell(self, frontend: Frontend) -> None:
        """Tell it what the page brought along with an answer."""
        self._turn.see_frontend(frontend)

    async def stop(self) -> Outcome:
        """End it. Goes on even if the caller is cancelled."""
        self._begin_to_stop()
        if self._stop is not None:
            await asyncio.shield(self._stop)
        return await self.outcome()

    def kill(self) -> None:
        """End it without patience, even if it is being stopped."""
        if not self._hurry.done():
            self._hurry.set_result(None)
        self._begin_to_stop()

    async def outcome(self) -> Outcome:
        """How it ended, once it has."""
        return await asyncio.shield(self._ended)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    # What it says

    async def _listen(self, agent: FunctionAgent) -> None:
        call = partial(agent.function, *[self._turn][: takes_turn(agent.function)])
        try:
            with told_to(self._say_by_the_way):
                async with aclosing(_said_by(call, agent.id)) as said:
                    async for each in said:
                        self._output.add(self._line(each))
                        await self._output.has_room()
        except SystemExit as left:  # which would end the event loop too
            if left.code:
                raise AgentError(f"the agent exited: {left.code}") from left
        if self._last == "input_request" and not self._turn.heard:
            self._turn.pause()  # it leaves the answer to the next execution
        elif agent.framework == "emitted" and self._last not in _ENDINGS:
            self._output.add(self._line(done()))

    def _say_by_the_way(self, value: object) -> None:
        """Say what was not yielded; a thread waits until there is room for more."""
        before = self._last_line
        line = self._line(value)
        if self._last != "paused" or line != before:  # to wait for two is to wait once
            self._output.add_from_anywhere(line)

    def _go_on(self) -> None:
        """It has what it waited for: the pause was not its end."""
        self._last, self._last_line = None, b""

    def _line(self, value: object) -> bytes:
        said: Any = text(value) if isinstance(value, str) else value
        if isinstance(value, StreamEvent):
            fields = value.as_json()
            said = {"type": fields.pop("type"), "data": fields}
        described = self._objects.describe(said)
        self._last = described.get("type") if isinstance(described, dict) else None
        self._last_line = encode(described)
        return self._last_line

    # How it ends

    def _begin_to_stop(self) -> None:
        if self._stop is None and not self._ended.done():
            self._stop = asyncio.create_task(self._end())

    async def _end(self) -> None:
        self._turn.stop()
        patience = self._patience
        for seconds in (patience.message + patience.term, patience.kill):
            self._work.cancel()
            either: list[asyncio.Future[Any]] = [self._work, self._hurry]
            await asyncio.wait([self._work], timeout=_GRACE)
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if self._work.done():
                return
        log.warning("the agent %r takes no notice of being stopped: it goes on unheard", self._name)
        self._close(Outcome(stopped=True))

    def _conclude(self, work: asyncio.Task[None]) -> None:
        stopped = self._stop is not None
        raised: BaseException | None = None
        if not work.cancelled():
            raised = work.exception()
        elif not stopped:
            raised = asyncio.CancelledError("The agent cancelled itself.")
        if raised is None:
            self._close(Outcome(exit_code=0, stopped=stopped))
            return
        kind = type(raised).__name__
        told = str(raised) if isinstance(raised, AgentError) else ""
        error = Error(message=told or f"The agent failed ({kind}).", code=kind)
        self._close(
            Outcome(exit_code=1, raised=error, stderr_tail=_traceback(raised), stopped=stopped)
        )

    def _close(self, outcome: Outcome) -> None:
        if not self._ended.done():
            self._ended.set_result(outcome)
        self._output.close()


async def _said_by(call: partial[object], name: str) -> AsyncGenerator[object, None]:
    """All that a function gives, one after the other."""
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
            await thread.call(close)  # once it has come to its next step


def _is_async(call: partial[object]) -> bool:
    functions = (call.func, type(call.func).__call__)
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(is_kind(function) for function in functions for is_kind in kinds)


def _traceback(error: BaseException) -> str:
    """Where it happened, without the way that leads there through here."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in _OURS:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))[-STDERR_TAIL:]


class _Output:
    """Lines that wait to be read."""

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
        """Wait until not too much waits, or nobody reads any more."""
        while len(self._held) >= MOST_HELD and not self._is_closed:
            self._room.clear()
            await self._room.wait()

    async def read(self) -> bytes:
        """All that is there, once there is something; empty when nothing will be."""
        while not self._held and not self._is_closed:
            self._something.clear()
            await self._something.wait()
        data = bytes(self._held)
        self._held.clear()
        self._room.set()
        return data

    def close(self) -> None:
        """What is held can still be read, and no more is taken."""
        self._is_closed = True
        self._something.set()
        self._room.set()
