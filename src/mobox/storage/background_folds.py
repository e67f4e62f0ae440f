"""Folds answers in the background: when their runs end, and later those that were left behind.

Rule 1: nobody waits for it: a run has ended before its answer is folded. If the process dies in
        between, the answer stays behind, and is folded when it is read, or here later.
Rule 2: one answer at a time, so that it takes no more than one slot of the reads.
Rule 3: what is left behind is looked for a while after the store was opened, so that commands that
        open it for a moment do not start this work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from mobox.errors import MoboxError
from mobox.storage.log import RunId

log = logging.getLogger("mobox.storage")

_FIRST: Final = 5.0
"""Seconds after the store was opened until it is looked for what was left behind."""
_AGAIN: Final = 300.0
_PAUSE: Final = 0.02
"""Seconds between two steps, in which others can read and write."""
_LAST: Final = 1.0
"""Seconds that closing the store waits for the answers of runs that have just ended."""

Fold = Callable[[RunId], Awaitable[None]]
Step = Callable[[int], Awaitable[int | None]]
"""Does some of the work after a number, and returns the next number; `None` at the end."""


class BackgroundFolds:
    """Folds the answers of one store."""

    def __init__(self, fold: Fold, *steps: Step) -> None:
        self._fold = fold
        self._steps = steps
        self._ended: dict[RunId, None] = {}
        self._folding: asyncio.Task[None] | None = None
        self._leftovers: asyncio.Task[None] | None = None
        self._more = asyncio.Event()
        self._is_open = True

    def begin(self) -> None:
        """Start to look for what was left behind."""
        self._leftovers = asyncio.create_task(self._serve())

    def add(self, run_id: RunId) -> None:
        """A run has ended here."""
        if not self._is_open:
            return
        self._ended[run_id] = None
        if self._folding is None:
            self._folding = asyncio.create_task(self._fold_all())

    def wake(self) -> None:
        """There is much that was left behind: do not wait with it."""
        self._more.set()

    async def close(self) -> None:
        """Fold what has just ended, for a moment; the rest is left behind.

        What is being done is not cancelled: a connection that is being opened would be lost.
        """
        if self._folding is not None:
            await asyncio.wait([self._folding], timeout=_LAST)
        self._is_open = False
        self._more.set()
        tasks = [task for task in (self._folding, self._leftovers) if task is not None]
        await asyncio.gather(*tasks)

    async def do_leftovers(self) -> None:
        """All steps, to their ends."""
        for step in self._steps:
            after: int | None = 0
            while after is not None and self._is_open:
                after = await step(after)
                await asyncio.sleep(_PAUSE)

    async def _fold_all(self) -> None:
        try:
            while self._ended and self._is_open:
                run_id = next(iter(self._ended))
                del self._ended[run_id]
                await self._fold_one(run_id)
        finally:
            self._folding = None

    async def _fold_one(self, run_id: RunId) -> None:
        try:
            await self._fold(run_id)
        except MoboxError as error:
            log.debug("run %s: its answer is folded later: %s", run_id, error)
        except Exception:
            log.exception("run %s: its answer cannot be folded", run_id)

    async def _serve(self) -> None:
        seconds = _FIRST
        while self._is_open:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._more.wait()
            self._more.clear()
            try:
                await self.do_leftovers()
            except MoboxError as error:
                log.warning("cannot fold old answers yet, retrying: %s", error)
            except Exception:
                log.exception("cannot fold old answers")
            seconds = _AGAIN
