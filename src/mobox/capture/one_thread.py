"""A thread that executes calls of an event loop one after the other.

Unlike a pool's thread it is not joined: a function that never returns does not block exit.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

__all__ = ["OneThread"]

T = TypeVar("T")


class OneThread:
    """Executes all calls in one thread, and in the context in which it was created."""

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
        given: T = call.result()
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
        self._raised: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._raised = error
        return True

    def finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def result(self) -> Any:
        if self._raised is not None:
            raise self._raised
        return self.given
