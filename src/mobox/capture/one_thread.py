"""A thread that does one thing after the other, for an event loop that waits for it.

Unlike a pool's, nobody joins it: a function that never returns keeps no program from ending.
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
    """All calls are made in the same thread and the same context, that in which it was made."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._context = copy_context()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    async def call(self, work: Callable[[], T]) -> T:
        """What `work` gives; if the caller is cancelled, it is done all the same."""
        call = _Call(work, self._loop.create_future())
        self._calls.put(call)
        if self._thread.ident is None:
            self._thread.start()
        await call.done
        given: T = call.result()
        return given

    def end(self) -> None:
        """Do what is to be done, and no more."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            with call:
                call.given = self._context.run(call.work)
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                self._loop.call_soon_threadsafe(call.finish)


class _Call:
    """Something to do, and what came of it: a future takes not all that may be raised."""

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
