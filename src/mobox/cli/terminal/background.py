"""An event loop in a thread of its own: the main thread waits at the prompt meanwhile.

Python delivers signals, and readline reads, in the main thread only. An agent must go on while a
person thinks about an answer, so it cannot be the thread of the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractAsyncContextManager, suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, Self, TypeVar

T = TypeVar("T")
U = TypeVar("U")

_END: Final = object()


class Background(Generic[T]):
    """A resource that is opened, used and closed in a loop of another thread."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._opened = opened
        self._ready: Future[T] = Future()
        self._closing: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop
        # A thread that stays: the kernel ends agents with the thread that started them.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mobox-loop")

    def __enter__(self) -> Self:
        try:
            self._held = self._thread.submit(lambda: asyncio.run(self._hold()))
            started: tuple[Future[Any], ...] = (self._held, self._ready)
            wait(started, return_when=FIRST_COMPLETED)
            if not self._ready.done():
                self._held.result()  # raises
            self.resource = self._ready.result()
        except BaseException:  # also Ctrl-C: the process exits only when its threads have ended
            self._closing.set_result(None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set_result(None)
        self._held.result()
        self._thread.shutdown()

    async def _hold(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with self._opened() as resource:
            self._ready.set_result(resource)
            await asyncio.wrap_future(self._closing)

    def start(self, work: Coroutine[Any, Any, U]) -> Future[U]:
        """Begin some work in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, U]) -> U:
        """The result of some work in the loop."""
        return self.start(work).result()

    def call_soon(self, function: Callable[[], object]) -> None:
        """Call a function in the loop."""
        self._loop.call_soon_threadsafe(function)

    def each(self, values: AsyncIterator[U]) -> Stream[U]:
        """The values of an iterator of the loop, for the main thread."""
        stream: Stream[U] = Stream()
        stream.task = self.start(stream.fill(values))
        return stream


class Stream(Generic[U]):
    """Values that come from the loop."""

    def __init__(self) -> None:
        self.task: Future[None]
        self._queue: SimpleQueue[Any] = SimpleQueue()

    async def fill(self, values: AsyncIterator[U]) -> None:
        """Put all values into the queue; `task` has the error, if there is one."""
        try:
            async for value in values:
                self._queue.put(value)
        finally:
            self._queue.put(_END)

    def next(self, seconds: float) -> list[U] | None:
        """All values that are there, after waiting so long for the first; `None` at the end.

        Raises the iterator's error.
        """
        found: list[U] = []
        with suppress(Empty):
            value = self._queue.get(timeout=seconds)
            while value is not _END:
                found.append(value)
                value = self._queue.get_nowait()
            self._queue.put(_END)
            if not found:
                self.task.result()
                return None
        return found
