"""Stores an agent's stderr while it works, so that it can be read before the run has ended.

Rule 1: at most one write in `EVERY` seconds, in a thread, and none while there is nothing new.
Rule 2: an end that may be the beginning of a secret is withheld until the rest has come.
Rule 3: after `async with` no write is under way: the last one is the attempt's own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Self

from mobox.capture.execution import Execution

log = logging.getLogger("mobox.supervisor")

EVERY: Final = 0.5
"""Seconds between two writes."""


class LiveStderr:
    """The stderr of one execution; `keep` stores it, in a thread."""

    def __init__(self, run_id: str, execution: Execution, keep: Callable[[str], None]) -> None:
        self._run_id = run_id
        self._execution = execution
        self._keep = keep
        self._timer: asyncio.TimerHandle | None = None
        self._write: asyncio.Task[None] | None = None
        self._is_new = False

    async def __aenter__(self) -> Self:
        self._execution.watch_stderr(self._changed)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._execution.watch_stderr(lambda: None)
        if self._write is not None:
            await self._write  # which may set the timer again
        if self._timer is not None:
            self._timer.cancel()

    def _changed(self) -> None:
        self._is_new = True
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY, self._begin)

    def _begin(self) -> None:
        self._write = asyncio.create_task(self._store())

    async def _store(self) -> None:
        self._is_new = False
        try:
            await asyncio.to_thread(self._keep, self._execution.stderr_so_far)
        except OSError as error:
            log.warning("run %s: cannot store its stderr: %s", self._run_id, error)
            return  # and try no more: the end will
        self._timer = None
        if self._is_new:
            self._changed()
